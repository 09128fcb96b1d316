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

from penstock.engines.spark.operators.base import END, TIME, TIMELESS, UNKNOWN, RowLayout, micros
from penstock.engines.spark.rows.expressions import (
    Column,
    Constant,
    Expression,
    If,
    Instant,
    either,
    equal,
    every,
    floored,
    greatest,
    least,
    less,
    minus,
    or_else,
    plus,
)
from penstock.model.schema import Field
from penstock.model.window import Window


@dataclass(frozen=True, slots=True)
class Stay:
    """Where a row stands, and until when."""

    since: Expression
    until: Expression


def sliding(
    own: Window | None, other: Window | None, at: Expression, row: Expression, sees: Expression
) -> Stay:
    """A row by its time, its number from 1, and how many of the other side it has seen.

    A row without a time stands before all others, and is never in a window by time.
    """
    return Stay(since=_since(other, at, sees), until=_until(own, at, row))


def _until(window: Window | None, at: Expression, row: Expression) -> Expression:
    if window is None:
        return Constant(END)
    if window.kind == "count":
        return plus(row, int(window.width))
    return If(equal(at, UNKNOWN), Constant(UNKNOWN), plus(at, micros(window.width)))


def _since(window: Window | None, at: Expression, sees: Expression) -> Expression:
    if window is None:
        return Constant(0)
    return sees if window.kind == "count" else at


def hopping(window: Window, position: Expression) -> Stay:
    """A row by its time, or by its number from 0. One in no window has `until` no greater than `since`."""
    begin, end, hop = _bounds(window)
    first = plus(floored(minus(position, end), hop), 1)
    after = plus(floored(minus(position, begin), hop), 1)
    if window.kind == "count":
        return Stay(greatest(first, 0), after)
    return Stay(first, If(equal(position, UNKNOWN), first, after))


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


def time_in(window: Window | None, layout: RowLayout) -> Expression:
    """A row's time in its window in microseconds, UNKNOWN if it has none."""
    field = layout.schema.get(window.on) if window is not None and window.on is not None else None
    return or_else(Column(TIME) if field is None else _instant(field), UNKNOWN)


def floor(layout: RowLayout, before: int) -> Expression:
    """A bound of all times of a row, for the watermark of what is made of it.

    A row that is itself a join's has several times, and an operator above may go by any of them. So it is the
    least of all its columns with a time, but not less than the watermark before it came: columns that are
    behind that are no times to the system.
    """
    instants: list[Expression] = [_instant(field) for field in layout.schema.fields if _is_time(field)]
    return greatest(least(*(or_else(one, TIMELESS) for one in [Column(TIME), *instants])), before)


def _is_time(field: Field) -> bool:
    return field.type.startswith("timestamp") or _ends_in_time(field)


def _ends_in_time(field: Field) -> bool:
    """Whether it is a struct with an `end` that is a timestamp, as windows are."""
    return field.type.startswith("struct<") and "end:timestamp" in field.type


def _instant(field: Field) -> Instant:
    return Instant(field.name, last=_ends_in_time(field))


# The total order


def order_of(layout: RowLayout, at: Expression, length: int) -> list[Expression]:
    """What rows are compared by, first things first; made as long as the other side's."""
    places = map(Column, layout.order_columns)
    return [at, *places, *([Constant(-1)] * (length - layout.order))]


def settled(order: Sequence[Expression], mark: int, seen: Sequence[int] | None) -> Expression:
    """Whether no row yet to come of an input with this watermark can precede a row.

    A timeless input is in order by itself: what comes is behind the last that was `seen` of it.
    """
    at = order[0]
    if mark == END:
        return Constant(True)
    if mark == UNKNOWN or (mark == TIMELESS and seen is None):
        return Constant(False)
    if mark != TIMELESS or seen is None:
        return less(at, mark)
    up_to_last: Expression = Constant(True)
    for place, last in zip(reversed(order[1:]), reversed(seen), strict=True):
        up_to_last = either(less(place, last), every(equal(place, last), up_to_last))
    return every(equal(at, UNKNOWN), up_to_last)
