"""A query that is being written: what it would be if it were created now, beside what runs.

Nothing of others is to be learned from it: what runs is given as far as whoever writes may know of it
(`within`), and all else is planned and costed as if it were not there.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from penstock.explain.as_json import query_json
from penstock.explain.describing import QueryExplained, described
from penstock.model.estimates import Estimates
from penstock.model.graph import Graph
from penstock.model.operators import Operator, Sink
from penstock.model.query import Query
from penstock.plan.admission import admit
from penstock.plan.measured import Measured
from penstock.plan.shared.shapes import mapped, shaped
from penstock.plan.shared.together import Running, may_share

#: What a draft is called in the plan, whatever its name is to be.
NAME = "this query"


@dataclass(frozen=True, slots=True)
class Draft:
    """The query, and those with which it would run as one since they differ in constants.

    Unless it becomes one of them `at_once`, it first runs beside them: what they remember is of rows from
    before it began.
    """

    explained: QueryExplained
    together: tuple[str, ...] = ()
    at_once: bool = True


def drafted(
    query: Query,
    running: Running,
    serving: Mapping[str, Sequence[str]],
    alone: Mapping[str, str],
    rates: Mapping[str, float],
    estimates: Estimates,
) -> Draft:
    """What a query would be.

    `serving` are, of each query of the graph, the queries of people that it runs; `alone` the shapes of those
    that run by themselves and could be members.
    """
    query = _under_own_name(query)
    graph = within(running.graph, serving)
    measured = Measured(graph, estimates).of
    admission = admit(graph, query, rates, measured=measured)
    explained = described(query, admission, graph, rates)
    operators = tuple(
        replace(one, shared_with=_served(one.shared_with, serving)) for one in explained.operators
    )
    explained = replace(explained, operators=operators)
    form = shaped(admit(Graph(), query).query) if may_share(query) else None
    if form is None:
        return Draft(explained)
    digest = form.shape.digest
    for hosts, at_once in ((running.shared, True), (running.later, False)):
        if hosts.get(digest) in serving:
            return _member(explained, serving[hosts[digest]], at_once)
    others = [name for name, shape in alone.items() if shape == digest and name in serving]
    return _member(explained, _served(others, serving), False) if others else Draft(explained)


def _member(explained: QueryExplained, whom: Sequence[str], at_once: bool) -> Draft:
    """All that a member does is done for the others, too."""
    operators = tuple(
        one if one.kind == "sink" else replace(one, shared_with=tuple(whom)) for one in explained.operators
    )
    return Draft(replace(explained, operators=operators, together=tuple(whom)), tuple(whom), at_once)


def _served(names: Collection[str], serving: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(served for name in names for served in serving.get(name, ())))


def within(graph: Graph, names: Collection[str]) -> Graph:
    """The part of a graph that those queries use."""
    members = {name: used for name, used in graph.members.items() if name in names}
    needed = {name for used in members.values() for name in used}
    nodes = {name: node for name, node in graph.nodes.items() if name in needed}
    return Graph(nodes, {name: one for name, one in graph.queries.items() if name in names}, members)


def _under_own_name(query: Query) -> Query:
    """A name that no query that runs can have."""

    def named(operator: Operator) -> Operator:
        return replace(operator, query=NAME) if isinstance(operator, Sink) else operator

    return replace(query, name=NAME, root=mapped(query.root, named))


def draft_json(draft: Draft) -> dict[str, Any]:
    """As plain data: what `as_json` says of a query, but for what only a registered one has, and edges."""
    found = query_json(draft.explained)
    operators = found["operators"]
    return {
        "columns": found["result"],
        "cost": found["cost"],
        "operators": operators,
        "edges": [
            {"from": one["operator"], "output": one["port"], "to": operator["name"], "input": slot}
            for operator in operators
            for slot, one in enumerate(operator["inputs"])
        ],
        "shared": found["shared"],
        "added": found["added"],
        "together": list(draft.together),
        "at_once": draft.at_once,
        "considered": found["considered"],
    }
