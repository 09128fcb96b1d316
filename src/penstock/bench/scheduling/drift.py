"""Drift: a selectivity changes half-way, and the graph is cut anew, or not.

Chains, select → project → select, each on its own stream. If the first selection lets by few rows, Chain runs
it by itself, since nothing else frees as much memory in as little time; if it lets by nearly all, it frees
least, and the chain is one unit. The share that it lets by is in the rows, so that nothing but rows tells the
engine. Queues and latencies are watched over time, once with re-cutting and once without; both begin with the
cut that was right at first.

A cut with half as many units saves fixed costs. That counts where steps are small, so they are bounded, and
where there is much to do: when most rows are let by, one unit a chain can just do it, and two cannot.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import mean, stdev
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from penstock.bench.scheduling.claims import Claim, is_less
from penstock.bench.scheduling.workload import CODE, Workload, made_rows
from penstock.engines.spark.engine import Engine
from penstock.errors import ExperimentError
from penstock.experiments.on_spark.running import Group, Run, Trace, finish, push, run

Progress = Callable[[str], None]


#: The share of rows that the first selection lets by, at first and in the end.
SHARES = (0.05, 0.9)
#: How many times the texts are repeated that the operators of a chain hash.
HASHED = (800, 400, 800)
#: Rows for each stream, push by push, from which the engine learns what operators cost.
_LESSONS = (50, 100, 200, 150, 400, 100, 200)
#: Seconds from burst to burst on a stream.
_PERIOD_S = 2.5


@dataclass(frozen=True, slots=True)
class Settings:
    """How long, how often and by which policy; the load is that while most rows are let by."""

    seconds: float = 120.0
    repeats: int = 2
    policy: str = "chain"
    workers: int = 2
    train_rows: int = 200
    calibration_s: float = 6.0
    chains: int = 12
    load: float = 0.8

    def statements(self) -> str:
        """Streams and queries; the first selection lets by rows with a small `v`, whatever their hash."""
        text = ""
        for number in range(self.chains):
            first, second, third = (times + number for times in HASHED)
            text += (
                f"CREATE STREAM s{number:02d} "
                "(id BIGINT, k INT, code STRING, body STRING, v DOUBLE) USING push;\n"
                f"CREATE CONTINUOUS QUERY q{number:02d} AS SELECT * FROM (SELECT id, k + 1 AS k, body, "
                f"sha2(repeat(code, {second}), 256) AS d FROM s{number:02d} "
                f"WHERE length(sha2(repeat(code, {first}), 256)) * v < {CODE}) "
                f"WHERE sha2(repeat(d, {third}), 256) < '8';\n"
            )
        return text


@dataclass(frozen=True, slots=True)
class Sample:
    """One run: second by second, bytes in queues and the latency of results, and when the cut was another."""

    recut: bool
    repeat: int
    drift_s: float
    at_s: Sequence[float]
    bytes: Sequence[float]
    latency_s: Sequence[float | None]
    units: Sequence[int]
    recuts_s: Sequence[float]
    mean_bytes_after: float
    mean_latency_after_s: float
    steps: int


def drifting_rows(groups: Sequence[Group], change_s: float, seed: int) -> dict[str, pa.Table]:
    """The rows of each stream; from a time on another share of them is let by."""
    found = {}
    for number, name in enumerate(dict.fromkeys(group.stream for group in groups)):
        mine = [group for group in groups if group.stream == name]
        share_of = [SHARES[group.at_s >= change_s] for group in mine]
        each = np.repeat(share_of, [group.rows for group in mine])
        found[name] = rows_let_by(each, np.random.default_rng([seed, number]))
    return found


def rows_let_by(shares: np.ndarray[Any, np.dtype[np.float64]], rng: np.random.Generator) -> pa.Table:
    """A row for each share, let by with that probability."""
    chance = rng.random(len(shares))
    values = np.where(chance < shares, 0.25, 0.75)
    return made_rows(len(shares), rng).append_column("v", pa.array(values))


def measure(
    spark: SparkSession, settings: Settings, progress: Progress = lambda _: None
) -> dict[str, object]:
    """All samples, and what is concluded. Ctrl-C ends it early, with what there is."""
    samples: list[Sample] = []
    rate = settings.load * _capacity(spark, settings)
    progress(f"{rate:,.0f} rows/s come, load {settings.load:g} once most rows are let by")
    try:
        for repeat in range(settings.repeats):
            sides = [True, False]
            random.Random(repeat).shuffle(sides)
            for recut in sides:
                done = "with" if recut else "without"
                progress(f"repeat {repeat + 1} of {settings.repeats}: {done} re-cutting")
                try:
                    samples.append(_sample(spark, settings, rate, repeat, recut=recut))
                except ExperimentError as error:
                    progress(f"left out: {error}")
    except KeyboardInterrupt:
        if not samples:
            raise
        progress("interrupted; this is what was measured")
    return concluded(settings, rate, samples)


def _capacity(spark: SparkSession, settings: Settings) -> float:
    """Rows per second while a backlog is worked off of which most rows are let by."""
    size = settings.train_rows
    with Engine(spark=spark, workers=settings.workers, train_rows=settings.train_rows) as engine:
        engine.execute(settings.statements())
        engine.start()
        _push_all(engine, settings, SHARES[1], _LESSONS)
        while (taken_s := _push_all(engine, settings, SHARES[1], (size,))) < settings.calibration_s:
            size = round(size * max(1.2, min(4.0, 1.2 * settings.calibration_s / taken_s)))
    return size * settings.chains / taken_s


def _push_all(engine: Engine, settings: Settings, share: float, sizes: Sequence[int]) -> float:
    """Rows for all streams, each time so many, and each time all are through; how long the last took."""
    taken_s = 0.0
    for place, size in enumerate(sizes):
        tables = [
            rows_let_by(np.full(size, share), np.random.default_rng([1000, place, number]))
            for number in range(settings.chains)
        ]
        began = time.monotonic()
        finish(engine, [push(engine, f"s{n:02d}", rows) for n, rows in enumerate(tables)], 600)
        taken_s = time.monotonic() - began
    return taken_s


def _sample(spark: SparkSession, settings: Settings, rate: float, repeat: int, *, recut: bool) -> Sample:
    half_s = settings.seconds / 2
    groups = Workload(settings.chains).arrivals(settings.seconds, rate, repeat, _PERIOD_S)
    rows = drifting_rows(groups, half_s, repeat)
    with Engine(
        spark=spark, workers=settings.workers, train_rows=settings.train_rows, recuts=recut
    ) as engine:
        engine.execute(settings.statements())
        engine.start()
        for policy in ("fcfs", "fifo"):
            engine.use_policy(policy)
            _push_all(engine, settings, SHARES[0], _LESSONS)
        engine.use_policy(settings.policy)
        _push_all(engine, settings, SHARES[0], _LESSONS[:3])
        found = run(engine, groups, rows, settings.seconds, 4 * settings.seconds)
    return sampled(repeat, half_s, found, recut=recut)


def sampled(repeat: int, half_s: float, found: Run, *, recut: bool) -> Sample:
    """What a run comes to, second by second."""
    trace = found.trace
    edges = np.arange(0.0, np.ceil(found.taken_s) + 1)
    at_s = np.asarray(trace.at_s)
    places = np.digitize(at_s, edges) - 1
    queued_bytes = np.asarray(trace.queued_bytes)
    seen = [queued_bytes[places == n] for n in range(len(edges) - 1)]
    queued = [float(part.mean()) if len(part) else 0.0 for part in seen]
    rows = np.diff(np.interp(edges, at_s, trace.rows_out))
    seconds = np.diff(np.interp(edges, at_s, trace.latency_s))
    latency = [float(s / n) if n >= 1 else None for s, n in zip(seconds, rows, strict=True)]
    units = [trace.units[min(int(np.searchsorted(at_s, edge)), len(at_s) - 1)] for edge in edges[:-1]]
    after = edges[:-1] >= half_s
    late_rows = float(rows[after].sum())
    return Sample(
        recut,
        repeat,
        half_s,
        [float(edge) for edge in edges[:-1]],
        queued,
        latency,
        units,
        recuts(trace),
        float(np.asarray(queued)[after].sum() / half_s),
        float(seconds[after].sum() / late_rows) if late_rows else 0.0,
        found.steps,
    )


def recuts(trace: Trace) -> list[float]:
    """When the number of units was another than before."""
    return [
        at_s
        for at_s, before, after in zip(trace.at_s[1:], trace.units, trace.units[1:], strict=False)
        if before != after
    ]


# --- conclusions ---


def concluded(settings: Settings, rate: float, samples: Sequence[Sample]) -> dict[str, object]:
    """Everything as `--json` prints it."""
    found = claims(samples)
    return {
        "bench": "drift",
        "settings": asdict(settings),
        "offered_rows_per_s": rate,
        "samples": [asdict(sample) for sample in samples],
        "table": table(samples),
        "ratios": {claim.claim: claim.ratio for claim in found},
        "claims": [claim.as_json() for claim in found],
    }


def table(samples: Sequence[Sample]) -> list[dict[str, Any]]:
    """A line for each side: the second half's mean memory and latency, and when it was re-cut."""
    lines = []
    for recut in (True, False):
        mine = [one for one in samples if one.recut == recut]
        line: dict[str, Any] = {"recut": recut}
        for measure_ in ("mean_bytes_after", "mean_latency_after_s", "steps"):
            values = [float(getattr(one, measure_)) for one in mine]
            line[measure_] = mean(values) if values else None
            line[f"{measure_}_std"] = stdev(values) if len(values) > 1 else 0.0
        line["units"] = [(one.units[0], one.units[-1]) for one in mine]
        line["recut_after_s"] = [
            next((at_s - one.drift_s for at_s in one.recuts_s if at_s >= one.drift_s), None) for one in mine
        ]
        lines.append(line)
    return lines


def claims(samples: Sequence[Sample]) -> list[Claim]:
    """Whether re-cutting pays, once rows have changed; nothing can be said where the cut stayed anyway."""
    found = []
    was_cut = any(at_s >= one.drift_s for one in samples if one.recut for at_s in one.recuts_s)
    for measure_, what in (("mean_bytes_after", "memory"), ("mean_latency_after_s", "latency")):
        values: dict[str, list[float | None]] = {}
        for one in sorted(samples, key=lambda one: one.repeat):
            side = "cut anew" if one.recut else "the cut stays"
            values.setdefault(side, []).append(getattr(one, measure_))
        claim = f"less {what} if the graph is cut anew"
        if was_cut:
            found.append(is_less(claim, values, "cut anew", "the cut stays"))
        else:
            found.append(Claim(f"{claim}, but it was not", "not measured"))
    return found
