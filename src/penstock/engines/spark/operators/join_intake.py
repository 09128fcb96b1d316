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

import numpy as np
import pyarrow as pa

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
from penstock.engines.spark.operators.join_state import (
    SINCE,
    Kept,
    column,
    compacted,
    read,
    stored,
    together,
    with_numbers,
)
from penstock.engines.spark.operators.join_windows import (
    Numbers,
    Stay,
    floors,
    hopping,
    last_of,
    numbered,
    order_keys,
    settled,
    sliding,
    times,
)
from penstock.engines.spark.storage.records import OperatorState
from penstock.model.window import Window

_SIDES = ("left", "right")


@dataclass(frozen=True, slots=True)
class Taken:
    """The rows of each side that take part from now on, those that wait, and how many have been numbered."""

    fresh: tuple[pa.Table | None, pa.Table | None]
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
        arrived: Mapping[int, pa.Table],
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

    def _freed(self, rows: pa.Table | None, side: int, before: int) -> pa.Table | None:
        """The columns that the join needs, with their bound for the watermark."""
        if rows is None or not rows.num_rows:
            return None
        layout = self.sides[side]
        hidden = [TIME, ARRIVED, *(layout.order_columns if self.keeps_order or self.counts else ())]
        hidden += [EPOCH] if self.keeps_epoch else []
        rows = rows.select([*layout.schema.names, *hidden]).replace_schema_metadata(None)
        return with_numbers(rows, floor=floors(rows, layout, before))

    def _at_once(self, rows: pa.Table | None, side: int) -> pa.Table | None:
        if rows is None:
            return None
        at = times(rows, self.windows[side], self.sides[side])
        return self._standing(rows, side, at, at, at)

    def _in_order(
        self,
        state: OperatorState,
        came: tuple[pa.Table | None, pa.Table | None],
        marks: tuple[int, int],
        tools: Tools,
    ) -> Taken:
        seen = (self._seen(state, came[0], 0, marks), self._seen(state, came[1], 1, marks))
        ripe, waiting = [], []
        for side in (0, 1):
            ready, rest = self._ripe(state, came[side], side, marks, seen, tools)
            ripe.append(ready)
            waiting.append(rest)
        before = (state.numbers.get("left-rows", 0), state.numbers.get("right-rows", 0))
        keys = [self._keys(ripe[side], side) for side in (0, 1)]
        fresh = [self._numbered(ripe[side], side, keys, before) for side in (0, 1)]
        counts = (before[0] + len(keys[0][0]), before[1] + len(keys[1][0]))
        return Taken((fresh[0], fresh[1]), (waiting[0], waiting[1]), counts, seen)

    def _seen(
        self, state: OperatorState, came: pa.Table | None, side: int, marks: tuple[int, int]
    ) -> Sequence[int] | None:
        """The place of the last row of an input without times."""
        names = [f"{_SIDES[side]}-seen-{n}" for n in range(self._length)]
        before = [state.numbers[name] for name in names if name in state.numbers]
        seen = before if len(before) == len(names) and names else None
        return last_of(self._keys(came, side), seen) if marks[side] == TIMELESS else seen

    def _ripe(
        self,
        state: OperatorState,
        came: pa.Table | None,
        side: int,
        marks: tuple[int, int],
        seen: tuple[Sequence[int] | None, Sequence[int] | None],
        tools: Tools,
    ) -> tuple[pa.Table | None, list[Kept]]:
        """The rows of a side whose numbers are certain, and what goes on waiting."""
        asked = (side,) if self.hops else (0, 1)
        bound = min(END if marks[one] == TIMELESS else marks[one] for one in asked)
        ready, rest, untouched = [], [], []
        waiting: list[Kept | None] = [*read(state, f"{_SIDES[side]}-waiting"), None]
        for kept in waiting:
            if kept is not None and kept.since >= bound:
                untouched.append(kept)
                continue
            rows = tools.get(kept.ref) if kept is not None else self._waiting(came, side)
            if rows is None:
                continue
            keys = self._keys(rows, side)
            certain = np.logical_and.reduce([settled(keys, marks[one], seen[one]) for one in asked])
            if kept is not None and not certain.any():
                untouched.append(kept)
                continue
            ready.append(rows.filter(pa.array(certain)))
            rest.append(rows.filter(pa.array(~certain)))
        left = [*untouched, *stored(together(rest), tools)] if rest else untouched
        ripe = together(ready) if ready else None
        return (ripe if ripe is not None and ripe.num_rows else None), compacted(left, tools)

    def _waiting(self, rows: pa.Table | None, side: int) -> pa.Table | None:
        """Rows to wait, by their time."""
        if rows is None:
            return None
        at = times(rows, self.windows[side], self.sides[side])
        return with_numbers(rows, since=at, until=np.zeros(len(at), np.int64))

    @property
    def _length(self) -> int:
        return max(layout.order for layout in self.sides)

    def _keys(self, rows: pa.Table | None, side: int) -> list[Numbers]:
        """What rows are ordered by: their time, then their places."""
        if rows is None:
            return [np.zeros(0, np.int64) for _ in range(1 + self._length)]
        is_there = SINCE in rows.schema.names
        at = column(rows, SINCE) if is_there else times(rows, self.windows[side], self.sides[side])
        return order_keys(rows, self.sides[side], self._length, at)

    def _numbered(
        self, rows: pa.Table | None, side: int, keys: Sequence[Sequence[Numbers]], before: tuple[int, int]
    ) -> pa.Table | None:
        if rows is None:
            return None
        row, sees = numbered(keys[side], keys[1 - side])
        at = column(rows, SINCE)
        return self._standing(rows, side, at, row + before[side], sees + before[1 - side])

    def _standing(
        self, rows: pa.Table, side: int, at: Numbers, row: Numbers, sees: Numbers
    ) -> pa.Table | None:
        """The rows with what they stand at, without those that can have no part in the result."""
        own, other = self.windows[side], self.windows[1 - side]
        if self.hops and own is not None:
            standing = hopping(own, row - 1 if self.counts else at)
            matters = standing.since < standing.until
        else:
            standing = sliding(own, other, at, row, sees)
            matters = (standing.until > UNKNOWN) | self.outer[side]
        return _with_standing(rows, standing, self.keeps_order, self.sides[side]).filter(pa.array(matters))


def _with_standing(rows: pa.Table, standing: Stay, keeps_order: bool, layout: RowLayout) -> pa.Table:
    gone = [] if keeps_order else [name for name in layout.order_columns if name in rows.schema.names]
    return with_numbers(rows.drop_columns(gone), since=standing.since, until=standing.until)
