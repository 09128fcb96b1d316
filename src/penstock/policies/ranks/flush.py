"""Chain until a row has stayed too long, then the oldest first."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar

from pydantic import Field
from pydantic.dataclasses import dataclass

from penstock.policies.ranks.base import Rank, RankedUnit, Reading


@dataclass(frozen=True, slots=True)
class Flush(Rank):
    """Flush: memory's slope, but a unit whose oldest row stayed beyond the limit goes before all others.

    Paper:      StreamAPAS 2010, 2 (Chain-Flush)
    Equation:   (M_in − σ·M_out) / (F/n + τ) while age ≤ limit, then ∞ (the oldest row first)
    Reads:      cost, age
    Use when:   memory is scarce but no result may come later than so many seconds
    Avoid when: the limit is shorter than the backlog: it is FIFO then
    Cost:       O(1) amortised per decision, and one more re-ranking when the limit is reached
    """

    limit_s: Annotated[float, Field(gt=0)] = 1.0
    reads: ClassVar[frozenset[Reading]] = frozenset({"cost", "age"})

    def priority(self, unit: RankedUnit, now_s: float) -> float:
        """The slope, or above everything; ties go to the oldest row."""
        if now_s >= unit.oldest_s + self.limit_s:
            return math.inf
        cost = unit.cost
        return (cost.in_bytes - cost.out_bytes) / cost.per_row_s(unit.pending)

    def expires_s(self, unit: RankedUnit, now_s: float) -> float:
        """When the oldest row reaches the limit."""
        due = unit.oldest_s + self.limit_s
        return due if now_s < due else math.inf
