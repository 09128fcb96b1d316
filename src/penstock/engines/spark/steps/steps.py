"""Steps: one unit over one train of batches, as Spark jobs; nothing that is known changes before a commit."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.adapt.observations import PartTiming, RowCounts, RowSizes, StepObservation
from penstock.control.commands import Take
from penstock.engines.spark.ingest.stamping import read_late, with_new_columns
from penstock.engines.spark.operators.base import (
    ARRIVED,
    EPOCH,
    LATE,
    NOW,
    TIME,
    UNKNOWN,
    Release,
    Released,
    RowLayout,
    StatefulOperator,
)
from penstock.engines.spark.operators.layouts import Layouts
from penstock.engines.spark.rows.at_large import LargeTables
from penstock.engines.spark.rows.base import Rows, Stored, together
from penstock.engines.spark.rows.in_hand import InHand, put, table_of
from penstock.engines.spark.steps.prepared import Job, Jobs
from penstock.engines.spark.steps.rosters import Roster, bucketed
from penstock.engines.spark.steps.skipping import LeftOut, Skipped, in_train, without
from penstock.engines.spark.steps.stages import known_rows, passed
from penstock.engines.spark.steps.units import (
    Compiler,
    JobPlan,
    Target,
    ToQueue,
    ToSink,
    ToState,
    entry_inputs,
)
from penstock.engines.spark.steps.watermarks import Outputs, Watermarks, raise_to, spread
from penstock.engines.spark.storage.records import OperatorState
from penstock.engines.spark.storage.store import Ref, Store
from penstock.model.batch import Batch
from penstock.model.graph import Edge, Graph, Port
from penstock.model.operators import Join
from penstock.plan.shared.shapes import MEMBER
from penstock.policies.layout import UnitPlace

#: A queue's port, or a sink's name.
_Place = TypeVar("_Place")


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of operators: watermarks of inputs; what stateful ones put out and remember."""

    marks: Watermarks
    outputs: Outputs
    states: Mapping[str, OperatorState]


@dataclass(frozen=True, slots=True)
class PartRun:
    """A part of a step that was one job: what it was given, for whoever wants to look closer at it.

    `brought` are the inputs with the step's own rows; `came_out` is rows and bytes, by stage.
    """

    key: str
    part: JobPlan
    given: Mapping[str, pa.Table]
    brought: tuple[str, ...]
    seconds: float
    came_out: Mapping[str, tuple[int, int]]
    releases: str | None = None

    @property
    def rows(self) -> int:
        """Rows that went in."""
        return sum(self.given[name].num_rows for name in self.brought)

    @property
    def operators(self) -> tuple[str, ...]:
        """The operators that it runs, as far as they are in the job."""
        return tuple(dict.fromkeys(stage.operator for stage in self.part.stages))

    def known(self) -> dict[str, int]:
        """Rows by name, as far as they follow from what went in and came out."""
        rows = {name: self.given[name].num_rows for name in self.brought}
        return known_rows(self.part.stages, rows | {name: out[0] for name, out in self.came_out.items()})


@dataclass(slots=True)
class Result:
    """What a step came to, to be committed."""

    queues: dict[Port, Rows] = field(default_factory=dict)
    sinks: dict[str, Rows] = field(default_factory=dict)
    states: dict[str, OperatorState] = field(default_factory=dict)
    entry_marks: Watermarks = field(default_factory=dict)
    outputs: Outputs = field(default_factory=dict)
    jobs: int = 0
    spark_s: float = 0.0
    seconds: float = 0.0
    rows: int = 0
    at_large: bool = False  # whether tasks read and wrote all rows
    driver_bytes: int = 0  # of rows that the driver had in its hands
    skipped: tuple[Skipped, ...] = ()  # rows that the query left out, since it cannot process them
    entered: dict[Port, int] = field(default_factory=dict)  # rows by queue
    parts: list[PartRun] = field(default_factory=list)
    timings: list[PartTiming] = field(default_factory=list)
    passed: list[RowCounts] = field(default_factory=list)
    weighed: list[RowSizes] = field(default_factory=list)

    def seen(self, unit: tuple[str, ...]) -> StepObservation:
        """What is to be told of the step."""
        return StepObservation(
            unit, self.entered, tuple(self.timings), tuple(self.passed), tuple(self.weighed)
        )


#: A stored relation's versions that rows from one epoch to another may meet.
Relations = Callable[[str, int, int], pa.Table]
#: The members of a shared query as they are now.
Rosters = Callable[[str], Roster]


class UnitRunner:
    """Runs the steps of one unit. Not for two threads at once."""

    def __init__(
        self,
        graph: Graph,
        place: UnitPlace,
        layouts: Layouts,
        stateful: Mapping[str, StatefulOperator],
        jobs: Jobs,
        store: Store,
        relations: Relations,
        rosters: Rosters,
        large: LargeTables | None = None,
    ) -> None:
        self.large = large
        self.graph, self.place, self.layouts, self.stateful = graph, place, layouts, stateful
        self.compiler = Compiler(graph, place, layouts, stateful)
        self._jobs, self.store, self.relations, self.rosters = jobs, store, relations, rosters
        self._parts: dict[object, tuple[JobPlan, Job]] = {}
        self._folds: dict[str, Job] = {}
        joins = [graph.nodes[name].operator for name in place.unit.operators]
        rosters_ = [one.relation for one in joins if isinstance(one, Join) and one.roster]
        self.shared = rosters_[0] if rosters_ else None  # the shared query that this is the unit of
        users = [graph.queries[name] for name in graph.users[place.unit.operators[0]]]
        #: The query that this is the whole of, if it leaves out rows; and those of the last train it found.
        self.skips = next((query.name for query in users if query.on_error == "skip"), None)
        self.left_out: LeftOut = {}

    def close(self) -> None:
        """Gives its jobs back; there may be a unit that can use them."""
        for job in (*(job for _, job in self._parts.values()), *self._folds.values()):
            self._jobs.give_back(job)
        self._parts, self._folds = {}, {}

    def run(
        self, takes: tuple[Take, ...], known: Known, rosters: Mapping[str, Roster] | None = None
    ) -> Result:
        """One step. What it is given it does not change; what it finds out is in the result.

        `rosters` are to be used instead of what they are now.
        """
        result = Step(self, known, rosters or {}).take(takes)
        if self.left_out:
            result.skipped = in_train(takes, self.left_out)
        return result

    def enter(self, edges: tuple[Edge, ...], rows: pa.Table, epoch: int) -> None:
        """Takes some rows of a stream through the part of the unit that sees each row by itself."""
        part, job = self.part(edges, lambda: self.compiler.entry(edges))
        (name,) = entry_inputs(edges).values()
        stored = {alias: self.relations(relation, 0, epoch) for relation, alias in part.relations.items()}
        job.run(part.inputs({name: rows, **stored}))

    def rows(self, port: Port, batches: list[Batch]) -> pa.Table:
        """Batches of a queue as its port lays them out."""
        layout = self.layouts.ports[port]
        parts = [
            read_late(self.store.get(batch.ref.ref)).slice(batch.first_row, batch.rows) for batch in batches
        ]
        if batches[0].ref.stream < 0:
            parts = [_filled(part, layout) for part in parts]
            return pa.concat_tables([part.select(list(layout.columns)) for part in parts])
        parts = [with_new_columns(part, layout.schema) for part in parts]
        return _of_stream(pa.concat_tables(parts), batches, layout).select(list(layout.columns))

    def part(self, key: object, make: Callable[[], JobPlan]) -> tuple[JobPlan, Job]:
        """A part of the unit and its job, made when first needed."""
        found = self._parts.get(key)
        if found is None:
            part = make()
            found = self._parts[key] = part, self._jobs.prepare(part.released, together=part.together)
        return found

    def fold(self, released: Released) -> Job:
        """A job of a stateful operator's own."""
        job = self._folds.get(released.sql)
        if job is None:
            job = self._folds[released.sql] = self._jobs.prepare(released)
        return job


class Step:
    """One step in hand: the driver has the rows, and each job is one task."""

    def __init__(self, runner: UnitRunner, known: Known, rosters: Mapping[str, Roster]) -> None:
        self._of = runner
        self._marks, self._outputs, self._states = dict(known.marks), dict(known.outputs), known.states
        self._result = Result()
        self._arrived: dict[str, dict[int, list[Rows]]] = {}
        self._epoch = self._first_epoch = 0
        self._closings: list[tuple[np.ndarray, np.ndarray]] = []
        self._rosters = dict(rosters)

    def take(self, takes: tuple[Take, ...]) -> Result:
        """The whole step."""
        began = time.perf_counter()
        result, place, graph = self._result, self._of.place, self._of.graph
        before = dict(self._marks)
        self._enter(takes, began)
        for name in place.unit.operators:
            if name in self._of.stateful:
                slots = range(len(graph.nodes[name].inputs))
                grown = any(
                    self._marks.get((name, s), UNKNOWN) > before.get((name, s), UNKNOWN) for s in slots
                )
                if name in self._arrived or grown:
                    self._advance(name)
            spread(graph, place, name, self._marks, self._outputs)
        result.outputs = {name: self._outputs[name] for name in result.states}
        self._finish()
        result.seconds = time.perf_counter() - began
        return result

    def _finish(self) -> None:
        """All jobs are done."""

    def _enter(self, takes: tuple[Take, ...], began_s: float) -> None:
        """The job over the train's rows, and the watermarks that came with them."""
        parts: dict[Port, list[Rows]] = {}
        edges: list[Edge] = []
        held = [batch.ref for take in takes for batch in take.batches]
        self._epoch, self._first_epoch = max(h.epoch for h in held), min(h.oldest_epoch for h in held)
        for take in takes:
            port = take.edges[0].port
            self._closings.append(_closing(take.batches))
            whole = [batch.ref.mark for batch in take.batches if batch.complete]
            for edge in take.edges:
                key = edge.reader, edge.slot
                raise_to(self._marks, key, whole[-1] if whole else UNKNOWN)
                self._result.entry_marks[key] = self._marks.get(key, UNKNOWN)
            full = [batch for batch in take.batches if batch.ref.ref is not None]
            if full:
                edges += take.edges
                refs = [batch.ref.ref for batch in full]
                self._result.weighed.append(
                    RowSizes(port, sum(ref.rows for ref in refs), sum(ref.bytes for ref in refs))
                )
                parts.setdefault(port, []).append(self._entering(port, full))
        if not edges:
            return
        reading = tuple(sorted(set(edges), key=lambda edge: (edge.port, edge.reader, edge.slot)))
        named = {name: together(parts[port]) for port, name in entry_inputs(reading).items()}
        for port in entry_inputs(reading):
            self._result.entered[port] = sum(
                batch.rows for take in takes if take.edges[0].port == port for batch in take.batches
            )
        self._result.rows = sum(self._result.entered.values())
        self._run_entry(reading, named, f"enter {' '.join(map(_name, self._result.entered))}", began_s)

    def _entering(self, port: Port, batches: list[Batch]) -> Rows:
        """The rows of batches of a queue."""
        rows = without(self._of.rows(port, batches), batches, self._of.left_out.get(port.node, {}))
        return InHand(rows)

    def _run_entry(
        self, edges: tuple[Edge, ...], inputs: Mapping[str, Rows], key: str, began_s: float
    ) -> None:
        """The job over rows of queues."""
        part, job = self._of.part(edges, lambda: self._of.compiler.entry(edges))
        self._job(part, job, inputs, key, began_s)

    def _run_release(self, name: str, release: Release, began_s: float) -> None:
        """The job over what an operator releases."""
        make = partial(self._of.compiler.release, name, release.variant)
        part, job = self._of.part((name, release.variant), make)
        self._job(part, job, release.tables, f"release {name} {release.variant}", began_s, name)

    def _job(
        self,
        part: JobPlan,
        job: Job,
        inputs: Mapping[str, Rows],
        key: str,
        began_s: float,
        releases: str | None = None,
    ) -> None:
        """Runs a part; what comes out goes where it belongs."""
        tables = {name: table_of(rows) for name, rows in inputs.items()}
        self._result.driver_bytes += sum(table.nbytes for table in tables.values())
        given = part.inputs(tables)
        first = self._first_epoch if releases is None else 0  # what is remembered may be of any epoch
        for name, alias in part.relations.items():
            given[alias] = self._of.relations(name, first, self._epoch)
        for use in part.rosters:
            given[use.input], bounds = self._roster(use.roster).table(use.index, exact=use.exact)
            if use.index is not None and bounds is not None:
                rows = given[use.rows]
                given[use.rows] = rows.append_column(use.bucket, bucketed(rows, use.index.column, bounds))
        if part.needs_job:
            outputs = part.outputs(job.run(given), given)
            self._count(job)
        else:
            outputs = part.without_job(given)
        for target, table in outputs.items():
            self._put(target, InHand(table))
        self._note(
            PartRun(
                key,
                part,
                given,
                tuple(tables),
                time.perf_counter() - began_s,
                {part.ends[target]: (table.num_rows, table.nbytes) for target, table in outputs.items()},
                releases,
            )
        )

    def _note(self, run: PartRun) -> None:
        """What is known of a part without asking further."""
        result = self._result
        result.parts.append(run)
        result.timings.append(PartTiming(run.key, run.operators, run.rows, run.seconds, run.releases))
        result.passed += passed(run.part.stages, run.known(), run.rows)

    def _roster(self, name: str) -> Roster:
        """The same throughout a step, whoever comes or goes meanwhile."""
        if name not in self._rosters:
            self._rosters[name] = self._of.rosters(name)
        return self._rosters[name]

    def _put(self, target: Target, rows: Rows) -> None:
        """Rows go where they belong."""
        match target:
            case ToState(node, slot):
                if not rows.is_empty:
                    self._arrived.setdefault(node, {}).setdefault(slot, []).append(rows)
            case ToQueue(port):
                self._gather(self._result.queues, port, rows)
            case ToSink(node):
                self._gather(self._result.sinks, node, rows)

    def _gather(self, found: dict[_Place, Rows], place: _Place, rows: Rows) -> None:
        """More rows for a place that may have some already."""
        closed = self._closed(rows)
        before = found.get(place)
        found[place] = closed if before is None else together([before, closed])

    def _closed(self, rows: Rows) -> Rows:
        """Rows that a watermark set free arrived with that watermark."""
        table = table_of(rows)
        column = table[ARRIVED]
        if column.null_count == 0:
            return rows
        times = np.asarray(pc.fill_null(table[TIME], UNKNOWN))
        found = np.zeros(len(times), dtype=np.int64)
        for marks, arrived in self._closings:
            place = np.minimum(np.searchsorted(marks, times, side="right"), len(marks) - 1)
            found = np.maximum(found, arrived[place])
        filled = pc.coalesce(column, pa.array(found))
        return InHand(table.set_column(table.column_names.index(ARRIVED), ARRIVED, filled))

    def _advance(self, name: str) -> None:
        """A stateful operator's turn, and the jobs over what it releases."""
        operator = self._of.stateful[name]
        arrived = {slot: together(parts) for slot, parts in self._arrived.pop(name, {}).items()}
        slots = range(len(self._of.graph.nodes[name].inputs))
        marks = tuple(self._marks.get((name, slot), UNKNOWN) for slot in slots)
        began_s = time.perf_counter()
        turn = operator.advance(self._states.get(name, OperatorState()), arrived, marks, self)
        self._note_turn(name, arrived, time.perf_counter() - began_s)
        self._result.states[name] = turn.state
        self._outputs[name] = max(turn.mark, self._outputs.get(name, UNKNOWN))
        for release in turn.releases:
            self._run_release(name, release, time.perf_counter())

    def _note_turn(self, name: str, arrived: Mapping[int, Rows], seconds: float) -> None:
        """What an operator took between jobs."""
        rows = sum(rows.count() for rows in arrived.values())
        self._result.timings.append(PartTiming(f"advance {name}", (name,), rows, seconds, is_job=False))

    # --- what a stateful operator may do (`Tools`) ---

    def put(self, rows: Rows, *bounded: str) -> Stored | None:
        """Stores rows, with the bounds of those columns; nothing if there are none."""
        return put(rows, "state", bounded, self._of.store)

    def get(self, ref: Ref) -> Rows:
        """The rows of a stored table."""
        return InHand(self._of.store.get(ref))

    def run(self, released: Released, inputs: Mapping[str, Rows]) -> Rows:
        """Runs SQL over rows as a Spark job of its own."""
        job = self._of.fold(released)
        table = job.run({name: table_of(rows) for name, rows in inputs.items()})
        self._count(job)
        return InHand(table)

    def members(self, roster: str | None) -> Rows:
        """The members of a shared query that see their streams end, as this step knows them."""
        if roster is None:
            return InHand(pa.table({MEMBER: pa.array([0], pa.int32())}))
        return InHand(self._roster(roster).expecting())

    def _count(self, job: Job) -> None:
        self._result.spark_s += job.spark_s
        self._result.jobs += 1


def _name(port: Port) -> str:
    return f"{port.node}.{port.output}"


def _closing(batches: Sequence[Batch]) -> tuple[np.ndarray, np.ndarray]:
    """The watermarks that a train brought, and when each came; a part of a batch brings none but the last."""
    marks = np.array([batch.ref.mark if batch.complete else UNKNOWN for batch in batches], dtype=np.int64)
    arrived = np.array([batch.ref.arrived_us for batch in batches], dtype=np.int64)
    return np.maximum.accumulate(marks), arrived


def _of_stream(table: pa.Table, batches: list[Batch], layout: RowLayout) -> pa.Table:
    """A stream's rows with the columns that all rows of a batch have alike, and their offsets."""
    values: dict[str, list[int]] = {}
    if layout.order:
        values |= {"__o0": [batch.ref.stream for batch in batches], "__o1": [batch.lo for batch in batches]}
    if layout.epoch:
        values[EPOCH] = [batch.ref.epoch for batch in batches]
    if layout.now:
        values[NOW] = [batch.ref.now_us for batch in batches]
    counts = [batch.rows for batch in batches]
    for name, of_batches in values.items():
        column = np.repeat(np.array(of_batches, dtype=np.int64), counts)
        if name == "__o1":
            column += np.concatenate([np.arange(count) for count in counts])
        table = table.append_column(name, pa.array(column))
    return table


def _filled(table: pa.Table, layout: RowLayout) -> pa.Table:
    """With hidden columns asked for since, by a query that began behind it: who reads it needs none."""
    for name in layout.hidden:
        if name not in table.column_names:
            filler = pa.scalar(None if name == LATE else -1, pa.int64())
            table = table.append_column(name, pa.repeat(filler, table.num_rows))
    return table
