"""Where a row of a join stands in the windows, as two numbers: all that the rest of the join goes by.

Each window has a clock. By time it shows microseconds, by count how many rows of its own side there have
been, and where windows hop the number of the window. A row is in its window *until* its clock shows so much:

    by time     its time + the width
    by count    its own number + n
    hopping     the number of its last window + 1

and stands, on the clock of the *other* side's window, at (*since*):

    by time     its time
    by count    how many rows of the other side are not behind it
    hopping     the number of its first window

Two rows whose windows slide meet if each stands before the other's end: `later.since < earlier.until` says
that the earlier was in its window at the instant of the later; `earlier.since < later.until` always holds.
Rows whose windows hop meet once for each window that both are in. Nothing here knows of Spark or of state.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from penstock.engines.spark.operators.base import END, TIME, TIMELESS, UNKNOWN, RowLayout, micros
from penstock.model.window import Window

Numbers: TypeAlias = npt.NDArray[np.int64]
Mask: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Stay:
    """Where each row of a table stands, and until when."""

    since: Numbers
    until: Numbers


def sliding(own: Window | None, other: Window | None, at: Numbers, row: Numbers, sees: Numbers) -> Stay:
    """Rows by their time, their number from 1, and how many of the other side they have seen.

    A row without a time stands before all others, and is never in a window by time.
    """
    return Stay(since=_since(other, at, sees), until=_until(own, at, row))


def _until(window: Window | None, at: Numbers, row: Numbers) -> Numbers:
    if window is None:
        return np.full(len(at), END)
    if window.kind == "count":
        return row + int(window.width)
    return np.where(at == UNKNOWN, UNKNOWN, at + micros(window.width))


def _since(window: Window | None, at: Numbers, sees: Numbers) -> Numbers:
    if window is None:
        return np.zeros(len(at), np.int64)
    return sees if window.kind == "count" else at


def hopping(window: Window, position: Numbers) -> Stay:
    """Rows by their time, or by their number from 0. One in no window has `until` no greater than `since`."""
    begin, end, hop = _bounds(window)
    first, after = (position - end) // hop + 1, (position - begin) // hop + 1
    if window.kind == "count":
        return Stay(np.maximum(first, 0), after)
    return Stay(first, np.where(position == UNKNOWN, first, after))


def windows_closed(window: Window, position: int) -> int:
    """The number of the first window that can still get rows whose time or number is at least `position`."""
    if position in (UNKNOWN, END):
        return position
    _, end, hop = _bounds(window)
    closed = (position - end) // hop + 1
    return max(closed, 0) if window.kind == "count" else closed


def _bounds(window: Window) -> tuple[int, int, int]:
    """Begin, end and hop in whole microseconds or rows."""
    whole = int if window.kind == "count" else micros
    return whole(window.begin), whole(window.end), whole(window.step)


def times(rows: pa.Table, window: Window | None, layout: RowLayout) -> Numbers:
    """Each row's time in its window in microseconds, UNKNOWN if it has none."""
    named = layout.schema.get(window.on) if window is not None and window.on is not None else None
    return _instants(rows.column(named.name if named is not None else TIME), UNKNOWN)


def floors(rows: pa.Table, layout: RowLayout, before: int) -> Numbers:
    """A bound of all times of each row, for the watermark of what is made of it.

    A row that is itself a join's has several times, and an operator above may go by any of them. So it is the
    least of all its columns with a time, but not less than the watermark before it came: columns that are
    behind that are no times to the system.
    """
    columns = [TIME, *layout.schema.names]
    instants = [_instants(rows.column(name), TIMELESS) for name in columns if _is_time(rows, name)]
    return np.asarray(np.maximum(np.minimum.reduce(instants), before))


def _is_time(rows: pa.Table, name: str) -> bool:
    kind = rows.schema.field(name).type
    if pa.types.is_struct(kind):
        place = kind.get_field_index("end")
        return place >= 0 and bool(pa.types.is_timestamp(kind.field(place).type))
    return name == TIME or bool(pa.types.is_timestamp(kind))


def _instants(column: pa.ChunkedArray, missing: int) -> Numbers:
    shift = 0
    if pa.types.is_struct(column.type):
        column, shift = pc.struct_field(column, "end"), 1
    if pa.types.is_date(column.type) or pa.types.is_timestamp(column.type):
        zone = getattr(column.type, "tz", None)
        column = column.cast(pa.timestamp("us", zone), safe=False)
    whole = pc.subtract(column.cast(pa.int64()), shift)
    return np.asarray(pc.fill_null(whole, missing).to_numpy(), np.int64)


# The total order


def order_keys(rows: pa.Table, layout: RowLayout, length: int, at: Numbers) -> list[Numbers]:
    """What rows are compared by, first things first; made as long as the other side's."""
    orders = [np.asarray(rows.column(name).to_numpy(), np.int64) for name in layout.order_columns]
    return [at, *orders, *(np.full(len(at), -1) for _ in range(length - layout.order))]


def numbered(own: Sequence[Numbers], other: Sequence[Numbers]) -> tuple[Numbers, Numbers]:
    """Each row's number among its own, from 1, and how many rows of the other side are not behind it."""
    mine, theirs = _places(own, other)
    row = np.empty(len(mine), np.int64)
    row[np.argsort(mine, kind="stable")] = np.arange(1, len(mine) + 1)
    return row, np.searchsorted(np.sort(theirs), mine, side="right").astype(np.int64)


def _places(own: Sequence[Numbers], other: Sequence[Numbers]) -> tuple[Numbers, Numbers]:
    """The place of each row in the total order of both; rows that come out equal share one."""
    columns = [np.concatenate(pair) for pair in zip(own, other, strict=True)]
    order = np.lexsort(columns[::-1])
    steps = np.zeros(len(order), np.int64)
    for column in columns:
        sorted_ = column[order]
        steps[1:] |= sorted_[1:] != sorted_[:-1]
    places = np.empty(len(order), np.int64)
    places[order] = np.cumsum(steps)
    return places[: len(own[0])], places[len(own[0]) :]


def settled(keys: Sequence[Numbers], mark: int, seen: Sequence[int] | None) -> Mask:
    """Which rows no row yet to come of an input with this watermark can precede.

    A timeless input is in order by itself: what comes is behind the last that was `seen` of it.
    """
    at = keys[0]
    if mark == END:
        return np.ones(len(at), bool)
    if mark == UNKNOWN or (mark == TIMELESS and seen is None):
        return np.zeros(len(at), bool)
    if mark != TIMELESS or seen is None:
        return np.asarray(at < mark)
    up_to_last = np.ones(len(at), bool)
    for column, last in zip(reversed(keys[1:]), reversed(seen), strict=True):
        up_to_last = (column < last) | ((column == last) & up_to_last)
    return np.asarray((at == UNKNOWN) & up_to_last)


def last_of(keys: Sequence[Numbers], seen: Sequence[int] | None) -> Sequence[int] | None:
    """The greatest place among rows of the same time: of these, and of those seen before."""
    if not len(keys[0]):
        return seen
    place = np.lexsort(keys[:0:-1])[-1] if len(keys) > 1 else 0
    last = [int(column[place]) for column in keys[1:]]
    return last if seen is None else max(last, list(seen))
