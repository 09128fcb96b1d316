"""The oldest row in the system first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from penstock.policies.ranks.base import Rank, RankedUnit, Reading


@dataclass(frozen=True, slots=True)
class Fifo(Rank):
    """FIFO: each row all the way through, in the order rows entered the system.

    Paper:      StreamAPAS 2010, 2; PIPES 2007, 6.6
    Equation:   −(time at which the oldest waiting row entered the system)
    Reads:      age
    Use when:   the slowest result matters, or order of arrival is fair
    Avoid when: memory is scarce, or queries differ much in cost
    Cost:       O(1) amortised per decision
    """

    reads: ClassVar[frozenset[Reading]] = frozenset({"age"})

    def priority(self, unit: RankedUnit, now_s: float) -> float:  # noqa: ARG002
        """The longer in the system, the greater."""
        return -unit.oldest_s
