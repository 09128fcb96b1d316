"""In the order of becoming ready."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from penstock.policies.ranks.base import Rank, RankedUnit, Reading


@dataclass(frozen=True, slots=True)
class ReadyOrder(Rank):
    """Ready order: units in the order in which they became ready, those with rows left at the end again.

    Paper:      StreamAPAS 2010, 2 (its Round-Robin: a FIFO queue of operators that are ready to execute)
    Equation:   −(which of all that became ready it was)
    Reads:      turn
    Use when:   nothing is known, nothing may starve, and idle units should not be waited for
    Avoid when: latency or memory matter: it heeds neither
    Cost:       O(1) per decision
    """

    reads: ClassVar[frozenset[Reading]] = frozenset({"turn"})

    def priority(self, unit: RankedUnit, now_s: float) -> float:  # noqa: ARG002
        """The sooner it became ready, the greater."""
        return -unit.place_among_ready
