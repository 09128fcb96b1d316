"""Batches: contiguous ranges of a stream or queue, with what scheduling needs to know of them."""

from __future__ import annotations

from typing import Any

import msgspec


class Batch(msgspec.Struct, frozen=True):
    """Some consecutive rows.

    Times are seconds: `arrived_s` is when its oldest row entered the system; `time_s` and `until_s` are the
    least and greatest time stamp of its rows, the latter its watermark. Lineage: the rows stem from offsets
    `[lo, hi)` of stream `leaf`. `ref` is the engine's own handle to the data.
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
