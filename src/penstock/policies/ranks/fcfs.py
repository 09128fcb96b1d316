"""First come to a queue, first served."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from penstock.policies.ranks.base import Rank, RankedUnit, Reading


@dataclass(frozen=True, slots=True)
class Fcfs(Rank):
    """FCFS: the batch that was put into its queue first.

    Paper:      AQSIOS 2010, 6
    Equation:   −(place of the oldest waiting batch among all batches queued)
    Reads:      age
    Use when:   a baseline is wanted, or queries are all alike
    Avoid when: queries differ in cost or selectivity, or the system is loaded
    Cost:       O(1) amortised per decision
    """

    reads: ClassVar[frozenset[Reading]] = frozenset({"age"})

    def priority(self, unit: RankedUnit, now_s: float) -> float:  # noqa: ARG002
        """The earlier queued, the greater."""
        return -unit.place_in_line
