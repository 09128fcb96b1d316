"""The fastest path first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from penstock.policies.ranks.base import Rank, RankedUnit, Reading


@dataclass(frozen=True, slots=True)
class PathCapacity(Rank):
    """Path capacity: the unit that can process most rows per second.

    Paper:      MavStream 2004, 4.1.2
    Equation:   1 / (F/n + c_1 + s_1·c_2 + s_1·s_2·c_3 + …)
    Reads:      cost
    Use when:   mean latency matters most
    Avoid when: memory is scarce, or slow paths must not starve
    Cost:       O(1) amortised per decision
    """

    reads: ClassVar[frozenset[Reading]] = frozenset({"cost"})

    def priority(self, unit: RankedUnit, now_s: float) -> float:  # noqa: ARG002
        """Rows per second."""
        return 1.0 / unit.cost.per_row_s(unit.pending)
