"""Rows that a query left out: each must fail alone in plain Spark batch, and be missing there too."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from penstock.engines.spark.results.recording import OFFSET
from penstock.engines.spark.steps.skipping import Skipped
from penstock.verify.batch import evaluate
from penstock.verify.functions import BatchFunctions


def without(tables: dict[str, pa.Table], skipped: Sequence[Skipped]) -> dict[str, pa.Table]:
    """The log without these rows."""
    found = dict(tables)
    for stream in {one.stream for one in skipped}:
        offsets = pa.array([one.offset for one in skipped if one.stream == stream], pa.int64())
        found[stream] = found[stream].filter(pc.invert(pc.is_in(found[stream][OFFSET], offsets)))
    return found


def unfounded(
    spark: SparkSession,
    sql: str,
    tables: dict[str, pa.Table],
    skipped: Sequence[Skipped],
    functions: BatchFunctions | None = None,
) -> str | None:
    """What is wrong with rows that a query left out: those that plain Spark can process alone."""
    for one in skipped:
        row = tables[one.stream].filter(pc.equal(tables[one.stream][OFFSET], one.offset))
        if row.num_rows != 1:
            return f"row {one.offset} of stream '{one.stream}' was left out, but is not in the log"
        try:
            evaluate(spark, {"": sql}, {**tables, one.stream: row}, functions)
        except PySparkException:
            continue
        return f"row {one.offset} of stream '{one.stream}' was left out, but does not fail alone"
    return None
