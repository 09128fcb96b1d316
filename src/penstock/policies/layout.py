"""What a cut means: where the queues are, who reads them, and what flows directly.

A queue stands at an output port as soon as one unit that runs the producer does not run the reader too. An
operator that wants its inputs in time order keeps a queue at each, whatever the cut. Streams always have one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from penstock.errors import CutError
from penstock.model.graph import Edge, Graph, Port
from penstock.model.unit import Cut, Unit


@dataclass(frozen=True, slots=True)
class UnitPlace:
    """A unit at its place: the edges it takes from queues, the ports it puts into queues, and the rest."""

    unit: Unit
    entries: tuple[Edge, ...]
    exits: tuple[Port, ...]
    direct: frozenset[Edge]
    sinks: tuple[Edge, ...]


@dataclass(frozen=True, slots=True)
class Layout:
    """All units of a cut at their places, and the edges that read each queue."""

    places: tuple[UnitPlace, ...]
    readers: Mapping[Port, tuple[Edge, ...]]


def lay_out(graph: Graph, cut: Cut) -> Layout:
    """Places the queues of a cut, after checking that it covers the graph."""
    units_of = _units_of(graph, cut)
    queued: dict[Edge, None] = {}
    direct: list[frozenset[Edge]] = []
    for unit in cut:
        direct.append(frozenset(e for e in _edges_out(graph, unit) if _flows_directly(graph, unit, e)))
        queued.update((edge, None) for edge in _edges_out(graph, unit) if edge not in direct[-1])
    for source in graph.sources:
        queued.update(dict.fromkeys(graph.edges[source]))

    taken: dict[int, list[Edge]] = {index: [] for index in range(len(cut))}
    for edge in queued:
        taken[_reading_unit(edge, units_of, cut)].append(edge)
    readers: dict[Port, list[Edge]] = {}
    for edge in queued:
        readers.setdefault(edge.port, []).append(edge)

    places = tuple(
        UnitPlace(
            unit=unit,
            entries=tuple(sorted(taken[index], key=lambda e: (graph.position[e.reader], e.slot))),
            exits=tuple(dict.fromkeys(e.port for e in _edges_out(graph, unit) if e not in direct[index])),
            direct=direct[index],
            sinks=tuple(edge for name in unit.operators for edge in graph.sinks[name]),
        )
        for index, unit in enumerate(cut)
    )
    return Layout(places, {port: tuple(edges) for port, edges in readers.items()})


def _units_of(graph: Graph, cut: Cut) -> dict[str, list[int]]:
    units_of: dict[str, list[int]] = {name: [] for name in graph.operators}
    for index, unit in enumerate(cut):
        if not unit.operators:
            raise CutError("a unit runs no operator at all")
        for name in unit.operators:
            if name not in units_of:
                raise CutError(f"unit '{unit.name}' runs '{name}', which is not an operator of the graph")
            units_of[name].append(index)
    for name, indices in units_of.items():
        if not indices:
            raise CutError(f"no unit runs operator '{name}'; a cut must cover the whole graph")
    return units_of


def _edges_out(graph: Graph, unit: Unit) -> Iterator[Edge]:
    for name in unit.operators:
        yield from graph.edges[name]


def _flows_directly(graph: Graph, unit: Unit, edge: Edge) -> bool:
    return edge.reader in unit.members and not graph.is_ordered(edge.reader)


def _reading_unit(edge: Edge, units_of: Mapping[str, list[int]], cut: Cut) -> int:
    """The one unit that takes the edge's queue: rather one that does not run the producer itself.

    Of several, the one that begins there: the path of a join's own stream begins at the join, and would have
    nothing to read if the path of the other stream took both.
    """

    def preference(index: int) -> tuple[bool, bool, int]:
        unit = cut[index]
        return edge.port.node in unit.members, unit.operators[0] != edge.reader, index

    return min(units_of[edge.reader], key=preference)


def check_cut(graph: Graph, cut: Cut) -> None:
    """Raises CutError unless the cut obeys the rules every engine relies on.

    Units cover the graph, are connected and have no queue inside; two units share an operator only above a
    merge (a join or a union), and a fork among these is whole or a queue, so that each row still passes each
    operator once.
    """
    units_of = _units_of(graph, cut)
    seen: set[tuple[str, ...]] = set()
    for unit in cut:
        if unit.operators in seen:
            raise CutError(f"two units run the same operators: '{unit.name}'")
        seen.add(unit.operators)
        places = [graph.position[name] for name in unit.operators]
        if places != sorted(places) or len(set(places)) != len(places):
            raise CutError(f"unit '{unit.name}' does not list its operators inputs first")
        check_connected(graph, unit)
        _check_no_queue_inside(graph, unit)
    for name, indices in units_of.items():
        if len(indices) > 1:
            _check_shared(graph, name, [cut[index] for index in indices])


def _check_shared(graph: Graph, name: str, units: list[Unit]) -> None:
    if not _above_merge(graph, name):
        listed = "', '".join(unit.name for unit in units)
        raise CutError(f"units '{listed}' share operator '{name}', which is not above a join or a union")
    if not graph.is_fork(name):
        return
    # The others put rows into the fork's queue for all who read it, and so would this one for some.
    readers = {edge.reader for edge in graph.edges[name]}
    for unit in units:
        if readers & unit.members and not readers <= unit.members:
            raise CutError(
                f"unit '{unit.name}' shares '{name}' with others and runs a part of what reads it; "
                "run all of it, or none"
            )


def check_connected(graph: Graph, unit: Unit) -> None:
    """Raises CutError unless rows flow between the unit's operators, or they read the same fork."""
    joined: dict[str | Port, list[str | Port]] = {name: [] for name in unit.operators}
    for name in unit.operators:
        for edge in graph.edges[name]:
            if _flows_directly(graph, unit, edge):
                joined[name].append(edge.reader)
                joined[edge.reader].append(name)
    if _apart(unit, joined) is None:
        return
    # Branches of one fork are together even if the fork itself is in another unit or is a stream. Looked at
    # last, since a merge may have as many inputs as there are units that run it.
    for name in unit.operators:
        for port in graph.nodes[name].inputs:
            fork = Port(port.node)
            joined[name].append(fork)
            joined.setdefault(fork, []).append(name)
    apart = _apart(unit, joined)
    if apart is not None:
        raise CutError(f"unit '{unit.name}' is not connected: '{apart}' stands apart")


def _check_no_queue_inside(graph: Graph, unit: Unit) -> None:
    for name in filter(graph.is_ordered, unit.operators):
        below = [port.node for port in graph.nodes[name].inputs if port.node in unit.members]
        if below:
            raise CutError(
                f"unit '{unit.name}' runs '{name}' together with '{below[0]}'; an operator that takes its "
                "inputs in time order needs a queue between"
            )


def _apart(unit: Unit, joined: Mapping[str | Port, list[str | Port]]) -> str | None:
    start: str | Port = unit.operators[0]
    reached, frontier = {start}, [start]
    while frontier:
        for other in joined[frontier.pop()]:
            if other not in reached:
                reached.add(other)
                frontier.append(other)
    return next((name for name in unit.operators if name not in reached), None)


def _above_merge(graph: Graph, name: str) -> bool:
    while True:
        if graph.is_merge(name):
            return True
        inputs = graph.nodes[name].inputs
        if not inputs or graph.is_source(inputs[0].node):
            return False
        name = inputs[0].node
