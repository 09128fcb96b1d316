"""All rewrite rules, in the order the generator tries them."""

from __future__ import annotations

from penstock.plan.alternates.merge_aggregate_project import merge_aggregate_project
from penstock.plan.alternates.merge_projects import merge_projects
from penstock.plan.alternates.merge_selects import merge_selects
from penstock.plan.alternates.order_joins import order_joins
from penstock.plan.alternates.order_selects import order_selects
from penstock.plan.alternates.prune_columns import prune_columns
from penstock.plan.alternates.push_aggregate_through_union import push_aggregate_through_union
from penstock.plan.alternates.push_select_through_aggregate import push_select_through_aggregate
from penstock.plan.alternates.push_select_through_join import push_select_through_join
from penstock.plan.alternates.push_select_through_project import push_select_through_project
from penstock.plan.alternates.push_select_through_union import push_select_through_union
from penstock.plan.alternates.space import Rule
from penstock.plan.alternates.split_select import split_select

#: Filters down to where they stop, merged first so that they travel together: a part that is held up does
#: not hold up the others.
DOWNWARD: tuple[Rule, ...] = (
    merge_selects,
    push_select_through_project,
    push_select_through_union,
    push_select_through_aggregate,
    push_select_through_join,
)

#: Once filters have come to rest they are put in order, part by part.
IN_PLACE: tuple[Rule, ...] = (split_select, order_selects)

#: And then into one operator again, which passes each row on once.
ON_THE_WAY_BACK: tuple[Rule, ...] = (merge_selects,)

#: What changes the shape of the plan, best tried where filters stand already: an order of joins is judged by
#: the rows that reach them.
SHAPES: tuple[Rule, ...] = (
    order_joins,
    merge_projects,
    merge_aggregate_project,
    push_aggregate_through_union,
)

#: What looks at a whole plan, from its root: columns go last, when all that reads them is in its place.
AT_ROOT: tuple[Rule, ...] = (prune_columns,)

RULES: tuple[Rule, ...] = (*DOWNWARD, *IN_PLACE, *SHAPES, *AT_ROOT)

#: Rules after which the rows of one instant may come in another order.
REORDERING: frozenset[Rule] = frozenset((order_joins,))


def name_of(rule: Rule) -> str:
    """What a rule is called."""
    return rule.__name__
