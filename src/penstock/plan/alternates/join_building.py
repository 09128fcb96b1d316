"""A region of joins put together again, one member after the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.model.operators import Join, widened
from penstock.model.schema import Schema
from penstock.model.window import Window
from penstock.plan.alternates.join_region import Region, RegionCondition, pair_of
from penstock.plan.alternates.safety import by_count
from penstock.plan.alternates.space import Input, Space
from penstock.plan.alternates.texts import renamed
from penstock.plan.conjunctions import conjunction
from penstock.sql.expressions.windowing import within


@dataclass(frozen=True, slots=True)
class Joined:
    """Some members joined, and what each of the region's columns (in lower case) is called there."""

    members: frozenset[int]
    below: Input
    names: Mapping[str, str]
    cost: float = 0.0


def leaf(region: Region, place: int) -> Joined:
    """One stream by itself."""
    member = region.members[place]
    assert member.below is not None
    names = {name.lower(): own for name, own in zip(member.names, member.schema.names, strict=True)}
    return Joined(frozenset((place,)), member.below, names)


def connected(region: Region, left: frozenset[int], right: frozenset[int]) -> bool:
    """Whether some part is about both."""
    both = left | right
    return any(part.members <= both and part.members & left and part.members & right for part in region.parts)


def join_stream(region: Region, left: Joined, right: Joined, space: Space) -> Joined | None:
    """Two sides joined over their windows; None where a relation was put below a window by count."""
    windows = _window(region, left), _window(region, right)
    for side, window in zip((left, right), windows, strict=True):
        if by_count(window) and len(side.members) > 1:
            return None
    streams = region.streams(left.members), region.streams(right.members)
    pairs: list[str] = []
    if max(map(len, streams)) > 1:
        for one in sorted((*streams[0], *streams[1])):
            for other in streams[1] if one in left.members else streams[0]:
                pair = pair_of(region.members[other], region.members[one])
                if pair is None:
                    return None
                pairs.append(within(*pair))
    schema = space.schema(right.below.node)
    return _joined(region, left, right, schema, pairs, Join("TRUE", *windows, ordered=region.ordered), space)


def join_relation(region: Region, left: Joined, place: int, space: Space) -> Joined:
    """A stored relation joined to what is there."""
    member = region.members[place]
    names = {name.lower(): own for name, own in zip(member.names, member.schema.names, strict=True)}
    right = Joined(frozenset((place,)), left.below, names)
    join = Join("TRUE", relation=member.relation, relation_schema=member.schema)
    return _joined(region, left, right, member.schema, [], join, space)


def _joined(
    region: Region, left: Joined, right: Joined, schema: Schema, pairs: list[str], join: Join, space: Space
) -> Joined:
    own = space.schema(left.below.node)
    out = widened(own, schema).names
    now = {name.lower(): made for name, made in zip(schema.names, out[len(own.fields) :], strict=True)}
    names = {**left.names, **{name: now[called.lower()] for name, called in right.names.items()}}
    members = left.members | right.members
    texts = [part.text for part in region.parts if part.members <= members and not _placed(part, left, right)]
    condition = conjunction(tuple(renamed(text, names) for text in (*texts, *pairs)))
    inputs = (left.below,) if join.relation is not None else (left.below, right.below)
    made = Join(condition, join.left, join.right, join.relation, join.relation_schema, ordered=join.ordered)
    node = space.over(made, *inputs)
    cost = left.cost + right.cost + space.costing.of(node).cpu_s_per_s
    return Joined(members, Input(node), names, cost)


def _placed(part: RegionCondition, left: Joined, right: Joined) -> bool:
    """Whether a join below has the part already; a single member has no join of its own."""
    return any(part.members <= side.members and len(side.members) > 1 for side in (left, right))


def _window(region: Region, side: Joined) -> Window | None:
    """One stream's own window; of several the widest, by the row's own time."""
    streams = [region.members[one] for one in region.streams(side.members)]
    if len(streams) == 1:
        return streams[0].window
    return Window.seconds(max(one.window.width for one in streams if one.window is not None))
