"""Whether one thing stays below another over the points of a figure, noise considered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np

from penstock.experiments.claims import NOISE, Finding, judged, noise_of

#: For each point of a figure, named by a number or a word, the values measured there, one per seed.
Points: TypeAlias = Mapping[Any, Sequence[float]]

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

    @property
    def finding(self) -> Finding:
        """Of the claim that it is below everywhere: within noise if it is level somewhere."""
        return Finding("held" if self.holds else "not held", bool(self.level) and not self.above)

    def at(self, points: str) -> str:
        """For people: `below at 7 of 9 rates, level at 200, above at 100; 12 % less on average`."""
        total = len(self.below) + len(self.level) + len(self.above)
        level = f", level at {_list(self.level)}" if self.level else ""
        above = f", above at {_list(self.above)}" if self.above else ""
        share = f"{abs(self.less) * 100:.0f} % {'less' if self.less > 0 else 'more'} on average"
        return f"below at {len(self.below)} of {total} {points}{level}{above}; {share}"


def order(low: Points, high: Points, least_share: float = 0.0) -> Order:
    """How `low` lies to `high`. Values are paired by seed: both met the same rows.

    Where a difference of up to `least_share` is nothing, whatever the seeds say, that is level, too.
    """
    sorted_out: dict[str, list[Any]] = {"below": [], "level": [], "above": []}
    shares = []
    for point, ours in low.items():
        gaps = np.subtract(high[point], ours)
        scale = float(np.abs(high[point]).mean())
        finding = judged(float(gaps.mean()), max(noise_of(gaps.tolist()), least_share * scale))
        place = "level" if finding.within_noise else "below" if finding.state == "held" else "above"
        sorted_out[place].append(point)
        shares.append(float(gaps.mean()) / scale if scale else 0.0)
    below, level, above = (tuple(sorted_out[place]) for place in ("below", "level", "above"))
    return Order(below, level, above, float(np.mean(shares)))


def grows(values: Points, least_share: float = 0.0) -> Finding:
    """Of the claim that the value nowhere falls from one point to the next, by more than noise."""
    steps = []
    for earlier, later in pairwise(values.values()):
        gaps = np.subtract(later, earlier)
        nothing = least_share * float(np.abs(earlier).mean())
        steps.append(judged(float(gaps.mean()), max(noise_of(gaps.tolist()), nothing)))
    falls = any(step.state == "not held" and not step.within_noise for step in steps)
    return Finding("not held" if falls else "held", not falls and any(step.within_noise for step in steps))


def _list(points: Sequence[Any]) -> str:
    return ", ".join(f"{point:g}" if isinstance(point, float) else str(point) for point in points)
