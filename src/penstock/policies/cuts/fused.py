"""Everything by direct interoperability: no queue but the streams' own."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.model.estimates import Estimates
from penstock.model.graph import Graph
from penstock.model.unit import Cut
from penstock.policies.cuts.base import components, direct_edges


@dataclass(frozen=True, slots=True)
class FusedCut:
    """Fused: operators that are connected at all run as one, shared forks included.

    Only an operator that takes its inputs in time order keeps its queues, and with them whatever lies below
    it is kept apart from whatever lies above.

    Paper:      PIPES 2007, 2.4 and 6.4 (direct interoperability)
    Equation:   the weakly connected components between operators that take their inputs in time order
    Reads:      nothing
    Use when:   queues cost more than they buy: work is cheap, or every unit is a job of its own
    Avoid when: one operator is expensive, for it holds up all others; or memory is scarce
    Cost:       O(n)
    """

    def cut(self, graph: Graph, estimates: Estimates) -> Cut:  # noqa: ARG002
        """One unit per connected component."""
        return tuple(components(graph, direct_edges(graph)))
