"""The greatest output rate first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from penstock.policies.ranks.base import Rank, RankedUnit, Reading


@dataclass(frozen=True, slots=True)
class Rate(Rank):
    """Rate (RB-MCQ): the unit that puts out most rows per second.

    Paper:      AQSIOS 2010, 5.1
    Equation:   S / (F/n + C_avg)
    Reads:      cost
    Use when:   mean response time over all queries matters
    Avoid when: freshness matters, or unproductive queries must not starve
    Cost:       O(1) amortised per decision
    """

    reads: ClassVar[frozenset[Reading]] = frozenset({"cost"})

    def priority(self, unit: RankedUnit, now_s: float) -> float:  # noqa: ARG002
        """Rows put out per second."""
        return unit.cost.selectivity / unit.cost.per_row_s(unit.pending)
