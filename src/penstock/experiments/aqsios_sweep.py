"""Many points of AQSIOS' setting over the same seeds, and what the paper's claims ask of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from penstock.engines.sim.draws import Floats
from penstock.experiments.aqsios_setting import FAS, RB, Point, Task, measure
from penstock.experiments.parallel import run_all
from penstock.experiments.report import Claim, Row, Settings, spread

MEASURES = ("staleness", "response_time", "weighted_staleness")
TOLERANCE = 0.05  # of a published percentage, which is a round number read off a figure
FITTED_ZIPF = 2.0
#: Whether a point's setting is the paper's default, or one that comes nearer to the paper's numbers.
AS_WRITTEN, FITTED, ROW_BY_ROW = "as written", "fitted", "fitted, row by row"


@dataclass(frozen=True, slots=True)
class Change:
    """How far a measure is above another: the mean over seeds, each seed compared with itself."""

    mean: float
    deviation: float
    seeds: int

    def __str__(self) -> str:
        spread_ = f" ± {100 * self.deviation:.0f}" if self.seeds > 1 else ""
        return f"{100 * self.mean:+.0f}{spread_} %"


class Sweep:
    """The samples of each point, one per seed. All policies meet the same rows."""

    def __init__(self, settings: Settings, points: Iterable[Point], seeds: Sequence[int], size: int) -> None:
        self.points = tuple(dict.fromkeys(points))
        tasks = [Task(point, seed, size) for point in self.points for seed in seeds]
        found = iter(run_all(measure, tasks, settings.progress))
        self.samples = {point: [next(found) for _ in seeds] for point in self.points}

    def values(self, point: Point, name: str = "staleness") -> Floats:
        """A measure, by seed."""
        return np.array([sample[name] for sample in self.samples[point]])

    def mean(self, point: Point, name: str = "staleness") -> float:
        """A measure, over all seeds."""
        return float(self.values(point, name).mean())

    def change(self, point: Point, base: Point, name: str = "staleness") -> Change:
        """How far the measure at a point is above that at another."""
        ratio = self.values(point, name) / self.values(base, name) - 1.0
        deviation = float(ratio.std(ddof=1)) if len(ratio) > 1 else 0.0
        return Change(float(ratio.mean()), deviation, len(ratio))

    def gain(self, point: Point, name: str = "staleness") -> Change:
        """How far the measure at a point is above RB-MCQ's in the same setting: negative is better."""
        return self.change(point, point.under(RB), name)

    def curve(self, policy: str, beta: float = 1.0, setting: str = AS_WRITTEN) -> list[Point]:
        """A policy's points in one of the settings."""
        return [p for p in self.points if p == p.under(policy, beta) and setting_of(p) == setting]

    def rows(self, columns: Sequence[str], *, fitted: bool = True) -> list[Row]:
        """The report's rows. If some are fitted to the paper's numbers, each says whether it is."""
        return [
            {
                **({"setting": setting_of(point)} if fitted else {}),
                **{name: _column(point, name) for name in columns},
                "policy": f"{point.policy}, weighted" if point.weighted else point.policy,
                **spread(samples, MEASURES),
            }
            for point, samples in self.samples.items()
        ]


def setting_of(point: Point) -> str:
    """What the setting is called."""
    if point.zipf != FITTED_ZIPF:
        return AS_WRITTEN
    return ROW_BY_ROW if point.row_by_row else FITTED


def _column(point: Point, name: str) -> float | None:
    value: float = getattr(point, name)
    return None if name == "beta" and point.policy != FAS else value


def close(claim: str, published: float, measured: Change) -> Claim:
    """A published percentage, met within the tolerance."""
    return Claim(
        f"{claim} (tolerance {100 * TOLERANCE:.0f} points)",
        f"{100 * published:+.0f} %",
        str(measured),
        abs(measured.mean - published) <= TOLERANCE,
    )


def lowest(sweep: Sweep, claim: str, published: str, points: Iterable[Point], others: Sequence[str]) -> Claim:
    """At each of the points, other policies are more stale."""
    pairs = [
        (sweep.change(point.under(other), point).mean, other, point) for point in points for other in others
    ]
    ahead, other, point = min(pairs, key=lambda pair: pair[0])
    measured = f"nearest: {other} at utilisation {point.utilization:g}, {100 * ahead:+.0f} %"
    return Claim(claim, published, measured, ahead > 0)


def grows(sweep: Sweep, claim: str, published: str, curves: Iterable[Sequence[Point]]) -> Claim:
    """Along each of the curves, staleness grows from every point to the next."""
    steps = [
        (sweep.mean(later) / sweep.mean(earlier) - 1.0, later.policy)
        for curve in curves
        for earlier, later in pairwise(curve)
    ]
    growth, policy = min(steps)
    return Claim(claim, published, f"least step: {100 * growth:+.0f} % ({policy})", growth > 0)
