"""StreamAPAS's composed operators: cheap operators join what they follow, by rules."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.model.estimates import Estimates
from penstock.model.graph import Edge, Graph
from penstock.model.operators import Project, Select
from penstock.model.unit import Cut
from penstock.policies.cuts.base import components, operator_edges


@dataclass(frozen=True, slots=True)
class CompositionCut:
    """Composition: projections join what they follow, and selections join each other.

    The paper's third rule, that a window joins the join it feeds, always holds: a window is part of its join.

    Paper:      StreamAPAS 2010, 6.2
    Equation:   no queue into a projection, nor between two selections
    Reads:      nothing
    Use when:   handing a row on costs as much as the work on it, and costs are not known
    Avoid when: units have owners: a group may get inputs from several workers, all synchronised (7, fig. 15)
    Cost:       O(n)
    """

    def cut(self, graph: Graph, estimates: Estimates) -> Cut:  # noqa: ARG002
        """The groups that the rules connect."""
        return tuple(components(graph, (edge for edge in operator_edges(graph) if _joins(graph, edge))))


def _joins(graph: Graph, edge: Edge) -> bool:
    below, reader = graph.nodes[edge.port.node].operator, graph.nodes[edge.reader].operator
    return isinstance(reader, Project) or (isinstance(reader, Select) and isinstance(below, Select))
