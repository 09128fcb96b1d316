"""What was measured of operators that run, for plans that would run the same ones elsewhere.

A filter lets pass what it was seen to let pass, wherever in a plan it stands. Plans are costed in round
numbers of one core, and what runs costs more, reading and writing included; so a measured cost counts by how
it compares with those of other measured operators.
"""

from __future__ import annotations

from dataclasses import replace
from statistics import median
from typing import TypeAlias

from penstock.model.estimates import Estimate, Estimates
from penstock.model.graph import Graph
from penstock.model.operators import Join, Operator, Select, Source, Split
from penstock.model.query import PlanNode
from penstock.plan.canonical import Forms

#: An operator in canonical form, and the streams that its rows come from.
_Key: TypeAlias = tuple[Operator, frozenset[str]]


class Measured:
    """Estimates of filters, splits and joins with stored tables, by what they are."""

    def __init__(self, graph: Graph, estimates: Estimates) -> None:
        self._known: dict[_Key, Estimate] = {}
        self._forms = Forms()
        streams: dict[str, frozenset[str]] = {}
        for name, node in graph.nodes.items():
            below = [streams[port.node] for port in node.inputs]
            own = [node.operator.stream] if isinstance(node.operator, Source) else []
            streams[name] = frozenset(own).union(*below)
            known = estimates.operators.get(name)
            if known is not None and known.selectivity_error is not None and _counts(node.operator):
                self._known[node.operator, streams[name]] = known
        ratios = [
            known.cost_s / node.estimate.cost_s
            for name, node in graph.nodes.items()
            if node.estimate is not None
            and node.estimate.cost_s > 0
            and (known := estimates.operators.get(name)) is not None
            and known.cost_error is not None
        ]
        self._scale = median(ratios) if ratios else 1.0

    def of(self, node: PlanNode) -> Estimate | None:
        """What is known of an operator of a plan; its cost in the round numbers of plans."""
        if not self._known or not _counts(node.operator):
            return None
        form = self._forms.of(node, frozenset()).node
        found = self._known.get((form.operator, _streams(node)))
        if found is None or found.cost_error is None:
            return None
        return replace(found, cost_s=found.cost_s / self._scale, cost_error=None, selectivity_error=None)


def _counts(operator: Operator) -> bool:
    """Whether what it lets pass does not depend on what stands below it, nor on rates."""
    return isinstance(operator, Select | Split) or (
        isinstance(operator, Join) and operator.relation is not None and not operator.roster
    )


def _streams(node: PlanNode) -> frozenset[str]:
    return frozenset(one.operator.stream for one in node.post_order() if isinstance(one.operator, Source))
