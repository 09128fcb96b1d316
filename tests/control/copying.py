"""An engine that copies rows, keeps what differs after every event, and loses everything else in a crash.

A row is its offset in a stream; an operator passes it or drops it, by its name and the row alone, so what
every sink must get can be said without running anything. Which event comes next is up to chance.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from penstock.control.commands import AskTimestamp, Command, QueryEnded, QueryStarted, Recut, RunStep
from penstock.control.events import (
    BatchArrived,
    Event,
    Output,
    PolicyChanged,
    QueriesSubmitted,
    QueryStopped,
    Restored,
    StepFailed,
    StepFinished,
    StreamEnded,
    ThreadsChanged,
    TimestampAdvanced,
)
from penstock.control.invariants import check_invariants
from penstock.control.machine import Control
from penstock.control.standing import Cursor, QueueContents, Standing
from penstock.control.thread_plans import ThreadPlan
from penstock.model.batch import Batch
from penstock.model.estimates import Estimates
from penstock.model.graph import Graph, Port

NOTHING = float("-inf")


@dataclass
class Kept:
    """What is on disk: written after every event, by what the event concerns, as `control.standing` says."""

    units: dict[int, tuple[str, ...]] = field(default_factory=dict)
    batches: dict[Port, dict[int, Batch]] = field(default_factory=dict)
    freed: dict[Port, int] = field(default_factory=dict)
    cursors: dict[Port, dict[int, tuple[int, int]]] = field(default_factory=dict)
    streams: dict[str, tuple[int, float, bool]] = field(default_factory=dict)

    def write(self, control: Control, event: Event, commands: list[Command], unit: int | None) -> None:
        """Keeps what differs after an event."""
        recut = next((c for c in reversed(commands) if isinstance(c, Recut)), None)
        if isinstance(event, BatchArrived | StreamEnded | TimestampAdvanced):
            queue = control.stream_queue(event.stream)
            self.streams[event.stream] = (queue.offset, queue.register_s, queue.ended)
            self.freed.setdefault(queue.port, 0)
        if recut is not None:
            self._write_all(dict(recut.units), control.standing())
        elif isinstance(event, BatchArrived):
            self._append(control, Port(event.stream), [event.batch])
        elif isinstance(event, StepFinished):
            assert unit is not None
            for reader in control.units[unit].readers:
                self.cursors[reader.queue.port][unit] = (reader.cursor, reader.cursor_rows)
                self._free(reader.queue.port, reader.queue.freed)
            for port in {output.port for output in event.outputs}:
                self._append(control, port, [o.batch for o in event.outputs if o.port == port])

    def _append(self, control: Control, port: Port, batches: list[Batch]) -> None:
        queue = control.queues.get(port) or control.stream_queue(port.node)
        numbers = range(queue.tail - len(batches), queue.tail)
        self.batches.setdefault(port, {}).update(zip(numbers, batches, strict=True))
        self._free(port, queue.freed)

    def _free(self, port: Port, freed: int) -> None:
        for number in range(self.freed.get(port, 0), freed):
            self.batches[port].pop(number, None)
        self.freed[port] = freed

    def _write_all(self, units: dict[int, tuple[str, ...]], standing: Standing) -> None:
        self.units = units
        assert tuple(units.values()) == standing.units
        numbers = list(units)
        self.batches, self.freed, self.cursors = {}, {}, {}
        for queue in standing.queues:
            self.batches[queue.port] = dict(enumerate(queue.batches, start=queue.first))
            self.freed[queue.port] = queue.first
            self.cursors[queue.port] = {
                numbers[c.unit]: (queue.first + c.read, c.rows) for c in queue.cursors
            }

    def queues(self) -> tuple[QueueContents, ...]:
        """The queues as read back."""
        position = {number: place for place, number in enumerate(self.units)}
        found = []
        for port, first in self.freed.items():
            batches = self.batches.get(port, {})
            assert sorted(batches) == list(range(first, first + len(batches)))
            cursors = self.cursors.get(port, {}).items()
            offset, register_s, ended = self.streams.get(port.node, (0, NOTHING, False))
            found.append(
                QueueContents(
                    port,
                    tuple(batches[number] for number in sorted(batches)),
                    offset,
                    register_s,
                    ended,
                    tuple(Cursor(position[unit], read - first, rows) for unit, (read, rows) in cursors),
                    first,
                )
            )
        return tuple(found)


@dataclass
class Copying:
    """One run: arrivals by stream, changes in the order they are asked for, so many crashes."""

    policy: str
    threads: ThreadPlan
    estimates: Estimates
    arrivals: dict[str, list[Batch]]
    script: list[Event]
    crashes: int
    most_rows: int | None
    drops: int  # one row in so many is dropped at each operator, 0 for none
    seed: int

    def __post_init__(self) -> None:
        self.chance = Random(self.seed)
        self.control = self._new_control()
        self.kept = Kept()
        self.now_s = 0.0
        self.rows = {leaf: sum(batch.rows for batch in batches) for leaf, batches in self.arrivals.items()}
        self.times = {
            (batch.leaf, offset): batch.time_s + (offset - batch.lo) * 0.25
            for batches in self.arrivals.values()
            for batch in batches
            for offset in range(batch.lo, batch.hi)
        }
        self.running: dict[int, RunStep] = {}
        self.asked: list[str] = []
        self.unanswered: list[QueriesSubmitted | QueryStopped] = []
        self.delivered: dict[str, Counter[tuple[str, int]]] = {}
        self.graphs: dict[str, Graph] = {}
        self.starts: dict[str, dict[str, int]] = {}
        self.ends: dict[str, dict[str, int]] = {}

    def _new_control(self) -> Control:
        return Control(self.policy, threads=self.threads, estimates=self.estimates, most_rows=self.most_rows)

    def run(self) -> None:
        """Runs until nothing is left to do."""
        left = {leaf: list(batches) for leaf, batches in self.arrivals.items()}
        script = list(self.script)
        self._ask(script.pop(0))
        while True:
            actions = [*left, *self.running, *(["asked"] * len(self.asked))]
            actions += ["script"] * bool(script) + ["crash"] * bool(self.crashes)
            if not actions:
                return
            self.now_s += 0.5
            action = self.chance.choice(actions)
            if action == "crash":
                self.crashes -= 1
                self._crash()
            elif action == "script":
                self._ask(script.pop(0))
            elif action == "asked":
                stream = self.asked.pop(0)
                if stream in left:
                    coming = left[stream][0].time_s if left[stream] else float("inf")
                    self._handle(TimestampAdvanced(self.now_s, stream, coming))
            elif isinstance(action, int):
                self._end_step(action)
            elif left[action]:
                self._handle(BatchArrived(self.now_s, action, left[action].pop(0)))
            else:
                del left[action]
                self._handle(StreamEnded(self.now_s, action))

    def _ask(self, change: Event) -> None:
        if isinstance(change, PolicyChanged):
            self.policy = change.policy
        elif isinstance(change, ThreadsChanged):
            self.threads = change.threads
        elif isinstance(change, QueriesSubmitted | QueryStopped):
            self.unanswered.append(change)
        self._handle(_at(change, self.now_s))

    def _handle(self, event: Event, unit: int | None = None) -> None:
        commands = self.control.handle(event)
        check_invariants(self.control)
        self.kept.write(self.control, event, commands, unit)
        for command in commands:
            match command:
                case RunStep():
                    self._check_train(command)
                    self.running[command.step] = command
                case AskTimestamp(stream):
                    self.asked.append(stream)
                case QueryStarted(query, starts):
                    self.starts[query] = dict(starts)
                    self.graphs[query] = self.control.graph
                    self.unanswered = [c for c in self.unanswered if not _submits(c, query)]
                case QueryEnded(query, ends):
                    self.ends[query] = dict(ends)
                    self.unanswered = [c for c in self.unanswered if not _stops(c, query)]

    def _check_train(self, step: RunStep) -> None:
        sizes = [batch.rows for take in step.takes for batch in take.batches]
        assert sizes
        if self.most_rows is not None:
            assert sum(sizes) <= self.most_rows

    # --- steps ---

    def _end_step(self, number: int) -> None:
        step = self.running.pop(number)
        unit = self.control.units[step.unit]
        if not unit.failures and self.chance.random() < 0.1:
            self._handle(StepFailed(self.now_s, number, "bad luck"))
            return
        outputs: list[Output] = []
        for take in step.takes:
            for batch in take.batches:
                outputs += self._flow(step.unit, [edge.reader for edge in take.edges], batch)
        self._handle(StepFinished(self.now_s, number, 0.5, tuple(outputs)), step.unit)

    def _flow(self, unit: int, readers: Sequence[str], batch: Batch) -> list[Output]:
        place, graph = self.control.units[unit].place, self.control.graph
        arriving: dict[str, Counter[int]] = {name: Counter() for name in place.unit.operators}
        for name in readers:
            arriving[name].update(_rows(batch))
        outputs = []
        for name in place.unit.operators:
            rows = Counter({o: n for o, n in arriving[name].items() if self._passes(name, batch.leaf, o)})
            for edge in graph.edges[name]:
                if edge in place.direct:
                    arriving[edge.reader].update(rows)
            for sink in graph.sinks[name]:
                got = self.delivered.setdefault(sink.reader, Counter())
                got.update({(batch.leaf, offset): count for offset, count in rows.items()})
            for port in place.exits:
                if port.node == name and (rows or batch.lo % 2):
                    outputs.append(Output(port, self._batch(batch, rows)))
        return outputs

    def _batch(self, batch: Batch, rows: Counter[int]) -> Batch:
        time_s = min((self.times[batch.leaf, offset] for offset in rows), default=batch.until_s)
        count = rows.total()
        return Batch(
            count, 8.0 * count, batch.arrived_s, time_s, batch.until_s, batch.leaf, batch.lo, batch.hi, rows
        )

    def _passes(self, name: str, leaf: str, offset: int) -> bool:
        return not self.drops or zlib.crc32(f"{name}/{leaf}/{offset}".encode()) % self.drops > 0

    # --- crashes ---

    def _crash(self) -> None:
        """A new control goes on from what was kept; what was asked for and not answered is asked again."""
        stood = self.control.standing()
        queues = self.kept.queues()
        assert _comparable(self.control.graph, queues) == _comparable(self.control.graph, stood.queues)
        if self.chance.random() < 0.5:
            queues = stood.queues
        self.running, self.asked = {}, []
        self.control = self._new_control()
        self._handle(Restored(self.now_s, stood.queries, stood.units, queues, stood.suspended, stood.weights))
        again = self.control.standing()
        assert (again.units, again.queries, again.suspended) == (stood.units, stood.queries, stood.suspended)
        assert _comparable(self.control.graph, again.queues) == _comparable(self.control.graph, stood.queues)
        for change in self.unanswered:
            self._handle(_at(change, self.now_s))

    # --- what must come of it ---

    def expected(self, query: str) -> Counter[tuple[str, int]]:
        """The rows between a query's start and end, as often as there are ways for each to its sink."""
        graph, found = self.graphs[query], Counter[tuple[str, int]]()
        members = graph.members[query]
        for leaf in (name for name in members if graph.is_source(name)):
            end = self.ends.get(query, {}).get(leaf, self.rows[leaf])
            for offset in range(self.starts[query][leaf], end):
                count = {name: 0 for name in members if graph.is_source(name)} | {leaf: 1}
                for name in members:
                    if name not in count:
                        ways = sum(count[port.node] for port in graph.nodes[name].inputs)
                        passes = name == members[-1] or self._passes(name, leaf, offset)
                        count[name] = ways if passes else 0
                if count[members[-1]]:
                    found[leaf, offset] = count[members[-1]]
        return found

    def got(self, query: str) -> Counter[tuple[str, int]]:
        """What a query's sink got."""
        return self.delivered.get(self.graphs[query].members[query][-1], Counter())


def _rows(batch: Batch) -> list[int]:
    """The offsets of the rows of a batch, or of a part of one."""
    whole = sorted(Counter(batch.ref).elements())
    return whole[batch.first_row : batch.first_row + batch.rows]


def _at(event: Event, at_s: float) -> Event:
    fields = {name: getattr(event, name) for name in event.__struct_fields__}
    return type(event)(**(fields | {"at_s": at_s}))


def _submits(change: Event, query: str) -> bool:
    return isinstance(change, QueriesSubmitted) and query in [q.name for q in change.queries]


def _stops(change: Event, query: str) -> bool:
    return isinstance(change, QueryStopped) and change.query == query


def _comparable(graph: Graph, queues: Sequence[QueueContents]) -> dict[Port, tuple[object, ...]]:
    """Contents by port, without what follows from the rest."""
    shown: dict[Port, tuple[object, ...]] = {}
    for queue in queues:
        stream = queue.port.node not in graph.nodes or graph.is_source(queue.port.node)
        own = (queue.offset, queue.register_s, queue.ended) if stream else ()
        cursors = sorted((cursor.unit, cursor.read, cursor.rows) for cursor in queue.cursors)
        shown[queue.port] = (queue.batches, cursors, queue.first, *own)
    return shown
