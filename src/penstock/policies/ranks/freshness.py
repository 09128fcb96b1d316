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
    Equation:   α · (1 − (1−S)^(N^β)) / (F + N^β · C_avg), N rows waiting
    Reads:      cost, pending, weight
    Use when:   results should be up to date most of the time; β trades that for response time
    Avoid when: every row's delay counts alike, however many wait behind it
    Cost:       O(1) amortised per decision; only queries with new rows are ranked again
    """

    beta: Annotated[float, Field(ge=0, le=1)] = 1.0
    reads: ClassVar[frozenset[Reading]] = frozenset({"cost", "pending", "weight"})

    def priority(self, unit: RankedUnit, now_s: float) -> float:  # noqa: ARG002
        """Staleness probability per second of work; β = 0 is the rate-based rank."""
        cost = unit.cost
        waiting: float = unit.pending**self.beta
        fresh = (1.0 - cost.selectivity) ** waiting if cost.selectivity < 1.0 else 0.0
        return unit.weight * (1.0 - fresh) / (cost.fixed_s + waiting * cost.row_s)
