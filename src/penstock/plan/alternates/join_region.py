"""Inner joins that stand together, taken apart into what they join and by what.

A multiway join over sliding windows means: for every ordered pair of its streams i and j, `t_j < t_i + w_i`.
A join of two streams says so by its windows. A join above a join has the pairs written out in its condition,
and for the side that is a join a window as wide as its widest, by the row's own time, which is that of the
latest of its parts. So taken apart, all pairs are known from the streams' windows; put together in any other
order, they are written out again where they must be.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from penstock.model.operators import Join
from penstock.model.query import PlanNode
from penstock.model.schema import Schema
from penstock.model.window import Window
from penstock.plan.alternates.row_time import row_time
from penstock.plan.alternates.safety import stays
from penstock.plan.alternates.space import Input, Space, inputs_of
from penstock.plan.alternates.texts import reads, renamed
from penstock.plan.conjunctions import conjuncts
from penstock.sql.expressions.windowing import Within, read_within


@dataclass(frozen=True, slots=True)
class Member:
    """A stream with its window, or a stored relation; `names` is what the region calls its columns."""

    names: tuple[str, ...]
    schema: Schema
    below: Input | None = None
    window: Window | None = None
    relation: str | None = None

    @property
    def time(self) -> str | None:
        """The region's name of the column that has its rows' time."""
        if self.window is None or self.window.on is None:
            return None
        own = {name.lower(): named for name, named in zip(self.schema.names, self.names, strict=True)}
        return own[self.window.on.lower()]


@dataclass(frozen=True, slots=True)
class RegionCondition:
    """A conjunct in the region's names, and which members it reads."""

    text: str
    members: frozenset[int]


@dataclass(frozen=True, slots=True)
class Region:
    """Inner joins that stand together: what they join, by what, and what comes out."""

    members: tuple[Member, ...]
    parts: tuple[RegionCondition, ...]
    ordered: bool
    out: Schema

    def streams(self, members: Iterable[int]) -> list[int]:
        """Those that are streams."""
        return [one for one in members if self.members[one].relation is None]


@dataclass(slots=True)
class _Reading:
    """What has been found while a tree of joins is taken apart."""

    space: Space
    out: Schema
    members: list[Member] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    ordered: set[bool] = field(default_factory=set)


def read_region(node: PlanNode, space: Space) -> Region | None:
    """The region whose topmost join is this node; None if there is none whose order may be changed."""
    out = space.schema(node)
    if not _opens(node) or not out.fields:
        return None
    reading = _Reading(space, out)
    if not _read_join(node, 0, reading) or len(reading.ordered) > 1:
        return None
    owner = {name.lower(): place for place, one in enumerate(reading.members) for name in one.names}
    texts = [text for text in reading.texts if text != "TRUE"]
    known = all(reads(text) and reads(text) <= owner.keys() for text in texts)
    if not known or any(stays(text, out) for text in texts):
        return None
    if sum(one.relation is None for one in reading.members) > 2 and not _by_row_time(reading):
        return None
    parts = tuple(RegionCondition(text, frozenset(owner[name] for name in reads(text))) for text in texts)
    return Region(tuple(reading.members), parts, True in reading.ordered, out)


def _by_row_time(reading: _Reading) -> bool:
    """Whether every window goes by the time its rows came with: a joined row has only that of the latest."""
    streams = [one for one in reading.members if one.below is not None]
    return all(
        one.below is not None
        and one.window is not None
        and one.window.on is not None
        and row_time(one.below.node, reading.space) == one.window.on.lower()
        for one in streams
    )


def _opens(node: PlanNode) -> bool:
    return isinstance(node.operator, Join) and node.operator.type == "inner"


def _read_join(node: PlanNode, offset: int, reading: _Reading) -> bool:
    """Adds a join whose first column is the region's column at `offset`; whether it can be taken apart."""
    join, inputs, schemas = node.operator, inputs_of(node), reading.space.schemas(node)
    assert isinstance(join, Join)
    start = len(reading.members)
    if join.relation is not None:
        if not _read_side(inputs[0], None, offset, reading):
            return False
        names = reading.out.names[offset + len(schemas[0].fields) :][: len(join.relation_schema.fields)]
        reading.members.append(Member(names, join.relation_schema, relation=join.relation))
        reading.texts.extend(_in_region(node, offset, reading))
        return True
    if not _read_side(inputs[0], join.left, offset, reading):
        return False
    middle = len(reading.members)
    if not _read_side(inputs[1], join.right, offset + len(schemas[0].fields), reading):
        return False
    reading.ordered.add(join.ordered)
    sides = [
        [one for one in range(*places) if reading.members[one].relation is None]
        for places in ((start, middle), (middle, len(reading.members)))
    ]
    texts = list(_in_region(node, offset, reading))
    if len(sides[0]) == len(sides[1]) == 1:
        reading.texts.extend(text for text in texts if not _implied(text, sides, reading))
        return True
    rest = _without_pairs(texts, sides, (join.left, join.right), reading)
    reading.texts.extend(rest or ())
    return rest is not None


def _read_side(below: Input, window: Window | None, offset: int, reading: _Reading) -> bool:
    join = below.node.operator
    opens = _opens(below.node) and below.port == 0 and isinstance(join, Join)
    if window is None:
        # Below a join with a relation: other relations. Which version of a relation a row meets is recorded
        # with the batch it came in; a row of two streams came in two, so relations stay above or below them.
        opens = opens and isinstance(join, Join) and join.relation is not None
    else:
        opens = opens and isinstance(join, Join) and join.relation is None
        opens = opens and _slides(window) and window.on is None
    if opens:
        return _read_join(below.node, offset, reading)
    schema = reading.space.schema(below.node)
    names = reading.out.names[offset : offset + len(schema.fields)]
    reading.members.append(Member(names, schema, below, window))
    return True


def _slides(window: Window | None) -> bool:
    if window is None or window.kind != "time":
        return False
    return (window.begin, window.hop, window.end_of_query) == (0.0, None, None)


def _in_region(node: PlanNode, offset: int, reading: _Reading) -> Iterator[str]:
    """The parts of a join's condition in the region's names."""
    assert isinstance(node.operator, Join)
    schema = reading.space.schema(node)
    names = {name.lower(): reading.out.names[offset + place] for place, name in enumerate(schema.names)}
    return (renamed(part, names) for part in conjuncts(node.operator.condition))


def pair_of(later: Member, earlier: Member) -> Within | None:
    """`t_j < t_i + w_i`; None if it cannot be written."""
    if later.time is None or earlier.time is None or not _slides(earlier.window) or earlier.window is None:
        return None
    return Within(later.time, earlier.time, earlier.window.width)


def _implied(text: str, sides: list[list[int]], reading: _Reading) -> bool:
    """Whether a part says what the windows of its two streams say."""
    (left,), (right,) = sides
    some = (pair_of(reading.members[a], reading.members[b]) for a, b in ((left, right), (right, left)))
    said = read_within(text)
    return said is not None and said in some


def _without_pairs(
    texts: list[str], sides: list[list[int]], windows: tuple[Window | None, Window | None], reading: _Reading
) -> list[str] | None:
    """The parts that do not speak of windows; None if the windows of some pair are not as they must be."""
    said = {text: read_within(text) for text in texts}
    pairs: set[Within] = set()
    for (own, others), window in zip((sides, sides[::-1]), windows, strict=True):
        widest = max(one.window.width if one.window else 0.0 for one in (reading.members[i] for i in own))
        if window is None or window.width < widest:
            return None
        for one in own:
            for other in others:
                pair = pair_of(reading.members[other], reading.members[one])
                if pair is None or (pair not in said.values() and len(own) > 1):
                    return None
                pairs.add(pair)
    return [text for text in texts if said[text] not in pairs]
