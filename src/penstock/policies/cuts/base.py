"""What every cut has in common: its protocol, and walks over the graph."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Protocol

from penstock.model.estimates import Estimates
from penstock.model.graph import Edge, Graph
from penstock.model.operators import Join
from penstock.model.unit import Cut, Unit


class Cutter(Protocol):
    """A way to cut: frozen, with its parameters as fields."""

    def cut(self, graph: Graph, estimates: Estimates) -> Cut:
        """Divides the graph into units that cover it."""
        ...


def operator_paths(graph: Graph) -> list[tuple[str, ...]]:
    """The operator paths: from each leaf up to the root of its query, one per leaf.

    A path ends at a fork (each branch begins a path of its own, since a row must pass the shared operators
    once) and before an operator that takes its inputs in time order. So paths meet only above a join or a
    union that takes rows as they come.
    """
    return [_climb(graph, name) for name in graph.operators if _begins_path(graph, name)]


def _begins_path(graph: Graph, name: str) -> bool:
    return graph.is_ordered(name) or any(
        graph.is_source(port.node) or graph.is_fork(port.node) for port in graph.nodes[name].inputs
    )


def _climb(graph: Graph, name: str) -> tuple[str, ...]:
    path = [name]
    while not graph.is_fork(path[-1]) and graph.edges[path[-1]]:
        above = graph.edges[path[-1]][0].reader
        if graph.is_ordered(above):
            break
        path.append(above)
    return tuple(path)


def operator_edges(graph: Graph) -> Iterator[Edge]:
    """The edges from operator to operator."""
    for name in graph.operators:
        yield from graph.edges[name]


def stages(graph: Graph) -> dict[str, int]:
    """How many operators that take their inputs in time order a row passes, at most, up to and with each.

    Such an operator is a stage above all it reads. Units within one stage therefore have no queue inside,
    even where a branch that went through such an operator meets again with one that did not.
    """
    stage = dict.fromkeys(graph.sources, 0)
    for name in graph.operators:
        below = max(stage[port.node] for port in graph.nodes[name].inputs)
        stage[name] = below + graph.is_ordered(name)
    return stage


def direct_edges(graph: Graph) -> Iterator[Edge]:
    """The edges that need no queue in any cut: those that stay within a stage."""
    stage = stages(graph)
    return (edge for edge in operator_edges(graph) if stage[edge.port.node] == stage[edge.reader])


def components(graph: Graph, edges: Iterable[Edge]) -> list[Unit]:
    """The groups of operators that these edges connect, either way; every operator is in one."""
    above = {name: name for name in graph.operators}

    def top(name: str) -> str:
        while above[name] != name:
            above[name] = name = above[above[name]]
        return name

    for edge in edges:
        above[top(edge.port.node)] = top(edge.reader)
    groups: dict[str, list[str]] = defaultdict(list)
    for name in graph.operators:
        groups[top(name)].append(name)
    return [Unit(tuple(group)) for group in groups.values()]


def pruned(graph: Graph, segments: Iterable[Iterable[str]]) -> Cut:
    """The segments of all paths, without those that another equals or contains (MavStream's figure 5.3).

    The figure compares each new segment with the whole list; whatever the order, what is left are the
    segments that no other contains. Largest first, a segment need only be compared with those kept that hold
    the operator fewest of them hold.
    """
    holders: dict[str, list[frozenset[str]]] = defaultdict(list)
    kept: list[frozenset[str]] = []
    for segment in sorted(dict.fromkeys(map(frozenset, segments)), key=len, reverse=True):
        rivals = min((holders[name] for name in segment), key=len)
        if not any(segment <= rival for rival in rivals):
            kept.append(segment)
            for name in segment:
                holders[name].append(segment)
    return in_graph_order(graph, (unit_of(graph, segment) for segment in kept))


def shared_units(graph: Graph) -> Cut:
    """Each shared query from its rosters on: one unit whatever the cut, for members to come and go.

    What is below the rosters may be others' too, and is cut as everything is.
    """
    tagged: dict[str, str] = {}
    for name in graph.operators:
        operator, inputs = graph.nodes[name].operator, graph.nodes[name].inputs
        if isinstance(operator, Join) and operator.roster:
            assert operator.relation is not None
            tagged[name] = operator.relation
        else:
            below = [tagged[port.node] for port in inputs if port.node in tagged]
            if below:
                tagged[name] = below[0]
    units: dict[str, list[str]] = defaultdict(list)
    for name, query in tagged.items():
        units[query].append(name)
    return tuple(Unit(tuple(names)) for names in units.values())


def apart_units(graph: Graph) -> Cut:
    """Each query that keeps apart: one unit whatever the cut, or several around what takes rows in order.

    Whether a row is left out is then decided before anything of it has gone into a queue or a result, and who
    looks back has a place of its own in each stream.
    """
    apart = [graph.members[name] for name, query in graph.queries.items() if query.keeps_apart]
    names = {name for members in apart for name in members}.intersection(graph.operators)
    if not names:
        return ()
    inside = (edge for edge in direct_edges(graph) if edge.reader in names)
    return tuple(unit for unit in components(graph, inside) if unit.operators[0] in names)


def unit_of(graph: Graph, names: Iterable[str]) -> Unit:
    """A unit of these operators, inputs first."""
    return Unit(tuple(sorted(names, key=graph.position.__getitem__)))


def in_graph_order(graph: Graph, units: Iterable[Unit]) -> Cut:
    """Units by the place of their first operators, so that a cut lists the bottom of the graph first."""
    return tuple(sorted(units, key=lambda unit: [graph.position[name] for name in unit.operators]))
