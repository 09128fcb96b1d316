"""Aggregates over sessions: rows of a key with no gap between them, folded into chunks that grow together.

As in Spark, a row at exactly `gap` behind the last one still belongs to the session. A session is closed once
the watermark is past its end. Chunks that meet are folded each time something can be closed, so that a
session that never pauses stays one chunk.
"""

from __future__ import annotations

from collections.abc import Mapping

from penstock.engines.spark.operators.base import (
    TIMELESS,
    UNKNOWN,
    Advance,
    Release,
    Released,
    RowLayout,
    Tools,
    micros,
)
from penstock.engines.spark.operators.grouping import MOST_PIECES, Grouping, at, piece_of
from penstock.engines.spark.rows.base import Rows, together
from penstock.engines.spark.rows.expressions import Column, Not, less, quote
from penstock.engines.spark.storage.records import OperatorState
from penstock.model.operators import Aggregate

START, STOP = "__start", "__stop"
_WINDOW = f"named_struct('start', timestamp_micros({START}), 'end', timestamp_micros({STOP}))"


class SessionAggregate:
    """Windows that last as long as rows come."""

    def __init__(self, aggregate: Aggregate, below: RowLayout, output: RowLayout) -> None:
        assert aggregate.window is not None
        self._grouping = Grouping(aggregate, below, output)
        self._gap = micros(aggregate.window.end)
        self._at = at(aggregate.window, below)

    def remember(self, _slot: int, rows: str) -> str:
        """The sessions among these rows alone; where some function has no partial, a session for each row."""
        if self._grouping.partials.raw:
            columns = ", ".join(map(quote, self._grouping.raw_columns))
            return (
                f"SELECT {columns}, {self._at} AS {START}, {self._at} + {self._gap}L AS {STOP} "
                f"FROM {rows} WHERE {self._at} IS NOT NULL"
            )
        session = f"session_window(timestamp_micros({self._at}), '{self._gap} microseconds')"
        shown = [self._grouping.folded(rows=True)]
        shown += [f"unix_micros({session}.start) AS {START}", f"unix_micros({session}.end) AS {STOP}"]
        by = ", ".join([*self._grouping.keys, session])
        return f"SELECT {', '.join(shown)} FROM {rows} WHERE {self._at} IS NOT NULL GROUP BY {by}"

    def advance(
        self, state: OperatorState, arrived: Mapping[int, Rows], marks: tuple[int, ...], tools: Tools
    ) -> Advance:
        """Adds the new chunks; if one may have ended, grows chunks together and releases those that did."""
        pieces = list(state.pieces)
        new = piece_of(arrived[0], "chunks", STOP, tools) if 0 in arrived else None
        if new is not None:
            pieces.append(new)
        mark = marks[0]
        releases: tuple[Release, ...] = ()
        may_end = mark > UNKNOWN and any(piece.low < mark for piece in pieces)
        if may_end or len(pieces) > MOST_PIECES:
            chunks = tools.run(
                self._grown(), {"chunks": together([tools.get(piece.ref) for piece in pieces])}
            )
            has_ended = less(Column(STOP), mark)
            closed = chunks.where(has_ended)
            still_open = piece_of(chunks.where(Not(has_ended)), "chunks", STOP, tools)
            pieces = [still_open] if still_open is not None else []
            if not closed.is_empty:
                releases = (Release("close", {"chunks": closed}),)
        before = mark - 1 if UNKNOWN < mark < TIMELESS else mark
        return Advance(OperatorState(tuple(pieces)), releases, before)

    def _columns(self) -> tuple[str, ...]:
        return (*self._grouping.columns, START, STOP)

    def _grown(self) -> Released:
        """Chunks that meet, as one: partial rows folded, rows with the bounds of what they belong to."""
        grouping = self._grouping
        keys = f"PARTITION BY {', '.join(grouping.keys)} " if grouping.keys else ""
        line = f"{keys}ORDER BY {START}, {STOP} ROWS BETWEEN UNBOUNDED PRECEDING AND"
        reached = f"max({STOP}) OVER ({line} 1 PRECEDING)"
        begins = f"SELECT *, CASE WHEN {START} <= {reached} THEN 0 ELSE 1 END AS __begins FROM chunks"
        islands = f"SELECT *, sum(__begins) OVER ({line} CURRENT ROW) AS __island FROM ({begins})"
        if grouping.partials.raw:
            island = f"PARTITION BY {', '.join([*grouping.keys, '__island'])}"
            columns = ", ".join(map(quote, grouping.raw_columns))
            sql = (
                f"SELECT {columns}, min({START}) OVER ({island}) AS {START}, "
                f"max({STOP}) OVER ({island}) AS {STOP} FROM ({islands})"
            )
        else:
            by = ", ".join([*grouping.keys, "__island"])
            bounds = f"min({START}) AS {START}, max({STOP}) AS {STOP}"
            sql = f"SELECT {grouping.folded(rows=False)}, {bounds} FROM ({islands}) GROUP BY {by}"
        return Released(sql, {"chunks": self._columns()})

    def released(self, _variant: str) -> Released:
        """Sessions, finished."""
        raw = self._grouping.partials.raw
        time = f"{STOP} - 1"
        sql = self._grouping.finished("chunks", _WINDOW, [START, STOP], time, raw=raw)
        return Released(sql, {"chunks": self._columns()})
