"""Figures 9 and 10 of HMTS on Spark: two cheap operators below an expensive one.

Elements come in bursts and at a slow rate between them, both as in the paper, but for a part of the time and
so a part of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from penstock.engines.sim.arrivals import Arrivals
from penstock.engines.sim.draws import Floats
from penstock.experiments.on_spark import charts
from penstock.experiments.on_spark.noise import order
from penstock.experiments.on_spark.rig import Rig
from penstock.experiments.on_spark.scenario import COLUMNS, Scenario, in_ticks
from penstock.experiments.on_spark.sweeping import Found, Reproduced, Trial, report, sweep
from penstock.experiments.on_spark.work import Pace, Session
from penstock.experiments.ordering import NOTE
from penstock.experiments.pipes import EARLIER, PAPER, PUBLISHED_FINISH_S
from penstock.experiments.pipes_stall import (
    EXPENSIVE_S,
    EXPENSIVE_SELECTIVITY,
    FITTED_S,
    PHASES,
    SELECTIVITY,
)
from penstock.experiments.report import Claim, Settings
from penstock.model.graph import Graph

#: The part of all elements that come, and of the time that they take to come.
SHARE, QUICK_SHARE = 0.5, 0.08
#: So many times more elements are expensive, each so many times less than there: what they take together is
#: the same, and chance, which of few elements makes another number in each run, counts for less.
FINER = 10
COST_S, SHARE_LET_BY = EXPENSIVE_S / FINER, SELECTIVITY * FINER
#: Rows a step takes at most.
TRAIN = 500
STRATEGIES = {
    "hmts": (f"direct(rows={TRAIN})", "hmts"),
    "chain": (f"chain(rows={TRAIN})", "gts"),
    "fifo": (f"fifo(rows={TRAIN})", "gts"),
}
MEASURES = ("finish_s", "mean_memory_bytes", "max_memory_bytes", "mean_latency_s", "staleness")
#: Elements of a lesson: enough that the cheap selection lets some by.
_LESSONS = (300, 450, 250, 400, 350, 450)
#: Elements that are pushed together.
_TICK_S = 0.1


def statements(pace: Pace) -> str:
    """Projection, cheap selection, expensive selection; what is between them may overflow, so that no
    optimizer makes one of both."""
    projected = f"SELECT id, u, {pace.hash(FITTED_S, salt='p')} AS d, code FROM elements"
    selected = f"SELECT id + 1 AS id, code, d FROM ({projected}) WHERE u < {SHARE_LET_BY:g}"
    expensive = pace.keeps(COST_S, EXPENSIVE_SELECTIVITY, salt="e")
    return (
        f"CREATE STREAM elements ({COLUMNS}) USING push;\n"
        f"CREATE CONTINUOUS QUERY one AS SELECT id, d FROM ({selected}) WHERE {expensive};\n"
    )


def elements(share: float, seed: int) -> Arrivals:
    """The paper's phases, a part of each."""
    rng = np.random.default_rng(seed)
    gaps = [rng.exponential(1.0 / rate, round(share * count)) for count, rate in PHASES]
    return in_ticks_at(np.cumsum(np.concatenate(gaps)))


def in_ticks_at(times_s: Floats) -> Arrivals:
    """Elements of these times, pushed together tick by tick."""
    return in_ticks(Arrivals(times_s, np.arange(len(times_s) + 1), times_s), _TICK_S)


def trials(cheap: Sequence[str], expensive: Sequence[str], seed: int, *, quick: bool) -> list[Trial]:
    """Each strategy; operators below the last selection, and that one, as HMTS divides them."""
    arrivals = {"elements": elements(_share(quick), seed)}
    groups = {"cheap": tuple(cheap), "expensive": tuple(expensive)}
    return [
        Trial("", name, Scenario(arrivals, policy, scheduling, groups, workers=len(groups)))
        if scheduling == "hmts"
        else Trial("", name, Scenario(arrivals, policy, scheduling))
        for name, (policy, scheduling) in STRATEGIES.items()
    ]


def _share(quick: bool) -> float:
    return QUICK_SHARE if quick else SHARE


def hybrid_against_graph(settings: Settings, spark: Session) -> Reproduced:
    """Figures 9 and 10."""
    with Rig(spark, statements(Pace.measured(spark)), workers=2) as rig:
        first = Scenario({}, *STRATEGIES["fifo"])
        known = rig.learn(first, _LESSONS)  # of each operator, since Chain's cut follows from costs
        found = sweep(
            rig,
            partial(trials, *divided(known.graph), quick=settings.quick),
            settings,
            settings.seeds(1),
            lambda mine: rig.learn(mine[0].scenario, _LESSONS),
        )
    return figures_9_and_10(settings, found)


def divided(graph: Graph) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The operators below the last selection, and it with what is above."""
    last = max(n for n, name in enumerate(graph.operators) if name.startswith("select"))
    return tuple(graph.operators[:last]), tuple(graph.operators[last:])


def figures_9_and_10(settings: Settings, found: Found) -> Reproduced:
    """What is said of HMTS beside Chain and FIFO in one thread."""
    rows = found.rows(MEASURES, "phases", "strategy")
    claims = []
    for strategy, published in PUBLISHED_FINISH_S.items():
        seconds = float(np.mean([v for runs in found.values("finish_s", strategy).values() for v in runs]))
        if strategy != "hmts":
            seen = order(found.values("finish_s", "hmts"), found.values("finish_s", strategy))
            claims.append(
                Claim(
                    f"HMTS finishes before {strategy}",
                    f"{PUBLISHED_FINISH_S['hmts']:g} s against {published:g} s",
                    f"{100 * seen.less:.0f} % sooner; {strategy} after {seconds:.0f} s",
                    *seen.finding,
                )
            )
    for other in ("chain", "fifo"):
        seen = order(found.values("mean_latency_s", "hmts"), found.values("mean_latency_s", other))
        claims.append(
            Claim(
                f"HMTS gives results significantly (at least {EARLIER * 100:.0f} %) earlier than {other}",
                "figure 10",
                f"{100 * seen.less:.0f} % less latency",
                *(seen.finding if seen.less >= EARLIER or not seen.holds else ("not held", True)),
            )
        )
    seen = order(found.values("mean_memory_bytes", "chain"), found.values("mean_memory_bytes", "fifo"))
    claims.append(Claim("over time Chain holds less than FIFO", "figure 9", seen.at("runs"), *seen.finding))
    draw = partial(charts.over_time, found.measured, found.predicted, "HMTS, figures 9 and 10 on Spark")
    notes = (
        f"{_share(settings.quick):.0%} of the paper's elements, in that part of the time; {FINER} times as "
        f"many of them are expensive, {COST_S:g} s each, where the paper has {EXPENSIVE_S:g} s. The cheap "
        f"operators take {FITTED_S * 1e3:g} ms together (fitted, as in virtual time).",
        f"A step takes at most {TRAIN} elements, and is not broken off: an expensive one that waits is taken "
        f"with all others that do. It costs {found.fixed_s * 1e3:.0f} ms before its first row.",
        "Dashed: what virtual time says, from estimates made before the runs.",
        "HMTS: two threads, one for projection and selection, one for the expensive selection.",
        NOTE,
    )
    made = report("hmts-vs-gts", PAPER, settings, rows, claims, draw, notes)
    return Reproduced(made, found.comparison)
