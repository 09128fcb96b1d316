"""Every operator a unit of its own."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.model.estimates import Estimates
from penstock.model.graph import Graph
from penstock.model.unit import Cut, Unit


@dataclass(frozen=True, slots=True)
class OperatorCut:
    """Operator: a queue on every edge.

    Paper:      MavStream 2004, 4.1.1; PIPES 2007, 4.1 (the first level of OTS and GTS)
    Equation:   one unit per operator
    Reads:      nothing
    Use when:   the finest control is wanted, or costs are not known yet
    Avoid when: operators are cheap, for then the queues cost more than the work
    Cost:       O(n)
    """

    def cut(self, graph: Graph, estimates: Estimates) -> Cut:  # noqa: ARG002
        """One unit per operator, inputs first."""
        return tuple(Unit((name,)) for name in graph.operators)
