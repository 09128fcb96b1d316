"""The rule of that name."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.model.estimates import Estimate
from penstock.model.operators import Select
from penstock.model.query import PlanNode
from penstock.plan.alternates.safety import can_raise
from penstock.plan.alternates.space import Space, inputs_of
from penstock.plan.conjunctions import conjuncts


def order_selects(node: PlanNode, space: Space) -> Iterator[PlanNode]:
    """Two selects in a row change places, so that the one of greater rank comes first.

    From:       select b over select a
    To:         select a over select b
    Valid when: neither predicate can raise.
    Why:        rank is (1 − selectivity) / cost: rows dropped per second of work. Among selects in a row the
                order of falling rank is the cheapest.
    """
    if not isinstance(node.operator, Select):
        return
    (lower,) = node.children
    if not isinstance(lower.operator, Select):
        return
    schema = space.schemas(lower)[0]
    if not schema.fields:
        return
    if not space.any_order and rank(_estimate(node, space)) <= rank(_estimate(lower, space)):
        return
    first, second = conjuncts(node.operator.predicate), conjuncts(lower.operator.predicate)
    if any(can_raise(part, schema) for part in (*first, *second)):
        return
    below = space.select(first, inputs_of(lower)[0], node.estimate)
    yield space.select(second, below, lower.estimate).node


def rank(estimate: Estimate) -> float:
    """Rows dropped per second of work."""
    return (1 - estimate.selectivity) / max(estimate.cost_s, 1e-12)


def _estimate(node: PlanNode, space: Space) -> Estimate:
    return space.costing.of(node).estimate
