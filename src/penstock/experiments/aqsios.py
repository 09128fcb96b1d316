"""AQSIOS' figures 3 to 10: how stale results are, and what freshness costs in response time.

The paper's default has selectivities drawn uniformly. Its numbers come out better if they are skewed toward 1
(Zipf 2), so that setting is run beside it, and is labelled as fitted wherever it appears.
"""

from __future__ import annotations

from functools import partial

from penstock.experiments.aqsios_charts import draw_bursts, draw_skew, draw_tradeoff, draw_utilization
from penstock.experiments.aqsios_setting import COST_UNIT_S, FAS, FCFS, RB, RR, SELECTIVITIES, Point
from penstock.experiments.aqsios_sweep import FITTED_ZIPF, Sweep, close, grows, lowest
from penstock.experiments.report import Claim, Report, Settings

PAPER = "AQSIOS 2010"
POLICIES = (FAS, RB, RR, FCFS)
COLUMNS = ("utilization", "beta", "zipf", "bursty_streams")

ROWS, QUICK_ROWS = 10_000, 1_000  # per stream
SEEDS, QUICK_SEEDS = 3, 2
LOW, HIGH = 0.1, 0.95  # the utilisations the paper quotes
UTILIZATIONS = (LOW, 0.5, 0.8, HIGH, 0.99)
BETAS = (0.0, 0.1, 0.25, 0.5, 0.75, 1.0)
CURVE_BETAS = (0.25, 0.5, 1.0)  # of the figures over utilisation
ZIPFS = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0)
BURSTY = (0, 2, 4, 5, 6, 8, 10)
TRACE_SECONDS, QUICK_TRACE_SECONDS = 30, 3
TRACE_UTILIZATIONS = (0.3, 0.5, 0.7, 0.9, HIGH)

_NOTES = (
    f"selectivities are drawn from {', '.join(f'{s:.1f}' for s in SELECTIVITIES)}, by Zipf with rank 1 at 1.0",
    "staleness is over the whole run, from 0 to the last completion; response_time is in seconds",
    "a step takes all pending rows of a query; the cost of calendar operations is not charged",
    "weighted_staleness weighs queries by weights drawn from (0, 1], which a policy knows only if it is "
    "called weighted; the paper has no figure of it",
)
_FITTED_NOTE = (
    f"rows with the setting 'fitted' have selectivities of Zipf {FITTED_ZIPF:g}, found to come nearer to the "
    "published numbers than the default that the paper states; RR is round-robin over paths"
)


def utilization(settings: Settings) -> Report:
    """Figures 3 and 4: staleness and response time of four policies over utilisation."""
    points = [Point(load, policy) for load in UTILIZATIONS for policy in POLICIES]
    points += [Point(LOW, policy, FITTED_ZIPF) for policy in (FAS, RB)]
    points += [Point(HIGH, policy, FITTED_ZIPF) for policy in POLICIES]
    points.append(Point(HIGH, FAS, weighted=True))
    sweep = _sweep(settings, points)
    claims = [
        lowest(
            sweep,
            "FAS-MCQ has the lowest staleness at every utilisation",
            "lowest throughout",
            sweep.curve(FAS),
            (RB, RR, FCFS),
        ),
        lowest(sweep, "RB-MCQ is the closest contender", "closest", sweep.curve(RB), (RR, FCFS)),
        grows(
            sweep,
            "staleness grows with load under every policy",
            "grows",
            [sweep.curve(policy) for policy in POLICIES],
        ),
    ]
    for zipf, label in _BOTH:
        low, high = Point(LOW, FAS, zipf), Point(HIGH, FAS, zipf)
        claims += [
            close(f"{label}: staleness of FAS-MCQ against RB-MCQ at {LOW}", -0.30, sweep.gain(low)),
            close(f"{label}: staleness of FAS-MCQ against RB-MCQ at {HIGH}", -0.40, sweep.gain(high)),
            _levels(sweep, label, high),
            close(
                f"{label}: response time of FAS-MCQ against RB-MCQ at {HIGH}",
                0.23,
                sweep.gain(high, "response_time"),
            ),
            Claim(
                f"{label}: the reduction is greater at {HIGH} than at {LOW}",
                "30 % and 40 %",
                f"{sweep.gain(low)} and {sweep.gain(high)}",
                sweep.gain(high).mean < sweep.gain(low).mean,
            ),
        ]
    weighted, plain = Point(HIGH, FAS, weighted=True), Point(HIGH, FAS)
    change = sweep.change(weighted, plain, "weighted_staleness")
    claims.append(
        Claim(
            f"knowing the weights makes weighted freshness greater (at {HIGH})",
            "greater (no figure)",
            f"weighted staleness {change}",
            change.mean < 0,
        )
    )
    draw = partial(draw_utilization, sweep, "figures 3 and 4")
    return _report("fas-utilization", settings, sweep, claims, draw, _FITTED_NOTE)
