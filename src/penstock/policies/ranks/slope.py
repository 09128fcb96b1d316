"""The steepest segment of the progress chart first."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic.dataclasses import dataclass

from penstock.policies.ranks.base import Rank, RankedUnit, Reading


@dataclass(frozen=True, slots=True)
class Slope(Rank):
    """Slope: outputs per second of the completion chart, or bytes per second of the memory chart.

    Paper:      Stream Mill 2008, 3
    Equation:   latency σ / (F/n + τ); memory (M_in − σ·M_out) / (F/n + τ), M_out = 0 at a sink
    Reads:      cost
    Use when:   mean latency, or memory over time, is to be least, and the cut is the matching chart's
    Avoid when: a unit must not starve, or memory and latency matter at once
    Cost:       O(1) amortised per decision
    """

    objective: Literal["latency", "memory"] = "latency"
    reads: ClassVar[frozenset[Reading]] = frozenset({"cost"})

    def priority(self, unit: RankedUnit, now_s: float) -> float:  # noqa: ARG002
        """The slope of the unit's segment in its chart."""
        cost = unit.cost
        height = cost.outputs if self.objective == "latency" else cost.in_bytes - cost.out_bytes
        return height / cost.per_row_s(unit.pending)
