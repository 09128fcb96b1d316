"""Checkpoints: all that control knows at a moment, so that another one goes on exactly as it would have.

`Standing` is what must survive a crash; what is lost with it (whose turn it is, which steps run, alarms, what
was ready and in which order) does no harm then. A log that begins in the middle of a run needs all of it: a
replay has to make the very same decisions. So a checkpoint holds it too, as plain values.

Changes that wait for a switch are functions of a graph to come, which no value can stand for: while there
are any, `take` gives nothing, and whoever wants a checkpoint asks again after the next event.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from penstock.control.commands import Take
from penstock.control.events import MembersChanged
from penstock.control.lifecycle import State
from penstock.control.partitions import Partition
from penstock.control.queues import Queue, Reader
from penstock.control.thread_plans import ThreadPlan
from penstock.control.threads import ThreadScheduler
from penstock.control.units import UnitState
from penstock.model.batch import Batch
from penstock.model.estimates import Estimate, Estimates
from penstock.model.graph import Edge, Port
from penstock.model.unit import Unit
from penstock.policies.apart import MemberFacts
from penstock.policies.layout import UnitPlace

if TYPE_CHECKING:
    from penstock.control.machine import Control


class ReaderPoint(msgspec.Struct, frozen=True):
    """A reader: up to where it has read and claimed."""

    cursor: int
    cursor_rows: int
    claimed: int
    claimed_rows: int
    rows_read: int


class QueuePoint(msgspec.Struct, frozen=True):
    """A queue; readers are (unit, number among its readers)."""

    port: Port
    first: int
    batches: tuple[Batch, ...]
    places: tuple[int, ...]
    rows_in: int
    offset: int
    bytes: float
    last_readers: int
    ended: bool
    register_s: float
    logged: bool
    readers: tuple[tuple[int, int], ...]


class UnitPoint(msgspec.Struct, frozen=True):
    """A unit at its place, and what it does."""

    index: int
    operators: tuple[str, ...]
    entries: tuple[Edge, ...]
    exits: tuple[Port, ...]
    direct: tuple[Edge, ...]
    sinks: tuple[Edge, ...]
    ordered: bool
    conflicts: tuple[int, ...]
    seat: int
    order: int
    state: int
    entry: tuple[float, float, int, int] | None
    held: bool
    finishing: bool
    broken: bool
    step: int
    failures: int
    spare_s: float | None
    debt_s: float
    pending: int
    oldest_s: float
    wanted_s: float
    readers: tuple[ReaderPoint, ...]


class PartitionPoint(msgspec.Struct, frozen=True):
    """A partition; units by number, in its order."""

    policy: str
    priority: float
    threads: int
    worker: int | None
    name: str
    units: tuple[int, ...]
    inbox: tuple[int, ...]
    rerank: bool
    running: int
    turn: int
    size: int
    pass_s: float
    queued: bool
    serial: int


class StepPoint(msgspec.Struct, frozen=True):
    """A step that runs."""

    step: int
    unit: int
    worker: int
    takes: tuple[Take, ...]


class AlarmPoint(msgspec.Struct, frozen=True):
    """An alarm of a unit or a query; one that does not count any more is not `valid`."""

    at_s: float
    serial: int
    unit: int | None
    query: str | None
    valid: bool


class Checkpoint(msgspec.Struct, frozen=True):
    """Everything. Units are named by their numbers, partitions by their places."""

    at_s: float
    places: int
    graph: Any  # a `Graph`, whose many kinds of operators msgspec cannot tell apart
    policy: str
    threads: ThreadPlan
    threads_asked: ThreadPlan
    estimates: Estimates
    known: Mapping[str, Estimate]
    recut_s: float
    scheduled: tuple[Any, ...]  # of `Query`, which has them, too
    suspended: tuple[str, ...]
    weights: Mapping[str, float]
    subscribers: Mapping[str, int]
    latencies: Mapping[str, tuple[float | None, bool]]
    member_facts: Mapping[str, tuple[MemberFacts, ...]]
    apart_facts: Mapping[str, tuple[MemberFacts, ...]]
    apart_steps: Mapping[str, int]
    apart_step_s: Mapping[str, float]
    alarms: tuple[AlarmPoint, ...]
    alarm_serial: int
    alarm_next_s: float
    queues: tuple[QueuePoint, ...]  # those that are read, in order
    unread: tuple[QueuePoint, ...]  # streams that nobody reads
    streams: tuple[str, ...]  # the order of all streams
    feeding: tuple[tuple[Port, tuple[tuple[tuple[int, int], ...], ...]], ...]
    unit_serial: int
    units: tuple[UnitPoint, ...]
    partitions: tuple[PartitionPoint, ...]
    stirred: tuple[int, ...]
    idle: tuple[int, ...]
    running: tuple[StepPoint, ...]
    parked: tuple[tuple[int, tuple[int, ...]], ...]
    patient: tuple[int, ...]
    long: tuple[int, ...]
    kept_short: tuple[int, ...]
    kept_out: tuple[tuple[int, tuple[int, ...]], ...]
    waiting: tuple[int, ...]
    asked: Mapping[str, float]
    steps: int
    line: tuple[tuple[float, int], ...]
    line_now: float


# --- taking one ---


def take(control: Control) -> Checkpoint | None:
    """All that control knows now; None while changes wait to be made."""
    changes, board, dispatch = control._changes, control._board, control._dispatch
    if changes.switch is not None or changes.waiting or changes._set_aside:
        return None
    alarms, apart = control._alarms, control._running_apart
    read = {id(queue) for queue in board.queues.values()}
    partitions = board.partitions
    return Checkpoint(
        at_s=control.now_s,
        places=control._places,
        graph=board.graph,
        policy=board.policy.text,
        threads=board.threads,
        threads_asked=changes.threads_asked,
        estimates=board.estimates,
        known=changes._known,
        recut_s=changes._recut_s,
        scheduled=tuple(changes._scheduled.values()),
        suspended=tuple(sorted(board.suspended)),
        weights=dict(board.weights),
        subscribers=dict(board.subscribers),
        latencies=dict(board.latencies),
        member_facts=dict(board.member_weights._members),
        apart_facts=dict(apart._members),
        apart_steps=dict(apart._steps),
        apart_step_s=dict(apart._step_s),
        alarms=tuple(
            AlarmPoint(
                at_s,
                serial,
                key if isinstance(key, int) else None,
                key if isinstance(key, str) else None,
                alarms._at.get(key) == at_s,
            )
            for at_s, serial, key in alarms._heap
        ),
        alarm_serial=alarms._serial,
        alarm_next_s=alarms.next_s,
        queues=tuple(map(_queue_point, board.queues.values())),
        unread=tuple(_queue_point(queue) for queue in board.streams.values() if id(queue) not in read),
        streams=tuple(board.streams),
        feeding=tuple(
            (port, tuple(_reader_names(readers) for readers in feeders))
            for port, feeders in board.feeding.items()
        ),
        unit_serial=board._serial,
        units=tuple(map(_unit_point, board.units.values())),
        partitions=tuple(map(_partition_point, partitions)),
        stirred=tuple(one.number for one in partitions[0].stirred) if partitions else (),
        idle=tuple(dispatch.idle),
        running=tuple(
            StepPoint(step, unit.index, worker, takes)
            for step, (unit, worker, takes) in dispatch.running.items()
        ),
        parked=tuple((index, _indices(those)) for index, those in dispatch._parked.items()),
        patient=tuple(sorted(dispatch.patient)),
        long=tuple(sorted(dispatch._long)),
        kept_short=tuple(dispatch._kept_short),
        kept_out=tuple(
            (worker, tuple(one.number for one in those)) for worker, those in dispatch._kept_out.items()
        ),
        waiting=tuple(dispatch._waiting),
        asked=dict(dispatch._asked),
        steps=dispatch._steps,
        line=tuple((pass_s, number) for pass_s, number, _ in dispatch._threads._line),
        line_now=dispatch._threads._now,
    )


def _indices(units: Iterable[UnitState]) -> tuple[int, ...]:
    return tuple(unit.index for unit in units)


def _reader_names(readers: Iterable[Reader]) -> tuple[tuple[int, int], ...]:
    return tuple((reader.unit.index, reader.number) for reader in readers)


def _queue_point(queue: Queue) -> QueuePoint:
    return QueuePoint(
        queue.port,
        queue.freed,
        tuple(queue.slice(queue.freed, queue.tail)),
        tuple(queue.place(number) for number in range(queue.freed, queue.tail)),
        queue.rows_in,
        queue.offset,
        queue.bytes,
        queue.last_readers,
        queue.ended,
        queue.register_s,
        queue.logged,
        _reader_names(queue.readers),
    )


def _unit_point(unit: UnitState) -> UnitPoint:
    place = unit.place
    return UnitPoint(
        unit.index,
        place.unit.operators,
        place.entries,
        place.exits,
        tuple(sorted(place.direct)),
        place.sinks,
        unit.ordered,
        _indices(unit.conflicts),
        unit.seat,
        unit.order,
        int(unit.state),
        unit.entry[:4] if unit.entry is not None else None,
        unit.held,
        unit.finishing,
        unit.broken,
        unit.step,
        unit.failures,
        unit.spare_s,
        unit.debt_s,
        unit.pending,
        unit.oldest_s,
        unit.wanted_s,
        tuple(
            ReaderPoint(r.cursor, r.cursor_rows, r.claimed, r.claimed_rows, r.rows_read) for r in unit.readers
        ),
    )


def _partition_point(one: Partition) -> PartitionPoint:
    return PartitionPoint(
        one.policy.text,
        one.priority,
        one.threads,
        one.worker,
        one.name,
        _indices(one.units),
        _indices(one.inbox),
        one.rerank,
        one.running,
        one.turn,
        one.size,
        one.pass_s,
        one.queued,
        one.ready.serial,
    )


# --- putting it back ---


def put_back(control: Control, point: Checkpoint) -> None:
    """Makes a new control what the other one was."""
    changes, board, dispatch = control._changes, control._board, control._dispatch
    alarms, apart = control._alarms, control._running_apart
    control.now_s, control._places = point.at_s, point.places
    board.graph = point.graph
    board.policy, board.threads = changes.parse(point.policy), point.threads
    board.estimates = point.estimates
    changes.threads_asked, changes._planned = point.threads_asked, board.graph
    changes._known, changes._recut_s = point.known, point.recut_s
    changes._scheduled = {query.name: query for query in point.scheduled}
    board.suspended = set(point.suspended)
    board.weights, board.subscribers = dict(point.weights), dict(point.subscribers)
    board.latencies = dict(point.latencies)
    for base, facts in point.member_facts.items():
        board.member_weights.told(base, facts)
    for base, facts in point.apart_facts.items():
        apart.told(MembersChanged(point.at_s, base, facts))
    apart._steps, apart._step_s = dict(point.apart_steps), dict(point.apart_step_s)
    for one in point.alarms:
        key = one.unit if one.unit is not None else one.query or ""
        alarms._heap.append((one.at_s, one.serial, key))
        if one.valid:
            alarms._at[key] = one.at_s
    alarms._serial, alarms.next_s = point.alarm_serial, point.alarm_next_s
    _put_board(control, point)
    units, partitions = board.units, board.partitions
    dispatch.idle = list(point.idle)
    dispatch.running = {one.step: (units[one.unit], one.worker, one.takes) for one in point.running}
    dispatch._parked = {index: [units[other] for other in those] for index, those in point.parked}
    dispatch.patient, dispatch._long = set(point.patient), set(point.long)
    dispatch._kept_short = {index: units[index] for index in point.kept_short}
    dispatch._kept_out = {worker: [partitions[n] for n in those] for worker, those in point.kept_out}
    dispatch._waiting = {index: units[index] for index in point.waiting}
    dispatch._asked, dispatch._steps = dict(point.asked), point.steps
    dispatch._threads = ThreadScheduler()
    dispatch._threads._line = [(pass_s, number, partitions[number]) for pass_s, number in point.line]
    dispatch._threads._now = point.line_now


def _put_board(control: Control, point: Checkpoint) -> None:
    board, parse = control._board, control._changes.parse
    board.queues = {one.port: _new_queue(one) for one in point.queues}
    unread = {one.port: _new_queue(one) for one in point.unread}
    board.streams = {name: board.queues.get(Port(name)) or unread[Port(name)] for name in point.streams}
    units = board.units = {one.index: _new_unit(control, one) for one in point.units}
    board._serial = point.unit_serial
    stirred: list[Partition] = []
    for number, one in enumerate(point.partitions):
        partition = Partition(
            number,
            parse(one.policy),
            one.priority,
            one.threads,
            one.worker,
            stirred,
            board.most_rows,
            board.most_bytes,
            one.name,
        )
        partition.units = [units[index] for index in one.units]
        for unit in partition.units:
            unit.partition = partition
        board.partitions.append(partition)
    readers = {(unit.index, reader.number): reader for unit in units.values() for reader in unit.readers}
    for queue_point, queue in zip(point.queues, board.queues.values(), strict=True):
        queue.readers = [readers[name] for name in queue_point.readers]
    board.feeding = {
        port: [tuple(readers[name] for name in names) for names in feeders] for port, feeders in point.feeding
    }
    for unit_point in point.units:
        units[unit_point.index].conflicts = tuple(units[index] for index in unit_point.conflicts)
    board.refresh_costs()
    board.refresh_holds()
    for unit_point in point.units:  # those have noted everything, and looked at what is held anew
        unit = units[unit_point.index]
        unit.in_inbox, unit.held, unit.finishing = False, unit_point.held, unit_point.finishing
    for one, partition in zip(point.partitions, board.partitions, strict=True):
        partition.inbox = [units[index] for index in one.inbox]
        for unit in partition.inbox:
            unit.in_inbox = True
        partition.rerank, partition.running, partition.turn = one.rerank, one.running, one.turn
        partition.size, partition.pass_s, partition.queued = one.size, one.pass_s, one.queued
        entries = {n.index: n.entry for n in point.units if n.entry is not None and n.index in one.units}
        partition.ready.fill([(*entry, units[index]) for index, entry in entries.items()], one.serial)
    stirred[:] = [board.partitions[number] for number in point.stirred]


def _new_queue(one: QueuePoint) -> Queue:
    queue = Queue(one.port, one.first, logged=one.logged)
    for batch, place in zip(one.batches, one.places, strict=True):
        queue.push(batch, place)
    queue.rows_in, queue.offset, queue.bytes = one.rows_in, one.offset, one.bytes
    queue.last_readers, queue.ended, queue.register_s = one.last_readers, one.ended, one.register_s
    return queue


def _new_unit(control: Control, one: UnitPoint) -> UnitState:
    board = control._board
    place = UnitPlace(Unit(one.operators), one.entries, one.exits, frozenset(one.direct), one.sinks)
    unit = UnitState(one.index, place, ordered=one.ordered, oracle=board.oracle)
    ports = dict.fromkeys(edge.port for edge in place.entries)
    unit.readers = tuple(
        Reader(number, board.queues[port], tuple(e for e in place.entries if e.port == port), unit)
        for number, port in enumerate(ports)
    )
    for reader, stood in zip(unit.readers, one.readers, strict=True):
        reader.cursor, reader.cursor_rows = stood.cursor, stood.cursor_rows
        reader.claimed, reader.claimed_rows = stood.claimed, stood.claimed_rows
        reader.rows_read = stood.rows_read
    unit.sole = unit.readers[0] if len(unit.readers) == 1 and not one.ordered else None
    unit.may_be_large = board.may_be_large(place)
    unit.seat, unit.order, unit.state = one.seat, one.order, State(one.state)
    unit.broken, unit.step, unit.failures = one.broken, one.step, one.failures
    unit.spare_s, unit.debt_s, unit.pending = one.spare_s, one.debt_s, one.pending
    unit.oldest_s, unit.wanted_s = one.oldest_s, one.wanted_s
    return unit
