"""The rule of that name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from penstock.model.operators import Join, Select
from penstock.model.query import PlanNode
from penstock.plan.alternates.safety import any_can_raise, by_count, free, reads_clock
from penstock.plan.alternates.sides import Side, Sides, sides_of
from penstock.plan.alternates.space import Input, Space, inputs_of
from penstock.plan.alternates.texts import reads
from penstock.plan.conjunctions import conjunction, conjuncts

#: The sides whose rows all come out, so that a filter above may as well stand below.
_FROM_ABOVE: dict[str, tuple[Side, ...]] = {
    "inner": ("left", "right"),
    "left": ("left",),
    "right": ("right",),
    "full": (),
}
#: The sides whose rows the condition may drop without a trace.
_FROM_CONDITION: dict[str, tuple[Side, ...]] = {
    "inner": ("left", "right"),
    "left": ("right",),
    "right": ("left",),
    "full": (),
}


def push_select_through_join(node: PlanNode, space: Space) -> Iterator[PlanNode]:
    """Select before join: what is asked of one side only is asked below that side.

    From:       select a > 1 AND a < right_a over join inner id = right_id AND right_b = 2
    To:         join inner id = right_id AND a < right_a over (select a > 1, select b = 2)
    Valid when: the part reads one side only, neither it, nor a part before it, nor the join's condition can
                raise, and that side has no window by count and is no stored relation. From above an outer
                join only through the side whose rows all come out; from its condition only to the other one.
                A part that asks for the time of day stays: it is fixed with each batch of rows.
                A part that reads both sides becomes part of the condition, if the join is inner.
    Why:        a join costs by what its windows hold; the papers' own example of an alternate plan.
    """
    match node.operator:
        case Select(predicate=predicate) if isinstance(node.children[0].operator, Join):
            above, lower = conjuncts(predicate), node.children[0]
        case Join():
            above, lower = (), node
        case _:
            return
    join = lower.operator
    assert isinstance(join, Join)
    sides = sides_of(join, space.schemas(lower))
    if sides is None:
        return
    condition = conjuncts(join.condition)
    if any_can_raise(condition, sides.out):
        return
    movable = free(above, sides.out)
    moved: dict[Side, list[str]] = {"left": [], "right": []}
    kept, joined = [], []
    for place, part in enumerate(above):
        side = sides.of(part)
        if place >= movable:
            kept.append(part)
        elif side is not None and side in _FROM_ABOVE[join.type] and _open(join, side):
            moved[side].append(sides.below(part, side))
        elif side is None and join.type == "inner" and _spans(part, sides):
            joined.append(part)
        else:
            kept.append(part)
    stays = []
    for part in condition:
        side = None if reads_clock(part) else sides.of(part)
        if side is not None and side in _FROM_CONDITION[join.type] and _open(join, side):
            moved[side].append(sides.below(part, side))
        else:
            stays.append(part)
    if not (moved["left"] or moved["right"] or joined):
        return
    inputs = inputs_of(lower)
    # Of a select that moves as a whole, what is known of it still holds.
    known = node.estimate if above and not kept and not joined and len(stays) == len(condition) else None
    one_way = known if not (moved["left"] and moved["right"]) else None
    below = [space.select(moved["left"], inputs[0], one_way)]
    if join.relation is None:
        below.append(space.select(moved["right"], inputs[1], one_way))
    rest = conjunction((*stays, *joined))
    estimate = lower.estimate if rest == conjunction(condition) else None
    made = space.over(replace(join, condition=rest), *below, estimate=estimate)
    yield space.select(kept, Input(made)).node


def _spans(part: str, sides: Sides) -> bool:
    """Whether a part, which is not about one side, is about both."""
    return bool(reads(part)) and sides.knows(part)


def _open(join: Join, side: Side) -> bool:
    """Whether a filter may go below that side."""
    if side == "right" and join.relation is not None:
        return False
    return not by_count(join.left if side == "left" else join.right)
