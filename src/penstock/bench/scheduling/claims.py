"""What is concluded from runs: whether something is less than something else, and by more than noise.

Repeats are compared one by one, since in each all sides got the same rows. What counts is the mean of the
logarithms of the ratios, and its standard error over the repeats.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import exp, inf, log
from statistics import mean
from typing import Any, TypeAlias

from penstock.experiments import claims
from penstock.experiments.claims import State
from penstock.experiments.on_spark.noise import least_share

#: What was measured of each side, repeat by repeat; None where a run failed.
Values: TypeAlias = Mapping[str, Sequence[float | None]]


@dataclass(frozen=True, slots=True)
class Claim:
    """Something that is said, and what the runs say: the ratio of one side to the other.

    `noise` is the factor up to which the ratio may be chance.
    """

    claim: str
    state: State
    within_noise: bool = False
    ratio: float | None = None
    noise: float | None = None
    ours: str = ""
    theirs: str = ""

    def as_json(self) -> dict[str, Any]:
        """What `--json` prints."""
        return asdict(self)

    def __str__(self) -> str:
        if self.ratio is None or self.noise is None:
            return f"{self.claim}: {self.state}"
        state = claims.words(self.state, self.within_noise)
        measured = f"{self.ours} {self.ratio:.2f}× {self.theirs}, noise ×/÷ {self.noise:.2f}"
        return f"{self.claim}: {state} ({measured})"


def is_less(claim: str, values: Values, ours: str, theirs: str, factor: float = 1.0) -> Claim:
    """Whether one side's values are less than so many times the other's."""
    pairs = _pairs(values.get(ours, ()), values.get(theirs, ()))
    if not pairs:
        return Claim(claim, "not measured", ours=ours, theirs=theirs)
    ratios = [log(one / other) for one, other in pairs]
    middle, noise = mean(ratios), noise_of(ratios)
    finding = claims.judged(log(factor) - middle, noise)
    return Claim(claim, *finding, exp(middle), exp(noise), ours, theirs)


def is_least(claim: str, values: Values, ours: Sequence[str]) -> Claim:
    """Whether the best of some sides is less than the best of all others."""
    best = _best(values, [name for name in values if name in ours])
    other = _best(values, [name for name in values if name not in ours])
    if best is None or other is None:
        return Claim(claim, "not measured")
    return is_less(claim, values, best, other)


def noise_of(ratios: Sequence[float]) -> float:
    """Up to what the mean of logarithms may be chance: never nothing, and more if it is of one alone."""
    return max(log(1 + least_share(len(ratios))), claims.noise_of(ratios))


def _pairs(ours: Sequence[float | None], theirs: Sequence[float | None]) -> list[tuple[float, float]]:
    return [(one, other) for one, other in zip(ours, theirs, strict=False) if one and other]


def _best(values: Values, names: Sequence[str]) -> str | None:
    """The side whose mean is least; one that failed once is not the best."""

    def middle(name: str) -> float:
        known = [value for value in values[name] if value is not None]
        return mean(known) if known and len(known) == len(values[name]) else inf

    found = [name for name in names if middle(name) < inf]
    return min(found, key=middle, default=None)
