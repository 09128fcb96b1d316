"""The steepest run of waiting rows first: the optimum the others are measured against."""

from __future__ import annotations

from typing import ClassVar, Literal

from pydantic.dataclasses import dataclass

from penstock.policies.quantum import Quantum
from penstock.policies.ranks.base import Rank, RankedUnit, Reading


@dataclass(frozen=True, slots=True)
class MaximumSlopeSegment(Rank):
    """MSS: the queue whose next rows, up to any one of them, promise most per second.

    Paper:      Stream Mill 2008, 5 and 6
    Equation:   max over k of Σ_{i≤k} outputs_i / Σ_{i≤k} τ_i; the memory variant has freed bytes above
    Reads:      rows
    Use when:   the bound is wanted: least total latency under order of arrival, in the simulator
    Avoid when: on a real engine, which cannot know a row's cost before it has run
    Cost:       O(rows waiting in the queue) per re-ranking, whatever the number of units
    """

    objective: Literal["latency", "memory"] = "latency"
    reads: ClassVar[frozenset[Reading]] = frozenset({"rows"})

    def priority(self, unit: RankedUnit, now_s: float) -> float:  # noqa: ARG002
        """The slope of the steepest segment from the head."""
        return self._steepest(unit)[0]

    def quantum(self, unit: RankedUnit, base: Quantum) -> Quantum:  # noqa: ARG002
        """The whole segment; the memory variant decides again at every row that moves on."""
        return Quantum(rows=self._steepest(unit)[1] if self.objective == "latency" else 1)

    def _steepest(self, unit: RankedUnit) -> tuple[float, int]:
        best, length = float("-inf"), 1
        height = seconds = 0.0
        for count, row in enumerate(unit.true_rows(), start=1):
            height += row.outputs if self.objective == "latency" else row.freed_bytes
            seconds += row.cost_s
            slope = height / max(seconds, 1e-12)
            if slope > best:
                best, length = slope, count
        return best, length
