"""No order at all."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field
from pydantic.dataclasses import dataclass

from penstock.policies.ranks.base import Rank, RankedUnit, Reading

_MASK = (1 << 64) - 1


@dataclass(frozen=True, slots=True)
class RandomOrder(Rank):
    """Random: any ready unit, by a draw that depends on the seed, the unit and its turn alone.

    Paper:      none; the baseline every policy should beat
    Equation:   uniform in [0, 1)
    Reads:      turn
    Use when:   a baseline is wanted, or tests should meet many schedules
    Avoid when: anything matters
    Cost:       O(1) amortised per decision
    """

    seed: Annotated[int, Field(ge=0)] = 0
    reads: ClassVar[frozenset[Reading]] = frozenset({"turn"})

    def priority(self, unit: RankedUnit, now_s: float) -> float:  # noqa: ARG002
        """SplitMix64 of seed and turn: no state, so a run can be replayed."""
        z = (self.seed * 0x9E3779B97F4A7C15 + unit.next_turn() * 0xBF58476D1CE4E5B9 + 1) & _MASK
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
        return (z ^ (z >> 31)) / 2.0**64
