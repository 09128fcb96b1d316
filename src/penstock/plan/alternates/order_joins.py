"""The rule of that name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from penstock.model.operators import Join
from penstock.model.query import PlanNode
from penstock.plan.alternates.join_building import Joined, connected, join_relation, join_stream, leaf
from penstock.plan.alternates.join_region import Region, read_region
from penstock.plan.alternates.sides import sides_of
from penstock.plan.alternates.space import Space, inputs_of
from penstock.plan.alternates.texts import renamed
from penstock.plan.conjunctions import conjuncts

#: More streams and relations than this keep the order they were written in.
MOST_MEMBERS = 5


def order_joins(node: PlanNode, space: Space) -> Iterator[PlanNode]:
    """Inner joins over sliding windows and with relations, in another order; the cheapest order first.

    From:       join with C over join of A and B
    To:         join with B over join of A and C, with a project that puts the columns in their places
    Valid when: all joins are inner, their conditions cannot raise, and streams that are joined with a join
                have sliding windows by the time their rows came with, and name its column. Relations
                change places with each other, but not with streams: a row meets the version of a relation
                that was recorded when it came in, and a row of two streams came in twice. Nothing above
                may depend on the order of rows of one instant (the generator sees to that).
    Why:        a join costs by what its windows hold, so the one that lets least through comes first; and
                another query may already run a part of the join.
    """
    if not isinstance(node.operator, Join):
        return
    region = read_region(node, space)
    if region is not None and 2 < len(region.members) <= MOST_MEMBERS:
        for made in sorted(_orders(region, space), key=lambda one: one.cost):
            if _shape(made.below.node) == _shape(node):
                continue
            sources = [made.names[name.lower()] for name in region.out.names]
            yield space.shaped(made.below.node, region.out, sources)
    if space.any_order:
        yield from _swapped(node, node.operator, space)


def _shape(node: PlanNode) -> object:
    """What is joined with what by which parts, however they are ordered."""
    if not isinstance(node.operator, Join):
        return id(node)
    parts = frozenset(conjuncts(node.operator.condition))
    return parts, node.operator.relation, tuple(_shape(child) for child in node.children)


def _orders(region: Region, space: Space) -> list[Joined]:
    """The cheapest way to join everything, for each choice of what is joined last."""
    best: dict[frozenset[int], Joined] = {}
    whole = frozenset(range(len(region.members)))
    for place in region.streams(whole):
        best[frozenset((place,))] = leaf(region, place)
    for size in range(2, len(whole) + 1):
        found = _of_size(region, space, best, size, crossing=False)
        # All pairs of two windows only where no condition leads on.
        for made in found or _of_size(region, space, best, size, crossing=True):
            known = best.get(made.members)
            if known is None or made.cost < known.cost:
                best[made.members] = made
    return found


def _of_size(
    region: Region, space: Space, best: dict[frozenset[int], Joined], size: int, *, crossing: bool
) -> list[Joined]:
    """All joins of that many members, from the best of fewer: one stream or relation more each time."""
    made: list[Joined | None] = []
    for members, left in best.items():
        if len(members) == size - 1:
            for place, member in enumerate(region.members):
                one = frozenset((place,))
                new = member.relation is not None and place not in members
                if new and (crossing or connected(region, members, one)):
                    made.append(join_relation(region, left, place, space))
        for others, right in best.items():
            if len(members) + len(others) != size or members & others:
                continue
            if len(region.streams(others)) > 1 or not (crossing or connected(region, members, others)):
                continue
            # Of two single streams the one that was written first stays on the left.
            if len(region.streams(members)) > 1 or min(members) < min(others):
                made.append(join_stream(region, left, right, space))
    return [one for one in made if one is not None]


def _swapped(node: PlanNode, join: Join, space: Space) -> Iterator[PlanNode]:
    """The join with left and right exchanged."""
    if join.relation is not None or join.type not in ("inner", "full"):
        return
    before = sides_of(join, space.schemas(node))
    after = sides_of(join, space.schemas(node)[::-1])
    if before is None or after is None:
        return
    names = (*after.out.names[len(before.right) :], *after.out.names[: len(before.right)])
    condition = renamed(
        join.condition, {old.lower(): new for old, new in zip(before.out.names, names, strict=True)}
    )
    left, right = inputs_of(node)
    made = space.over(
        replace(join, condition=condition, left=join.right, right=join.left),
        right,
        left,
        estimate=node.estimate,
    )
    yield space.shaped(made, before.out, names)
