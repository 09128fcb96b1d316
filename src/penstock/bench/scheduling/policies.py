"""Every policy on the same twenty queries and the same rows, in turns: latency, memory, staleness, evenness.

One engine runs them all, one after the other, each time in another order: the policy is changed while the
engine runs, jobs are made and warm before anything counts, and what is known of costs and selectivities is
the same for all. The load is a share of what the engine can process when it is never idle, by `fcfs`.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import mean, stdev

from pyspark.sql import SparkSession

from penstock.bench.scheduling import simulated
from penstock.bench.scheduling.samples import Sample, claims, table
from penstock.bench.scheduling.workload import Chain, Workload
from penstock.engines.spark.engine import Engine
from penstock.errors import ExperimentError, PolicyError
from penstock.experiments.on_spark.running import Run, finish, push, run
from penstock.policies.parsing import MAKERS, parse

Progress = Callable[[str], None]

#: How each is run where its defaults make no sense on Spark: by turns of a tenth of a second a step is mostly
#: its fixed cost, and a limit below the usual backlog makes FIFO of what flushes.
SETTINGS: Mapping[str, str] = {
    "round-robin": "round-robin(seconds=0.5)",
    "weighted-round-robin": "weighted-round-robin(seconds=0.5)",
    "chain-flush": "chain-flush(limit_s=4.0)",
    "composed": "composed(limit_s=4.0)",
}
#: Rows that one step takes at most, under every policy.
TRAIN_ROWS = 2000
#: Streams, each read by four queries.
STREAMS = 5
#: Rows for each stream, push by push, from which the engine learns what operators cost.
_LESSONS = (50, 100, 400, 200, 800, 100, 400)
#: Rows for each stream before a run, so that its jobs are made.
_WARM = (100, 300)


@dataclass(frozen=True, slots=True)
class Settings:
    """How long, how often, at which share of what can be processed."""

    seconds: float = 15.0
    repeats: int = 3
    load: float = 0.9
    workers: int = 2
    train_rows: int = TRAIN_ROWS
    calibration_s: float = 8.0
    streams: int = STREAMS
    policies: tuple[str, ...] = ()

    def texts(self) -> dict[str, str]:
        """The policies that take part, by the name they have in tables, as they are run."""
        known = [name for name in MAKERS if not parse(name).needs_oracle]
        found = {name: SETTINGS.get(name, name) for name in self.policies or known}
        for text in found.values():
            if parse(text).needs_oracle:
                raise PolicyError(f"policy '{text}' runs in virtual time only; choose another one")
        return found


@dataclass(frozen=True, slots=True)
class Load:
    """What came in one repeat: rows per second that can be processed and that came, a step's fixed cost."""

    repeat: int
    capacity_rows_per_s: float
    offered_rows_per_s: float
    fixed_s: float


def measure(
    spark: SparkSession, settings: Settings, progress: Progress = lambda _: None
) -> dict[str, object]:
    """All samples, and what is concluded. Ctrl-C ends it early, with what there is."""
    workload = Workload(settings.streams)
    samples: list[Sample] = []
    loads: list[Load] = []
    with Engine(spark=spark, workers=settings.workers, train_rows=settings.train_rows) as engine:
        engine.execute(workload.statements())
        engine.start()
        try:
            progress("learning what operators cost")
            _learn(engine, workload)
            for repeat in range(settings.repeats):
                loads.append(_load(engine, workload, settings, repeat))
                progress(_shown(loads[-1]))
                _repeat(engine, workload, settings, loads[-1], samples, progress)
        except KeyboardInterrupt:
            if not samples:
                raise
            progress("interrupted; this is what was measured")
    progress("the same in virtual time")
    return concluded(settings, samples, loads)


def _repeat(
    engine: Engine,
    workload: Workload,
    settings: Settings,
    load: Load,
    samples: list[Sample],
    progress: Progress,
) -> None:
    """All policies once, in an order of this repeat, each over the same rows."""
    texts, repeat, seconds = settings.texts(), load.repeat, settings.seconds
    groups = workload.arrivals(seconds, load.offered_rows_per_s, repeat)
    rows = workload.rows_of(groups, repeat)
    order = [*texts]
    random.Random(repeat).shuffle(order)
    for number, name in enumerate(order, 1):
        progress(f"repeat {repeat + 1} of {settings.repeats}, {number} of {len(order)}: {texts[name]}")
        try:
            engine.use_policy(texts[name])
            _push_all(engine, workload, _WARM)
            found = run(engine, groups, rows, seconds, 4 * seconds + 30)
            units = len(engine.coordinator.control.units)
            samples.append(sampled(name, repeat, found, workload.chains(), settings.workers, units))
        except ExperimentError as error:
            samples.append(Sample(name, repeat, str(error)))
            finish(engine, (), 600)


def _shown(load: Load) -> str:
    return (
        f"can process {load.capacity_rows_per_s:,.0f} rows/s, {load.offered_rows_per_s:,.0f} come; "
        f"a step costs {load.fixed_s * 1000:.0f} ms before its first row"
    )


def _learn(engine: Engine, workload: Workload) -> None:
    """Whole chains first, then each operator by itself."""
    for policy in ("fcfs", "fifo"):
        engine.use_policy(policy)
        _push_all(engine, workload, _LESSONS)


def _push_all(engine: Engine, workload: Workload, sizes: Sequence[int]) -> float:
    """Rows for all streams, each time so many, and each time all are through; how long the last took."""
    taken_s = 0.0
    for place, size in enumerate(sizes):
        tables = workload.backlog(size, place)
        began = time.monotonic()
        finish(engine, [push(engine, name, rows) for name, rows in tables.items()], 600)
        taken_s = time.monotonic() - began
    return taken_s


def _load(engine: Engine, workload: Workload, settings: Settings, repeat: int) -> Load:
    """Rows per second over all streams while a backlog is worked off, by first come first served."""
    engine.use_policy("fcfs")
    size = settings.train_rows
    while (taken_s := _push_all(engine, workload, (size,))) < settings.calibration_s:
        size = round(size * max(1.2, min(4.0, 1.2 * settings.calibration_s / taken_s)))
    capacity = size * workload.streams / taken_s
    return Load(repeat, capacity, settings.load * capacity, _fixed_s(engine, workload))


def _fixed_s(engine: Engine, workload: Workload) -> float:
    """What a step takes before its first row: that of steps with a row or two."""
    before = engine.status().totals
    _push_all(engine, workload, (2,) * 5)
    after = engine.status().totals
    return (after.step_s - before.step_s) / max(1, after.steps - before.steps)


def sampled(name: str, repeat: int, found: Run, chains: Sequence[Chain], workers: int, units: int) -> Sample:
    """What a run comes to."""
    latencies = found.latencies()
    weights = {chain.name: chain.weight for chain in chains}
    stale = {chain.name: found.stale_s(chain.name) / found.fed_s for chain in chains}
    per_s = found.trace.per_second(found.fed_s)
    return Sample(
        name,
        repeat,
        mean_latency_s=latencies.mean_s,
        p95_latency_s=latencies.percentile_s(0.95),
        mean_bytes=found.byte_s / found.fed_s,
        most_bytes=found.most_bytes,
        staleness=mean(stale.values()),
        weighted_staleness=sum(weights[one] * stale[one] for one in stale) / sum(weights.values()),
        output_deviation=stdev(per_s) if len(per_s) > 1 else 0.0,
        steps=found.steps,
        busy=found.step_s / (workers * found.taken_s),
        taken_s=found.taken_s,
        rows_out=latencies.count,
        units=units,
    )


# --- conclusions ---


def concluded(settings: Settings, samples: Sequence[Sample], loads: Sequence[Load]) -> dict[str, object]:
    """Everything as `--json` prints it."""
    found = claims(samples)
    return {
        "bench": "policies",
        "settings": asdict(settings),
        "run_as": settings.texts(),
        "loads": [asdict(load) for load in loads],
        "samples": [asdict(sample) for sample in samples],
        "table": table(samples),
        "ratios": {claim.claim: claim.ratio for claim in found},
        "claims": [claim.as_json() for claim in found],
        "virtual_time": {
            "fixed cost as on Spark": in_virtual_time(settings, loads, as_on_spark=True),
            "no fixed cost": in_virtual_time(settings, loads, as_on_spark=False),
        },
    }


def in_virtual_time(settings: Settings, loads: Sequence[Load], *, as_on_spark: bool) -> dict[str, object]:
    """The same rows for the same queries, if nothing but the policy's decisions mattered."""
    workload, samples = Workload(settings.streams), []
    for load in loads:
        fixed_s = load.fixed_s if as_on_spark else 0.0
        byte_s = simulated.fitted_byte_s(
            workload, load.capacity_rows_per_s, settings.workers, load.fixed_s, settings.train_rows
        )
        groups = workload.arrivals(settings.seconds, load.offered_rows_per_s, load.repeat)
        for name, text in settings.texts().items():
            found = simulated.simulate(
                workload,
                groups,
                text,
                byte_s=byte_s,
                fixed_s=fixed_s,
                workers=settings.workers,
                train_rows=settings.train_rows,
            )
            samples.append(simulated.sampled(name, load.repeat, workload, found, settings.seconds))
    return {"table": table(samples), "claims": [claim.as_json() for claim in claims(samples)]}
