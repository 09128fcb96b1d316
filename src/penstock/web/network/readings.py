"""What is measured of a network that runs, by box and queue of its picture: what `Network` is told.

Pure. Figures are rounded to what is shown of them, so that little changes from one look to the next.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

_OF_OPERATORS = (
    "state",
    "partition",
    "waiting_rows",
    "waiting_batches",
    "waiting_bytes",
    "state_bytes",
    "cost_s",
    "cost_error",
    "selectivity",
    "selectivity_error",
    "in_bytes",
    "out_bytes",
    "fixed_s",
    "measured",
)

Readings = dict[str, dict[str, Any]]


def readings(
    picture: Mapping[str, Any], graph: Mapping[str, Any], operators: Iterable[Mapping[str, Any]]
) -> Readings:
    """Figures of a picture's boxes and queues, out of GET /graph and GET /operators.

    Of a box: what GET /operators says of it, its `rate` (rows a second that come in, of a stream or of
    results that pass by, unless only some of them are of its query) and the `policy` of its unit. Of an edge
    with a queue: `rows`, `batches`, `bytes` and `oldest_s`.
    """
    known = {one["name"]: one for one in operators}
    policies = {one["unit"]: one["policy"] for one in graph["units"]}
    found: Readings = {}
    for node in picture["nodes"]:
        one = known.get(node["id"])
        if one is not None:
            found[node["id"]] = {
                **{name: _short(one[name]) for name in _OF_OPERATORS},
                "rate": _short(one["rate_per_s"]),
                "policy": next((policies[unit] for unit in node["units"] if unit in policies), ""),
            }
    inputs: dict[str, int] = {}
    for edge in picture["edges"]:
        inputs[edge["to"]] = inputs.get(edge["to"], 0) + 1
    kinds = {node["id"]: node["kind"] for node in picture["nodes"]}
    parts = {node["id"] for node in picture["nodes"] if node["part"]}
    for edge in picture["edges"]:
        start, end = known.get(edge["from"]), known.get(edge["to"])
        if kinds[edge["to"]] == "sink" and start is not None:
            if edge["to"] not in parts:
                found[edge["to"]] = {"rate": _short(start["rate_per_s"] * start["selectivity"])}
        elif kinds[edge["from"]] == "source" and end is not None and inputs[edge["to"]] == 1:
            found[edge["from"]] = {"rate": _short(end["rate_per_s"])}
    return found | _queues(picture, graph)


def _queues(picture: Mapping[str, Any], graph: Mapping[str, Any]) -> Readings:
    waiting = {(one["at"], reader): one for one in graph["queues"] for reader in one["before"]}
    nothing = {"rows": 0, "batches": 0, "bytes": 0, "oldest_s": 0}
    found = {}
    for edge in picture["edges"]:
        if edge["queue"] is not None:
            one = waiting.get((edge["from"], edge["to"]), nothing)
            found[edge["id"]] = {name: _short(one[name]) for name in nothing}
    return found


def changes(before: Readings, now: Readings) -> dict[str, Any]:
    """What is to be told to whoever knows what was before."""
    told = {name: one for name, one in now.items() if before.get(name) != one}
    return {"readings": told, "gone": [name for name in before if name not in now]}


def _short(value: Any) -> Any:
    return float(f"{value:.3g}") if isinstance(value, float) else value
