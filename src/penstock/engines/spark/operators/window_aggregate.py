"""Aggregates over windows of time: rows are folded into panes as they come, panes into windows as they close.

Partial aggregates are by pane; those of late rows that only some windows of the pane take are also by the
first of these. An aggregate that `carries_late` makes panes for others to fold into windows: a late row whose
pane is closed goes on at once, in a row for that pane which is as late as it was.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.engines.spark.operators.base import END, UNKNOWN, Advance, Release, Released, Tools
from penstock.engines.spark.operators.grouping import (
    MOST_PIECES,
    PANE,
    SINCE,
    Grouping,
    piece_of,
    smallest_run,
    with_constants,
)
from penstock.engines.spark.operators.over_nothing import NOTHING, OverNothing
from penstock.engines.spark.operators.panes import panes_of
from penstock.engines.spark.rows.base import Rows, together
from penstock.engines.spark.rows.expressions import Column, Constant, IsNull, Not, between, quote
from penstock.engines.spark.storage.records import OperatorState, Piece

#: The one window of an aggregate that has none.
_LAST_WINDOW = 0


class WindowAggregate:
    """Windows by time, windows given by a column, or none."""

    def __init__(self, grouping: Grouping, over_nothing: OverNothing | None = None) -> None:
        aggregate, below = grouping.aggregate, grouping.below
        self._grouping, self._over_nothing = grouping, over_nothing
        self._carries_late = aggregate.carries_late and below.late and grouping.output.late
        self._panes = panes_of(aggregate.window, below, carries_late=self._carries_late)
        self._since = [SINCE] if self._panes.since else []
        kept = {quote(name) for name in self._grouping.columns}
        self._carried = [name for name in self._panes.carried if name not in kept]

    def remember(self, _slot: int, rows: str) -> str:
        """Partial aggregates by pane; where some function has none, the rows with their pane."""
        grouping, panes = self._grouping, self._panes
        numbered = f"SELECT *, {panes.number} AS {PANE} FROM {rows}"
        if panes.since:
            numbered = f"SELECT *, {panes.since} AS {SINCE} FROM ({numbered})"
        taken = f"{PANE} IS NOT NULL" + (f" AND ({panes.taken})" if panes.taken else "")
        if grouping.partials.raw:
            columns = ", ".join([*map(quote, grouping.raw_columns), *self._carried, PANE, *self._since])
            return f"SELECT {columns} FROM ({numbered}) WHERE {taken}"
        return f"{self._folded(f'({numbered})', rows=True, where=f' WHERE {taken}')}"

    def _folded(self, source: str, *, rows: bool, where: str = "") -> str:
        """Partial aggregates of rows, or of partial aggregates."""
        own = [*self._carried, PANE, *self._since]
        shown, by = ", ".join([self._grouping.folded(rows=rows), *own]), [*self._grouping.keys, *own]
        return f"SELECT {shown} FROM {source}{where} GROUP BY {', '.join(by)}"

    def advance(
        self, state: OperatorState, arrived: Mapping[int, Rows], marks: tuple[int, ...], tools: Tools
    ) -> Advance:
        """Adds what came to the panes and releases the windows that have closed."""
        pieces = list(state.pieces)
        came, past = self._apart(arrived.get(0))
        new = piece_of(came, "panes", PANE, tools) if came is not None else None
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
            closed = self._closed(pieces, first, last, tools)
            releases = _closing([*past, *closed], first, last)
            first = last + 1
            kept_from = self._panes.first_pane(first)
            pieces = [piece for piece in pieces if piece.high >= kept_from]
            if len(pieces) > MOST_PIECES:
                pieces = self._compacted(pieces, kept_from, tools)
        else:
            releases = _closing(past, first, first)
            if len(pieces) > MOST_PIECES:
                pieces = self._compacted(pieces, UNKNOWN, tools)
        if unmet:
            first = _LAST_WINDOW + 1
        numbers = {"next": first} if first > UNKNOWN else {}
        return Advance(OperatorState(tuple(pieces), numbers), (*releases, *unmet), marks[0])

    def _apart(self, arrived: Rows | None) -> tuple[Rows | None, list[Rows]]:
        """What is to be remembered, and what goes past panes that are closed."""
        if arrived is None or not self._carries_late:
            return arrived, []
        is_open = IsNull(Column(SINCE))
        return arrived.where(is_open), [arrived.where(Not(is_open))]

    def _closed(self, pieces: list[Piece], first: int, last: int, tools: Tools) -> list[Rows]:
        low, high = self._panes.first_pane(first), self._panes.last_pane(last)
        return [
            self._within(piece, low, high, tools)
            for piece in pieces
            if piece.low <= high and piece.high >= low
        ]

    def _within(self, piece: Piece, low: int, high: int, tools: Tools) -> Rows:
        """The partial aggregates of some panes; what an earlier version remembered has no late rows."""
        rows = tools.get(piece.ref)
        if self._since and SINCE not in rows.columns:
            rows = rows.having({SINCE: Constant(None)})
        if low <= piece.low and piece.high <= high:
            return rows
        return rows.where(between(Column(PANE), low, high))

    def _compacted(self, pieces: list[Piece], kept_from: int, tools: Tools) -> list[Piece]:
        """The last pieces made one, folded if they can be."""
        count = smallest_run(pieces)
        rows = together([self._within(piece, kept_from, END, tools) for piece in pieces[-count:]])
        if not self._grouping.partials.raw:
            rows = tools.run(self._fold(), {"panes": rows})
        made = piece_of(rows, "panes", PANE, tools)
        return pieces[:-count] + ([made] if made is not None else [])

    def _fold(self) -> Released:
        return Released(self._folded("panes", rows=False), {"panes": self._columns()})

    def _columns(self) -> tuple[str, ...]:
        on = self._grouping.aggregate.window.on if self._carried and self._grouping.aggregate.window else None
        return (*self._grouping.columns, *([on] if on is not None else []), PANE, *self._since)

    def released(self, variant: str) -> Released:
        """Panes to windows, finished."""
        if variant == NOTHING:
            assert self._over_nothing is not None
            return self._over_nothing.released()
        panes = self._panes
        source = f"(SELECT *, {panes.window} AS __n FROM panes)"
        if panes.exploded:
            source = f"(SELECT *, explode({panes.window}) AS __n FROM panes WHERE {panes.exploded})"
        by = [*self._carried, "__n", *(self._since if self._carries_late else [])]
        raw = self._grouping.partials.raw
        sql = self._grouping.finished(source, panes.struct, by, panes.time, raw=raw)
        return Released(sql, {"panes": (*self._columns(), "__first", "__last")})


def _closing(parts: list[Rows], first: int, last: int) -> tuple[Release, ...]:
    """Panes of windows that are complete."""
    full = [rows for rows in parts if not rows.is_empty]
    if not full:
        return ()
    return (Release("close", {"panes": with_constants(together(full), __first=first, __last=last)}),)
