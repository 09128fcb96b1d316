"""Everyone in turn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from penstock.policies.ranks.base import Rank, RankedUnit, Reading


@dataclass(frozen=True, slots=True)
class RoundRobin(Rank):
    """Round-robin: every ready unit in turn, from the leaves to the root, then again.

    Paper:      MavStream 2004, 4.1.1; StreamAPAS 2010, 2
    Equation:   the next unit in cyclic order
    Reads:      turn
    Use when:   nothing is known, and nothing may starve
    Avoid when: latency or memory matter: it heeds neither
    Cost:       O(1) per decision
    """

    reads: ClassVar[frozenset[Reading]] = frozenset({"turn"})

    def priority(self, unit: RankedUnit, now_s: float) -> float:  # noqa: ARG002
        """The sooner its turn, the greater."""
        return -unit.next_turn()
