"""What the steps over a backlog take once all its rows have come in, and the driver's memory, in one process.

    python -m penstock.bench.scale.stepping '{"side": "two-tasks", "backlogs": [...], "master": null}'

Steps at large have two cores or one: of this machine, `local[2]` and `local[1]`, or of the cluster that a
master names, by `spark.cores.max`. All else is the same, also how the rows are divided among tasks. A small
run comes first.

The driver's memory is what Python and its JVM had resident at most, each by itself, added up. On one machine
the tasks run in that same JVM, so their memory is part of it, and a JVM takes what its limit lets it take
before it tidies up: there the figure bounds the driver's share from above, and says little of how that
grows. On a cluster it is the driver alone. In both, rows come in through the driver, a batch at a time, and
it may hold 64 MB of tables, which few rows fill as well as many.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from pyspark.sql import SparkSession

from penstock.bench.scale.backlog import Backlog
from penstock.bench.scale.processes import asked_backlogs, tell
from penstock.bench.scale.sides import Run, steps_alone
from penstock.engines.spark.engine import TRAIN_ROWS
from penstock.engines.spark.session import session
from penstock.errors import ExperimentError
from penstock.model.scheduling import Way

Side = Literal["two-tasks", "one-task", "in-hand"]
SIDES: tuple[Side, ...] = ("two-tasks", "one-task", "in-hand")
#: Tables that the driver may hold, and what its JVM may take.
MEMORY_BYTES, DRIVER_MEMORY = 64 << 20, "1g"
#: A step at large that is asked for takes 64 MB of rows at most; one that is by size takes all that wait.
_ASKED_FOR_ROWS = 1_000_000


@dataclass(frozen=True, slots=True)
class Sample:
    """The steps of one process: how long they took, and the peak of its memory."""

    side: Side
    rows: int
    step_s: float
    seconds: float
    steps: int
    large_steps: int
    driver_row_bytes: int
    python_bytes: int
    jvm_bytes: int
    ingest_s: float = 0.0  # until all rows had come in
    repeat: int = 0

    @property
    def driver_bytes(self) -> int:
        """Of Python and the JVM together."""
        return self.python_bytes + self.jvm_bytes


def measured(spark: SparkSession, side: Side, small: Backlog, backlog: Backlog) -> Sample:
    """A small run, and then the one that counts."""
    tell("warming up")
    _run(spark, side, small)
    tell(f"steps over {backlog.rows:,} rows")
    run = _run(spark, side, backlog)
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    return Sample(
        side,
        backlog.rows,
        run.step_s,
        run.seconds,
        run.steps,
        run.large_steps,
        run.driver_row_bytes,
        most_resident_bytes(os.getpid()),
        most_resident_bytes(int(jvm.java.lang.ProcessHandle.current().pid())),
        run.ingest_s,
    )


def _run(spark: SparkSession, side: Side, backlog: Backlog) -> Run:
    with tempfile.TemporaryDirectory(prefix="penstock-bench-", ignore_cleanup_errors=True) as root:
        way, rows = way_of(side, backlog.rows)
        run = steps_alone(spark, backlog, Path(root), way, memory_bytes=MEMORY_BYTES, train_rows=rows)
    if side != "in-hand" and run.large_steps < run.steps:
        raise ExperimentError(
            f"{run.steps - run.large_steps} of {run.steps} steps over {backlog.rows:,} rows were in hand, so "
            "this says nothing of steps at large"
        )
    return run


def way_of(side: Side, rows: int) -> tuple[Way, int]:
    """How steps of that side are run, and for how many rows if in hand; one at large takes all there are."""
    if side == "in-hand":
        return "in-hand", TRAIN_ROWS
    return ("at-large", _ASKED_FOR_ROWS) if rows <= _ASKED_FOR_ROWS else ("by-size", TRAIN_ROWS)


def most_resident_bytes(pid: int) -> int:
    """The most memory that a process ever had resident."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        name, _, value = line.partition(":")
        if name == "VmHWM":
            return int(value.split()[0]) * 1024
    raise OSError(f"/proc/{pid}/status does not say the most memory that was resident")


def place(side: Side, master: str | None) -> tuple[str, dict[str, str]]:
    """The master of a side, and Spark's settings there: cores, and tasks as for two of them."""
    cores = 1 if side == "one-task" else 2
    conf = {"spark.driver.memory": DRIVER_MEMORY, "spark.default.parallelism": "2"}
    if master is None:
        return f"local[{cores}]", conf
    return master, {**conf, "spark.cores.max": str(cores)}


def main() -> None:
    """Measures, and prints the sample."""
    asked: dict[str, Any] = json.loads(sys.argv[1])
    side: Side = asked["side"]
    small, backlog = asked_backlogs(asked)
    master, conf = place(side, asked["master"])
    spark = session.make(master=master, conf=conf)
    try:
        tell(json.dumps(asdict(measured(spark, side, small, backlog))))
    finally:
        spark.stop()


if __name__ == "__main__":
    main()
