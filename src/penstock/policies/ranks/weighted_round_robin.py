"""Everyone in turn, some for longer."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field
from pydantic.dataclasses import dataclass

from penstock.policies.quantum import Quantum
from penstock.policies.ranks.base import Rank, RankedUnit, Reading


@dataclass(frozen=True, slots=True)
class WeightedRoundRobin(Rank):
    """Weighted round-robin: every ready unit in turn, joins and leaves for a multiple of the quantum.

    Paper:      MavStream 2004, 4.1.1
    Equation:   the next unit in cyclic order; quantum × join_weight at joins, × leaf_weight at leaves
    Reads:      turn
    Use when:   some kinds of operator need more time than others, and nothing may starve
    Avoid when: latency or memory matter more than fairness
    Cost:       O(1) per decision
    """

    join_weight: Annotated[float, Field(gt=0)] = 2.0
    leaf_weight: Annotated[float, Field(gt=0)] = 2.0
    reads: ClassVar[frozenset[Reading]] = frozenset({"turn"})

    def priority(self, unit: RankedUnit, now_s: float) -> float:  # noqa: ARG002
        """The sooner its turn, the greater."""
        return -unit.next_turn()

    def quantum(self, unit: RankedUnit, base: Quantum) -> Quantum:
        """The base quantum times what the unit's kind counts."""
        weight = self.join_weight if unit.cost.joins else 1.0
        return base.scaled(weight * self.leaf_weight if unit.cost.leaf else weight)
