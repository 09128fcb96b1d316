"""What the engine says of everybody, as one namespace may see it: its own names, and no others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from penstock.server.engine.plain import texts_changed
from penstock.server.http.caller import Caller
from penstock.server.security.roles import Role

_DOTTED = re.compile(r"(?<![\w./-])[\w-]+\.[\w-]+")


def operators_for(
    caller: Caller, operators: Iterable[Mapping[str, Any]], partitions: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """The operators that serve the caller's queries, by the caller's names."""
    seen = {one["name"] for one in partitions_for(caller, partitions)}
    return [
        {**one, "partition": one["partition"] if one["partition"] in seen else ""}
        for one in (_for_caller(caller, one) for one in operators)
        if one["queries"]
    ]


def partitions_for(caller: Caller, partitions: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Partitions are the whole engine's: an administrator sees all, others those that run their queries."""
    found = [_for_caller(caller, {**one, "name": name}) for name, one in partitions.items()]
    return [one for one in found if one["queries"] or caller.identity.role is Role.ADMIN]


def graph_for(caller: Caller, graph: Mapping[str, Any], partitions: Mapping[str, Any]) -> dict[str, Any]:
    """The part of the graph that serves the caller's queries."""
    seen = {one["name"] for one in partitions_for(caller, partitions)}
    found = [_for_caller(caller, one) for one in graph["nodes"]]
    kept = {one["name"]: one for one in found if one["queries"]}
    names = {name: caller.plain(name) if one["kind"] == "source" else name for name, one in kept.items()}
    return {
        **graph,
        "nodes": [{**one, "name": names[name]} for name, one in kept.items()],
        "edges": [
            {**one, "from": names[one["from"]], "to": names[one["to"]]}
            for one in graph["edges"]
            if one["from"] in kept and one["to"] in kept
        ],
        "units": [
            {**one, "operators": mine, "partition": one["partition"] if one["partition"] in seen else ""}
            for one in graph["units"]
            if (mine := [name for name in one["operators"] if name in kept])
        ],
        "queues": [
            {**one, "at": names[one["at"]], "before": [names[name] for name in one["before"] if name in kept]}
            for one in graph["queues"]
            if one["at"] in kept
        ],
    }


def draft_for(caller: Caller, draft: Mapping[str, Any]) -> dict[str, Any]:
    """What a query would be, by the caller's names."""

    def operator(one: Mapping[str, Any]) -> dict[str, Any]:
        return {
            **one,
            "name": names[one["name"]],
            "text": _shown(caller, one["text"]),
            "inputs": [{**each, "operator": names[each["operator"]]} for each in one["inputs"]],
            "shared_with": [caller.plain(name) for name in one["shared_with"]],
        }

    operators = draft["operators"]
    names = {
        one["name"]: caller.plain(one["name"]) if one["kind"] == "source" else one["name"]
        for one in operators
    }
    return {
        **draft,
        "operators": [operator(one) for one in operators],
        "edges": [{**one, "from": names[one["from"]], "to": names[one["to"]]} for one in draft["edges"]],
        "together": [caller.plain(name) for name in draft["together"]],
    }


def status_for(caller: Caller, status: Mapping[str, Any]) -> dict[str, Any]:
    """How everything stands, of the caller's namespace; what is the whole engine's is for all to see."""
    parts = {kind: caller.own(status[kind]) for kind in ("queries", "streams", "tables", "sinks")}
    return {**status, **texts_changed(parts, lambda text: _shown(caller, text))}


def _for_caller(caller: Caller, one: Mapping[str, Any]) -> dict[str, Any]:
    """The same with the queries of the caller's namespace only, and texts by the caller's names."""
    scope = caller.scope
    found = {**one, "queries": [caller.plain(name) for name in one["queries"] if scope.owns(name)]}
    return {**found, "text": _shown(caller, found["text"])} if "text" in found else found


def _shown(caller: Caller, text: str) -> str:
    """A text of the engine's without the prefix of own names."""
    prefix = caller.scope.prefix

    def own(found: re.Match[str]) -> str:
        is_own = bool(prefix) and found.group().lower().startswith(prefix)
        return found.group()[len(prefix) :] if is_own else found.group()

    return _DOTTED.sub(own, text)
