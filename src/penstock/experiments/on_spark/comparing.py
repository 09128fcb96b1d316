"""Predictions beside what was measured: how far off they are, and whether they say who is better.

A pair is two sides of a figure at one point of it. It counts where what was measured of both differs by more
than noise; then the prediction is right if it has the two in that order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import log
from statistics import mean, median
from typing import TypeAlias

from penstock.experiments.claims import noise_of
from penstock.experiments.on_spark.noise import least_share
from penstock.experiments.on_spark.scenario import COMPARED, Outcome

#: By point of a figure and side, one for each seed.
Outcomes: TypeAlias = Mapping[tuple[str, str], Sequence[Outcome]]


@dataclass(frozen=True, slots=True)
class Beside:
    """One measure of one side at one point: what was predicted and what was measured, seed by seed."""

    measure: str
    point: str
    side: str
    predicted: tuple[float, ...]
    measured: tuple[float, ...]

    @property
    def error(self) -> float | None:
        """How far the prediction is off, of what was measured; None where nothing was."""
        found = mean(self.measured)
        return abs(mean(self.predicted) - found) / found if found > 0 else None


@dataclass(frozen=True, slots=True)
class Pair:
    """Two sides that differ in a measure at one point."""

    one: Beside
    other: Beside

    @property
    def in_order(self) -> bool:
        """Whether the prediction says the same of them."""
        said = mean(self.one.predicted) < mean(self.other.predicted)
        return said == (mean(self.one.measured) < mean(self.other.measured))

    @property
    def said(self) -> str:
        """For people: what differs, where, and what was predicted and measured of both."""
        at = f" at {self.one.point}" if self.one.point else ""
        sides = " and ".join(
            f"{beside.side} {mean(beside.measured):.3g} (predicted {mean(beside.predicted):.3g})"
            for beside in (self.one, self.other)
        )
        return f"{name_of(self.one.measure)}{at}: {sides}"


@dataclass(frozen=True, slots=True)
class Comparison:
    """All of an experiment, or of several: every prediction, and the pairs that differ."""

    points: tuple[Beside, ...]
    pairs: tuple[Pair, ...]

    @property
    def in_order(self) -> int:
        """How many pairs are in the predicted order."""
        return sum(pair.in_order for pair in self.pairs)

    def error(self, measure: str) -> float | None:
        """The median over sides and points."""
        errors = [one.error for one in self.points if one.measure == measure and one.error is not None]
        return median(errors) if errors else None

    @property
    def said(self) -> str:
        """For people, in a line."""
        errors = [(name_of(measure), self.error(measure)) for measure in COMPARED]
        said = ", ".join(f"{name} {error:.0%}" for name, error in errors if error is not None)
        return (
            f"median error of {said}; of {len(self.pairs)} pairs that differ by more than noise "
            f"{self.in_order} are in the predicted order"
        )

    def as_json(self, *, points: bool = True) -> dict[str, object]:
        """What `--json` prints; without its points, what they come to."""
        found: dict[str, object] = {
            "median_errors": {measure: self.error(measure) for measure in COMPARED},
            "pairs": len(self.pairs),
            "pairs_in_order": self.in_order,
            "pairs_not_in_order": [pair.said for pair in self.pairs if not pair.in_order],
        }
        if points:
            found["points"] = [
                {
                    "measure": one.measure,
                    "point": one.point,
                    "side": one.side,
                    "predicted": mean(one.predicted),
                    "measured": mean(one.measured),
                }
                for one in self.points
            ]
        return found


def comparison(measured: Outcomes, predicted: Outcomes) -> Comparison:
    """Of what was measured that of which there is a prediction."""
    points = tuple(
        Beside(
            measure,
            point,
            side,
            tuple(getattr(one, measure) for one in predicted[point, side]),
            tuple(getattr(one, measure) for one in found),
        )
        for measure in COMPARED
        for (point, side), found in measured.items()
        if (point, side) in predicted
    )
    pairs = tuple(
        Pair(one, other)
        for one, other in combinations(points, 2)
        if (one.measure, one.point) == (other.measure, other.point) and _differ(one, other)
    )
    return Comparison(points, pairs)


def overall(parts: Iterable[Comparison]) -> Comparison:
    """Several experiments as one; the same runs, of which several figures are drawn, count once."""
    known = list({part.points: part for part in parts}.values())
    points = tuple(point for part in known for point in part.points)
    return Comparison(points, tuple(pair for part in known for pair in part.pairs))


def name_of(measure: str) -> str:
    """A measure as people read it."""
    return measure.removesuffix("_s").removesuffix("_bytes").replace("_", " ")


def _differ(one: Beside, other: Beside) -> bool:
    """Whether what was measured of both differs by more than noise; seeds are of the same rows."""
    ratios = [
        log(ours / theirs)
        for ours, theirs in zip(one.measured, other.measured, strict=True)
        if ours and theirs
    ]
    if not ratios:
        return False
    return abs(mean(ratios)) > max(noise_of(ratios), log(1 + least_share(len(ratios))))
