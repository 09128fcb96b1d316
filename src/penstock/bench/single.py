"""One query on Penstock beside the same query on plain Structured Streaming.

Both read JSON lines from files that keep arriving and write Parquet, on one Spark with the same cores, in
turns. Latency is measured from outside, the same way for both: from the moment a row was sent (for a window,
the row that closes it) until the file with the result could be read. Throughput is that of a backlog.
"""

from __future__ import annotations

import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean, median
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from penstock.bench.arriving import COLUMNS, Dropper
from penstock.bench.structured import files_done, readable_since
from penstock.engines.spark.engine import Engine
from penstock.errors import ExperimentError

Kind = Literal["stateless", "window"]
Side = Literal["penstock", "structured"]

SELECTS: dict[Kind, str] = {
    "stateless": "SELECT id, sent, k, v * 2 AS w FROM {} WHERE v > 50",
    "window": "SELECT window.end AS until, k, count(*) AS n, sum(v) AS total FROM {} "
    "GROUP BY window(t, '1 second'), k",
}
WINDOW_US = 1_000_000


@dataclass(frozen=True, slots=True)
class Settings:
    """How long and how often."""

    rows_per_s: int = 10_000
    seconds: float = 20.0
    warm_s: float = 8.0
    backlog_files: int = 200
    backlog_rows: int = 10_000
    repeats: int = 3


@dataclass(frozen=True, slots=True)
class Sample:
    """One run of one side."""

    kind: Kind
    side: Side
    mean_latency_s: float
    p95_latency_s: float
    rows_per_s: float
    overhead_ms: float | None = None


def measure(
    spark: SparkSession, settings: Settings, progress: Callable[[str], None] = lambda _: None
) -> dict[str, object]:
    """All samples, in turns, and the ratios of their medians."""
    samples: list[Sample] = []
    for repeat in range(settings.repeats):
        for kind in SELECTS:
            for side in ("penstock", "structured"):
                progress(f"{kind}, {side}, {repeat + 1} of {settings.repeats}")
                with tempfile.TemporaryDirectory(prefix="penstock-bench-") as root:
                    samples.append(_sample(spark, kind, side, Path(root), settings))
    return {
        "bench": "single",
        "settings": asdict(settings),
        "samples": [asdict(sample) for sample in samples],
        "ratios": {
            f"{kind}_{what}": _ratio(samples, kind, field)
            for kind in SELECTS
            for what, field in (("latency", "mean_latency_s"), ("throughput", "rows_per_s"))
        },
    }


def _ratio(samples: list[Sample], kind: Kind, field: str) -> float:
    def middle(side: Side) -> float:
        return float(median(getattr(s, field) for s in samples if s.kind == kind and s.side == side))

    return middle("penstock") / middle("structured")


def _sample(spark: SparkSession, kind: Kind, side: Side, root: Path, settings: Settings) -> Sample:
    dropper = Dropper(root / "in")
    running = _penstock if side == "penstock" else _structured
    with _Running(running(spark, kind, root, dropper.rows_of)) as run:
        dropper.feed(settings.rows_per_s, settings.warm_s).join()
        began_us = time.time_ns() // 1000
        dropper.feed(settings.rows_per_s, settings.seconds).join()
        ended_us = time.time_ns() // 1000
        time.sleep(3.0)
        latencies = _latencies(kind, root / "out", run.commits(), began_us, ended_us)
        files = dropper.prepare(settings.backlog_files, settings.backlog_rows, 4 * WINDOW_US)
        before = run.rows_done()
        wanted = before + settings.backlog_files * settings.backlog_rows
        started = time.monotonic()
        dropper.place(files)
        while run.rows_done() < wanted:
            time.sleep(0.1)
            if time.monotonic() - started > 300:
                raise ExperimentError(f"{side} did not finish its backlog of {kind} rows in five minutes")
        taken_s = time.monotonic() - started
        overhead_ms = run.overhead_ms()
    return Sample(
        kind,
        side,
        mean(latencies),
        float(np.percentile(latencies, 95)),
        settings.backlog_files * settings.backlog_rows / taken_s,
        overhead_ms,
    )


def _latencies(kind: Kind, out: Path, commits: dict[str, float], began_us: int, ended_us: int) -> list[float]:
    """Seconds from sending to reading: of rows sent, or windows closed, in the measured time."""
    found: list[float] = []
    for name, at_s in commits.items():
        table = pq.read_table(out / name)
        if kind == "stateless":
            sent = table["sent"].to_numpy()
        else:
            # Files come ten times a second, so a window is closed by the first one sent after its end.
            ends = table["until"].cast(pa.timestamp("us", tz="UTC")).cast(pa.int64()).to_numpy()
            sent = began_us + -((began_us - ends) // 100_000) * 100_000
        sent = sent[(sent >= began_us) & (sent <= ended_us)]
        found.extend(np.maximum(at_s - sent / 1e6, 0.0).tolist())
    return found


class _Side(ABC):
    """A running query: what it has committed, and how far it is."""

    @abstractmethod
    def commits(self) -> dict[str, float]:
        """The files that can be read, and since when."""

    @abstractmethod
    def rows_done(self) -> int:
        """Input rows whose results are committed."""

    def overhead_ms(self) -> float | None:
        """What a step takes beside Spark's part in it, from its start to its commit."""
        return None


class _Running:
    """A generator as a context: runs to its first value, and to its end when left."""

    def __init__(self, steps: Iterator[_Side]) -> None:
        self._steps = steps

    def __enter__(self) -> _Side:
        return next(self._steps)

    def __exit__(self, *_: object) -> None:
        for _side in self._steps:
            pass


class _OnPenstock(_Side):
    def __init__(self, engine: Engine, out: Path) -> None:
        self._engine, self._out = engine, out

    def commits(self) -> dict[str, float]:
        return {path.name: path.stat().st_ctime for path in self._out.glob("part-*.parquet")}

    def rows_done(self) -> int:
        return self._engine.read_up_to("rows")

    def overhead_ms(self) -> float:
        totals = self._engine.status().totals
        return (totals.step_s - totals.spark_s) / max(totals.steps, 1) * 1000


def _penstock(spark: SparkSession, kind: Kind, root: Path, _rows_of: Mapping[str, int]) -> Iterator[_Side]:
    select = SELECTS[kind].format("rows")
    with Engine(root / "state", out=root / "results", spark=spark, base_dir=root) as engine:
        engine.execute(
            f"CREATE STREAM rows ({COLUMNS}, WATERMARK FOR t AS t - INTERVAL 0 SECONDS) "
            "USING json OPTIONS (path 'in', arriving 'true');"
            f"CREATE CONTINUOUS QUERY q AS {select};"
        )
        engine.start()
        (root / "results" / "q").mkdir(parents=True, exist_ok=True)
        (root / "out").symlink_to(root / "results" / "q")
        yield _OnPenstock(engine, root / "results" / "q")


class _OnStructured(_Side):
    def __init__(self, out: Path, checkpoint: Path, rows_of: Mapping[str, int]) -> None:
        self._out, self._checkpoint, self._rows_of = out, checkpoint, rows_of

    def commits(self) -> dict[str, float]:
        return readable_since(self._out)

    def rows_done(self) -> int:
        return sum(self._rows_of[name] for name in files_done(self._checkpoint))


def _structured(spark: SparkSession, kind: Kind, root: Path, rows_of: Mapping[str, int]) -> Iterator[_Side]:
    session = spark.newSession()
    session.conf.set("spark.sql.shuffle.partitions", "2")
    session.conf.set("spark.sql.session.timeZone", "UTC")
    rows = session.readStream.schema(COLUMNS).json(str(root / "in"))
    rows.withWatermark("t", "0 seconds").createOrReplaceTempView("rows")
    frame = session.sql(SELECTS[kind].format("rows"))
    query = (
        frame.writeStream.format("parquet")
        .option("path", str(root / "out"))
        .option("checkpointLocation", str(root / "checkpoint"))
        .outputMode("append")
        .start()
    )
    try:
        yield _OnStructured(root / "out", root / "checkpoint", rows_of)
    finally:
        query.stop()
