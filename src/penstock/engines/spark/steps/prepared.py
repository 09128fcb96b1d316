"""Prepared jobs: SQL planned once and run many times, each time over other tables.

Planning a small query takes Spark longer than running it: of 90 ms for 10 000 rows about 60. So each input is
a Parquet file at a fixed path. The plan is made once, over a file that claims to be very large, and run again
after the file was replaced: Spark lists a file when it plans and opens it when it runs. That holds for plans
without exchanges and subqueries, whose rows and values they would keep. With one partition there is no
exchange, and the rule that makes subqueries of what is none is off; a plan that has one all the same is made
anew each time. Tried on PySpark 4.3; `test_prepared.py` will tell of a version that differs.

Where tasks do not see the driver's files (a cluster), inputs are sent with each job and planned with it.
"""

from __future__ import annotations

import itertools
import shutil
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import from_arrow_schema, from_arrow_type, to_arrow_type

from penstock.engines.spark.functions.registry import Functions
from penstock.engines.spark.operators.base import Released
from penstock.engines.spark.rows.expressions import quote
from penstock.engines.spark.session.session import is_alive, is_local
from penstock.engines.spark.session.spark_errors import as_step_errors
from penstock.engines.spark.storage.store import write

#: What an input's file seems to hold when a plan is made: no real one is larger.
_PRETENDED_BYTES = 1 << 40

#: Nodes of a plan that compute something once and keep it, by what their names contain.
_KEPT = ("Exchange", "Subquery")

#: The most bytes of rows that go with one task: a task of more than 128 MB cannot be sent.
_SENT_BYTES = 16 << 20

_SERIAL = itertools.count()
#: Jobs that no unit uses at the moment.
_MOST_IDLE = 200


class Jobs:
    """Prepared jobs, by what they do."""

    def __init__(self, spark: SparkSession, root: Path, functions: Functions | None = None) -> None:
        self.spark = self._spark = spark
        self._functions = functions or Functions(spark)
        self._root = root
        self._local = is_local(spark)
        self._lock = threading.Lock()
        self._idle: dict[object, Job] = {}
        shutil.rmtree(root, ignore_errors=True)
        root.mkdir(parents=True)

    @property
    def alive(self) -> bool:
        """Whether jobs can be run at all."""
        return is_alive(self._spark)

    def prepare(self, released: Released, *, together: bool = True) -> Job:
        """A job for that SQL; `together` if its rows must meet in one partition, as in joins and groups."""
        with self._lock:
            idle = self._idle.pop(_key(released, together), None)
        if idle is not None:
            return idle
        number = next(_SERIAL)
        if not self._local:
            return SentJob(self._spark, released, number, together=together)
        root = self._root / str(number)
        return FileJob(self._spark, released, number, root, self._functions, together=together)

    def give_back(self, job: Job) -> None:
        """A job that its unit needs no more; after a change of cut and back another will want the same."""
        with self._lock:
            before = self._idle.pop(job.key, None)
            self._idle[job.key] = job
            if before is not None:
                before.discard()
            while len(self._idle) > _MOST_IDLE:
                self._idle.pop(next(iter(self._idle))).discard()


class Job(ABC):
    """SQL that can be run over tables. One run at a time."""

    def __init__(self, spark: SparkSession, released: Released, number: int, *, together: bool) -> None:
        self._spark = spark
        self._released = released
        self._together = together
        self._views = {name: f"__in_{number}_{name}" for name in released.inputs}
        self.spark_s = 0.0  # what Spark took for the last run, planning included

    @abstractmethod
    def run(self, tables: Mapping[str, pa.Table]) -> pa.Table:
        """What comes out."""

    @property
    def is_planned(self) -> bool:
        """Whether the plan is there already, and is used again."""
        return False

    @property
    def key(self) -> object:
        """What it does."""
        return _key(self._released, self._together)

    @abstractmethod
    def discard(self) -> None:
        """Leaves nothing behind."""

    def _frame(self, inputs: Mapping[str, DataFrame]) -> DataFrame:
        for name, frame in inputs.items():
            frame.createOrReplaceTempView(self._views[name])
        views = ", ".join(f"{quote(name)} AS (SELECT * FROM {view})" for name, view in self._views.items())
        try:
            return self._spark.sql(_with_views(self._released.sql, views))
        finally:
            for view in self._views.values():
                self._spark.catalog.dropTempView(view)


def _key(released: Released, together: bool) -> object:
    return released.sql, tuple(released.inputs.items()), together


def _with_views(sql: str, views: str) -> str:
    if sql.startswith("WITH "):
        return f"WITH {views}, {sql.removeprefix('WITH ')}"
    return f"WITH {views} {sql}"


class FileJob(Job):
    """Inputs in files that are replaced."""

    def __init__(
        self,
        spark: SparkSession,
        released: Released,
        number: int,
        root: Path,
        functions: Functions,
        *,
        together: bool,
    ) -> None:
        super().__init__(spark, released, number, together=together)
        self._root = root
        self._functions, self._calls = functions, "@" in released.sql
        self._version = 0  # of the functions that the plan calls
        self._planned: DataFrame | None = None
        self._types: list[list[pa.DataType]] = []
        self._reusable = True
        root.mkdir()

    def run(self, tables: Mapping[str, pa.Table]) -> pa.Table:
        """Puts the tables in place and runs the plan."""
        with as_step_errors():
            return self._run(tables)

    def _run(self, tables: Mapping[str, pa.Table]) -> pa.Table:
        given = {name: _needed(tables[name], columns) for name, columns in self._released.inputs.items()}
        types = [table.schema.types for table in given.values()]
        if types != self._types:  # the same text may be about other types when another unit takes it over
            self._planned, self._types = None, types
        if self._calls and self._version != self._functions.version:
            self._planned, self._version = None, self._functions.version
        began_s = time.perf_counter()
        frame = self._planned or self._plan(given)
        planned_s = time.perf_counter()
        for name, table in given.items():
            path = self._path(name)
            write(table, path.with_suffix(".new"))
            path.with_suffix(".new").rename(path)
        placed_s = time.perf_counter()
        result = _collected(frame)
        self.spark_s = time.perf_counter() - placed_s + planned_s - began_s
        return result

    def discard(self) -> None:
        """Deletes its files."""
        shutil.rmtree(self._root, ignore_errors=True)

    @property
    def is_planned(self) -> bool:
        """Whether the plan is there already, and is used again."""
        return self._planned is not None

    def _path(self, name: str) -> Path:
        return self._root / f"{name}.parquet"

    def _plan(self, tables: Mapping[str, pa.Table]) -> DataFrame:
        inputs = {}
        for name, table in tables.items():
            path = self._path(name)
            path.unlink(missing_ok=True)
            with path.open("wb") as file:
                file.truncate(_PRETENDED_BYTES)
            schema = from_arrow_schema(table.schema)
            frame = self._spark.read.schema(schema).parquet(str(path))
            inputs[name] = frame.coalesce(1) if self._together else frame
        frame = self._frame(inputs)
        if self._reusable:
            plan = frame._jdf.queryExecution().executedPlan().toString()
            self._reusable = not any(kept in plan for kept in _KEPT)
        self._planned = frame if self._reusable else None
        return frame


class SentJob(Job):
    """Inputs sent to the executors with each run.

    What comes out is for the driver, and no row passes through Python on an executor.
    """

    def discard(self) -> None:
        """Has nothing to leave behind."""

    def run(self, tables: Mapping[str, pa.Table]) -> pa.Table:
        """Sends the tables and runs."""
        began_s = time.perf_counter()
        with as_step_errors():
            result = _collected(self.frame(tables))
        self.spark_s = time.perf_counter() - began_s
        return result

    def frame(self, tables: Mapping[str, pa.Table]) -> DataFrame:
        """The SQL over those tables."""
        needed = self._released.inputs.items()
        return self._frame({name: self._sent(_needed(tables[name], columns)) for name, columns in needed})

    def _sent(self, table: pa.Table) -> DataFrame:
        """The table as a frame; a part of it is one partition, and goes to an executor within its task."""
        parts = in_parts(table, _SENT_BYTES)
        frame = self._spark.createDataFrame(pa.Table.from_batches(parts, table.schema))
        # With one partition rows are together already, and Spark needs no exchange to bring them there.
        return frame.coalesce(1) if self._together and len(parts) <= 1 else frame


def in_parts(table: pa.Table, most_bytes: int) -> list[pa.RecordBatch]:
    """The rows in as few batches as hold about so many bytes each."""
    whole = table.combine_chunks().to_batches()
    if not whole:
        return []
    count = max(1, -(-table.nbytes // most_bytes))
    rows = max(1, -(-table.num_rows // count))
    return [batch.slice(start, rows) for batch in whole for start in range(0, batch.num_rows, rows)]


def _needed(table: pa.Table, columns: Iterable[str]) -> pa.Table:
    return table.select(list(columns))


def _collected(frame: DataFrame) -> pa.Table:
    """The frame's rows, everything nullable, so that tables of one kind have one schema.

    `toArrow` would not do: it casts to the frame's schema, and refuses a NULL struct whose fields are not
    nullable. The method under it is PySpark's own; tried on 4.3.
    """
    batches = frame._collect_as_arrow(empty_list_if_zero_records=False)  # type: ignore[operator]
    table = pa.Table.from_batches(batches)
    columns = [column.cast(_nullable(column.type)) for column in table.columns]
    return pa.Table.from_arrays(columns, names=table.column_names)


def as_collected(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column as it would come out of a job that copies it."""
    return column.cast(_collected_type(column.type))


@lru_cache(maxsize=1000)
def _collected_type(type_: pa.DataType) -> pa.DataType:
    return _nullable(to_arrow_type(from_arrow_type(type_), timezone="UTC"))


def _nullable(type_: pa.DataType) -> pa.DataType:
    """The type with everything inside it nullable, but for the keys of maps."""
    if pa.types.is_struct(type_):
        return pa.struct([field.with_type(_nullable(field.type)).with_nullable(True) for field in type_])
    if pa.types.is_list(type_):
        element = type_.value_field
        return pa.list_(element.with_type(_nullable(element.type)).with_nullable(True))
    if pa.types.is_map(type_):
        return pa.map_(type_.key_type, _nullable(type_.item_type))
    return type_
