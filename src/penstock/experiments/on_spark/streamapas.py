"""Figures 11 and 12 of StreamAPAS on Spark: a pool of workers, and workers that own their operators.

Two generators, two windows of 500 rows, a selection and a join, as in the paper. What hands rows from worker
to worker is microseconds there; here a step is tens of milliseconds (`bench transport` says what share).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from statistics import mean

import numpy as np

from penstock.engines.sim.arrivals import fixed_rate
from penstock.experiments.claims import judged
from penstock.experiments.on_spark import charts
from penstock.experiments.on_spark.noise import judged_shares, least_share
from penstock.experiments.on_spark.rig import Rig
from penstock.experiments.on_spark.scenario import COLUMNS, Scenario, in_ticks
from penstock.experiments.on_spark.sweeping import Found, Reproduced, Trial, report, sweep, together, unseen
from penstock.experiments.on_spark.work import Session
from penstock.experiments.report import Claim, Settings

PAPER = "StreamAPAS 2010"
STREAMS = ("first", "second")
WINDOW_ROWS = 500
#: Rows a minute of each stream, and how many rows come.
RATES, ROWS = (3_000, 6_000, 30_000), 1_000
QUICK_RATES, QUICK_ROWS = (6_000, 30_000), 500
#: The paper's two schedulers; operators are not grouped, so that there is something to hand over.
POLICIES: Mapping[str, str] = {
    "chain-flush": "chain-flush(limit_s=4.0)",
    "round-robin": "round-robin(rows=2000, order='ready')",
}
WORKERS = 3
#: What sides of figure 12 are called, by their number of workers.
NUMBERS = {1: "1 worker", 2: "2 workers", 3: "3 workers", 4: "4 workers"}
#: By how much latency may differ with the number of workers.
NEARLY_THE_SAME = 0.25
MEASURES = ("mean_latency_s", "p95_latency_s", "mean_memory_bytes", "staleness", "finish_s")


def statements() -> str:
    """The paper's query: a selection on one side, and a join of windows of rows."""
    streams = "".join(
        f"CREATE STREAM {name} ({COLUMNS}, WATERMARK FOR t AS t - INTERVAL 0 SECONDS) USING push;\n"
        for name in STREAMS
    )
    chosen, other = (f"(SELECT t, id, k % 100 AS value FROM {name})" for name in STREAMS)
    return (
        f"{streams}CREATE CONTINUOUS QUERY matched AS SELECT x.id AS a, y.id AS b "
        f"FROM (SELECT * FROM {chosen} WHERE value < 50) [ROWS {WINDOW_ROWS}] AS x "
        f"JOIN {other} [ROWS {WINDOW_ROWS}] AS y ON x.value < y.value;\n"
    )


def over_rates(sides: Mapping[str, tuple[str, str]], workers: int, *, quick: bool) -> list[Trial]:
    """Each rate, each side: its policy and what it does with workers."""
    rates, rows = (QUICK_RATES, QUICK_ROWS) if quick else (RATES, ROWS)
    found = []
    for rate in rates:
        arrivals = {name: in_ticks(fixed_rate(rate / 60.0, rows)) for name in STREAMS}
        found += [
            Trial(float(rate), side, Scenario(arrivals, policy, scheduling, workers=workers))
            for side, (policy, scheduling) in sides.items()
        ]
    return found


def configurations() -> dict[str, tuple[str, str]]:
    """Figure 11: each scheduler with a pool, and with workers that own their operators."""
    return {
        f"{policy}, {scheduling}": (POLICIES[policy], scheduling)
        for policy in POLICIES
        for scheduling in ("pool", "owned")
    }


def _swept(settings: Settings, spark: Session, sides: Mapping[str, tuple[str, str]], workers: int) -> Found:
    with Rig(spark, statements(), workers=workers) as rig:
        trials = over_rates(sides, workers, quick=settings.quick)
        rig.push_all([2 * WINDOW_ROWS])  # of which half is selected: windows are full from then on
        return sweep(
            rig,
            lambda _seed: trials,
            settings,
            settings.seeds(_repeats(settings)),
            lambda mine: rig.rehearse([trial.scenario for trial in mine]),
        )


def _repeats(settings: Settings) -> int:
    return 1 if settings.quick else 2


def workers(settings: Settings, spark: Session) -> Reproduced:
    """Figure 11: workers that own their operators beside a pool."""
    return figure_11(settings, _swept(settings, spark, configurations(), WORKERS))


def figure_11(settings: Settings, found: Found) -> Reproduced:
    """What is said of workers that own their operators."""
    rows = found.rows(MEASURES, "rate", "configuration")
    claims = []
    for policy in POLICIES:
        ours, theirs = (found.values("mean_latency_s", f"{policy}, {kind}") for kind in ("owned", "pool"))
        shares = [1 - a / b for at in ours for a, b in zip(ours[at], theirs[at], strict=True)]
        claims.append(
            Claim(
                f"{policy}: workers that own their operators have less latency than a pool",
                "figure 11",
                f"{100 * float(np.mean(shares)):+.0f} % less",
                *judged_shares(shares),
            )
        )
    title = "StreamAPAS, figure 11 on Spark: a pool, and owned operators"
    draw = partial(
        charts.over_points, rows, ("mean_latency_s", "finish_s"), "rate", "configuration", "rows/min", title
    )
    made = report("apas-workers", PAPER, settings, rows, claims, draw, _notes(found, f"{WORKERS} workers"))
    return Reproduced(made, found.comparison)


def scale(settings: Settings, spark: Session) -> Reproduced:
    """Figure 12: one to four workers."""
    how = (POLICIES["chain-flush"], "owned")
    parts: list[Found] = []
    for workers_, name in NUMBERS.items():
        settings.progress(len(parts), len(NUMBERS))
        parts.append(_swept(unseen(settings), spark, {name: how}, workers_))
    settings.progress(len(NUMBERS), len(NUMBERS))
    return figure_12(settings, together(parts))


def figure_12(settings: Settings, found: Found) -> Reproduced:
    """What is said of the number of workers."""
    rows = found.rows(MEASURES, "rate", "workers")
    means = {
        name: mean(v for runs in found.values("mean_latency_s", name).values() for v in runs)
        for name in NUMBERS.values()
    }
    spread = max(means.values()) / min(means.values()) - 1
    claims = [
        Claim(
            f"latency is nearly the same with one to four workers (within {NEARLY_THE_SAME:.0%})",
            "figure 12",
            ", ".join(f"{seconds:.2f} s with {name}" for name, seconds in means.items()),
            *judged(NEARLY_THE_SAME - spread, least_share(_repeats(settings))),
        )
    ]
    title = "StreamAPAS, figure 12 on Spark: workers"
    draw = partial(charts.over_points, rows, ("mean_latency_s",), "rate", "workers", "rows/min", title)
    made = report("apas-scale", PAPER, settings, rows, claims, draw, _notes(found, "One to four workers"))
    return Reproduced(made, found.comparison)


def _notes(found: Found, workers_: str) -> tuple[str, ...]:
    return (
        f"{workers_} on two cores; windows of {WINDOW_ROWS} rows, selection value < 50 of 0 to 99, "
        f"join value < value. A step costs {found.fixed_s * 1e3:.0f} ms before its first row.",
        "Handing over is a command in a queue: transport versions and buffers differ in virtual time only.",
    )
