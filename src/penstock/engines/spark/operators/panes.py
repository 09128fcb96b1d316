"""Panes: how rows fall into them and they into windows, and which late rows find a window open.

A pane is the longest stretch of time of which every window holds all or nothing: the greatest common divisor
of width and hop. A window that was computed below (`given`) is its own pane, and without a window all rows
are one pane, which closes when the stream ends.

A row that is behind its stream's watermark (`__late`) takes part in the windows that this watermark had not
closed. That depends on the row alone, never on how far the operator has come: whatever watermark has reached
the operator before the row is not beyond the row's own, so that those windows are all still open here.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import Literal

from penstock.engines.spark.operators.base import END, LATE, TIMELESS, UNKNOWN, RowLayout, micros
from penstock.engines.spark.operators.grouping import LATEST, PANE, SINCE, at, floor_div
from penstock.engines.spark.rows.expressions import quote
from penstock.engines.spark.storage.records import Piece
from penstock.model.window import Window


@dataclass(frozen=True, slots=True)
class Panes:
    """How rows fall into panes and panes into windows, as SQL and as numbers.

    Window n has the panes from `n · hop` on, `width` of them.
    """

    kind: Literal["time", "given", "given-count", "none"]
    number: str  # a row's pane
    window: str  # a pane's window, or the array of its windows
    exploded: str  # which panes are in a window at all, if a pane can be in several
    struct: str  # a window as users see it
    time: str  # the time of a window's row
    carried: tuple[str, ...] = ()  # columns that are one with the window
    width: int = 1
    hop: int = 1
    pane: int = 1  # microseconds
    begin: int = 0
    taken: str = ""  # which rows are in a window that was open, if some may not be
    since: str = ""  # of a late row, what it is told apart by from others of its pane, if it must be

    def closed(self, mark: int, pieces: list[Piece]) -> int:
        """The last window that no row can fall into any more."""
        highest = max((piece.high for piece in pieces), default=UNKNOWN)
        if mark >= TIMELESS:
            if self.kind == "none" and mark < END:
                return UNKNOWN
            return UNKNOWN if highest == UNKNOWN else highest // self.hop
        if mark == UNKNOWN or self.kind == "none":
            return UNKNOWN
        if self.kind == "given":
            return mark - 1
        if self.kind == "given-count":  # they come in order: one is complete when the next is there
            return UNKNOWN if highest == UNKNOWN else highest - 1
        return int((mark - self.begin) // self.pane - self.width) // self.hop

    def first_window(self, pane: int) -> int:
        """The first window that has a pane."""
        return -((self.width - 1 - pane) // self.hop)

    def first_pane(self, window: int) -> int:
        """A window's first pane."""
        return window * self.hop

    def last_pane(self, window: int) -> int:
        """A window's last pane."""
        return window * self.hop + self.width - 1


def panes_of(window: Window | None, below: RowLayout, *, carries_late: bool = False) -> Panes:
    """The panes of an aggregate's window; `carries_late` as with aggregates."""
    if window is None:
        return Panes("none", "0L", PANE, "", "NULL", LATEST)
    if window.kind == "given":
        return _given(window, below)
    width, hop = micros(window.width), micros(window.step)
    begin, pane = micros(window.begin) % hop, gcd(micros(window.width), micros(window.step))
    time = at(window, below)
    number = floor_div(f"({time} - {begin}L)", pane)
    start = f"({begin}L + __n * {hop}L)"
    struct = f"named_struct('start', timestamp_micros({start}), 'end', timestamp_micros({start} + {width}L))"
    width_panes, hop_panes = width // pane, hop // pane
    first_of_pane = f"-{floor_div(f'({width_panes - 1}L - {PANE})', hop_panes)}"
    last_of_pane = floor_div(PANE, hop_panes)
    several = width_panes > 1 or hop_panes > 1
    taken = since = ""
    if below.late:
        closed = floor_div(f"({floor_div(f'({LATE} - {begin}L)', pane)} - {width_panes}L)", hop_panes)
        if carries_late:
            since = f"CASE WHEN {PANE} <= {closed} THEN {LATE} END"
        else:
            taken = f"{LATE} IS NULL OR {last_of_pane} > {closed}"
            since = f"CASE WHEN {closed} >= {first_of_pane} THEN {closed} + 1L END" if several else ""
    bounds = [first_of_pane, "__first", *([SINCE] if since else [])]  # `greatest` passes over NULL
    first, last = f"greatest({', '.join(bounds)})", f"least({last_of_pane}, __last)"
    return Panes(
        "time",
        number,
        f"sequence({first}, {last})" if several else PANE,
        f"{first} <= {last}" if several else "",
        struct,
        f"unix_micros({'__window'}.`end`) - 1",
        (),
        width_panes,
        hop_panes,
        pane,
        begin,
        taken,
        since,
    )


def _given(window: Window, below: RowLayout) -> Panes:
    assert window.on is not None
    column, field = quote(window.on), below.schema.get(window.on)
    assert field is not None
    if field.type.startswith("struct") and "bigint" in field.type:
        return Panes("given-count", f"{column}.`start`", PANE, "", column, LATEST, (column,))
    taken = f"{LATE} IS NULL OR {PANE} >= {LATE}" if below.late else ""
    return Panes("given", at(window, below), PANE, "", column, "__n", (column,), taken=taken)
