"""How soon a backlog is through, on each side in turns, in one process with one Spark.

    python -m penstock.bench.scale.throughput '{"backlogs": [...], "repeats": 3, "master": null}'

Time counts from the start of reading until all results are committed. Each side has had a small run before.
A line in braces is a sample, any other says what is done.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from pyspark.sql import SparkSession

from penstock.bench.scale.backlog import Backlog
from penstock.bench.scale.processes import asked_backlogs, tell
from penstock.bench.scale.sides import Run, batch, on_penstock
from penstock.engines.spark.session import session

Side = Literal["batch", "by-size", "in-hand"]
SIDES: tuple[Side, ...] = ("batch", "by-size", "in-hand")


@dataclass(frozen=True, slots=True)
class Sample:
    """One run of one side over a backlog."""

    side: Side
    rows: int
    repeat: int
    seconds: float
    rows_per_s: float
    steps: int = 0
    large_steps: int = 0
    driver_row_bytes: int = 0


def samples(
    spark: SparkSession, small: Backlog, backlogs: Sequence[Backlog], repeats: int
) -> Iterator[Sample]:
    """All samples, in turns, after a small run of each side."""
    for side in SIDES:
        tell(f"{side}: warming up")
        _run(spark, side, small)
    for backlog in backlogs:
        for repeat in range(repeats):
            for side in SIDES:
                tell(f"{backlog.rows:,} rows, {side}, {repeat + 1} of {repeats}")
                run = _run(spark, side, backlog)
                yield Sample(
                    side,
                    backlog.rows,
                    repeat,
                    run.seconds,
                    backlog.rows / run.seconds,
                    run.steps,
                    run.large_steps,
                    run.driver_row_bytes,
                )


def _run(spark: SparkSession, side: Side, backlog: Backlog) -> Run:
    with tempfile.TemporaryDirectory(prefix="penstock-bench-", ignore_cleanup_errors=True) as root:
        match side:
            case "batch":
                return batch(spark, backlog, Path(root) / "out")
            case "by-size" | "in-hand":
                return on_penstock(spark, backlog, Path(root), side)


def main() -> None:
    """Measures, and prints each sample."""
    asked: dict[str, Any] = json.loads(sys.argv[1])
    small, *backlogs = asked_backlogs(asked)
    spark = session.make(master=asked["master"])
    try:
        for sample in samples(spark, small, backlogs, asked["repeats"]):
            tell(json.dumps(asdict(sample)))
    finally:
        spark.stop()


if __name__ == "__main__":
    main()
