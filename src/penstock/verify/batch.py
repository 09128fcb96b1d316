"""The oracle's side: its SQL in plain Spark batch, over the log that an engine kept."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql import SparkSession

from penstock.engines.spark.engine import Engine
from penstock.engines.spark.functions.registry import use_this_python
from penstock.verify.functions import BatchFunctions


def recorded(engine: Engine) -> dict[str, pa.Table]:
    """Streams as they were logged, stored tables in all their versions, as the oracle wants to see them."""
    return {**engine.recorded_streams(), **engine.recorded_tables()}


def evaluate(
    spark: SparkSession,
    queries: dict[str, str],
    tables: dict[str, pa.Table],
    functions: BatchFunctions | None = None,
) -> dict[str, pa.Table]:
    """What plain Spark makes of each query over those tables."""
    session = spark.newSession()
    session.conf.set("spark.sql.session.timeZone", "UTC")
    session.conf.set("spark.sql.shuffle.partitions", "2")
    for name, table in tables.items():
        session.createDataFrame(table).createOrReplaceTempView(f"`{name}`")
    if functions:
        use_this_python(session)
    for name, function in (functions or {}).items():
        session.udf.register(name, function)
    return {name: session.sql(sql).toArrow() for name, sql in queries.items()}
