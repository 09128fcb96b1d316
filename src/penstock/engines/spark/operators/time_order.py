"""Rows in the order of their time, of one input or of several: an ordered union.

Rows are kept until the watermark has passed their time, so that none before them can come any more; then they
go out in the total order of rows, those of one time by stream and place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from penstock.engines.spark.operators.base import (
    ARRIVED,
    TIME,
    TIMELESS,
    Advance,
    Release,
    Released,
    RowLayout,
    Tools,
)
from penstock.engines.spark.operators.grouping import MOST_PIECES, piece_of, smallest_run
from penstock.engines.spark.operators.stateless import listed, union
from penstock.engines.spark.rows.base import Rows, together
from penstock.engines.spark.rows.expressions import Column, Constant, Not, less
from penstock.engines.spark.storage.records import OperatorState, Piece

_ROWS = "rows"


class TimeOrder:
    """What waits are pieces of rows, each with the range of its times. Rows of `every_us` go out together."""

    def __init__(self, inputs: Sequence[RowLayout], output: RowLayout, every_us: int = 1) -> None:
        self._inputs, self._output, self._every_us = inputs, output, every_us
        arity = max(layout.order for layout in inputs) + 1
        self._kept = replace(output, order=arity, late=False)

    def remember(self, slot: int, rows: str) -> str:
        """Rows as they come out, with the place that each has among those of its time."""
        return union([(slot, rows, self._inputs[slot])], self._kept)

    def advance(
        self, state: OperatorState, arrived: Mapping[int, Rows], marks: tuple[int, ...], tools: Tools
    ) -> Advance:
        """Releases the rows that no row to come is before."""
        mark, pieces = min(marks), list(state.pieces)
        new = [rows for rows in arrived.values() if not rows.is_empty]
        if mark >= TIMELESS:
            gone = [*(tools.get(piece.ref) for piece in pieces), *new]
            return Advance(OperatorState(), self._released(gone), mark)
        mark -= mark % self._every_us
        ripe: list[Rows] = []
        for piece in [one for one in pieces if one.low < mark]:
            pieces.remove(piece)
            new.append(tools.get(piece.ref))
        waiting = []
        for rows in new:
            is_ripe = less(Column(TIME), mark)
            ripe.append(rows.where(is_ripe))
            waiting.append(rows.where(Not(is_ripe)))
        if waiting:
            made = piece_of(together(waiting), _ROWS, TIME, tools)
            pieces += [made] if made is not None else []
        if len(pieces) > MOST_PIECES:
            pieces = _folded(pieces, tools)
        return Advance(OperatorState(tuple(pieces)), self._released(ripe), mark)

    def _released(self, parts: Sequence[Rows]) -> tuple[Release, ...]:
        full = [rows for rows in parts if not rows.is_empty]
        if not full:
            return ()
        # It was the watermark that let them go: the step fills in when that came.
        rows = together(full).having({ARRIVED: Constant(None)})
        return (Release("ripe", {_ROWS: rows.in_order((TIME, *self._kept.order_columns))}),)

    def released(self, _variant: str) -> Released:
        """They go out as they are, but for columns that nobody asks for."""
        return Released(f"SELECT {listed(self._output.columns)} FROM {_ROWS}", {_ROWS: self._kept.columns})


def _folded(pieces: list[Piece], tools: Tools) -> list[Piece]:
    """The last pieces as one."""
    count = smallest_run(pieces)
    rows = together([tools.get(piece.ref) for piece in pieces[-count:]])
    made = piece_of(rows, _ROWS, TIME, tools)
    return [*pieces[:-count], *([made] if made is not None else [])]
