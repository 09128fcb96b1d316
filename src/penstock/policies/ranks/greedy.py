"""The best head row first."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic.dataclasses import dataclass

from penstock.policies.quantum import Quantum
from penstock.policies.ranks.base import Rank, RankedUnit, Reading

_ONE = Quantum(rows=1)


@dataclass(frozen=True, slots=True)
class Greedy(Rank):
    """Greedy: the queue whose very next row is cheapest, or frees memory fastest.

    Paper:      Stream Mill 2008, 6
    Equation:   latency 1 / τ of the head row; memory (freed bytes) / τ of the head row
    Reads:      rows
    Use when:   a baseline for MSS is wanted, in the simulator
    Avoid when: an expensive row may hide cheap ones behind it; on a real engine, which cannot know
    Cost:       O(1) amortised per decision
    """

    objective: Literal["latency", "memory"] = "latency"
    reads: ClassVar[frozenset[Reading]] = frozenset({"rows"})

    def priority(self, unit: RankedUnit, now_s: float) -> float:  # noqa: ARG002
        """What the head row alone promises."""
        head = next(unit.true_rows())
        return (1.0 if self.objective == "latency" else head.freed_bytes) / max(head.cost_s, 1e-12)

    def quantum(self, unit: RankedUnit, base: Quantum) -> Quantum:  # noqa: ARG002
        """One row: the next may be another matter."""
        return _ONE
