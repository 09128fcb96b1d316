"""Changing the cut, the threads or the graph while queries run.

Only the affected part stops. Its readers get a limit: those of queues that the new cut does away with read
on until the queue is empty; readers that are to share a cursor read on to the same batch; others take
nothing more. Once every affected unit is idle and has come that far, the units are exchanged and the rest
never noticed. What waits in queues that stay, stays.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from penstock.control.dividing import Share
from penstock.control.events import Recalled
from penstock.control.merging import blocked_at
from penstock.control.queues import Queue, Reader
from penstock.control.thread_plans import ThreadPlan
from penstock.control.units import UnitState
from penstock.model.estimates import Estimates
from penstock.model.graph import Graph, Port
from penstock.model.unit import Unit
from penstock.policies.layout import Layout
from penstock.policies.policy import Policy

TO_THE_END = 1 << 62
#: Where the new readers of a queue begin: at which batch, and behind how many rows of it.
Begins: TypeAlias = dict[Port, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Change:
    """Where to go: all that a division of the graph depends on, and which queries come or go with it."""

    graph: Graph
    policy: Policy
    threads: ThreadPlan
    estimates: Estimates
    starting: tuple[str, ...] = ()
    ending: str | None = None
    settling: str | None = None
    on_behalf_of: str = ""  # who has asked for that
    beside: str | None = None  # a query that is to stand where the starting or ending ones stand
    drain: bool = False
    as_it_stands: bool = False  # what settles need not read on
    recalled: tuple[Recalled, ...] = ()  # where those that start begin, if they look back


@dataclass(slots=True)
class Switch:
    """A change under way."""

    change: Change
    shares: tuple[Share, ...]
    layout: Layout
    discard: bool = False  # what an ending query left in its queues; it is suspended and cannot empty them
    affected: list[UnitState] = field(default_factory=list)
    #: Where the starting queries' new readers of a stream begin, if they share operators that read it
    #: already: all leaves of a query on one stream stand at one position. A twin also begins in the middle.
    begins: Begins = field(default_factory=dict)

    def ready(self) -> bool:
        """Whether every affected unit is idle and has read as far as it must."""
        return all(_settled(unit) for unit in self.affected)

    def stuck(self) -> bool:
        """Whether some unit has yet to read and is held."""
        return any(unit.held and not unit.step and not _settled(unit) for unit in self.affected)

    def read_on(self) -> None:
        """Lets more be read where an operator that takes its inputs in time order waits for older rows.

        It cannot be emptied otherwise: a row that is held back, or came meanwhile, may be older than what
        waits there. Readers with the same limit get the same again.
        """
        waiting = [blocked_at(unit.readers) for unit in self.affected if unit.ordered and not unit.step]
        instant = max((time_s for time_s in waiting if time_s is not None), default=None)
        if instant is None:
            return
        recalled = {Port(one.stream) for one in self.change.recalled}  # those begin where they are to
        for reader in (reader for unit in self.affected for reader in unit.readers):
            queue, port = reader.queue, reader.queue.port
            if reader.limit is not None:
                reader.limit = _older(queue, reader.limit, instant)
                reader.unit.partition.note(reader.unit)
            if port in self.begins and port not in recalled:
                number, rows = self.begins[port]
                further = _older(queue, number, instant)
                self.begins[port] = (further, 0 if further > number else rows)


def _older(queue: Queue, number: int, time_s: float) -> int:
    """The batch from that number on before which all are older."""
    while number < queue.tail and queue.batch(number).time_s < time_s:
        number += 1
    return number


def _settled(unit: UnitState) -> bool:
    return not unit.step and all(reader.cursor >= reader.end for reader in unit.readers)


def begin(switch: Switch, old: Graph, units: Iterable[UnitState]) -> None:
    """Finds the affected units and sets their readers' limits."""
    units = list(units)
    change, layout = switch.change, switch.layout
    staying = set(layout.places)
    vanishing = [unit for unit in units if unit.place not in staying]
    doomed = _vanishing_queues(units, layout, change.graph)
    region = _region(switch, old)
    settling = {*old.members[change.settling]} if change.settling is not None else set()
    concerned = region | settling
    affected = {unit.index: unit for unit in vanishing}
    for unit in units:
        if doomed & set(unit.place.exits) or not concerned.isdisjoint(unit.place.unit.operators):
            affected[unit.index] = unit
    levels = _levels(switch, units, region, old)
    switch.begins.update((Port(one.stream), (one.first, one.rows)) for one in change.recalled)
    for unit in affected.values():
        for reader in unit.readers:
            inside = not _enters(reader, region, old) and any(e.reader in region for e in reader.edges)
            if inside or _loses_queue(reader, layout, change.graph):
                reader.limit = TO_THE_END
            else:
                reader.limit = reader.cursor if unit.held else reader.batch_end  # should its step fail
    for reader, position in levels.items():
        reader.limit = position
        affected[reader.unit.index] = reader.unit
    switch.affected = [affected[index] for index in sorted(affected)]


def _vanishing_queues(units: Iterable[UnitState], layout: Layout, graph: Graph) -> set[Port]:
    """Queues with a reader that will get its rows directly; a reader that goes away needs no rows."""
    return {r.queue.port for unit in units for r in unit.readers if _loses_queue(r, layout, graph)}


def _loses_queue(reader: Reader, layout: Layout, graph: Graph) -> bool:
    return any(
        edge.reader in graph.nodes and edge not in layout.readers.get(edge.port, ()) for edge in reader.edges
    )


def _enters(reader: Reader, region: set[str], old: Graph) -> bool:
    """Whether a reader gets rows from outside a part of the graph."""
    node = reader.queue.port.node
    return old.is_source(node) or node not in region


def is_twin(graph: Graph, one: str, other: str) -> bool:
    """Whether two queries read the same, and differ in how they go on from there by names alone.

    They have at least the last operator each for itself.
    """
    if len(graph.members[one]) != len(graph.members[other]):
        return False
    names = dict(zip(graph.members[one], graph.members[other], strict=True))
    if graph.nodes[graph.members[one][-1]].inputs == graph.nodes[graph.members[other][-1]].inputs:
        return False
    return all(
        graph.nodes[b].inputs == tuple(port._replace(node=names[port.node]) for port in graph.nodes[a].inputs)
        for a, b in names.items()
        if a != b
    )


def _region(switch: Switch, old: Graph) -> set[str]:
    """The running operators whose rows a starting or draining query will have or has had a part in.

    They are emptied first, so that the query begins or ends at one offset of each stream. A twin needs no
    more than that what it does not share with the other comes to a stand.
    """
    change = switch.change
    if change.beside is not None and change.ending is None and len(change.starting) == 1:
        (twin,) = change.starting
        if is_twin(change.graph, change.beside, twin):
            return {*old.members[change.beside]} - {*change.graph.members[twin]}
    settling = None if change.as_it_stands else change.settling
    emptied = [change.beside, settling, None if switch.discard else change.ending]
    region = {name for query in emptied if query is not None for name in old.members[query]}
    shared = [
        name
        for query in change.starting
        for name in change.graph.members[query]
        if name in old.nodes and not old.is_source(name)
    ]
    while shared:
        name = shared.pop()
        if name not in region:
            region.add(name)
            shared.extend(p.node for p in old.nodes[name].inputs if not old.is_source(p.node))
    return region


def _held_at_one_row(readers: Iterable[Reader]) -> bool:
    """Whether readers cannot read on, and need not, since all stand at the same row."""
    places = {(reader.cursor, reader.cursor_rows) for reader in readers}
    return len(places) == 1 and all(reader.unit.held and not reader.unit.step for reader in readers)


def _levels(switch: Switch, units: Iterable[UnitState], region: set[str], old: Graph) -> dict[Reader, int]:
    """Readers that must come to stand at the same batch of their queue, and at which.

    Those are the readers of one port from which rows enter the region, and readers that will share a cursor.
    They read the batch to its end that one of them is in, unless all stand at the same row and are held.
    """
    sharing = {edge: place.unit for place in switch.layout.places for edge in place.entries}
    together: dict[tuple[Port, Unit | None], dict[Reader, None]] = {}
    for unit in units:
        for reader in unit.readers:
            port = reader.queue.port
            if _enters(reader, region, old) and not region.isdisjoint(e.reader for e in reader.edges):
                together.setdefault((port, None), {})[reader] = None
            for edge in reader.edges:
                if edge in sharing:
                    together.setdefault((port, sharing[edge]), {})[reader] = None
    levels: dict[Reader, int] = {}
    for (port, new_unit), readers in together.items():
        position = max(reader.batch_end for reader in readers)
        if new_unit is None:
            rows = 0
            if switch.change.drain:
                position = max(reader.queue.tail for reader in readers)
            elif _held_at_one_row(readers):
                position, rows = next((reader.cursor, reader.cursor_rows) for reader in readers)
            switch.begins[port] = (position, rows)
        elif len(readers) == 1:
            continue
        for reader in readers:
            levels[reader] = max(position, levels.get(reader, 0))
    return levels
