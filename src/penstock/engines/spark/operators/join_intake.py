"""How rows come into a join: at once where windows are by time; in order and numbered where one is by count.

A row's number is certain once nothing can come before it: when the watermarks of both inputs have passed it
where windows slide, since it counts what it has seen of the other, and its own has where they hop. Until
then it waits. A row of the very time of a watermark waits too: another of that time may still precede it.

A row without a time precedes all that have one. Rows of inputs without times are in the order of their
places, in which they come. Where places begin with the number of the stream, all rows of one stream precede
those of the other, which then wait until the first ends.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from penstock.engines.spark.operators.base import (
    ARRIVED,
    END,
    EPOCH,
    TIME,
    TIMELESS,
    UNKNOWN,
    RowLayout,
    Tools,
)
from penstock.engines.spark.operators.join_state import FLOOR, SINCE, UNTIL, Kept, compacted, read, stored
from penstock.engines.spark.operators.join_windows import (
    floor,
    hopping,
    order_of,
    settled,
    sliding,
    time_in,
)
from penstock.engines.spark.rows.base import Rows, together
from penstock.engines.spark.rows.expressions import (
    Column,
    Constant,
    Expression,
    Not,
    every,
    greater,
    less,
    minus,
    plus,
)
from penstock.engines.spark.storage.records import OperatorState
from penstock.model.window import Window

#: The number of a row among those that are numbered with it, and how many of the other side it has seen.
_ROW, _SEES = "__row_number", "__sees"

_SIDES = ("left", "right")


@dataclass(frozen=True, slots=True)
class Taken:
    """The rows of each side that take part from now on, those that wait, and how many have been numbered."""

    fresh: tuple[Rows | None, Rows | None]
    waiting: tuple[list[Kept], list[Kept]]
    rows: tuple[int, int]
    seen: tuple[Sequence[int] | None, Sequence[int] | None]


@dataclass(frozen=True, slots=True)
class Intake:
    """Takes rows in. `outer` says of which sides rows matter that can meet none."""

    windows: tuple[Window | None, Window | None]
    sides: tuple[RowLayout, RowLayout]
    outer: tuple[bool, bool]
    keeps_order: bool
    keeps_epoch: bool

    @property
    def hops(self) -> bool:
        """Whether windows hop."""
        return any(window is not None and window.hop is not None for window in self.windows)

    @property
    def counts(self) -> bool:
        """Whether rows are numbered."""
        return any(window is not None and window.kind == "count" for window in self.windows)

    def take(
        self,
        state: OperatorState,
        arrived: Mapping[int, Rows],
        before: tuple[int, int],
        marks: tuple[int, int],
        tools: Tools,
    ) -> Taken:
        """What came in, under the watermarks before it and after it."""
        came = (self._freed(arrived.get(0), 0, before[0]), self._freed(arrived.get(1), 1, before[1]))
        if self.counts:
            return self._in_order(state, came, marks, tools)
        fresh = (self._at_once(came[0], 0), self._at_once(came[1], 1))
        return Taken(fresh, ([], []), (0, 0), (None, None))

    def _freed(self, rows: Rows | None, side: int, before: int) -> Rows | None:
        """The columns that the join needs, with their bound for the watermark."""
        if rows is None or rows.is_empty:
            return None
        layout = self.sides[side]
        hidden = [TIME, ARRIVED, *(layout.order_columns if self.keeps_order or self.counts else ())]
        hidden += [EPOCH] if self.keeps_epoch else []
        return rows.select([*layout.schema.names, *hidden]).having({FLOOR: floor(layout, before)})

    def _at_once(self, rows: Rows | None, side: int) -> Rows | None:
        if rows is None:
            return None
        at = time_in(self.windows[side], self.sides[side])
        return self._standing(rows, side, at, at, at)

    def _in_order(
        self,
        state: OperatorState,
        came: tuple[Rows | None, Rows | None],
        marks: tuple[int, int],
        tools: Tools,
    ) -> Taken:
        seen = (self._seen(state, came[0], 0, marks), self._seen(state, came[1], 1, marks))
        ripe: list[Rows | None] = []
        waiting = []
        for side in (0, 1):
            ready, rest = self._ripe(state, came[side], side, marks, seen, tools)
            ripe.append(ready)
            waiting.append(rest)
        before = (state.numbers.get("left-rows", 0), state.numbers.get("right-rows", 0))
        fresh = [self._numbered(side, ripe, before) for side in (0, 1)]
        counts = [before[side] + (rows.count() if rows is not None else 0) for side, rows in enumerate(ripe)]
        return Taken((fresh[0], fresh[1]), (waiting[0], waiting[1]), (counts[0], counts[1]), seen)

    def _seen(
        self, state: OperatorState, came: Rows | None, side: int, marks: tuple[int, int]
    ) -> Sequence[int] | None:
        """The place of the last row of an input without times."""
        names = [f"{_SIDES[side]}-seen-{n}" for n in range(self._length)]
        before = [state.numbers[name] for name in names if name in state.numbers]
        seen = before if len(before) == len(names) and names else None
        if marks[side] != TIMELESS or came is None:
            return seen
        layout = self.sides[side]
        last = came.last(layout.order_columns)
        if last is None:
            return seen
        place = [*last, *([-1] * (self._length - layout.order))]
        return place if seen is None else max(place, list(seen))

    def _ripe(
        self,
        state: OperatorState,
        came: Rows | None,
        side: int,
        marks: tuple[int, int],
        seen: tuple[Sequence[int] | None, Sequence[int] | None],
        tools: Tools,
    ) -> tuple[Rows | None, list[Kept]]:
        """The rows of a side whose numbers are certain, and what goes on waiting."""
        asked = (side,) if self.hops else (0, 1)
        bound = min(END if marks[one] == TIMELESS else marks[one] for one in asked)
        certain = every(*(settled(self._order(side), marks[one], seen[one]) for one in asked))
        ready, rest, untouched = [], [], []
        waiting: list[Kept | None] = [*read(state, f"{_SIDES[side]}-waiting"), None]
        for kept in waiting:
            if kept is not None and kept.since >= bound:
                untouched.append(kept)
                continue
            rows = tools.get(kept.ref) if kept is not None else self._waiting(came, side)
            if rows is None:
                continue
            if kept is not None and not rows.may_have(certain):
                untouched.append(kept)
                continue
            ready.append(rows.where(certain))
            rest.append(rows.where(Not(certain)))
        left = [*untouched, *stored(together(rest), tools)] if rest else untouched
        ripe = together(ready) if ready else None
        return (ripe if ripe is not None and not ripe.is_empty else None), compacted(left, tools)

    def _waiting(self, rows: Rows | None, side: int) -> Rows | None:
        """Rows to wait, by their time."""
        if rows is None:
            return None
        at = time_in(self.windows[side], self.sides[side])
        return rows.having({SINCE: at, UNTIL: Constant(0)})

    @property
    def _length(self) -> int:
        return max(layout.order for layout in self.sides)

    def _order(self, side: int) -> list[Expression]:
        """What rows that waited, or might have, are ordered by: their time, then their places."""
        return order_of(self.sides[side], Column(SINCE), self._length)

    def _numbered(self, side: int, ripe: Sequence[Rows | None], before: tuple[int, int]) -> Rows | None:
        rows, others = ripe[side], ripe[1 - side]
        if rows is None:
            return None
        placed = rows.placed(self._order(side), others, self._order(1 - side), (_ROW, _SEES))
        row, sees = plus(Column(_ROW), before[side]), plus(Column(_SEES), before[1 - side])
        return self._standing(placed, side, Column(SINCE), row, sees)

    def _standing(self, rows: Rows, side: int, at: Expression, row: Expression, sees: Expression) -> Rows:
        """The rows with what they stand at, without those that can have no part in the result."""
        own, other = self.windows[side], self.windows[1 - side]
        layout = self.sides[side]
        is_hopping = self.hops and own is not None
        if is_hopping and own is not None:
            stay = hopping(own, minus(row, 1) if self.counts else at)
        else:
            stay = sliding(own, other, at, row, sees)
        hidden = [TIME, ARRIVED, *(layout.order_columns if self.keeps_order else ())]
        hidden += [EPOCH] if self.keeps_epoch else []
        standing = rows.having({SINCE: stay.since, UNTIL: stay.until})
        standing = standing.select([*layout.schema.names, *hidden, FLOOR, SINCE, UNTIL])
        if is_hopping:
            return standing.where(less(Column(SINCE), Column(UNTIL)))
        return standing if self.outer[side] else standing.where(greater(Column(UNTIL), UNKNOWN))
