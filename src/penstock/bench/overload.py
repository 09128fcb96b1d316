"""Five times what the machine can process: memory must keep its limit, and nothing may be lost."""

from __future__ import annotations

import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import SparkSession

from penstock.engines.spark.engine import Engine

#: Expensive on purpose, so that the machine can generate much more than it can process.
_SELECT = """SELECT k, count(*) AS n, max(sha2(repeat(CAST(v AS STRING), 2000), 512)) AS digest
FROM rows GROUP BY k, window(t, '10 seconds')"""


def measure(
    spark: SparkSession,
    seconds: float,
    memory_bytes: int,
    factor: float = 5.0,
    progress: Callable[[str], None] = lambda _: None,
) -> dict[str, object]:
    """Finds the capacity, feeds a multiple of it for so many seconds, and lets it drain."""
    _run(spark, 50_000, None, memory_bytes, lambda _: None)  # until Java has compiled it
    capacity_per_s = _run(spark, 300_000, None, memory_bytes, lambda _: None)["processed_per_s"]
    assert isinstance(capacity_per_s, float)
    rate = round(factor * capacity_per_s)
    progress(f"can process {capacity_per_s:,.0f} rows/s; {rate:,} rows/s come for {seconds:g} s")
    found = _run(spark, round(rate * seconds), rate, memory_bytes, progress)
    return {"bench": "overload", "factor": factor, "capacity_per_s": capacity_per_s, **found}


def _run(
    spark: SparkSession,
    rows: int,
    rate: int | None,
    memory_bytes: int,
    progress: Callable[[str], None],
) -> dict[str, object]:
    """So many rows at a rate, or as fast as they are taken."""
    pace = f", rate '{rate}/s'" if rate is not None else ""
    most_held = most_queued = 0.0
    began = time.monotonic()
    with (
        tempfile.TemporaryDirectory(prefix="penstock-bench-") as root,
        Engine(Path(root, "state"), spark=spark, memory_bytes=memory_bytes) as engine,
    ):
        engine.execute(
            "CREATE STREAM rows (t TIMESTAMP, k STRING, v BIGINT, WATERMARK FOR t AS t - INTERVAL 1 SECONDS) "
            f"USING generator OPTIONS (rows '{rows}'{pace}, columns.t 'time(1ms)', "
            "columns.k 'choice(a,b,c,d)', columns.v 'sequence');"
            f"CREATE CONTINUOUS QUERY q AS {_SELECT};"
        )
        shown = 0.0

        def watch() -> None:
            nonlocal most_held, most_queued, shown
            status = engine.status()
            most_held = max(most_held, status.held_bytes)
            most_queued = max(most_queued, status.queued_bytes)
            if time.monotonic() - shown > 5:
                shown = time.monotonic()
                progress(
                    f"{status.rows_in.get('rows', 0):,} rows in, {status.queued_bytes / 1e6:,.0f} MB wait"
                )

        engine.run("drained", watch)
        taken_s = time.monotonic() - began
        counted = sum(engine.results("q")["n"].to_pylist())
    return {
        "rows": rows,
        "rate_per_s": rate,
        "seconds": taken_s,
        "processed_per_s": rows / taken_s,
        "rows_counted": counted,
        "memory_limit_bytes": memory_bytes,
        "most_held_bytes": most_held,
        "most_queued_bytes": most_queued,
        "process_peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }
