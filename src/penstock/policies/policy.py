"""A policy: a cut, a rank, a quantum and a threshold."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.policies.apart import BY_WISHES, Apart
from penstock.policies.cuts.base import Cutter
from penstock.policies.forecast import Objective
from penstock.policies.quantum import EVERYTHING, Quantum
from penstock.policies.ranks.base import Rank


@dataclass(frozen=True, slots=True)
class Policy:
    """How the graph is cut, how ready units are ordered, how much a step takes, which members run apart.

    A unit is eligible once more than `tau` rows wait for it, or any if no more can come. With `fixed_cost`
    the rank counts what a step costs before its first row, which the papers' equations do not know.
    `objective` is what its cut is to keep small, if that depends on estimates: then the graph is cut anew as
    they drift. `text` is what `parsing.parse` makes the same policy from.
    """

    text: str
    cut: Cutter
    rank: Rank
    quantum: Quantum = EVERYTHING
    tau: int = 0
    apart: Apart = BY_WISHES
    fixed_cost: bool = True
    objective: Objective | None = None

    @property
    def needs_oracle(self) -> bool:
        """Whether it reads what only a simulator can know."""
        return "rows" in self.rank.reads
