"""MavStream's figures: latency, memory, throughput, and memory under bursts (thesis, chapter 6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import mean
from typing import TypeAlias

import numpy as np

from penstock.experiments import mavstream_charts as charts
from penstock.experiments.claims import Finding, all_of, judged, noise_of, seen
from penstock.experiments.mavstream_setting import NOTES, Outcome, Trial, run
from penstock.experiments.ordering import NOTE, Order, grows, order
from penstock.experiments.parallel import run_all
from penstock.experiments.report import SEEDS, Claim, Report, Row, Settings, spread

PAPER = "MavStream 2004"
WINDOWS, WINDOW_ROWS = 5, 1000  # 6.2 to 6.4
BURST_WINDOWS, BURST_WINDOW_ROWS = 10, 2000  # 6.5
#: 6.5: 40 rows per second, 80 during two bursts.
BURST_RATES = ((0.0, 40.0), (150.0, 80.0), (200.0, 40.0), (300.0, 80.0), (350.0, 40.0))
#: Fitted: in figure 6.7 memory grows as long as rows are fed, so 40 per second were too much for the thesis'
#: machine. With the costs assumed here they are a tenth of what it can do; ten times slower they are all.
BURST_COSTS = (1.0, 10.0)

#: More than what the join frees: only then does it matter whether results count as memory.
WIDE_RESULT_BYTES = 150.0
FOUR = ("round-robin", "path-capacity", "simplified-segment", "segment")
MEASURES = ("mean_latency_s", "max_memory_bytes", "throughput_std")
#: Figure 6.6: standard deviation of the output per second, by policy and rows per second.
PUBLISHED_STD = {
    "path-capacity": {100.0: 237, 500.0: 255, 900.0: 289},
    "simplified-segment": {100.0: 298, 500.0: 312, 900.0: 353},
    "segment": {100.0: 365, 500.0: 395, 900.0: 417},
    "round-robin": {100.0: 386, 500.0: 459, 900.0: 474},
}
#: 6.2: how much less latency path capacity has than segment, on average over the rates.
PUBLISHED_GAIN = 0.13

Outcomes: TypeAlias = Mapping[tuple[float, str], Sequence[Outcome]]


@dataclass(frozen=True, slots=True)
class Size:
    """How large an experiment is: seeds, rows per stream, and the data rates unless they are given."""

    seeds: int
    rows: int = WINDOWS * WINDOW_ROWS
    rates: tuple[float, ...] = (100.0, 500.0, 900.0)


FULL = Size(seeds=10, rates=tuple(100.0 * n for n in range(1, 10)))
QUICK = Size(seeds=SEEDS)
THROUGHPUT_FULL = Size(seeds=10)
BURST = Size(seeds=SEEDS, rows=BURST_WINDOWS * BURST_WINDOW_ROWS)


def latency(settings: Settings, size: Size | None = None) -> Report:
    """Figure 6.1: average tuple latency over the data rate."""
    size = size or (QUICK if settings.quick else FULL)
    policies = (*FOUR, "weighted-round-robin")
    outcomes = _sweep(settings, size, policies)
    rows = _rows(outcomes)
    gains = _gains(outcomes, "path-capacity", "segment")
    gain = mean(gains)
    claims = [
        _below(outcomes, "mean_latency_s", "path-capacity", "simplified-segment", "figure 6.1"),
        _below(outcomes, "mean_latency_s", "simplified-segment", "segment", "figure 6.1"),
        _below(outcomes, "mean_latency_s", "path-capacity", "round-robin", "figure 6.1"),
        Claim(
            "path capacity has 13 % less latency than segment on average (within a factor of two)",
            f"{PUBLISHED_GAIN * 100:.0f} %",
            f"{gain * 100:.0f} %",
            *judged(min(gain - PUBLISHED_GAIN / 2, PUBLISHED_GAIN * 2 - gain), noise_of(gains)),
        ),
        _below(outcomes, "mean_latency_s", "weighted-round-robin", "round-robin", "4.1.1, no figure"),
        _growing(outcomes, "mean_latency_s", "latency", "6.2"),
    ]
    draw = partial(charts.over_rates, rows, "mean_latency_s")
    return Report("mavstream-latency", PAPER, settings.seed, rows, claims, draw, _notes(size))


def memory(settings: Settings, size: Size | None = None) -> Report:
    """Figure 6.2: maximum memory over the data rate."""
    size = size or (QUICK if settings.quick else FULL)
    outcomes = _sweep(settings, size, FOUR)
    rows = _rows(outcomes)
    claims = [
        _below(outcomes, "max_memory_bytes", "segment", other, "figure 6.2")
        for other in ("simplified-segment", "path-capacity", "round-robin")
    ]
    claims.append(_growing(outcomes, "max_memory_bytes", "maximum memory", "6.3"))
    draw = partial(charts.over_rates, rows, "max_memory_bytes")
    notes = (*_notes(size), _of_roots(settings, size))
    return Report("mavstream-memory", PAPER, settings.seed, rows, claims, draw, notes)


def _of_roots(settings: Settings, size: Size) -> str:
    """The release capacity of a root in two readings, where results are so large that it matters."""
    rate = size.rates[len(size.rates) // 2]
    readings = ("segment", "segment, results count")
    trials = [
        Trial(policy, seed, ((0.0, rate),), size.rows, WINDOW_ROWS, result_bytes=WIDE_RESULT_BYTES)
        for policy in readings
        for seed in range(settings.seed, settings.seed + size.seeds)
    ]
    runs = run_all(run, trials, settings.progress)
    leave, count = (
        mean(one.max_memory_bytes for trial, one in zip(trials, runs, strict=True) if trial.policy == policy)
        for policy in readings
    )
    return (
        "The release capacity of a root is (in − out · s) / c in the thesis (4.1.3), whose results count as "
        "memory; where paths are cut here, they leave, and it is in / c. With the sizes above both readings "
        f"cut alike, as with all results below 117 bytes. With {WIDE_RESULT_BYTES:g} bytes the root is a "
        f"segment of its own as the thesis has it: at {rate:g} rows per second {count / 1e3:,.1f} kB of "
        f"maximum memory where results count, {leave / 1e3:,.1f} kB where they leave."
    )


def throughput(settings: Settings, size: Size | None = None) -> Report:
    """Figures 6.3 to 6.6: output per second, and its standard deviation."""
    size = size or (QUICK if settings.quick else THROUGHPUT_FULL)
    outcomes = _sweep(settings, size, FOUR)
    rows = _rows(outcomes)
    claims = [
        _smoother(outcomes, smooth, rough)
        for smooth, rough in (
            ("path-capacity", "simplified-segment"),
            ("simplified-segment", "segment"),
            ("segment", "round-robin"),
        )
    ]
    claims.append(_growing(outcomes, "throughput_std", "the deviation of the output", "6.4"))
    claims.append(_silent(outcomes, max(size.rates)))
    first = {point: runs[0].results_per_s for point, runs in outcomes.items()}
    draw = partial(charts.throughput, rows, first, PUBLISHED_STD)
    return Report("mavstream-throughput", PAPER, settings.seed, rows, claims, draw, _notes(size))


def burst(settings: Settings, size: Size | None = None) -> Report:
    """Figure 6.7: memory over time while the rate doubles twice."""
    size = size or BURST
    policies = ("path-capacity", "simplified-segment", "segment")
    trials = [
        Trial(policy, seed, BURST_RATES, size.rows, BURST_WINDOW_ROWS, slower)
        for slower in BURST_COSTS
        for policy in policies
        for seed in range(settings.seed, settings.seed + size.seeds)
    ]
    outcomes: dict[tuple[float, str], list[Outcome]] = {}
    for trial, outcome in zip(trials, run_all(run, trials, settings.progress), strict=True):
        outcomes.setdefault((trial.slower, trial.policy), []).append(outcome)
    names = (*MEASURES, "mean_memory_bytes")
    known = {"rate": BURST_RATES[0][1], "burst_rate": BURST_RATES[1][1]}
    rows = [
        {**known, "policy": policy, "costs": _costs(slower), **_measures(runs, names)}
        for (slower, policy), runs in outcomes.items()
    ]
    claims = [
        _less_over_time(outcomes, slower, low, high)
        for slower in BURST_COSTS
        for low, high in (("segment", "simplified-segment"), ("simplified-segment", "path-capacity"))
    ]
    notes = (
        *NOTES,
        f"{size.rows} rows per stream, windows of {BURST_WINDOW_ROWS} rows, {size.seeds} seeds.",
        f"Costs × {BURST_COSTS[-1]:g} is fitted to figure 6.7, where memory grows as long as rows are fed. "
        "As read, even the bursts are a fifth of what the query can take: what waits then, τ makes wait.",
        NOTE,
    )
    first = {(_costs(slower), policy): runs[0].memory_bytes for (slower, policy), runs in outcomes.items()}
    draw = partial(charts.memory_over_time, first, BURST_RATES)
    return Report("mavstream-burst", PAPER, settings.seed, rows, claims, draw, notes)


def _sweep(settings: Settings, size: Size, policies: Sequence[str]) -> Outcomes:
    trials = [
        Trial(policy, seed, ((0.0, rate),), size.rows, WINDOW_ROWS)
        for rate in size.rates
        for policy in policies
        for seed in range(settings.seed, settings.seed + size.seeds)
    ]
    outcomes: dict[tuple[float, str], list[Outcome]] = {}
    for trial, outcome in zip(trials, run_all(run, trials, settings.progress), strict=True):
        outcomes.setdefault((trial.rates[0][1], trial.policy), []).append(outcome)
    return outcomes


def _rows(outcomes: Outcomes) -> list[Row]:
    return [
        {"rate": rate, "policy": policy} | _measures(runs, MEASURES)
        for (rate, policy), runs in outcomes.items()
    ]


def _measures(runs: Sequence[Outcome], names: Sequence[str]) -> Row:
    return spread([{name: getattr(run, name) for name in names} for run in runs], names)


def _notes(size: Size) -> tuple[str, ...]:
    return (*NOTES, f"{size.rows} rows per stream, windows of {WINDOW_ROWS} rows, {size.seeds} seeds.", NOTE)


def _costs(slower: float) -> str:
    return "as read" if slower == 1.0 else f"fitted: × {slower:g}"


# --- claims ---


def _points(outcomes: Outcomes, measure: str, policy: str) -> dict[float, list[float]]:
    """The policy's values, by rate and seed."""
    mine = {rate: runs for (rate, name), runs in outcomes.items() if name == policy}
    return {rate: [getattr(run, measure) for run in runs] for rate, runs in mine.items()}


def _order(outcomes: Outcomes, measure: str, low: str, high: str) -> Order:
    return order(_points(outcomes, measure, low), _points(outcomes, measure, high))


def _gains(outcomes: Outcomes, low: str, high: str) -> list[float]:
    """By what share a policy's latency is below another's on average over the rates, by seed."""
    ours, theirs = (_points(outcomes, "mean_latency_s", policy) for policy in (low, high))
    gains: list[float] = np.mean([1 - np.divide(ours[rate], theirs[rate]) for rate in ours], axis=0).tolist()
    return gains


def _below(outcomes: Outcomes, measure: str, low: str, high: str, published: str) -> Claim:
    what = "latency" if measure == "mean_latency_s" else "maximum memory"
    found = _order(outcomes, measure, low, high)
    return Claim(f"{what}: {low} < {high}, at every rate", published, found.at("rates"), *found.finding)


def _growing(outcomes: Outcomes, measure: str, what: str, published: str) -> Claim:
    found = {policy: grows(_points(outcomes, measure, policy)) for policy in FOUR}
    falls = [policy for policy, finding in found.items() if finding.state == "not held"]
    told = f"falls somewhere under {', '.join(falls)}" if falls else "under every policy"
    return Claim(f"{what} increases with the data rate", published, told, *all_of(found.values()))


def _smoother(outcomes: Outcomes, smooth: str, rough: str) -> Claim:
    found = _order(outcomes, "throughput_std", smooth, rough)

    def published(policy: str) -> str:
        return " ".join(str(value) for value in PUBLISHED_STD[policy].values())

    def measured(policy: str) -> str:
        points = _points(outcomes, "throughput_std", policy)
        return " ".join(f"{np.mean(values):.0f}" for values in points.values())

    return Claim(
        f"deviation of the output per second: {smooth} < {rough}, at every rate",
        f"{published(smooth)} against {published(rough)}",
        f"{measured(smooth)} against {measured(rough)}: {found.at('rates')}",
        *found.finding,
    )


def _silent(outcomes: Outcomes, rate: float) -> Claim:
    """The longest times without output: the best of segment's seeds, the worst of path capacity's."""
    segment = min(run.silence_s for run in outcomes[rate, "segment"])
    path = max(run.silence_s for run in outcomes[rate, "path-capacity"])
    return Claim(
        "under overload segment puts out nothing for a while (at least 1 s, and longer than path capacity)",
        "4.1.7.1, no figure",
        f"at {rate:g}/s silent for at least {segment:.1f} s, path capacity for at most {path:.1f} s",
        *seen(segment >= 1.0 and segment > path),
    )


def _less_over_time(outcomes: Outcomes, slower: float, low: str, high: str) -> Claim:
    """Of memory over time the mean counts; the most is told besides."""
    runs = {policy: outcomes[slower, policy] for policy in (low, high)}
    middle = {policy: [run.mean_memory_bytes / 1e3 for run in mine] for policy, mine in runs.items()}
    most = {policy: max(run.max_memory_bytes / 1e3 for run in mine) for policy, mine in runs.items()}
    found = order({slower: middle[low]}, {slower: middle[high]})
    return Claim(
        f"memory over time, costs {_costs(slower)}: {low} ≤ {high}",
        "figure 6.7",
        f"{mean(middle[low]):.0f} against {mean(middle[high]):.0f} kB on average, "
        f"{most[low]:.0f} against {most[high]:.0f} kB at most",
        *Finding("not held" if found.above else "held", bool(found.level)),
    )
