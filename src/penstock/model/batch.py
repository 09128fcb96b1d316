"""Batches: contiguous ranges of a stream or queue, with what scheduling needs to know of them."""

from __future__ import annotations

from typing import Any

import msgspec


class Batch(msgspec.Struct, frozen=True):
    """Some consecutive rows.

    Times are seconds: `arrived_s` is when its oldest row entered the system; `time_s` and `until_s` are the
    least and greatest time stamp of its rows, or watermarks: none of its rows, nor any after it, is before
    `time_s`, and none after it before `until_s`. Lineage: the rows stem from offsets
    `[lo, hi)` of stream `leaf`. `ref` is the engine's own handle to the data.

    A step may take a part of a batch. Then `first_row` is where the part begins in the data, and only the
    part with the last row is `complete`: it alone carries the batch's watermark.
    """

    rows: int
    bytes: float
    arrived_s: float
    time_s: float
    until_s: float
    leaf: str
    lo: int
    hi: int
    ref: Any = None
    first_row: int = 0
    complete: bool = True

    def part(self, first_row: int, rows: int, *, logged: bool) -> Batch:
        """So many rows of it from one on.

        Rows of a stream's log have consecutive offsets. Elsewhere nobody knows which row stems from which
        offset: there the last part has all of them.
        """
        if rows == self.rows:
            return self
        complete = first_row + rows == self.rows
        lo, hi = self.lo, self.hi
        if logged:
            lo, hi = lo + first_row, lo + first_row + rows
        elif not complete:
            hi = lo
        until_s = self.until_s if complete else self.time_s
        arrived_s, bytes_ = self.arrived_s, self.bytes * rows / self.rows
        return Batch(
            rows, bytes_, arrived_s, self.time_s, until_s, self.leaf, lo, hi, self.ref, first_row, complete
        )
