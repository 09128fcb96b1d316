"""The rows that a join keeps: a few stored tables for each side, and the bounds of the numbers in each.

By its bounds a table need not be read to see that none of its rows matter now, or ever again. A piece has
the range of `__until`; the least `__since` and `__floor` are numbers of the state, `<table>:since`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from penstock.engines.spark.operators.base import Tools
from penstock.engines.spark.rows.base import Rows, together
from penstock.engines.spark.rows.expressions import Column, greater
from penstock.engines.spark.storage.records import OperatorState, Piece
from penstock.engines.spark.storage.store import Ref

SINCE, UNTIL, FLOOR = "__since", "__until", "__floor"

#: More tables of a kind are put together.
MOST_PIECES = 8


@dataclass(frozen=True, slots=True)
class Kept:
    """A stored table: the least and greatest `__until` in it, the least `__since`, the least `__floor`."""

    ref: Ref
    ends: int
    until: int
    since: int
    floor: int


def stored(rows: Rows, tools: Tools) -> list[Kept]:
    """The rows put away; nothing if there are none."""
    one = tools.put(rows, SINCE, UNTIL, FLOOR)
    return (
        []
        if one is None
        else [Kept(one.ref, one.low(UNTIL), one.high(UNTIL), one.low(SINCE), one.low(FLOOR))]
    )


def read(state: OperatorState, role: str) -> list[Kept]:
    """What the state has of a kind."""
    return [
        Kept(
            piece.ref,
            piece.low,
            piece.high,
            state.numbers[f"{piece.ref.name}:since"],
            state.numbers[f"{piece.ref.name}:floor"],
        )
        for piece in state.of(role)
    ]


def written(kept: Mapping[str, Iterable[Kept]], numbers: Mapping[str, int]) -> OperatorState:
    """A state of the tables of each kind, and other numbers."""
    pieces, all_numbers = [], dict(numbers)
    for role, tables in kept.items():
        for one in tables:
            pieces.append(Piece(role, one.ref, one.ends, one.until))
            all_numbers |= {f"{one.ref.name}:since": one.since, f"{one.ref.name}:floor": one.floor}
    return OperatorState(tuple(pieces), all_numbers)


def without_dead(kept: Iterable[Kept], clock: int, tools: Tools) -> list[Kept]:
    """Without rows whose `__until` has come: whole tables go, others are written anew if most are dead."""
    left: list[Kept] = []
    for one in kept:
        if one.until <= clock:
            continue
        if one.ends <= clock:
            rows = tools.get(one.ref)
            alive = rows.where(greater(Column(UNTIL), clock))
            if 2 * alive.count() < one.ref.rows:
                left += stored(alive, tools)
                continue
        left.append(one)
    return left


def compacted(kept: list[Kept], tools: Tools) -> list[Kept]:
    """At most so many tables. The newest are put together, up to one that is larger than all of them.

    So a row is rewritten a logarithmic number of times, and old rows stay in tables that die as a whole.
    """
    while len(kept) > MOST_PIECES:
        first, total = len(kept) - 2, kept[-1].ref.rows + kept[-2].ref.rows
        while first and kept[first - 1].ref.rows <= total:
            first -= 1
            total += kept[first].ref.rows
        merged = together([tools.get(one.ref) for one in kept[first:]])
        kept = [*kept[:first], *stored(merged, tools)]
    return kept


@dataclass(frozen=True, slots=True)
class Least:
    """The least `__since` and `__floor` of some rows; None if there are none."""

    since: int | None = None
    floor: int | None = None

    def and_of(self, since: int, floor: int) -> Least:
        """With more rows."""
        return Least(
            since if self.since is None else min(self.since, since),
            floor if self.floor is None else min(self.floor, floor),
        )


def least_alive(kept: Iterable[Kept], fresh: Rows | None, clock: int, tools: Tools) -> Least:
    """Of the rows whose `__until` has not come."""
    least = Least()
    parts = [fresh] if fresh is not None else []
    for one in kept:
        if one.ends > clock:
            least = least.and_of(one.since, one.floor)
        elif one.until > clock:
            parts.append(tools.get(one.ref))
    for rows in parts:
        bounds = rows.where(greater(Column(UNTIL), clock)).bounds(SINCE, FLOOR)
        if bounds is not None:
            since, floor = bounds[SINCE].low, bounds[FLOOR].low
            assert since is not None
            assert floor is not None
            least = least.and_of(since, floor)
    return least
