"""The output stream that is most cheaply made fresh."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field
from pydantic.dataclasses import dataclass

from penstock.policies.ranks.base import Rank, RankedUnit, Reading


@dataclass(frozen=True, slots=True)
class Freshness(Rank):
    """Freshness (FAS-MCQ): the chance that a query is stale over the time to make it fresh.

    Paper:      AQSIOS 2010, 4.2 to 4.4 and 5.2
    Equation:   Σ α·(1 − (1−S)^(N^β)) / (N^β · (F/N + C_avg)), N rows waiting, over all queries served
    Reads:      cost, pending, weight
    Use when:   results should be up to date most of the time; β trades that for response time
    Avoid when: every row's delay counts alike, however many wait behind it
    Cost:       O(1) amortised per decision; only queries with new rows are ranked again

    β = 1 is `Σ α·(1 − (1−S)^N) / (F + N·C_avg)`, and β = 0 is `Σ α·S / (F/N + C_avg)`: the rate-based rank,
    for any `S` and `F`. Where `S` is above 1 a query is stale for sure, and its chance is `S^(1−β)` instead.
    With `popularity` a query's weight counts once for each of its subscribers.
    """

    beta: Annotated[float, Field(ge=0, le=1)] = 1.0
    popularity: bool = False
    reads: ClassVar[frozenset[Reading]] = frozenset({"cost", "pending", "weight"})

    def priority(self, unit: RankedUnit, now_s: float) -> float:  # noqa: ARG002
        """What all queries of the unit would gain per second of work."""
        rows, beta = unit.pending, self.beta
        seconds: float = rows**beta * unit.cost.per_row_s(rows)
        return unit.gains.total(rows, beta) / seconds

    def counts_subscribers(self) -> bool:
        """If that was asked for."""
        return self.popularity
