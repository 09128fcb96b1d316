"""The rule of that name."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.model.estimates import Estimate
from penstock.model.operators import Select
from penstock.model.query import PlanNode
from penstock.plan.alternates.space import Space, inputs_of
from penstock.plan.conjunctions import conjuncts


def merge_selects(node: PlanNode, space: Space) -> Iterator[PlanNode]:
    """Two selects in a row become one of both predicates, the lower one's first.

    From:       select b over select a
    To:         select a AND b
    Valid when: always; the parts are evaluated in the same order as before.
    Why:        one operator passes each row on once; and what stands in one conjunction moves down together.
    """
    if not isinstance(node.operator, Select):
        return
    (lower,) = node.children
    if not isinstance(lower.operator, Select):
        return
    parts = (*conjuncts(lower.operator.predicate), *conjuncts(node.operator.predicate))
    yield space.select(parts, inputs_of(lower)[0], _both(lower.estimate, node.estimate)).node


def _both(lower: Estimate | None, upper: Estimate | None) -> Estimate | None:
    """What is known of the two together, if both are known."""
    if lower is None or upper is None:
        return None
    return Estimate(
        lower.cost_s + lower.selectivity * upper.cost_s,
        lower.selectivity * upper.selectivity,
        lower.in_bytes,
        upper.out_bytes,
    )
