"""The rule of that name."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.model.operators import Aggregate, Select
from penstock.model.query import PlanNode
from penstock.plan.alternates.safety import aggregate_can_raise, by_count, free
from penstock.plan.alternates.space import Input, Space, inputs_of
from penstock.plan.alternates.texts import reads
from penstock.plan.conjunctions import conjuncts


def push_select_through_aggregate(node: PlanNode, space: Space) -> Iterator[PlanNode]:
    """A select on keys goes below the aggregate: groups that would be dropped are never made.

    From:       select k = 1 AND n > 2 over aggregate by k
    To:         select n > 2 over aggregate by k over select k = 1
    Valid when: the part reads keys only and cannot raise, nor can a part before it, nor what is aggregated.
                Never for a window by count, where a row less lets another one in. A session is one key's.
    Why:        fewer rows are exchanged and fewer groups remembered.
    """
    if not isinstance(node.operator, Select):
        return
    (lower,) = node.children
    aggregate = lower.operator
    if not isinstance(aggregate, Aggregate) or by_count(aggregate.window):
        return
    schema = space.schemas(lower)[0]
    if not schema.fields or aggregate_can_raise(aggregate, schema):
        return
    keys = {key.lower() for key in aggregate.keys}
    parts = conjuncts(node.operator.predicate)
    movable = free(parts, space.schema(lower))
    moved = [part for part in parts[:movable] if reads(part) and reads(part) <= keys]
    if not moved:
        return
    kept = [part for place, part in enumerate(parts) if place >= movable or part not in moved]
    below = space.select(moved, inputs_of(lower)[0], None if kept else node.estimate)
    made = space.over(aggregate, below, estimate=lower.estimate)
    yield space.select(kept, Input(made)).node
