"""Gains: what the queries that a unit serves would have of its next step.

A step makes fresh whatever its rows would change. With `N` rows waiting a query of selectivity `S` is stale
with the chance `1 − (1−S)^N`; times its weight `α` that is its gain, and a unit's is the sum over all queries
it serves, members of shared queries among them. What is ranked asks for that sum at every decision, so that
queries of about the same selectivity are put together when weights or estimates change, not then.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import expm1, floor, log1p, log2
from typing import NamedTuple

#: Groups at most, and how many of them for each halving of the selectivity: the least have a 4096th of the
#: greatest, or less. The sum is within 3 % of the exact one down to there.
_MOST, _FOR_EACH_HALF = 24, 2


class Served(NamedTuple):
    """A query, or several of one selectivity: what it counts for, and rows out for each row in."""

    weight: float
    selectivity: float


def grouped(served: Iterable[Served]) -> tuple[Served, ...]:
    """The same, those of about one selectivity as one; few are left as they are."""
    exact: dict[float, float] = {}
    for weight, selectivity in served:
        if selectivity > 0.0:
            exact[selectivity] = exact.get(selectivity, 0.0) + weight
    if len(exact) <= _MOST:
        return tuple(Served(weight, selectivity) for selectivity, weight in exact.items())
    places = {selectivity: floor(_FOR_EACH_HALF * log2(selectivity)) for selectivity in exact}
    least = max(places.values()) - _MOST + 1
    groups: dict[int, tuple[float, float]] = {}
    for selectivity, weight in exact.items():
        place = max(places[selectivity], least)
        weights, outputs = groups.get(place, (0.0, 0.0))
        groups[place] = weights + weight, outputs + weight * selectivity
    return tuple(Served(weights, outputs / weights) for weights, outputs in groups.values())


@dataclass(frozen=True, slots=True)
class Gains:
    """Of all queries that a unit serves: each group's weight, selectivity `S` and `log(1 − S)`."""

    groups: tuple[tuple[float, float, float], ...]

    @classmethod
    def of(cls, served: Iterable[Served]) -> Gains:
        """The gains of these queries."""
        return cls(tuple((w, s, log1p(-s) if s < 1.0 else 0.0) for w, s in grouped(served)))

    def total(self, rows: int, beta: float) -> float:
        """`Σ α·(1 − (1−S)^(N^β))`, with `N` rows waiting; for `S ≥ 1` it is `Σ α·S^(1−β)`.

        A query that makes more than one row of each is stale for sure, which is all that counts at β = 1;
        at β = 0 every row counts, so that the sum is `Σ α·S` for any `S`.
        """
        waiting: float = rows**beta
        found = 0.0
        for weight, selectivity, log_fresh in self.groups:
            if selectivity < 1.0:
                found -= weight * expm1(waiting * log_fresh)
            else:
                found += weight * selectivity ** (1.0 - beta)
        return found


NOTHING = Gains(())
