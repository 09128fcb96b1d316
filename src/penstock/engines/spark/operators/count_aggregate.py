"""Aggregates over windows of so many rows, in the total order of rows.

A row's number is known when no row before it can come any more: when the watermark has passed its time. Until
then it waits. A window closes with its last row; when the stream ends, windows that are not full close too.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.engines.spark.operators.base import (
    END,
    TIME,
    TIMELESS,
    Advance,
    Release,
    Released,
    RowLayout,
    Tools,
)
from penstock.engines.spark.operators.grouping import (
    LATEST,
    Grouping,
    at,
    floor_div,
    piece_of,
    with_constants,
)
from penstock.engines.spark.rows.base import Rows, together
from penstock.engines.spark.rows.expressions import Column, Not, between, less, quote
from penstock.engines.spark.storage.records import OperatorState, Piece
from penstock.model.operators import Aggregate

POSITION, AT = "__position", "__at"
_MOST_PIECES = 32


class CountAggregate:
    """Windows `[begin + n·hop, end + n·hop)` of row numbers."""

    def __init__(self, aggregate: Aggregate, below: RowLayout, output: RowLayout) -> None:
        window = aggregate.window
        assert window is not None
        self._grouping = Grouping(aggregate, below, output)
        self._at = at(window, below)
        self._order = below.order_columns
        self._begin, self._width, self._hop = int(window.begin), int(window.width), int(window.step)

    def remember(self, _slot: int, rows: str) -> str:
        """Rows with the time they are ordered by."""
        columns = ", ".join(map(quote, self._grouping.raw_columns))
        return f"SELECT {columns}, {self._at} AS {AT} FROM {rows}"

    def advance(
        self, state: OperatorState, arrived: Mapping[int, Rows], marks: tuple[int, ...], tools: Tools
    ) -> Advance:
        """Numbers the rows whose turn has come, and releases the windows they fill."""
        mark = marks[0]
        waiting = list(state.of("waiting"))
        if 0 in arrived:
            waiting += _to_wait(arrived[0], tools)
        count, first = state.numbers.get("count", 0), state.numbers.get("next", 0)
        numbered = list(state.of("rows"))
        if waiting and (mark >= TIMELESS or any(piece.low < mark for piece in waiting)):
            ripe, unripe = self._ripe(waiting, mark, tools)
            waiting = _to_wait(unripe, tools) if unripe is not None else []
            by = (AT, *self._order)
            piece = piece_of(ripe.numbered(by, POSITION, count), "rows", POSITION, tools)
            if piece is not None:
                numbered.append(piece)
                count += piece.ref.rows
        elif len(waiting) > _MOST_PIECES:
            waiting = _to_wait(together([tools.get(piece.ref) for piece in waiting]), tools)
        last = (count - self._begin - self._width) // self._hop
        if mark >= END:
            last = (count - 1 - self._begin) // self._hop
        releases: tuple[Release, ...] = ()
        if last >= first and numbered:
            releases = self._release(numbered, first, last, tools)
            first = last + 1
        numbered = self._kept(numbered, self._begin + first * self._hop, tools)
        held = self._oldest(numbered, waiting, tools)
        state = OperatorState((*numbered, *waiting), {"count": count, "next": first})
        return Advance(state, releases, mark if mark >= TIMELESS else min(mark, held))

    def _ripe(self, waiting: list[Piece], mark: int, tools: Tools) -> tuple[Rows, Rows | None]:
        """The rows whose numbers are certain, and the others."""
        rows = together([tools.get(piece.ref) for piece in waiting])
        if mark >= TIMELESS:
            return rows, None
        ripe = less(Column(AT), mark)
        return rows.where(ripe), rows.where(Not(ripe))

    def _release(self, pieces: list[Piece], first: int, last: int, tools: Tools) -> tuple[Release, ...]:
        low, high = self._begin + first * self._hop, self._begin + last * self._hop + self._width - 1
        near = [piece for piece in pieces if piece.low <= high and piece.high >= low]
        if not near:
            return ()
        rows = together([_within(tools.get(piece.ref), piece, low, high) for piece in near])
        if rows.is_empty:
            return ()
        return (Release("close", {"rows": with_constants(rows, __first=first, __last=last)}),)

    def _kept(self, pieces: list[Piece], low: int, tools: Tools) -> list[Piece]:
        kept = [piece for piece in pieces if piece.high >= low]
        if len(kept) <= _MOST_PIECES:
            return kept
        rows = together([_within(tools.get(piece.ref), piece, low, END) for piece in kept])
        made = piece_of(rows, "rows", POSITION, tools)
        return [made] if made is not None else []

    def _oldest(self, numbered: list[Piece], waiting: list[Piece], tools: Tools) -> int:
        """The least time of a row that has not gone out with all its windows yet."""
        times = [piece.low for piece in waiting]
        if numbered:  # they are in order: the first has the least
            bounds = tools.get(numbered[0].ref).bounds(TIME)
            first = bounds[TIME].low if bounds is not None else None
            times.append(END if first is None else first)
        return min(times, default=END)

    def released(self, _variant: str) -> Released:
        """Numbered rows to windows, aggregated."""
        begin, width, hop = self._begin, self._width, self._hop
        position = f"({POSITION} - {begin}L)"
        first = f"greatest(-{floor_div(f'({width - 1}L - {position})', hop)}, __first)"
        last = f"least({floor_div(position, hop)}, __last)"
        source = f"(SELECT *, explode(sequence({first}, {last})) AS __n FROM rows WHERE {first} <= {last})"
        start = f"({begin}L + __n * {hop}L)"
        struct = f"named_struct('start', {start}, 'end', {start} + {width}L)"
        sql = self._grouping.finished(source, struct, ["__n"], LATEST, raw=True)
        columns = (*self._grouping.raw_columns, POSITION, "__first", "__last")
        return Released(sql, {"rows": columns})


def _to_wait(rows: Rows, tools: Tools) -> list[Piece]:
    """Rows put away until their numbers are certain, with the least of their times."""
    stored = tools.put(rows, AT)
    return [] if stored is None else [Piece("waiting", stored.ref, stored.low(AT, TIMELESS))]


def _within(rows: Rows, piece: Piece, low: int, high: int) -> Rows:
    if low <= piece.low and piece.high <= high:
        return rows
    return rows.where(between(Column(POSITION), low, high))
