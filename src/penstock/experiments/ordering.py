"""Whether one thing stays below another over the points of a figure, noise considered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

#: For each point of a figure, named by a number or a word, the values measured there, one per seed.
Points: TypeAlias = Mapping[Any, Sequence[float]]

#: Two means closer than so many standard errors of their difference are level.
NOISE = 2.0

#: What a report says of its claims.
NOTE = (
    f"Level: the means differ by less than {NOISE:g} standard errors of the difference, runs paired by seed. "
    "An order holds if it is nowhere reversed beyond that, and right on average."
)


@dataclass(frozen=True, slots=True)
class Order:
    """At which points the one is below the other, level with it or above, and by what share on average."""

    below: tuple[Any, ...]
    level: tuple[Any, ...]
    above: tuple[Any, ...]
    less: float

    @property
    def holds(self) -> bool:
        """Never above beyond noise, and below on average."""
        return not self.above and self.less > 0

    def at(self, points: str) -> str:
        """For people: `below at 7 of 9 rates, level at 200, above at 100; 12 % less on average`."""
        total = len(self.below) + len(self.level) + len(self.above)
        level = f", level at {_list(self.level)}" if self.level else ""
        above = f", above at {_list(self.above)}" if self.above else ""
        share = f"{abs(self.less) * 100:.0f} % {'less' if self.less > 0 else 'more'} on average"
        return f"below at {len(self.below)} of {total} {points}{level}{above}; {share}"


def order(low: Points, high: Points) -> Order:
    """How `low` lies to `high`. Values are paired by seed: both met the same rows."""
    sorted_out: dict[str, list[Any]] = {"below": [], "level": [], "above": []}
    shares = []
    for point, ours in low.items():
        gaps = np.subtract(high[point], ours)
        place = "level" if abs(gaps.mean()) <= _noise(gaps) else "below" if gaps.mean() > 0 else "above"
        sorted_out[place].append(point)
        scale = float(np.abs(high[point]).mean())
        shares.append(float(gaps.mean()) / scale if scale else 0.0)
    below, level, above = (tuple(sorted_out[place]) for place in ("below", "level", "above"))
    return Order(below, level, above, float(np.mean(shares)))


def grows(values: Points) -> bool:
    """Whether the value nowhere falls from one point to the next by more than noise."""
    steps = (np.subtract(later, earlier) for earlier, later in pairwise(values.values()))
    return all(gaps.mean() >= -_noise(gaps) for gaps in steps)


def _noise(gaps: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> float:
    return float(NOISE * gaps.std(ddof=1) / np.sqrt(len(gaps))) if len(gaps) > 1 else 0.0


def _list(points: Sequence[Any]) -> str:
    return ", ".join(f"{point:g}" if isinstance(point, float) else str(point) for point in points)
