"""Everyone in turn, some for longer."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field
from typing import Annotated, ClassVar, TypeAlias

from pydantic import Field
from pydantic.dataclasses import dataclass

from penstock.policies.quantum import Quantum
from penstock.policies.ranks.base import Rank, RankedUnit, Reading

#: How many times the quantum counts, by an operator's kind, `leaf` for what reads a stream, or its name.
Weights: TypeAlias = Mapping[str, Annotated[float, Field(gt=0)]]
KINDS = ("select", "project", "split", "union", "join", "aggregate", "leaf")
USUAL: Weights = {"join": 2.0, "leaf": 2.0}


@dataclass(frozen=True, slots=True)
class WeightedRoundRobin(Rank):
    """Weighted round-robin: every ready unit in turn, each for its own multiple of the quantum.

    Paper:      MavStream 2004, 4.1.1
    Equation:   the next unit in cyclic order; quantum × weight of the operator, or else of its kinds
    Reads:      turn
    Use when:   some kinds of operator need more time than others, and nothing may starve
    Avoid when: latency or memory matter more than fairness
    Cost:       O(1) per decision
    """

    weights: Weights = field(default_factory=lambda: dict(USUAL))
    reads: ClassVar[frozenset[Reading]] = frozenset({"turn"})

    def priority(self, unit: RankedUnit, now_s: float) -> float:  # noqa: ARG002
        """The sooner its turn, the greater."""
        return -unit.next_turn()

    def quantum(self, unit: RankedUnit, base: Quantum) -> Quantum:
        """The base quantum times what its operators count by name, or else by kind."""
        named = [self.weights[name] for name in unit.cost.names if name in self.weights]
        by_kind = [self.weights[kind] for kind in unit.cost.kinds if kind in self.weights]
        return base.scaled(math.prod(named or by_kind))

    def named_operators(self) -> tuple[str, ...]:
        """The operators that have a weight by name."""
        return tuple(name for name in self.weights if name not in KINDS)
