"""Rows in files that Spark's tasks read and write: the driver has names, counts, bytes and bounds alone.

What is asked of rows becomes part of a Spark plan, which runs when they are stored, or when their bounds are
asked for and no file says them. What tasks write has the bounds of its numbers in the files' footers.
"""

from __future__ import annotations

import itertools
import os
import shutil
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import reduce
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.window import Window

from penstock.engines.spark.rows.base import Bounds, Rows, Stored
from penstock.engines.spark.rows.expressions import Expression, Values, quote, sql
from penstock.engines.spark.rows.in_hand import table_of
from penstock.engines.spark.storage.store import Ref, Store, files_of_tasks

#: Settings of the session that steps at large are planned in, beside those of all our sessions.
SETTINGS = {
    "spark.sql.adaptive.enabled": "true",
    "spark.sql.autoBroadcastJoinThreshold": str(10 << 20),
    "spark.sql.files.maxPartitionBytes": str(128 << 20),
    "spark.sql.files.openCostInBytes": str(4 << 20),
    "spark.sql.parquet.filterPushdown": "true",
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    "spark.sql.parquet.compression.codec": "lz4_raw",
    # Or looking through the files of a backlog would be a job of its own.
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "100000",
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
}
#: What Spark would rather sort, or do in one task, only because tables were one partition before.
_DEFAULTS = ("spark.sql.optimizer.excludedRules", "spark.sql.maxSinglePartitionBytes")


def session_for(spark: SparkSession, settings: Mapping[str, str]) -> SparkSession:
    """A session for steps at large on that Spark; `settings` are those of all our sessions."""
    session = spark.newSession()
    tasks = max(2, spark.sparkContext.defaultParallelism)
    for name, value in ({**settings, **SETTINGS} | {"spark.sql.shuffle.partitions": str(tasks)}).items():
        if name not in _DEFAULTS:
            session.conf.set(name, value)
    return session


@dataclass(frozen=True, slots=True)
class Written:
    """What the footers of files say: rows, bytes, and the bounds of columns of numbers."""

    rows: int
    bytes: int
    bounds: Mapping[str, Bounds | None] = field(default_factory=dict)  # None: the files do not say


def written(files: Iterable[Path]) -> Written:
    """The footers of some files of one table."""
    rows = size = 0
    bounds: dict[str, Bounds | None] = {}
    for path in files:
        footer = pq.read_metadata(path)
        rows += footer.num_rows
        for group in map(footer.row_group, range(footer.num_row_groups)):
            size += group.total_byte_size
            for column in map(group.column, range(group.num_columns)):
                if column.physical_type == "INT64":
                    name = column.path_in_schema
                    bounds[name] = _wider(bounds, name, column.statistics)
    return Written(rows, size, bounds)


def _wider(bounds: Mapping[str, Bounds | None], name: str, statistics: Any) -> Bounds | None:
    before = bounds.get(name, Bounds(None, None))
    if before is None or statistics is None:
        return None
    if not statistics.has_min_max:
        return before if statistics.null_count else None
    low, high = statistics.min_raw, statistics.max_raw
    lows = low if before.low is None else min(low, before.low)
    highs = high if before.high is None else max(high, before.high)
    return Bounds(lows, highs)


@dataclass(frozen=True, slots=True)
class _Values:
    """Values that tasks find."""

    frame: DataFrame
    name: str

    def query(self) -> str:
        """A SELECT for them."""
        self.frame.createOrReplaceTempView(self.name)
        return f"SELECT * FROM {self.name}"


@dataclass(frozen=True, slots=True)
class AtLarge:
    """Rows as a Spark plan; if that is to read a stored table and nothing else, which one."""

    tables: LargeTables
    frame: DataFrame
    stored: Ref | None = None

    @property
    def columns(self) -> Sequence[str]:
        """The names of their columns."""
        return self.frame.columns

    @property
    def is_empty(self) -> bool:
        """Whether a stored table has none."""
        return self.stored is not None and self.stored.rows == 0

    def count(self) -> int:
        """How many there are."""
        return self.frame.count() if self.stored is None else self.stored.rows

    def may_have(self, condition: Expression) -> bool:  # noqa: ARG002
        """Nobody knows before a job has run."""
        return not self.is_empty

    def where(self, condition: Expression) -> Self:
        """Those for which it holds."""
        return self._of(self.frame.where(sql(condition)))

    def select(self, columns: Sequence[str]) -> Self:
        """Those columns alone."""
        return self._of(self.frame.select(*map(_column, columns)))

    def having(self, columns: Mapping[str, Expression]) -> Self:
        """With columns set; those that are not there yet come last."""
        made = {name: f.expr(sql(expression)) for name, expression in columns.items()}
        kept = [made.pop(name).alias(name) if name in made else _column(name) for name in self.columns]
        return self._of(self.frame.select(*kept, *(one.alias(name) for name, one in made.items())))

    def together_with(self, others: Sequence[Self]) -> Self:
        """These and others."""
        frames = [self.frame, *(one.frame for one in others)]
        return self._of(reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames))

    def in_order(self, by: Sequence[str]) -> Self:
        """Sorted, NULL last."""
        return self._of(self.frame.orderBy(*(_column(name).asc_nulls_last() for name in by)))

    def numbered(self, by: Sequence[str], name: str, first: int) -> Self:
        """With a column that numbers them in that order, all in one task."""
        order = Window.orderBy(*(_column(one).asc_nulls_last() for one in by))
        number = f.row_number().over(order).cast("bigint") + f.lit(first - 1)
        return self._of(self.frame.withColumn(name, number))

    def placed(
        self,
        order: Sequence[Expression],
        others: Self | None,
        of_others: Sequence[Expression],
        names: tuple[str, str],
    ) -> Self:
        """With their numbers from 1 in that order, and how many of the others are not behind each.

        All in one task.
        """
        keys = [f"__key{n}" for n in range(len(order))]
        mine = self.frame.withColumns(dict(zip(keys, (f.expr(sql(one)) for one in order), strict=True)))
        mine = mine.withColumn("__theirs", f.lit(False))
        both = mine
        if others is not None:
            places = (f.expr(sql(one)).alias(key) for one, key in zip(of_others, keys, strict=True))
            theirs = others.frame.select(*places).withColumn("__theirs", f.lit(True))
            both = mine.unionByName(theirs, allowMissingColumns=True)
        along = Window.orderBy(*keys)
        up_to = along.rangeBetween(Window.unboundedPreceding, Window.currentRow)
        seen = f.sum(f.col("__theirs").cast("bigint")).over(up_to)
        number = f.row_number().over(Window.partitionBy("__theirs").orderBy(*keys)).cast("bigint")
        placed = both.withColumns({names[0]: number, names[1]: seen}).where("NOT __theirs")
        return self._of(placed.drop(*keys, "__theirs"))

    def bounds(self, *columns: str) -> Mapping[str, Bounds] | None:
        """The bounds of columns; None if there are no rows. Files say them, or else a job."""
        if self.stored is not None:
            said = self.tables.footers(self.stored)
            if not said.rows:
                return None
            found = {name: one for name in columns if (one := said.bounds.get(name)) is not None}
            if len(found) == len(columns):
                return found
        asked = [f.count(f.lit(1))]
        for name in columns:
            asked += [f.min(_column(name)), f.max(_column(name))]
        row = self.frame.agg(*asked).collect()[0]
        if not row[0]:
            return None
        return {name: Bounds(row[1 + 2 * n], row[2 + 2 * n]) for n, name in enumerate(columns)}

    def last(self, order: Sequence[str]) -> tuple[int, ...] | None:
        """The columns of the last row in that order, in which none is NULL; None if there are no rows."""
        row = self.frame.agg(f.max(f.struct(*map(_column, order)))).collect()[0][0]
        return None if row is None else tuple(row)

    def values(self, column: str) -> Values:
        """The distinct values of a column."""
        return _Values(self.frame.select(_column(column)).distinct(), self.tables.new_view())

    def write_file(self, path: Path) -> None:
        """Has one task write them to a file."""
        beside = path.with_name(f".{path.name}.tasks")
        shutil.rmtree(beside, ignore_errors=True)
        self.frame.coalesce(1).write.parquet(str(beside))
        (written_file,) = files_of_tasks(beside)
        written_file.rename(path)
        shutil.rmtree(beside, ignore_errors=True)
        _synced(path.parent, [path])

    def _of(self, frame: DataFrame) -> Self:
        return type(self)(self.tables, frame)


def _column(name: str) -> Any:
    return f.col(quote(name))


class LargeTables:
    """Stored tables as Spark's tasks read and write them. Any thread may use it."""

    def __init__(self, session: SparkSession, store: Store) -> None:
        self.session, self._store = session, store
        self._views = itertools.count()
        self._threads = threading.local()

    def new_view(self) -> str:
        """A name for a temporary view, which goes with the step."""
        name = f"__large_{next(self._views)}"
        self._threads.views.append(name)
        return name

    @contextmanager
    def temporary_views(self) -> Iterator[None]:
        """All views that this thread makes meanwhile go in the end."""
        self._threads.views = []
        try:
            yield
        finally:
            for name in self._threads.views:
                self.session.catalog.dropTempView(name)

    def rows_in(self, path: Path) -> int:
        """How many rows a file has."""
        return int(pq.read_metadata(path).num_rows)

    def get(self, ref: Ref) -> AtLarge:
        """A stored table."""
        return AtLarge(self, self.read([ref], self._store.schema(ref)), ref)

    def read(self, refs: Sequence[Ref], schema: pa.Schema) -> DataFrame:
        """Stored tables with the same columns."""
        paths = [str(self._store.path(ref)) for ref in refs]
        return self.session.read.schema(from_arrow_schema(schema)).parquet(*paths)

    def sent(self, table: pa.Table) -> AtLarge:
        """A table that the driver has, such as a stored relation."""
        return AtLarge(self, self.session.createDataFrame(table, from_arrow_schema(table.schema)))

    def query(self, text: str, inputs: Mapping[str, Rows]) -> DataFrame:
        """SQL over rows."""
        views = {name: self.new_view() for name in inputs}
        for name, rows in inputs.items():
            frame_of(rows).createOrReplaceTempView(views[name])
        named = ", ".join(f"{quote(name)} AS (SELECT * FROM {view})" for name, view in views.items())
        whole = (
            f"WITH {named}, {text.removeprefix('WITH ')}"
            if text.startswith("WITH ")
            else f"WITH {named} {text}"
        )
        return self.session.sql(whole)

    def write(self, frame: DataFrame, kind: str) -> AtLarge:
        """Has tasks write rows to a table of the store."""
        name = self._store.new_name(kind)
        path = self._store.path(Ref(name, 0, 0))
        frame.write.mode("error").parquet(str(path))
        files = files_of_tasks(path)
        _synced(path, files)
        said = written(files)
        ref = Ref(name, said.rows, said.bytes)
        return AtLarge(self, self.read([ref], self._store.schema(ref)), ref)

    def put(self, rows: Rows, kind: str, bounded: Sequence[str]) -> Stored | None:
        """Stores rows, with the bounds of some columns; nothing if there are none."""
        assert isinstance(rows, AtLarge)
        kept = rows if rows.stored is not None else self.write(rows.frame, kind)
        assert kept.stored is not None
        bounds = kept.bounds(*bounded)
        return None if bounds is None else Stored(kept.stored, bounds)

    def footers(self, ref: Ref) -> Written:
        """What the footers of a table's files say."""
        return written(self._store.files(ref))


def stored_ref(rows: Rows) -> Ref | None:
    """The table that rows are, if tasks wrote them as one."""
    return rows.stored if isinstance(rows, AtLarge) else None


def size_of(rows: Rows) -> int:
    """The bytes of rows that the driver has, or that tasks wrote."""
    return rows.stored.bytes if isinstance(rows, AtLarge) and rows.stored else table_of(rows).nbytes


def frame_of(rows: Rows) -> DataFrame:
    """The plan of rows at large."""
    assert isinstance(rows, AtLarge)
    return rows.frame


def _synced(path: Path, files: Iterable[Path]) -> None:
    """Files and their directory are on disk: a commit is about to name them."""
    for one in (*files, path):
        handle = os.open(one, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
