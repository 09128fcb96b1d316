"""Merging queries into one graph, where operators that compute the same thing exist once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import replace
from types import MappingProxyType
from typing import TypeAlias

from penstock.errors import PlanError, QueryError, closest
from penstock.model.estimates import Estimate
from penstock.model.graph import Graph, Node, Port
from penstock.model.operators import Operator, Select, Sink, Source
from penstock.model.query import PlanNode, Query
from penstock.plan.validate import validate

#: An operator, what it reads, and the one query that has it for itself, if any.
_Computation: TypeAlias = tuple[Operator, tuple[Port, ...], str | None]


def merge(graph: Graph, queries: Iterable[Query]) -> Graph:
    """The graph with these queries added, after checking that each can run.

    Two operators are the same when they are equal and read the same; the later query then uses the
    earlier one's. A plan's root gets a sink unless it is one, and a bare stream a select of all its rows,
    so that there is an operator to schedule. A query that `keeps_apart` shares nothing but its streams.
    """
    nodes = dict(graph.nodes)
    registered, members = dict(graph.queries), dict(graph.members)
    owners = {
        name: query for query, names in members.items() for name in names if registered[query].keeps_apart
    }
    known: dict[_Computation, str] = {
        (node.operator, node.inputs, _owner(node.operator, owners.get(node.name))): node.name
        for node in nodes.values()
    }
    for query in queries:
        if query.name in registered:
            raise QueryError(f"query '{query.name}' exists already; stop it first or choose another name")
        members[query.name] = _add(validate(query), nodes, known)
        registered[query.name] = query
    return _graph(nodes, registered, members)


def remove(graph: Graph, query: str) -> Graph:
    """The graph without that query; operators that another query uses stay."""
    if query not in graph.queries:
        raise QueryError(f"no query '{query}'.{closest(query, graph.queries)}")
    members = {name: used for name, used in graph.members.items() if name != query}
    needed = {name for used in members.values() for name in used}
    nodes = {name: node for name, node in graph.nodes.items() if name in needed}
    return _graph(nodes, {name: q for name, q in graph.queries.items() if name != query}, members)


def initial_estimates(graph: Graph) -> dict[str, Estimate]:
    """What the plans themselves say of their operators; of a shared one, what the first query says."""
    return {name: node.estimate for name, node in graph.nodes.items() if node.estimate is not None}


def _with_sink(query: Query) -> PlanNode:
    if isinstance(query.root.operator, Sink):
        sink, (top,) = query.root, query.root.children
    else:
        sink, top = PlanNode(Sink(query.name), name=f"{query.name}.sink"), query.root
    if isinstance(top.operator, Source):
        top = PlanNode(Select("true"), (top,))
    return replace(sink, children=(top,))


def _add(query: Query, nodes: dict[str, Node], known: dict[_Computation, str]) -> tuple[str, ...]:
    """The names of the query's operators, after adding those that are not there yet."""
    names: dict[int, str] = {}
    top = _with_sink(query)
    own = query.name if query.keeps_apart else None
    for plan in top.post_order():
        inputs = tuple(Port(names[id(child)], plan.port_of(slot)) for slot, child in enumerate(plan.children))
        computation = (plan.operator, inputs, _owner(plan.operator, own))
        name = known.get(computation)
        if name is None:
            name = plan.name or _name(*computation)
            if name in nodes:
                raise _taken(query.name, name, plan.operator)
            nodes[name] = Node(name, plan.operator, inputs, plan.estimate)
            known[computation] = name
        names[id(plan)] = name
    return tuple(dict.fromkeys(names.values()))


def _taken(query: str, name: str, operator: Operator) -> PlanError:
    if isinstance(operator, Source):
        return PlanError(
            f"query '{query}' reads stream '{name}', but what has that name already is another operator or "
            "a stream with other columns; use the stream's registered schema, or another name"
        )
    return PlanError(
        f"query '{query}' names an operator '{name}', but another operator has that name; "
        "leave the name out or choose another"
    )


def _owner(operator: Operator, query: str | None) -> str | None:
    """Streams are everybody's."""
    return None if isinstance(operator, Source) else query


def _name(operator: Operator, inputs: tuple[Port, ...], owner: str | None) -> str:
    if isinstance(operator, Source):
        return operator.stream
    # Eight bytes: with four, two of 100 000 operators would more likely than not have the same name.
    computed = (operator, inputs) if owner is None else (operator, inputs, owner)
    digest = hashlib.blake2b(repr(computed).encode(), digest_size=8).hexdigest()
    return f"{operator.kind}-{digest}"


def _graph(nodes: dict[str, Node], queries: dict[str, Query], members: dict[str, tuple[str, ...]]) -> Graph:
    return Graph(MappingProxyType(nodes), MappingProxyType(queries), MappingProxyType(members))
