"""Thread plans: cheap queries beside an expensive one.

Five cheap queries get a few rows several times a second. An expensive one, 20 ms a row, always has rows that
wait. Each thread plan runs both, and the cheap ones alone, in turns. Latency is measured from outside: from
pushing a row to having its result. What it costs to run each operator by itself is in `selections`.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from statistics import mean, median, stdev
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from penstock.bench.scheduling import selections
from penstock.bench.scheduling.claims import Claim, is_less
from penstock.bench.scheduling.selections import Throughput
from penstock.engines.spark.engine import Engine
from penstock.experiments.on_spark.running import finish, push

Progress = Callable[[str], None]

#: How the graph is divided among threads. `hmts` finds out what is expensive; `hmts by hand` is told.
PLANS = ("gts", "ots", "di", "pool", "owned", "hmts", "hmts by hand")
#: Cheap queries; no two have one shape, so that each is a unit of its own.
CHEAP = (
    "SELECT sent, v + 1 AS w FROM light WHERE v >= 0",
    "SELECT sent, upper(k) AS k FROM light WHERE length(k) > 0",
    "SELECT sent, v * v AS w FROM light WHERE v < 1000 AND k <> 'none'",
    "SELECT sent, concat(k, '-', CAST(v AS STRING)) AS w FROM light",
    "SELECT sent, CASE WHEN v > 500 THEN 'high' ELSE 'low' END AS w FROM light WHERE v <> -1",
)
#: What a row of the expensive query is to take, and how many of its rows wait at least.
DEAR_S, _DEAR_WAITING = 0.02, 60
#: Texts that it hashes for a row, so that none of them is too long.
_HASHES = 8
#: Rows of a group for the cheap queries, and seconds from one to the next.
_GROUP, _EVERY_S = 20, 0.25
#: The most that latency may be, in times of what it is alone.
NEAR = 1.5


@dataclass(frozen=True, slots=True)
class Settings:
    """How long and how often."""

    seconds: float = 8.0
    repeats: int = 3
    workers: int = 2
    dear_s: float = DEAR_S
    backlog_rows: int = 300_000
    plans: tuple[str, ...] = PLANS


@dataclass(frozen=True, slots=True)
class Sample:
    """The cheap queries' latencies under a plan, with the expensive query or without, and what that got."""

    plan: str
    repeat: int
    beside: bool
    median_s: float
    p95_s: float
    results: int
    dear_rows_per_s: float
    units: int
    partitions: int


def measure(
    spark: SparkSession, settings: Settings, progress: Progress = lambda _: None
) -> dict[str, object]:
    """All samples, and what is concluded. Ctrl-C ends it early, with what there is."""
    samples: list[Sample] = []
    throughputs: list[Throughput] = []
    try:
        _latencies(spark, settings, samples, progress)
        selections.measure(
            spark, settings.workers, settings.repeats, settings.backlog_rows, throughputs, progress
        )
    except KeyboardInterrupt:
        if not samples:
            raise
        progress("interrupted; this is what was measured")
    return concluded(settings, samples, throughputs)


# --- cheap queries beside an expensive one ---


def statements(times: int) -> str:
    """Two streams, the cheap queries, and one that hashes a megabyte or so several times for a row."""
    hashes = ", ".join(f"sha2(repeat(concat(k, '{n}'), {times}), 256)" for n in range(_HASHES))
    cheap = "".join(
        f"CREATE CONTINUOUS QUERY cheap{number} AS {text};\n" for number, text in enumerate(CHEAP)
    )
    return (
        "CREATE STREAM light (sent BIGINT, v INT, k STRING) USING push;\n"
        "CREATE STREAM heavy (v INT, k STRING) USING push;\n"
        f"{cheap}CREATE CONTINUOUS QUERY dear AS SELECT v, sha2(concat({hashes}), 256) AS d FROM heavy;\n"
    )


def hashes_for(spark: SparkSession, seconds: float) -> int:
    """How long a text must be hashed so that a row takes that long."""

    def taken_s(times: int, rows: int) -> float:
        columns = ", ".join(
            f"max(sha2(repeat(concat(CAST(id AS STRING), '{n}'), {times}), 256))" for n in range(_HASHES)
        )
        began = time.monotonic()
        spark.sql(f"SELECT {columns} FROM range(100000, {100_000 + rows}, 1, 1)").collect()
        return time.monotonic() - began

    times, few, many = 50_000, 10, 50
    taken_s(times, many)  # until Java has compiled it
    for _ in range(3):  # the least of two, since something else may run meanwhile
        least = [min(taken_s(times, rows), taken_s(times, rows)) for rows in (few, many)]
        row_s = (least[1] - least[0]) / (many - few)
        times = round(times * min(4.0, max(0.25, seconds / max(row_s, 1e-6))))
    return times


def _latencies(spark: SparkSession, settings: Settings, samples: list[Sample], progress: Progress) -> None:
    times = hashes_for(spark, settings.dear_s)
    with Engine(spark=spark, workers=settings.workers) as engine:
        engine.execute(statements(times))
        got = _Got()
        for number in range(len(CHEAP)):
            engine.on_result(f"cheap{number}", got.take, name=f"watch{number}")
        engine.start()
        progress("warming up")
        for plan in settings.plans:
            _use(engine, plan)
            _run(engine, got, 2.0, beside=True)
        for repeat in range(settings.repeats):
            order = [(plan, beside) for plan in settings.plans for beside in (False, True)]
            random.Random(repeat).shuffle(order)
            for number, (plan, beside) in enumerate(order, 1):
                sides = "beside an expensive one" if beside else "alone"
                progress(
                    f"repeat {repeat + 1} of {settings.repeats}, {number} of {len(order)}: {plan}, {sides}"
                )
                _use(engine, plan)
                _run(engine, got, 1.5, beside=beside)
                latencies, dear = _run(engine, got, settings.seconds, beside=beside)
                samples.append(
                    Sample(
                        plan,
                        repeat,
                        beside,
                        float(np.median(latencies)),
                        float(np.percentile(latencies, 95)),
                        len(latencies),
                        dear / settings.seconds,
                        len(engine.coordinator.control.units),
                        len(engine.coordinator.control.partitions),
                    )
                )


def _use(engine: Engine, plan: str) -> None:
    for name in [one.name for one in engine.catalog.partitions.values()]:
        engine.execute(f"DROP PARTITION {name};")
    engine.use_scheduling(plan.split()[0])
    if plan == "hmts by hand":
        engine.set_partition("heavy_part", queries=["dear"])


@dataclass(slots=True)
class _Got:
    """Latencies from outside: from pushing a row to having its result."""

    latencies: list[float] = field(default_factory=list)

    def take(self, rows: pa.Table, _position: int) -> None:
        """A result."""
        now_us = time.time_ns() // 1000
        self.latencies.extend(((now_us - rows["sent"].to_numpy()) / 1e6).tolist())


def _run(engine: Engine, got: _Got, seconds: float, *, beside: bool) -> tuple[list[float], int]:
    """Feeds for a while; latencies of what was sent meanwhile, and rows of the expensive query."""
    got.latencies = []
    with _fed(engine) if beside else _nothing() as done:
        before = done()
        tickets, began = [], time.monotonic()
        for n in range(round(seconds / _EVERY_S)):
            time.sleep(max(0.0, began + n * _EVERY_S - time.monotonic()))
            tickets.append(push(engine, "light", _light(n)))
        time.sleep(max(0.0, began + seconds - time.monotonic()))
        dear = done() - before
    finish(engine, tickets, 300)
    return got.latencies, dear


@contextmanager
def _nothing() -> Iterator[Callable[[], int]]:
    yield lambda: 0


@contextmanager
def _fed(engine: Engine) -> Iterator[Callable[[], int]]:
    """Keeps rows waiting for the expensive query; what it gives says how many it has done."""
    stopping = threading.Event()
    measures = engine.coordinator.results.measures["dear"]
    start = measures.rows

    def feed() -> None:
        pushed = 0
        while not stopping.wait(0.02):
            if pushed - (measures.rows - start) < _DEAR_WAITING:
                push(engine, "heavy", _heavy(pushed, _DEAR_WAITING // 2))
                pushed += _DEAR_WAITING // 2

    thread = threading.Thread(target=feed, name="feed", daemon=True)
    thread.start()
    while measures.rows == start:
        time.sleep(0.02)
        engine.check()
    try:
        yield lambda: measures.rows
    finally:
        stopping.set()
        thread.join()


def _light(number: int) -> pa.Table:
    values = np.arange(number * _GROUP, (number + 1) * _GROUP, dtype=np.int32) % 997
    sent = np.full(_GROUP, time.time_ns() // 1000, dtype=np.int64)
    return pa.table({"sent": sent, "v": values, "k": [f"k{value}" for value in values]})


def _heavy(first: int, rows: int) -> pa.Table:
    values = np.arange(first, first + rows, dtype=np.int32)
    return pa.table({"v": values, "k": [f"{100_000 + value}" for value in values.tolist()]})


# --- conclusions ---


def concluded(
    settings: Settings, samples: Sequence[Sample], throughputs: Sequence[Throughput]
) -> dict[str, object]:
    """Everything as `--json` prints it."""
    found = [*claims(samples), *selections.claims(throughputs)]
    return {
        "bench": "threads",
        "settings": asdict(settings),
        "samples": [asdict(sample) for sample in samples],
        "throughputs": [asdict(one) for one in throughputs],
        "table": table(samples),
        "throughput": selections.table(throughputs),
        "ratios": {claim.claim: claim.ratio for claim in found},
        "claims": [claim.as_json() for claim in found],
    }


def table(samples: Sequence[Sample]) -> list[dict[str, Any]]:
    """A line for each plan: the median of medians alone and beside, their spread, and their ratio."""
    lines = []
    for plan in dict.fromkeys(sample.plan for sample in samples):
        line: dict[str, Any] = {"plan": plan}
        for side, beside in (("alone", False), ("beside", True)):
            mine = [one for one in samples if one.plan == plan and one.beside == beside]
            medians = [one.median_s for one in mine]
            line[f"{side}_s"] = median(medians) if medians else None
            line[f"{side}_std"] = stdev(medians) if len(medians) > 1 else 0.0
            line[f"{side}_p95_s"] = median([one.p95_s for one in mine]) if mine else None
        beside_ = [one for one in samples if one.plan == plan and one.beside]
        line["dear_rows_per_s"] = mean(one.dear_rows_per_s for one in beside_) if beside_ else None
        line["ratio"] = line["beside_s"] / line["alone_s"] if line["beside_s"] and line["alone_s"] else None
        lines.append(line)
    order = {plan: place for place, plan in enumerate(PLANS)}
    return sorted(lines, key=lambda line: order.get(line["plan"], len(order)))


def claims(samples: Sequence[Sample]) -> list[Claim]:
    """What HMTS' paper says of latency, held against the samples."""
    latency: dict[str, list[float | None]] = {}
    for sample in sorted(samples, key=lambda one: one.repeat):
        side = "beside" if sample.beside else "alone"
        latency.setdefault(f"{sample.plan}, {side}", []).append(sample.median_s)
    found = []
    for plan in ("hmts", "hmts by hand", "gts"):
        claim = f"{plan}: beside the expensive query at most {NEAR:g} times the latency alone"
        found.append(is_less(claim, latency, f"{plan}, beside", f"{plan}, alone", NEAR))
    for plan in ("hmts", "hmts by hand"):
        claim = f"{plan}: at most {NEAR:g} times the latency alone in a pool"
        found.append(is_less(claim, latency, f"{plan}, beside", "pool, alone", NEAR))
        found.append(is_less(f"{plan}: less latency than gts", latency, f"{plan}, beside", "gts, beside"))
    return found
