"""Aggregates over windows of time: rows are folded into panes as they come, panes into windows as they close.

A pane is the longest stretch of time of which every window holds all or nothing: the greatest common divisor
of width and hop. A window that was computed below (`given`) is its own pane, and without a window all rows
are one pane, which closes when the stream ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import gcd
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc

from penstock.engines.spark.operators.base import (
    END,
    TIMELESS,
    UNKNOWN,
    Advance,
    Layout,
    Piece,
    Release,
    Released,
    State,
    Tools,
    micros,
    quote,
)
from penstock.engines.spark.operators.grouping import (
    LATEST,
    MOST_PIECES,
    Grouping,
    at,
    floor_div,
    piece_of,
    smallest_run,
    with_constants,
)
from penstock.engines.spark.operators.over_nothing import NOTHING, OverNothing
from penstock.model.window import Window

PANE = "__pane"
#: The one window of an aggregate that has none.
_LAST_WINDOW = 0


class WindowAggregate:
    """Windows by time, windows given by a column, or none."""

    def __init__(self, grouping: Grouping, over_nothing: OverNothing | None = None) -> None:
        aggregate, below = grouping.aggregate, grouping.below
        self._grouping, self._over_nothing = grouping, over_nothing
        self._panes = panes_of(aggregate.window, below)
        kept = {quote(name) for name in self._grouping.columns}
        self._carried = [name for name in self._panes.carried if name not in kept]

    def remember(self, _slot: int, rows: str) -> str:
        """Partial aggregates by pane; where some function has none, the rows with their pane."""
        grouping, panes = self._grouping, self._panes
        if grouping.partials.raw:
            columns = ", ".join([*map(quote, grouping.raw_columns), *self._carried])
            return f"SELECT {columns}, {panes.number} AS {PANE} FROM {rows} WHERE {panes.number} IS NOT NULL"
        by = ", ".join([*grouping.keys, *self._carried, PANE])
        shown = ", ".join([grouping.folded(rows=True), *self._carried, PANE])
        numbered = f"SELECT *, {panes.number} AS {PANE} FROM {rows}"
        return f"SELECT {shown} FROM ({numbered}) WHERE {PANE} IS NOT NULL GROUP BY {by}"

    def advance(
        self, state: State, arrived: Mapping[int, pa.Table], marks: tuple[int, ...], tools: Tools
    ) -> Advance:
        """Adds what came to the panes and releases the windows that have closed."""
        pieces = list(state.pieces)
        new = piece_of(arrived[0], "panes", PANE, tools) if 0 in arrived else None
        if new is not None:
            pieces.append(new)
        first = state.numbers.get("next", UNKNOWN)
        last = self._panes.closed(marks[0], pieces)
        releases: tuple[Release, ...] = ()
        unmet: tuple[Release, ...] = ()
        if self._over_nothing is not None and marks[0] >= END and first <= _LAST_WINDOW:
            unmet = self._over_nothing.release(pieces, tools)
        if pieces and last >= first and last > UNKNOWN:
            first = max(first, self._panes.first_window(min(piece.low for piece in pieces)))
            releases = self._release(pieces, first, last, tools)
            first = last + 1
            kept_from = self._panes.first_pane(first)
            pieces = [piece for piece in pieces if piece.high >= kept_from]
            if len(pieces) > MOST_PIECES:
                pieces = self._compacted(pieces, kept_from, tools)
        elif len(pieces) > MOST_PIECES:
            pieces = self._compacted(pieces, UNKNOWN, tools)
        if unmet:
            first = _LAST_WINDOW + 1
        numbers = {"next": first} if first > UNKNOWN else {}
        return Advance(State(tuple(pieces), numbers), (*releases, *unmet), marks[0])

    def _release(self, pieces: list[Piece], first: int, last: int, tools: Tools) -> tuple[Release, ...]:
        low, high = self._panes.first_pane(first), self._panes.last_pane(last)
        tables = [
            _within(tools.get(piece.ref), piece, low, high)
            for piece in pieces
            if piece.low <= high and piece.high >= low
        ]
        table = pa.concat_tables(tables) if tables else None
        if table is None or table.num_rows == 0:
            return ()
        return (Release("close", {"panes": with_constants(table, __first=first, __last=last)}),)

    def _compacted(self, pieces: list[Piece], kept_from: int, tools: Tools) -> list[Piece]:
        """The last pieces made one, folded if they can be."""
        count = smallest_run(pieces)
        tables = [_within(tools.get(p.ref), p, kept_from, END) for p in pieces[-count:]]
        table = pa.concat_tables(tables)
        if not self._grouping.partials.raw:
            table = tools.run(self._fold(), {"panes": table})
        made = piece_of(table, "panes", PANE, tools)
        return pieces[:-count] + ([made] if made is not None else [])

    def _fold(self) -> Released:
        grouping = self._grouping
        by = ", ".join([*grouping.keys, *self._carried, PANE])
        shown = ", ".join([grouping.folded(rows=False), *self._carried, PANE])
        return Released(f"SELECT {shown} FROM panes GROUP BY {by}", {"panes": self._columns()})

    def _columns(self) -> tuple[str, ...]:
        on = self._grouping.aggregate.window.on if self._carried and self._grouping.aggregate.window else None
        return (*self._grouping.columns, *([on] if on is not None else []), PANE)

    def released(self, variant: str) -> Released:
        """Panes to windows, finished."""
        if variant == NOTHING:
            assert self._over_nothing is not None
            return self._over_nothing.released()
        panes = self._panes
        source = f"(SELECT *, {panes.window} AS __n FROM panes)"
        if panes.exploded:
            source = f"(SELECT *, explode({panes.window}) AS __n FROM panes WHERE {panes.exploded})"
        by = [*self._carried, "__n"]
        raw = self._grouping.partials.raw
        sql = self._grouping.finished(source, panes.struct, by, panes.time, raw=raw)
        return Released(sql, {"panes": (*self._columns(), "__first", "__last")})


def _within(table: pa.Table, piece: Piece, low: int, high: int) -> pa.Table:
    if low <= piece.low and piece.high <= high:
        return table
    panes = table[PANE]
    return table.filter(pc.and_(pc.greater_equal(panes, low), pc.less_equal(panes, high)))


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


def panes_of(window: Window | None, below: Layout) -> Panes:
    """The panes of an aggregate's window."""
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
    first = f"greatest(-{floor_div(f'({width_panes - 1}L - {PANE})', hop_panes)}, __first)"
    last = f"least({floor_div(PANE, hop_panes)}, __last)"
    several = width_panes > 1 or hop_panes > 1
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
    )


def _given(window: Window, below: Layout) -> Panes:
    assert window.on is not None
    column, field = quote(window.on), below.schema.get(window.on)
    assert field is not None
    if field.type.startswith("struct") and "bigint" in field.type:
        return Panes("given-count", f"{column}.`start`", PANE, "", column, LATEST, (column,))
    return Panes("given", at(window, below), PANE, "", column, "__n", (column,))
