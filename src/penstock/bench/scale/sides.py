"""The ways to answer one query over a backlog: plain Spark batch, and the engine with steps of some kind.

A run of the engine can be divided: all rows are taken in while the query is suspended, then it goes on, so
that what remains is its steps. Results that are not those of all rows make a run an error, on every side.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from penstock.bench.scale.backlog import COLUMNS, Backlog
from penstock.engines.spark.engine import Engine
from penstock.engines.spark.runtime.coordinator import Totals
from penstock.errors import ExperimentError
from penstock.model.scheduling import Way

SELECT = (
    "SELECT window.start AS w, k, count(*) AS n, sum(v) AS total FROM readings "
    "GROUP BY k, window(t, '10 seconds')"
)
#: The longest that a backlog may take to come in.
_INGEST_S = 900.0


@dataclass(frozen=True, slots=True)
class Run:
    """How long one run took, and what the engine counted meanwhile."""

    seconds: float
    ingest_s: float = 0.0  # before that, if steps alone were measured
    step_s: float = 0.0
    steps: int = 0
    large_steps: int = 0
    driver_row_bytes: int = 0


def batch(spark: SparkSession, backlog: Backlog, out: Path) -> Run:
    """Plain Spark: one job over all files, to Parquet."""
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "UTC")
    session.conf.set("spark.sql.shuffle.partitions", str(spark.sparkContext.defaultParallelism))
    began_s = time.monotonic()
    session.read.schema(COLUMNS).parquet(str(backlog.root)).createOrReplaceTempView("readings")
    session.sql(SELECT).write.parquet(str(out))
    taken_s = time.monotonic() - began_s
    _check(out.glob("part-*.parquet"), backlog)
    return Run(taken_s)


def on_penstock(spark: SparkSession, backlog: Backlog, root: Path, way: Way) -> Run:
    """The engine, from the first row that it reads until all results are committed."""
    with Engine(root / "state", out=root / "out", spark=spark, steps=way) as engine:
        engine.execute(_statements(backlog))
        began_s = time.monotonic()
        engine.run("drained")
        taken_s = time.monotonic() - began_s
        totals = engine.status().totals
    _check((root / "out" / "q").glob("part-*.parquet"), backlog)
    return _run(taken_s, totals)


def steps_alone(
    spark: SparkSession, backlog: Backlog, root: Path, way: Way, *, memory_bytes: int, train_rows: int
) -> Run:
    """The engine, from when all rows have been taken in until all results are committed."""
    with Engine(
        root / "state",
        out=root / "out",
        spark=spark,
        steps=way,
        memory_bytes=memory_bytes,
        train_rows=train_rows,
    ) as engine:
        engine.execute(_statements(backlog))
        engine.suspend("q")
        ingest_began_s = time.monotonic()
        engine.start()
        while not engine.feeds()["readings"].closed:
            engine.check()
            if time.monotonic() > ingest_began_s + _INGEST_S:
                raise ExperimentError(f"{backlog.rows:,} rows did not come in within {_INGEST_S:g} s")
            time.sleep(0.02)
        began_s = time.monotonic()
        engine.resume("q")
        engine.run("drained")
        taken_s = time.monotonic() - began_s
        totals = engine.status().totals
    _check((root / "out" / "q").glob("part-*.parquet"), backlog)
    return _run(taken_s, totals, began_s - ingest_began_s)


def _statements(backlog: Backlog) -> str:
    return (
        f"CREATE STREAM readings ({COLUMNS}, WATERMARK FOR t AS t - INTERVAL 1 SECOND) "
        f"USING parquet OPTIONS (path '{backlog.root}');"
        f"CREATE CONTINUOUS QUERY q AS {SELECT};"
    )


def _run(seconds: float, totals: Totals, ingest_s: float = 0.0) -> Run:
    return Run(seconds, ingest_s, totals.step_s, totals.steps, totals.large_steps, totals.driver_row_bytes)


def _check(files: Iterable[Path], backlog: Backlog) -> None:
    """Every row is in the results, and once."""
    rows = total = 0
    for file in files:
        table = pq.read_table(file, columns=["n", "total"])
        rows += pc.sum(table["n"]).as_py() or 0
        total += pc.sum(table["total"]).as_py() or 0
    if (rows, total) != (backlog.rows, backlog.total):
        raise ExperimentError(
            f"results are of {rows:,} rows with a sum of {total:,}, not of {backlog.rows:,} with "
            f"{backlog.total:,}; nothing that was measured counts"
        )
