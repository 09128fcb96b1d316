"""One run of one side, in a process of its own: what one leaves behind must not slow down the next.

    python -m penstock.bench.many.sample '{"side": "penstock", "mix": "filters", "queries": 250}'

A line it prints says what it is doing, or, in braces, what has been measured so far.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from pyspark.sql import SparkSession

from penstock.bench.arriving import Dropper
from penstock.bench.many.mixes import Mix, Setting, setting
from penstock.bench.many.sides import MADE, OnPenstock, Side, SideName, latencies, statement
from penstock.engines.spark.session import session
from penstock.errors import ExperimentError

#: Spark is the same for all sides.
SETTINGS = {"spark.scheduler.mode": "FAIR", "spark.driver.memory": "6g"}
#: Rows of a file of the backlog, and the event time that a backlog covers.
_FILE_ROWS, _BACKLOG_US = 10_000, 20_000_000


@dataclass(frozen=True, slots=True)
class Asked:
    """What to measure: how long, at what rate, and when to give up."""

    side: SideName | str
    mix: Mix
    queries: int
    seconds: float = 60.0
    rows_per_s: int = 1000
    backlog_rows: int = 400_000
    limit_s: float = 600.0


@dataclass(slots=True)
class Sample:
    """What was measured; what a side did not finish is missing, and `failed` says why."""

    side: str
    mix: str
    queries: int
    ready_s: float | None = None
    mean_latency_s: float | None = None
    p95_latency_s: float | None = None
    rows_out: int | None = None
    register_s: float | None = None
    register_delay_s: float | None = None
    backlog_rows: int | None = None
    rows_per_s: float | None = None
    cpu_s_per_million: float | None = None
    memory_bytes: int | None = None
    failed: str | None = None
    whole: bool = False  # whether nothing is left to measure

    def tell(self) -> None:
        """Prints it."""
        print(json.dumps(asdict(self)), flush=True)


def main() -> None:
    """Measures, and prints what it came to."""
    asked = Asked(**json.loads(sys.argv[1]))
    spark = session.make(conf=SETTINGS)
    with tempfile.TemporaryDirectory(prefix="penstock-bench-", ignore_cleanup_errors=True) as root:
        found = _batch(spark, asked, Path(root)) if asked.side == "batch" else _run(spark, asked, Path(root))
    found.whole = found.failed is None
    found.tell()
    os._exit(0)  # hundreds of streams take minutes to stop


def _run(spark: SparkSession, asked: Asked, root: Path) -> Sample:
    found = Sample(asked.side, asked.mix, asked.queries)
    world = setting(asked.mix, asked.queries + 1)
    questions, extra = world.questions[:-1], world.questions[-1]
    if asked.mix == "filters":
        questions = setting(asked.mix, asked.queries).questions
    world = Setting(world.streams, questions, world.tables)
    droppers = [Dropper(root / "in" / one.name, one.lines, one.name) for one in world.streams]
    side = MADE[asked.side](spark, world, root, droppers)  # type: ignore[index]
    meter = Meter(spark)
    try:
        _tell(f"{asked.queries} queries begin")
        began = time.monotonic()
        side.begin()
        found.ready_s = time.monotonic() - began
        _tell(f"ready after {found.ready_s:.1f} s; warming up")
        feed = _Feed(side, world, asked)
        _warm_up(feed, max(asked.seconds / 6, 5.0))
        _tell(f"latency at {asked.rows_per_s:,} rows/s")
        _latency(side, feed, asked, found)
        found.tell()
        if isinstance(side, OnPenstock):
            _register(side, feed, statement(extra), found)
        _throughput(feed, asked, found, meter)
    except (ExperimentError, RuntimeError) as error:
        found.failed = str(error)
    found.memory_bytes = meter.most_bytes
    return found


def _warm_up(feed: _Feed, seconds: float) -> None:
    """At least one file; some sides take minutes for that, others have then seen too little."""
    began = time.monotonic()
    feed.steadily(1.0)
    feed.finish()
    left = seconds - (time.monotonic() - began)
    if left > 1:
        feed.steadily(left)
        feed.finish()


def _latency(side: Side, feed: _Feed, asked: Asked, found: Sample) -> None:
    began_us = time.time_ns() // 1000
    feed.steadily(asked.seconds)
    ended_us = time.time_ns() // 1000
    feed.finish()
    by_query = latencies(side, feed.sent_us, began_us, ended_us)
    if not by_query:
        raise ExperimentError("nothing came out")
    found.mean_latency_s = float(np.mean([np.mean(one) for one in by_query.values() if len(one)]))
    found.p95_latency_s = float(np.mean([np.percentile(one, 95) for one in by_query.values() if len(one)]))
    found.rows_out = sum(len(one) for one in by_query.values())


def _register(side: OnPenstock, feed: _Feed, text: str, found: Sample) -> None:
    """One more query while rows come: how long that takes, and how much later others' results are."""
    usual_us = time.time_ns() // 1000
    feed.steadily(5.0)
    text = text.replace("QUERY q", "QUERY extra", 1)
    with_us = time.time_ns() // 1000
    thread = threading.Thread(target=feed.steadily, args=(5.0,))
    thread.start()
    time.sleep(1.0)
    began = time.monotonic()
    side.engine.execute(text)
    found.register_s = time.monotonic() - began
    thread.join()
    feed.finish()
    usual = latencies(side, feed.sent_us, usual_us, with_us).values()
    then = latencies(side, feed.sent_us, with_us, time.time_ns() // 1000).values()
    worst = [max((float(np.max(one)) for one in some if len(one)), default=0.0) for some in (usual, then)]
    found.register_delay_s = max(0.0, worst[1] - worst[0])


def _throughput(feed: _Feed, asked: Asked, found: Sample, meter: Meter) -> None:
    """A backlog, twice as large each time until it takes long enough; the last one counts."""
    rows = asked.backlog_rows
    while True:
        place = feed.prepared(rows)
        _tell(f"a backlog of {rows:,} rows")
        began, cpu_s = time.monotonic(), meter.cpu_s()
        place()
        feed.finish()
        taken_s = time.monotonic() - began
        found.backlog_rows, found.rows_per_s = rows, rows / taken_s
        found.cpu_s_per_million = (meter.cpu_s() - cpu_s) / (rows * asked.queries / 1e6)
        if taken_s >= asked.seconds / 3:
            return
        rows *= 2 if taken_s > asked.seconds / 6 else 4


def _batch(spark: SparkSession, asked: Asked, root: Path) -> Sample:
    """The limit: one batch job over all rows, the filters as one join with a table of their bounds."""
    found = Sample("batch", asked.mix, asked.queries)
    world = setting("filters", asked.queries)
    bounds = spark.createDataFrame(
        [(n, low, high) for n, (low, high) in enumerate(world.bounds)], "query INT, low DOUBLE, high DOUBLE"
    ).persist()
    bounds.createOrReplaceTempView("bounds")
    meter, rows, turn = Meter(spark), asked.backlog_rows, 0
    while True:
        dropper = Dropper(root / "in" / str(turn), world.streams[0].lines)
        dropper.place(dropper.prepare(rows // _FILE_ROWS, _FILE_ROWS, _BACKLOG_US))
        _tell(f"one batch job over {rows:,} rows")
        began, cpu_s = time.monotonic(), meter.cpu_s()
        arrived = spark.read.schema(world.streams[0].columns).json(str(root / "in" / str(turn)))
        arrived.createOrReplaceTempView("readings")
        spark.sql(
            "SELECT /*+ BROADCAST(bounds) */ query, id, sent, k, v "
            "FROM readings JOIN bounds ON v >= low AND v < high"
        ).write.parquet(str(root / "out" / str(turn)))
        taken_s = time.monotonic() - began
        found.backlog_rows, found.rows_per_s = rows, rows / taken_s
        found.cpu_s_per_million = (meter.cpu_s() - cpu_s) / (rows * asked.queries / 1e6)
        if taken_s >= asked.seconds / 3:
            found.memory_bytes = meter.most_bytes
            return found
        rows, turn = rows * (2 if taken_s > asked.seconds / 6 else 4), turn + 1


class _Feed:
    """Drops files into all streams, each its part."""

    def __init__(self, side: Side, world: Setting, asked: Asked) -> None:
        self._side, self._world, self._asked = side, world, asked
        self.sent_us: list[int] = []

    def steadily(self, seconds: float) -> None:
        """A file a second in each stream."""
        began = time.monotonic()
        for n in range(round(seconds)):
            time.sleep(max(0.0, began + n - time.monotonic()))
            self.sent_us.append(time.time_ns() // 1000)
            for stream, dropper in zip(self._world.streams, self._side.droppers, strict=True):
                dropper.drop(max(1, round(self._asked.rows_per_s * stream.part)), self.sent_us[-1])
        time.sleep(max(0.0, began + seconds - time.monotonic()))

    def prepared(self, rows: int) -> Callable[[], None]:
        """So many rows, ready to be seen; makes them seen."""
        files = max(1, rows // _FILE_ROWS)
        placed = [
            (dropper, dropper.prepare(files, max(1, round(_FILE_ROWS * stream.part)), _BACKLOG_US))
            for stream, dropper in zip(self._world.streams, self._side.droppers, strict=True)
        ]

        def place() -> None:
            for dropper, paths in placed:
                dropper.place(paths)

        return place

    def finish(self) -> None:
        """Waits until all results can be read."""
        began = time.monotonic()
        while not self._side.is_done():
            time.sleep(0.05)
            if time.monotonic() - began > self._asked.limit_s:
                raise ExperimentError(f"not through with its rows after {self._asked.limit_s:g} s")


class Meter:
    """The processor time and memory of this process and its Spark."""

    def __init__(self, spark: SparkSession) -> None:
        jvm = spark.sparkContext._jvm
        assert jvm is not None
        self._processes = [os.getpid(), int(jvm.java.lang.ProcessHandle.current().pid())]
        self.most_bytes = 0
        threading.Thread(target=self._watch, name="meter", daemon=True).start()

    def cpu_s(self) -> float:
        """Seconds so far."""
        ticks = 0
        for process in self._processes:
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
        return ticks / os.sysconf("SC_CLK_TCK")

    def _watch(self) -> None:
        while True:
            found = 0
            for process in self._processes:
                pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
                found += pages * os.sysconf("SC_PAGE_SIZE")
            self.most_bytes = max(self.most_bytes, found)
            time.sleep(0.5)


def _tell(text: str) -> None:
    print(text, flush=True)


if __name__ == "__main__":
    main()
