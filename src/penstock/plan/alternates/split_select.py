"""The rule of that name."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.model.operators import Select
from penstock.model.query import PlanNode
from penstock.plan.alternates.space import Space, inputs_of
from penstock.plan.conjunctions import conjuncts


def split_select(node: PlanNode, space: Space) -> Iterator[PlanNode]:
    """One select of a conjunction becomes a select for each part, the first part lowest.

    From:       select a AND b AND c
    To:         select c over select b over select a
    Valid when: always; a part that can raise still sees only rows that passed the parts before it.
    Why:        each part can then be moved, ordered and shared by itself.
    """
    if not isinstance(node.operator, Select):
        return
    parts = conjuncts(node.operator.predicate)
    if len(parts) < 2:
        return
    (below,) = inputs_of(node)
    for part in parts:
        below = space.select((part,), below)
    yield below.node
