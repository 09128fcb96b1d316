"""Stream Mill's figures 12 and 13: how close knowing averages comes to knowing every row.

All rows wait at time 0 and no more arrive; a growing share of them costs far more than the rest. MSS knows
the cost of each row and is the bound; the component-based policies (latency chart, Chain) know averages only.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from itertools import product

import numpy as np
from matplotlib.figure import Figure

from penstock.engines.sim.draws import Floats
from penstock.experiments.claims import Finding, all_of, judged_by_runs, near, seen
from penstock.experiments.parallel import run_all
from penstock.experiments.report import SEEDS, Claim, Report, Row, Settings, spread
from penstock.experiments.stream_mill_setting import (
    LATENCY_POLICIES,
    MEMORY_POLICIES,
    ROUND_ROBINS,
    Task,
    mean_latency_ms,
    total_buffer,
)

PAPER = "Stream Mill 2008"
FRACTIONS = tuple(percent / 100 for percent in range(16))
QUICK_FRACTIONS = (0.0, 0.03, 0.06, 0.09, 0.12, 0.15)
LATENCY_SEEDS = (20, SEEDS)  # at full size, and when it must be quick
MEMORY_SEEDS = (10, SEEDS)


def latency(settings: Settings) -> Report:
    """Figure 12: mean latency by share of outliers."""
    rows, of = _measure(settings, mean_latency_ms, LATENCY_POLICIES, LATENCY_SEEDS)
    above = {policy: values.mean(axis=1) / of["mss"].mean(axis=1) - 1.0 for policy, values in of.items()}
    component, greedy = above["latency-chart"], above["greedy"].max()
    few = np.array(_fractions(settings)) < 0.06
    nearest = min(ROUND_ROBINS, key=lambda name: above[name].min())
    least = min(float((of[policy] / of["mss"]).min()) for policy in of if policy != "mss")
    # The paper's "up to" is the worst share of one run, so each seed has a worst share of its own here.
    peaks = (of["greedy"] / of["mss"]).max(axis=0) - 1.0
    claims = (
        Claim(
            "MSS has the least mean latency, at every share of outliers and for every seed",
            "optimal under order of arrival",
            f"the others have {_percent(least, 2)} of it or more",
            *seen(least >= 1.0 - 1e-9),
        ),
        Claim(
            "component-based stays within 4 % of MSS",
            "≤ 4 %",
            f"≤ {_percent(component.max(), 2)}",
            *_below(of["latency-chart"], 1.04 * of["mss"]),
        ),
        Claim(
            "component-based is almost identical with MSS below 6 % outliers (tolerance 0.5 %)",
            "identical",
            f"≤ {_percent(component[few].max(), 2)} apart",
            *_below(of["latency-chart"][few], 1.005 * of["mss"][few]),
        ),
        Claim(
            "greedy is up to 50 % above MSS (tolerance: one standard deviation between seeds)",
            "50 %",
            f"{_percent(peaks.mean())} ± {_percent(peaks.std(ddof=1))} (the means' peak: {_percent(greedy)})",
            *near(peaks.tolist(), 0.5, peaks.std(ddof=1)),
        ),
        _most_affected(of),
        Claim(
            "round-robin is significantly above MSS (at least 20 %) for 30, 60 and 90 rows per visit",
            "significantly",
            f"{_percent(above[nearest].min())} or more ({nearest} comes nearest)",
            *all_of(_below(1.2 * of["mss"], of[name]) for name in ROUND_ROBINS),
        ),
    )
    draw = partial(_draw, settings, of, "Stream Mill, figure 12: latency", "mean latency of results (ms)")
    notes = (*_NOTES, "component-based is the policy latency-chart")
    return Report("mss-latency", PAPER, settings.seed, rows, claims, draw, notes)


def memory(settings: Settings) -> Report:
    """Figure 13: memory over time by share of outliers."""
    rows, of = _measure(settings, total_buffer, MEMORY_POLICIES, MEMORY_SEEDS)
    mean = {policy: values.mean(axis=1) for policy, values in of.items()}
    apart = np.abs(mean["chain"] / mean["mss"] - 1.0)
    above = (mean["greedy"] / mean["chain"] - 1.0)[1:]
    growth = min(float((values[1:] / values[:-1]).min()) for values in mean.values()) - 1.0
    claims = (
        Claim(
            "Chain and the tuple-based variant of MSS appear identical (tolerance 2 %)",
            "almost identical",
            f"≤ {_percent(apart.max(), 2)} apart",
            *all_of(near(at, 1.0, 0.02) for at in (of["chain"] / of["mss"]).tolist()),
        ),
        _most_affected(of),
        Claim(
            "total memory grows with the share of outliers, under every policy",
            "grows",
            f"by {_percent(growth, 1)} or more from one share to the next",
            *all_of(_below(values[:-1], values[1:]) for values in of.values()),
        ),
        Claim(
            "Chain is better than greedy once there are outliers",
            "better",
            f"greedy is {_percent(above.min())} to {_percent(above.max())} above Chain",
            *_below(of["chain"][1:], of["greedy"][1:]),
        ),
    )
    draw = partial(_draw, settings, of, "Stream Mill, figure 13: memory", "total buffer (row sizes × ms)")
    notes = (
        *_NOTES,
        "component-based is the policy chain; mss and greedy have the objective memory",
        "total_buffer sums the size of both buffers over samples 1 ms apart; a row before O1 has size 1",
        "a row leaves its buffer when it is done, also within a visit of several rows",
    )
    return Report("mss-memory", PAPER, settings.seed, rows, claims, draw, notes)


_NOTES = (
    "outliers are drawn row by row, so that a seed's share scatters around the one stated",
    "the figures have no printed values; 15 % as the greatest share of outliers is a reading",
)


def _fractions(settings: Settings) -> tuple[float, ...]:
    return QUICK_FRACTIONS if settings.quick else FRACTIONS


def _measure(
    settings: Settings,
    measure: Callable[[Task], dict[str, float]],
    policies: Mapping[str, str],
    seeds: tuple[int, int],
) -> tuple[list[Row], dict[str, Floats]]:
    """The report's rows, and for each policy its values by share of outliers and seed."""
    fractions, drawn = _fractions(settings), settings.seeds(seeds[settings.quick])
    tasks = [Task(*task) for task in product(fractions, policies, drawn)]
    samples = run_all(measure, tasks, settings.progress)
    name = next(iter(samples[0]))
    rows = [
        {
            "outlier_fraction": tasks[first].outlier_fraction,
            "policy": tasks[first].policy,
            **spread(samples[first : first + len(drawn)], [name]),
        }
        for first in range(0, len(tasks), len(drawn))
    ]
    values = np.array([sample[name] for sample in samples]).reshape(len(fractions), len(policies), len(drawn))
    return rows, {policy: values[:, place] for place, policy in enumerate(policies)}


def _most_affected(of: Mapping[str, Floats]) -> Claim:
    by_seed = {policy: values[-1] / values[0] for policy, values in of.items()}
    rise = {policy: float(values[-1].mean() / values[0].mean()) - 1.0 for policy, values in of.items()}
    return Claim(
        "greedy is affected most by outliers",
        "most",
        "at the greatest share: " + ", ".join(f"{policy} {100 * r:+.0f} %" for policy, r in rise.items()),
        *all_of(
            judged_by_runs((by_seed["greedy"] - values).tolist())
            for policy, values in by_seed.items()
            if policy != "greedy"
        ),
    )


def _below(low: Floats, high: Floats) -> Finding:
    """That it is so at every share of outliers; the seeds are side by side."""
    return all_of(judged_by_runs(gaps) for gaps in (high - low).tolist())


def _percent(share: float, digits: int = 0) -> str:
    return f"{100 * share:.{digits}f} %"


def _draw(settings: Settings, of: Mapping[str, Floats], title: str, label: str, figure: Figure) -> None:
    axes = figure.subplots()
    percents = [100 * fraction for fraction in _fractions(settings)]
    for (policy, values), marker in zip(of.items(), "sx^ov*", strict=True):
        bound = policy == "mss"  # drawn broad, to be seen below the line that covers it
        width, alpha = (6.0, 0.4) if bound else (1.5, 1.0)
        axes.plot(percents, values.mean(axis=1), marker=marker, label=policy, linewidth=width, alpha=alpha)
    axes.set_xlabel("outliers (% of rows)")
    axes.set_ylabel(label)
    axes.set_ylim(bottom=0)
    axes.yaxis.set_major_formatter("{x:,.0f}")
    axes.set_title(title)
    axes.legend()
