"""Many points of AQSIOS' setting over the same seeds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import mean, stdev

import numpy as np

from penstock.engines.sim.draws import Floats
from penstock.experiments.aqsios_setting import FAS, RB, Point, Task, measure
from penstock.experiments.parallel import run_all
from penstock.experiments.report import Row, Settings, spread

MEASURES = ("realised_load", "staleness", "response_time", "weighted_staleness")
FITTED_ZIPF = 2.0
#: Whether a point's setting is the paper's default, or one that comes nearer to the paper's numbers.
AS_WRITTEN, FITTED = "as written", "fitted"
#: What runs between two scheduling points: the paper's reading, and the other one.
ONE_TUPLE, ALL_PENDING = "one tuple", "all pending"


@dataclass(frozen=True, slots=True)
class Change:
    """How far a measure is above another: the mean over seeds, each seed compared with itself."""

    by_seed: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Over all seeds."""
        return mean(self.by_seed)

    @property
    def deviation(self) -> float:
        """Between seeds."""
        return stdev(self.by_seed) if len(self.by_seed) > 1 else 0.0

    def __str__(self) -> str:
        spread_ = f" ± {100 * self.deviation:.0f}" if len(self.by_seed) > 1 else ""
        return f"{100 * self.mean:+.0f}{spread_} %"


class Sweep:
    """The samples of each point, one per seed. All policies meet the same rows."""

    def __init__(self, settings: Settings, points: Iterable[Point], seeds: Sequence[int], size: int) -> None:
        self.points = tuple(dict.fromkeys(points))
        tasks = [Task(point, seed, size) for point in self.points for seed in seeds]
        new = [task for task in tasks if task not in settings.simulated]
        settings.simulated.update(zip(new, run_all(measure, new, settings.progress), strict=True))
        self.samples = {
            point: [settings.simulated[Task(point, seed, size)] for seed in seeds] for point in self.points
        }

    def values(self, point: Point, name: str = "staleness") -> Floats:
        """A measure, by seed."""
        return np.array([sample[name] for sample in self.samples[point]])

    def mean(self, point: Point, name: str = "staleness") -> float:
        """A measure, over all seeds."""
        return float(self.values(point, name).mean())

    def change(self, point: Point, base: Point, name: str = "staleness") -> Change:
        """How far the measure at a point is above that at another."""
        return Change(tuple((self.values(point, name) / self.values(base, name) - 1.0).tolist()))

    def gain(self, point: Point, name: str = "staleness") -> Change:
        """How far the measure at a point is above RB-MCQ's in the same setting: negative is better."""
        return self.change(point, point.under(RB), name)

    def curve(
        self, policy: str, beta: float = 1.0, setting: str = AS_WRITTEN, *, all_pending: bool = False
    ) -> list[Point]:
        """A policy's points in one of the settings."""
        mine = [p for p in self.points if p == p.under(policy, beta) and p.all_pending == all_pending]
        return [point for point in mine if setting_of(point) == setting]

    def rows(self, columns: Sequence[str], *, fitted: bool = True) -> list[Row]:
        """The report's rows. If some are fitted to the paper's numbers, each says whether it is."""
        return [
            {
                **({"setting": setting_of(point)} if fitted else {}),
                "per_scheduling_point": ALL_PENDING if point.all_pending else ONE_TUPLE,
                **{name: _column(point, name) for name in columns},
                "policy": f"{point.policy}, weighted" if point.weighted else point.policy,
                **spread(samples, MEASURES),
            }
            for point, samples in self.samples.items()
        ]


def setting_of(point: Point) -> str:
    """What the setting is called."""
    return FITTED if point.zipf == FITTED_ZIPF else AS_WRITTEN


def _column(point: Point, name: str) -> float | None:
    value: float = getattr(point, name)
    return None if name == "beta" and point.policy != FAS else value
