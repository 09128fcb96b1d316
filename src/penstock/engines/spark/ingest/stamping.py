"""Stamping: the time of each row of a stream, which rows are late, and the watermark that rows make.

A row is late if its time is behind the watermark made by the rows before it. Ingest keeps that watermark with
the row (`__late`), so that whoever reads it, whenever and in whatever train, decides the same: a window takes
the row unless it had closed by then.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.engines.spark.ingest.sources.types import arrow_schema, times_us, widened
from penstock.engines.spark.operators.base import ARRIVED, END, LATE, TIME, TIMELESS, UNKNOWN, micros
from penstock.model.schema import Schema
from penstock.sql.binding.catalog import Stream

#: The columns of a logged table beside its stream's.
STAMPED = (TIME, ARRIVED, LATE)


def stamped(table: pa.Table, stream: Stream, mark: int) -> tuple[pa.Array, pa.Array, int]:
    """Each row's time, the watermark that it is behind (NULL for most), and the watermark after these rows.

    A row without a time is behind any watermark: no window could tell where it belongs.
    """
    count = table.num_rows
    if stream.time is None:
        return pa.nulls(count, pa.int64()), pa.nulls(count, pa.int64()), TIMELESS
    times = times_us(table[stream.time])
    known = np.asarray(pc.fill_null(times, UNKNOWN), dtype=np.int64)
    delay = micros(stream.delay_s)
    made = np.maximum.accumulate(np.concatenate(([mark], np.where(known > UNKNOWN, known - delay, UNKNOWN))))
    timeless = known == UNKNOWN
    behind = np.where(timeless, END, made[:-1])
    late = pa.array(behind, pa.int64(), mask=~(timeless | (known < behind)))
    return times, late, int(made[-1])


def read_late(table: pa.Table) -> pa.Table:
    """A logged table as it is stamped today: before, `__late` said no more than whether a row was late.

    No window took such rows then, so that all windows are taken to have closed before them.
    """
    place = table.schema.get_field_index(LATE)
    if place < 0 or not pa.types.is_boolean(table.schema.field(place).type):
        return table
    behind = pc.if_else(table[LATE], pa.scalar(END, pa.int64()), pa.scalar(None, pa.int64()))
    return table.set_column(place, LATE, behind)


def with_new_columns(table: pa.Table, schema: Schema) -> pa.Table:
    """A logged table with the columns that its stream has got since, in which its rows have NULL."""
    if len(table.column_names) == len(schema.fields) + len(STAMPED):
        return table
    columns = widened(table.drop_columns(list(STAMPED)), arrow_schema(schema))
    for name in STAMPED:
        columns = columns.append_column(name, table[name])
    return columns


def mark_at(stream: Stream, reached_us: int) -> int:
    """The watermark that a row of this time would make, though none has come."""
    return TIMELESS if stream.time is None else reached_us - micros(stream.delay_s)
