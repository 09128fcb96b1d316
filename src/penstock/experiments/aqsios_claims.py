"""What AQSIOS claims, held against a sweep."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

from penstock.experiments.aqsios_setting import RB, Point
from penstock.experiments.aqsios_sweep import FITTED_ZIPF, Change, Sweep
from penstock.experiments.claims import FITTED, Finding, all_of, judged_by_runs, near
from penstock.experiments.report import Claim

TOLERANCE = 0.05  # of a published percentage, which is a round number read off a figure


def close(claim: str, published: float, measured: Change, *, fitted: bool = False) -> Claim:
    """A published percentage, met within the tolerance; `fitted` where the setting was chosen to meet it."""
    return Claim(
        f"{claim} (tolerance {100 * TOLERANCE:.0f} points)",
        f"{100 * published:+.0f} %",
        str(measured),
        *(FITTED if fitted else near(measured.by_seed, published, TOLERANCE)),
    )


def lowest(sweep: Sweep, claim: str, published: str, points: Iterable[Point], others: Sequence[str]) -> Claim:
    """At each of the points, other policies are more stale."""
    pairs = [(sweep.change(point.under(other), point), other, point) for point in points for other in others]
    ahead, other, point = min(pairs, key=lambda pair: pair[0].mean)
    measured = f"nearest: {other} at utilisation {point.utilization:g}, {ahead}"
    return Claim(claim, published, measured, *all_of(judged_by_runs(pair[0].by_seed) for pair in pairs))


def grows(sweep: Sweep, claim: str, published: str, curves: Iterable[Sequence[Point]]) -> Claim:
    """Along each of the curves, staleness grows from every point to the next."""
    steps = [
        (sweep.change(later, earlier), later.policy) for curve in curves for earlier, later in pairwise(curve)
    ]
    growth, policy = min(steps, key=lambda step: step[0].mean)
    measured = f"least step: {growth} ({policy})"
    return Claim(claim, published, measured, *all_of(judged_by_runs(step[0].by_seed) for step in steps))


def levels(sweep: Sweep, label: str, point: Point) -> Claim:
    """How stale results are under both policies."""
    rb, fas = sweep.mean(point.under(RB)), sweep.mean(point)
    return Claim(
        f"{label}: staleness at {point.utilization:g} of RB-MCQ and of FAS-MCQ (tolerance 1.5 points)",
        "16 % and 10 %",
        f"{100 * rb:.1f} % and {100 * fas:.1f} %",
        *(
            FITTED
            if point.zipf == FITTED_ZIPF
            else all_of(
                near(sweep.values(at).tolist(), published, 0.015)
                for at, published in ((point.under(RB), 0.16), (point, 0.10))
            )
        ),
    )


def falls(sweep: Sweep, claim: str, points: Sequence[Point], name: str) -> Claim:
    """From every point to the next a measure falls."""
    values = [sweep.mean(point, name) for point in points]
    shown = ", ".join(f"{p.beta:g}: {value:.3g}" for p, value in zip(points, values, strict=True))
    steps = (sweep.change(later, earlier, name) for earlier, later in pairwise(points))
    return Claim(
        claim, "falls", shown, *all_of(judged_by_runs([-share for share in step.by_seed]) for step in steps)
    )


def close_to(claim: str, published: float, sweep: Sweep, point: Point, name: str = "staleness") -> Claim:
    """A published percentage against RB-MCQ."""
    return close(claim, published, sweep.gain(point, name), fitted=point.zipf == FITTED_ZIPF)


def greater(before: Change, after: Change) -> Finding:
    """That the second reduction is the greater one."""
    return judged_by_runs([a - b for a, b in zip(before.by_seed, after.by_seed, strict=True)])


def greatest_near_five(label: str, gains: Mapping[int, Change]) -> Claim:
    """The reduction over the number of bursty streams."""
    best = min(gains, key=lambda bursty: gains[bursty].mean)
    near_five = {bursty: gain for bursty, gain in gains.items() if 4 <= bursty <= 6}
    most = min(near_five.values(), key=lambda gain: gain.mean)
    others = (gain for bursty, gain in gains.items() if bursty not in near_five)
    return Claim(
        f"{label}: the reduction is greatest near 5 bursty streams (4 to 6)",
        "5",
        f"{best}: " + ", ".join(f"{bursty} {gain}" for bursty, gain in gains.items()),
        *all_of(greater(gain, most) for gain in others),
    )


def pending_note(sweep: Sweep, points: Sequence[Point]) -> str:
    """What the other reading of a scheduling point comes to."""
    told = []
    for point in points:
        one, all_ = (
            [sweep.gain(replace(point, all_pending=pending), name) for name in ("staleness", "response_time")]
            for pending in (False, True)
        )
        where = ", ".join(
            [
                f"utilisation {point.utilization:g}",
                *([f"Zipf {point.zipf:g}"] if point.zipf else []),
                *([f"β {point.beta:g}"] if point.beta < 1 else []),
                *([f"{point.bursty_streams} bursty streams"] if point.bursty_streams != 5 else []),
            ]
        )
        told.append(
            f"{where}: staleness {one[0]}, response time {one[1]}; all pending: {all_[0]} and {all_[1]}"
        )
    return "FAS-MCQ against RB-MCQ, one tuple per scheduling point. " + ". ".join(told)


def seeds_note(sweep: Sweep) -> str:
    """Over how many seeds means are taken."""
    return f"{len(sweep.samples[sweep.points[0]])} seeds; ± is the standard deviation between them"
