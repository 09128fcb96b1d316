"""The unit that frees memory fastest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from penstock.policies.ranks.base import Rank, RankedUnit, Reading


@dataclass(frozen=True, slots=True)
class ReleaseCapacity(Rank):
    """Memory release capacity: run what frees most bytes per second.

    Paper:      MavStream 2004, 4.1.3
    Equation:   C_S · (in_size − out_size · s_1·s_2·…·s_k), C_S = 1 / (F/n + c_1 + s_1·c_2 + …)
    Reads:      cost
    Use when:   memory is scarce and arrivals burst
    Avoid when: latency matters; results come in bursts
    Cost:       O(1) amortised per decision
    """

    reads: ClassVar[frozenset[Reading]] = frozenset({"cost"})

    def priority(self, unit: RankedUnit, now_s: float) -> float:  # noqa: ARG002
        """Bytes freed per second; the thesis counts a result's bytes too."""
        cost = unit.cost
        return (cost.in_bytes - cost.out_bytes - cost.sink_bytes) / cost.per_row_s(unit.pending)
