"""Stamping: the time of each row of a stream, whether it is late, and the watermark that rows make."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.engines.spark.operators.base import TIMELESS, UNKNOWN
from penstock.sql.catalog import Stream


def stamped(table: pa.Table, stream: Stream, mark: int) -> tuple[pa.Array, np.ndarray, int]:
    """Each row's time, whether it is late, and the watermark after these rows.

    A row is late if its time is behind the watermark made by the rows before it, or if it has no time at all:
    no window could tell where it belongs.
    """
    count = table.num_rows
    if stream.time is None:
        return pa.nulls(count, pa.int64()), np.zeros(count, dtype=bool), TIMELESS
    column = table[stream.time].combine_chunks()
    moments = column.cast(pa.timestamp("us", tz="UTC")) if not _is_micros(column.type) else column
    times = moments.cast(pa.int64())
    if isinstance(times, pa.ChunkedArray):
        times = times.combine_chunks()
    known = np.asarray(pc.fill_null(times, UNKNOWN), dtype=np.int64)
    delay = round(stream.delay_s * 1_000_000)
    made = np.maximum.accumulate(np.concatenate(([mark], np.where(known > UNKNOWN, known - delay, UNKNOWN))))
    late = known < made[:-1]
    late |= known == UNKNOWN
    return times, late, int(made[-1])


def _is_micros(type_: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(type_) and type_.unit == "us")
