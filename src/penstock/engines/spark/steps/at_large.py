"""Steps at large: Spark's tasks read the files of a train and write what comes of it; the driver sees no row.

The same operators take the same turns as in a step in hand. A job is planned anew for each step, with as many
tasks as its data wants: that costs some hundred milliseconds, which is little beside what many rows take.
What is for a stateful operator is written at once, since the operator reads it more than once; what is for
queues and sinks is written when all of it is known, in one job each.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as f

from penstock.control.commands import Take
from penstock.engines.spark.ingest.sources.types import arrow_schema
from penstock.engines.spark.ingest.stamping import STAMPED
from penstock.engines.spark.operators.base import ARRIVED, EPOCH, LATE, NOW, TIME, UNKNOWN, Release, Released
from penstock.engines.spark.rows.at_large import AtLarge, LargeTables, frame_of
from penstock.engines.spark.rows.base import Rows, Stored
from penstock.engines.spark.rows.expressions import quote
from penstock.engines.spark.session.spark_errors import as_step_errors
from penstock.engines.spark.steps.steps import Known, Result, Step, UnitRunner
from penstock.engines.spark.steps.units import JobPlan, Target, ToState
from penstock.engines.spark.storage.store import Ref
from penstock.model.batch import Batch
from penstock.model.graph import Edge, Port
from penstock.plan.shared.shapes import MEMBER

#: A row's file, and its place there.
_FILE, _PLACE = "_metadata.file_name", "_metadata.row_index"
#: Of each file: how many rows of its table are before it; which rows of the table are in the batch.
_BEFORE, _FIRST, _AFTER = "__before", "__first_row", "__after_row"


def run_at_large(runner: UnitRunner, takes: tuple[Take, ...], known: Known) -> Result:
    """A step of a unit, by many tasks; in hand if an early version has logged its rows in another form."""
    assert runner.large is not None
    if _is_of_early_version(runner, takes):
        return runner.run(takes, known)
    return LargeStep(runner, runner.large, known).take(takes)


class LargeStep(Step):
    """One step of many tasks."""

    def __init__(self, runner: UnitRunner, tables: LargeTables, known: Known) -> None:
        super().__init__(runner, known, {})
        self._tables = tables
        self._compiler = replace(runner.compiler, one_task=False)
        self._result.at_large = True

    def take(self, takes: tuple[Take, ...]) -> Result:
        """The whole step."""
        with as_step_errors(), self._tables.temporary_views():
            return super().take(takes)

    # --- what goes in ---

    def _entering(self, port: Port, batches: list[Batch]) -> Rows:
        """The rows of batches of a queue, as its port lays them out."""
        layout = self._of.layouts.ports[port]
        of_stream = batches[0].ref.stream >= 0
        refs = list(dict.fromkeys(batch.ref.ref for batch in batches))
        store = self._of.store
        if of_stream:  # tables from before the stream had all its columns lack some: NULL
            hidden = [pa.field(name, pa.int64()) for name in STAMPED]
            schema = pa.schema([*arrow_schema(layout.schema), *hidden])
        else:
            schema = store.schema(refs[-1])
        frame = self._stamped(self._tables.read(refs, schema), refs)
        constants = _constants(batches) if of_stream else {}
        wanted = {name: values for name, values in constants.items() if name in layout.hidden}
        if wanted or any(batch.rows < batch.ref.ref.rows for batch in batches):
            frame = self._placed(frame, batches, wanted)
        there = set(frame.columns)
        columns = [f.col(quote(name)) if name in there else _asked_for_since(name) for name in layout.columns]
        return AtLarge(self._tables, frame.select(*columns))

    def _stamped(self, frame: DataFrame, refs: Sequence[Ref]) -> DataFrame:
        """With the times of rows that are in files of somebody else, and when these came."""
        notes = [note for note in map(self._of.store.stamps, refs) if note is not None]
        if not notes:
            return frame
        came = f.lit(max(note.arrived_us for note in notes))
        stamps = {ARRIVED: f.coalesce(f.col(ARRIVED), came)}
        time = notes[0].time
        if time is not None:
            stamps[TIME] = f.coalesce(f.col(TIME), f.unix_micros(f.col(quote(time)).cast("timestamp")))
        return frame.withColumns(stamps)

    def _placed(
        self, frame: DataFrame, batches: Sequence[Batch], constants: Mapping[str, Sequence[int]]
    ) -> DataFrame:
        """The rows that are in those batches, with what all rows of a batch have alike, and their offsets."""
        files: dict[str, list[int]] = {}
        names: list[str] = []
        for n, batch in enumerate(batches):
            before = 0
            for path in self._of.store.files(batch.ref.ref):
                names.append(path.name)
                row = {_BEFORE: before, _FIRST: batch.first_row, _AFTER: batch.first_row + batch.rows}
                row |= {name: values[n] for name, values in constants.items()}
                for name, value in row.items():
                    files.setdefault(name, []).append(value)
                before += self._tables.rows_in(path)
        known = pa.table(
            {"__file": names, **{name: pa.array(values, pa.int64()) for name, values in files.items()}}
        )
        of_files = f.broadcast(frame_of(self._tables.sent(known)))
        with_places = (
            frame.withColumns({"__file_name": f.col(_FILE), "__row_index": f.col(_PLACE)})
            .join(of_files, f.col("__file_name") == f.col("__file"))
            .withColumn("__place", f.col("__row_index") + f.col(_BEFORE))
            .where(f"{_FIRST} <= __place AND __place < {_AFTER}")
        )
        if "__o1" in constants:  # of a batch: the offset of its first row
            with_places = with_places.withColumn("__o1", f.col("__o1") + f.col("__place") - f.col(_FIRST))
        return with_places

    # --- jobs ---

    def _run_entry(
        self,
        edges: tuple[Edge, ...],
        inputs: Mapping[str, Rows],
        key: str,  # noqa: ARG002
        began_s: float,
    ) -> None:
        self._large_job(self._compiler.entry(edges), inputs, began_s)

    def _run_release(self, name: str, release: Release, began_s: float) -> None:
        part = self._compiler.release(name, release.variant)
        self._large_job(part, release.tables, began_s)

    def _large_job(self, part: JobPlan, inputs: Mapping[str, Rows], began_s: float) -> None:
        given = dict(inputs)
        for name, alias in part.relations.items():
            given[alias] = self._tables.sent(self._of.relations(name, 0, self._epoch))
        for target, text in part.selects.items():
            wanted = {alias: given[alias].select(names) for alias, names in part.released.inputs.items()}
            frame = self._tables.query(text, wanted)
            self._result.jobs += 1
            self._put(target, self._kept(target, frame))
        self._result.spark_s += time.perf_counter() - began_s

    def _kept(self, target: Target, frame: DataFrame) -> Rows:
        """What comes out of a job: written at once if an operator reads it."""
        if isinstance(target, ToState):
            return self._tables.write(frame, "state")
        return AtLarge(self._tables, frame)

    def _closed(self, rows: Rows) -> Rows:
        """Rows that a watermark set free arrived with that watermark."""
        times = f.coalesce(f.col(TIME), f.lit(UNKNOWN))
        arrived = []
        for marks, came in self._closings:
            known, all_came = (f.array(*map(f.lit, map(int, of))) for of in (marks, came))
            reached = f.size(f.filter(known, lambda mark: mark <= times))
            arrived.append(f.element_at(all_came, f.least(f.lit(len(marks)), reached + 1)))
        latest = arrived[0] if len(arrived) == 1 else f.greatest(*arrived)
        frame = frame_of(rows)
        return AtLarge(self._tables, frame.withColumn(ARRIVED, f.coalesce(f.col(ARRIVED), latest)))

    def _finish(self) -> None:
        """Writes what is for queues and sinks."""
        began_s = time.perf_counter()
        for kind, found in (("queue", self._result.queues), ("result", self._result.sinks)):
            for place, rows in found.items():
                found[place] = self._tables.write(frame_of(rows), kind)  # type: ignore[index]
                self._result.jobs += 1
        self._result.spark_s += time.perf_counter() - began_s

    def _note_turn(self, name: str, arrived: Mapping[int, Rows], seconds: float) -> None:
        """Nothing: estimates are of steps in hand."""

    # --- what a stateful operator may do (`Tools`) ---

    def put(self, rows: Rows, *bounded: str) -> Stored | None:
        """Stores rows, with the bounds of those columns; nothing if there are none."""
        return self._tables.put(rows, "state", bounded)

    def get(self, ref: Ref) -> Rows:
        """The rows of a stored table."""
        return self._tables.get(ref)

    def run(self, released: Released, inputs: Mapping[str, Rows]) -> Rows:
        """Runs SQL over rows as a Spark job of its own."""
        self._result.jobs += 1
        given = {name: inputs[name].select(columns) for name, columns in released.inputs.items()}
        return self._tables.write(self._tables.query(released.sql, given), "state")

    def members(self, roster: str | None) -> Rows:
        """One row for a query that is not shared; others run in hand."""
        assert roster is None
        return self._tables.sent(pa.table({MEMBER: pa.array([0], pa.int32())}))


def _asked_for_since(name: str) -> Column:
    """A hidden column that a query wants which began behind these rows, and so needs none of theirs."""
    return f.lit(None if name == LATE else -1).cast("bigint").alias(name)


def _is_of_early_version(runner: UnitRunner, takes: tuple[Take, ...]) -> bool:
    """Whether rows say only that they are late, and not behind which watermark."""
    refs = {batch.ref.ref for take in takes for batch in take.batches if batch.ref.ref is not None}
    schemas = map(runner.store.schema, refs)
    return any(LATE in schema.names and pa.types.is_boolean(schema.field(LATE).type) for schema in schemas)


def _constants(batches: Sequence[Batch]) -> dict[str, list[int]]:
    """What all rows of a stream's batch have alike; of offsets, the first."""
    return {
        "__o0": [batch.ref.stream for batch in batches],
        "__o1": [batch.lo for batch in batches],
        EPOCH: [batch.ref.epoch for batch in batches],
        NOW: [batch.ref.now_us for batch in batches],
    }
