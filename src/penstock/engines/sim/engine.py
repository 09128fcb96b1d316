"""The engine: a clock that jumps from event to event.

    result = Simulation(queries, workload, "fas-mcq").run()

What happens at the same instant happens in a fixed order: arrivals by stream, then steps by number.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import heappop, heappush

import numpy as np

from penstock.control.commands import AskTimestamp, Command, Commit, Recut, RunStep, WakeAt
from penstock.control.events import (
    BatchArrived,
    Event,
    Output,
    QueriesSubmitted,
    StepFinished,
    StreamEnded,
    Ticked,
    TimestampAdvanced,
)
from penstock.control.machine import Control
from penstock.control.thread_plans import ThreadPlan
from penstock.control.units import UnitState
from penstock.engines.sim.handing_over import HandedOver
from penstock.engines.sim.results import Results
from penstock.engines.sim.tables import Exit, Tables, UnitTable
from penstock.engines.sim.workload import Workload
from penstock.model.batch import Batch
from penstock.model.estimates import Estimates
from penstock.model.graph import Graph, Port
from penstock.model.query import Query
from penstock.plan.sharing import merge
from penstock.policies.ranks.base import TrueRow

#: Called with each event and the commands it led to; None switches the log off.
Recorder = Callable[[Event, list[Command]], None]


class Simulation:
    """One run. `script` holds further events by time: queries, policies, threads that come and go."""

    def __init__(
        self,
        queries: Sequence[Query],
        workload: Workload,
        policy: str,
        *,
        threads: ThreadPlan | None = None,
        estimates: Estimates | None = None,
        script: Iterable[Event] = (),
        recorder: Recorder | None = None,
        watch_memory: bool = False,
    ) -> None:
        self.workload = workload
        known = estimates or workload.estimates(merge(Graph(), queries))
        self.control = Control(policy, threads=threads, estimates=known, oracle=self._true_rows)
        self._queries = tuple(queries)
        self._script = sorted(script, key=lambda event: event.at_s)
        self._recorder = recorder
        self._tables = Tables(workload)
        self._units: dict[int, list[list[list[UnitTable]]]] = {}  # by reader, edge and lane
        self._fixed: dict[int, float] = {}  # seconds before a unit's first row
        handing_over, workers = workload.handing_over, (threads or ThreadPlan()).workers
        self._handed = None if handing_over is None else HandedOver(handing_over, self.control, workers)
        self._past: list[UnitTable] = []
        self._sizes: dict[str, float] = {}  # bytes per row of each stream that is read
        self._timers: list[tuple[float, int, Event]] = []
        self._serial = 0
        self._now = 0.0
        self._blocked: dict[str, Iterator[BatchArrived]] = {}
        self.results = Results(workload, watch_memory=watch_memory)

    def run(self, until_s: float = float("inf")) -> Results:
        """Runs until nothing is left to do, or until that time."""
        self._handle(QueriesSubmitted(0.0, self._queries))
        for scripted in self._script:
            self._at(scripted)
        arrivals = self._arrivals()
        coming = next(arrivals, None)
        timers = self._timers
        while True:
            if coming is not None and (not timers or coming.at_s <= timers[0][0]):
                event: Event = coming
                coming = next(arrivals, None)
            elif timers:
                event = heappop(timers)[2]
            else:
                break
            if event.at_s > until_s:
                break
            self._now = event.at_s
            self._handle(event)
        self.results.finish(self._now, self.control, self._all_tables())
        if self._handed is not None:
            self.results.switches = self._handed.switches
            self.results.synchronised = self._handed.synchronised
        return self.results

    def _handle(self, event: Event) -> None:
        commands = self.control.handle(event)
        if self._recorder is not None:
            self._recorder(event, commands)
        for command in commands:
            kind = type(command)
            if kind is RunStep:
                self._run_step(command)  # type: ignore[arg-type]
            elif kind is not Commit:
                self._obey(command)
        if self._blocked and type(event) is StepFinished:
            self._unblock()
        if self.results.watch_memory:
            self.results.note_memory(self._now, self.control.queued_bytes())

    def _obey(self, command: Command) -> None:
        match command:
            case WakeAt(at_s):
                self._at(Ticked(at_s))
            case Recut():
                self._recut()
            case AskTimestamp(stream):
                # Virtual streams are stamped on arrival, so what is yet to come is not older than now.
                self._at(TimestampAdvanced(self._now, stream, self._now))
            case _:
                pass

    def _at(self, event: Event) -> None:
        self._serial += 1
        heappush(self._timers, (event.at_s, self._serial, event))

    # --- arrivals ---

    def _arrivals(self) -> Iterator[Event]:
        """All streams' batches in order of time; a stream's end comes with its last batch."""
        streams = list(self.workload.arrivals)
        open_streams = [s for s in streams if not self.workload.arrivals[s].blocking]
        for stream in streams:
            if stream not in open_streams:
                self._blocked[stream] = self._batches_of(stream)
                self._at(next(self._blocked[stream]))
        sizes = [len(self.workload.arrivals[s].at_s) for s in open_streams]
        times = np.concatenate([self.workload.arrivals[s].at_s for s in open_streams] or [np.zeros(0)])
        owner = np.repeat(np.arange(len(open_streams)), sizes)
        batches = {number: self._batches_of(stream) for number, stream in enumerate(open_streams)}
        for stream, size in zip(open_streams, sizes, strict=True):
            if size == 0:
                yield StreamEnded(0.0, stream)
        left = dict(enumerate(sizes))
        for number in owner[np.argsort(times, kind="stable")].tolist():
            batch = next(batches[number])
            yield batch
            left[number] -= 1
            if not left[number]:
                yield StreamEnded(batch.at_s, batch.stream)

    def _batches_of(self, stream: str) -> Iterator[BatchArrived]:
        arrivals = self.workload.arrivals[stream]
        times, bounds = arrivals.times_s.tolist(), arrivals.starts.tolist()
        intake_s = self.workload.intake_s
        for number, at_s in enumerate(arrivals.at_s.tolist()):
            lo, hi = bounds[number], bounds[number + 1]
            rows, size = hi - lo, self._sizes.get(stream, 0.0)
            batch = Batch(rows, rows * size, at_s, times[lo], times[hi - 1], stream, lo, hi, (0, lo, hi))
            yield BatchArrived(at_s + intake_s, stream, batch)

    def _unblock(self) -> None:
        """A blocking source goes on once its last batch is through."""
        waiting = {event.stream for _, _, event in self._timers if isinstance(event, BatchArrived)}
        for stream, batches in list(self._blocked.items()):
            queue = self.control.stream_queue(stream)
            if stream not in waiting and queue.freed == queue.tail:
                due = next(batches, None)
                if due is None:
                    del self._blocked[stream]
                    self._at(StreamEnded(self._now, stream))
                    continue
                at_s = max(due.at_s, self._now)
                batch = due.batch
                self._at(BatchArrived(at_s, stream, _arriving_at(batch, at_s)))

    # --- steps ---

    def _recut(self) -> None:
        graph = self.control.graph
        self._tables.use(graph)
        self._sizes = {stream: self._tables.lanes(Port(stream))[0].row_bytes for stream in graph.sources}
        units = self.control.units
        for index in [index for index in self._units if index not in units]:
            self._past.extend(_flat(self._units.pop(index)))
        handed = self._handed
        if handed is not None:
            handed.use(units.values())
        for index, unit in units.items():
            if index not in self._units:
                self._fixed[index] = self.workload.fixed_of(unit.place.unit.operators)
                self._units[index] = [
                    [self._tables.unit_tables(unit.place, edge) for edge in reader.edges]
                    for reader in unit.readers
                ]
                if handed is not None:
                    self._units[index] = [
                        [[handed.table(unit, reader, table) for table in lanes] for lanes in edges]
                        for reader, edges in enumerate(self._units[index])
                    ]

    def _run_step(self, command: RunStep) -> None:
        entries = self._units[command.unit]
        start = self._now
        clock = start + self._fixed[command.unit]
        handed = self._handed
        if handed is not None:
            clock += handed.before(command, start)
        outputs: list[Output] = []
        for take in command.takes:
            for lane, lo, hi in _runs(take.batches):
                for lanes in entries[take.reader]:
                    table = lanes[lane]
                    base = clock - table.cost[lo]
                    clock = base + table.cost[hi]
                    table.steps.extend((lo, hi, base, command.step))
                    for exit_ in table.exits:
                        first, last = exit_.count[lo], exit_.count[hi]
                        if first < last:
                            outputs.append(Output(exit_.port, _batch(exit_, first, last)))
        if handed is not None:
            clock += handed.after(command, outputs)
            handed.ended(command, clock)
        self.results.step_ends.append(clock)
        self.results.busy_s += clock - start
        self._at(StepFinished(clock, command.step, clock - start, tuple(outputs)))

    def _true_rows(self, unit: UnitState) -> Iterator[TrueRow]:
        """Control's oracle: what each waiting row of a unit will cost and yield."""
        if unit.index not in self._units:  # control asks before it has told of a new cut
            self._recut()
        entries = self._units[unit.index]
        cost = unit.cost
        per_output = cost.out_bytes / max(cost.selectivity - cost.outputs, 1e-12)
        for reader in unit.readers:
            for batch in reader.unclaimed():
                lane, lo, hi = _rows(batch)
                tables = [lanes[lane] for lanes in entries[reader.number]]
                seconds = sum(table.cost[hi] - table.cost[lo] for table in tables)
                moved = sum(e.count[hi] - e.count[lo] for table in tables for e in table.exits)
                done = sum(e.count[hi] - e.count[lo] for table in tables for e in table.sinks)
                yield TrueRow(seconds, done, batch.bytes - moved * per_output)

    def _all_tables(self) -> Iterator[UnitTable]:
        yield from self._past
        for tables in self._units.values():
            yield from _flat(tables)


def _flat(tables: list[list[list[UnitTable]]]) -> Iterator[UnitTable]:
    return (table for edges in tables for lanes in edges for table in lanes)


def _batch(exit_: Exit, lo: int, hi: int) -> Batch:
    rows = exit_.rows
    return Batch(
        hi - lo,
        (hi - lo) * rows.row_bytes,
        float(rows.arrived_s[lo]),
        float(rows.times_s[lo]),
        float(rows.times_s[hi - 1]),
        rows.leaf,
        int(rows.offsets[lo]),
        int(rows.offsets[hi - 1]) + 1,
        (exit_.lane, lo, hi),
    )


def _rows(batch: Batch) -> tuple[int, int, int]:
    """The lane of a batch, or of a part of one, and the range of its rows there."""
    lane, lo, _ = batch.ref
    lo += batch.first_row
    return lane, lo, lo + batch.rows


def _runs(batches: tuple[Batch, ...]) -> Sequence[tuple[int, int, int]]:
    """Consecutive batches of one lane as one range of its rows."""
    if len(batches) == 1:
        return (_rows(batches[0]),)
    runs = []
    lane, lo, hi = _rows(batches[0])
    for batch in batches:
        of_lane, first, last = _rows(batch)
        if of_lane == lane and first <= hi:
            hi = last
        else:
            runs.append((lane, lo, hi))
            lane, lo, hi = of_lane, first, last
    runs.append((lane, lo, hi))
    return runs


def _arriving_at(batch: Batch, at_s: float) -> Batch:
    return Batch(batch.rows, batch.bytes, at_s, at_s, at_s, batch.leaf, batch.lo, batch.hi, batch.ref)
