"""Merging queries into one graph, where operators that compute the same thing exist once."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from types import MappingProxyType

from penstock.errors import PlanError, QueryError, closest
from penstock.model.estimates import Estimate
from penstock.model.graph import Graph, Node, Port
from penstock.model.operators import Column, Operator, Project, Sink, Source
from penstock.model.query import PlanNode, Query


def merge(graph: Graph, queries: Iterable[Query]) -> Graph:
    """The graph with these queries added.

    Two operators are the same when they are equal and read the same; the later query then uses the
    earlier one's. A plan's root gets a sink unless it is one, and a bare stream a
    projection to itself, so that there is an operator to schedule.
    """
    nodes = dict(graph.nodes)
    registered, members = dict(graph.queries), dict(graph.members)
    known = {(node.operator, node.inputs): node.name for node in nodes.values()}
    for query in queries:
        if query.name in registered:
            raise QueryError(f"query '{query.name}' exists already; stop it first or choose another name")
        used: dict[str, None] = {}
        top = _add(_with_sink(query), query.name, nodes, known, used)
        assert top
        registered[query.name], members[query.name] = query, tuple(used)
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


def exclusive(graph: Graph, query: str) -> tuple[str, ...]:
    """The nodes that only this query uses: those that go with it."""
    return tuple(name for name in graph.members[query] if graph.users[name] == (query,))


def _with_sink(query: Query) -> PlanNode:
    if isinstance(query.root.operator, Sink):
        return query.root
    root = query.root
    if isinstance(root.operator, Source):
        columns = tuple(Column(name, name) for name in root.operator.schema.names)
        root = PlanNode(Project(columns), (root,))
    return PlanNode(Sink(query.name), (root,), name=f"{query.name}.sink")


def _add(
    plan: PlanNode,
    query: str,
    nodes: dict[str, Node],
    known: dict[tuple[Operator, tuple[Port, ...]], str],
    used: dict[str, None],
) -> str:
    children = [_add(child, query, nodes, known, used) for child in plan.children]
    inputs = tuple(Port(child, plan.port_of(slot)) for slot, child in enumerate(children))
    key = (plan.operator, inputs)
    name = known.get(key)
    if name is None:
        name = plan.name or _name(plan.operator, inputs)
        if name in nodes:
            raise PlanError(
                f"query '{query}' names an operator '{name}', but another operator has that name; "
                "leave the name out or choose another"
            )
        nodes[name] = Node(name, plan.operator, inputs, plan.estimate)
        known[key] = name
    used[name] = None
    return name


def _name(operator: Operator, inputs: tuple[Port, ...]) -> str:
    if isinstance(operator, Source):
        return operator.stream
    digest = hashlib.blake2b(repr((operator, inputs)).encode(), digest_size=4).hexdigest()
    return f"{operator.kind}-{digest}"


def _graph(nodes: dict[str, Node], queries: dict[str, Query], members: dict[str, tuple[str, ...]]) -> Graph:
    return Graph(MappingProxyType(nodes), MappingProxyType(queries), MappingProxyType(members))
