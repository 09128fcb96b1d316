"""A stream's log as one table, for those who want to see what the engine saw."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from penstock.engines.spark.ingest.sources.types import arrow_schema
from penstock.engines.spark.ingest.stamping import read_late, with_new_columns
from penstock.engines.spark.operators.base import ARRIVED, EPOCH, LATE, NOW, TIME
from penstock.engines.spark.storage.store import Store
from penstock.model.batch import Batch
from penstock.sql.binding.catalog import Stream

OFFSET = "__offset"


def stream(stream: Stream, batches: Sequence[Batch], store: Store) -> pa.Table:
    """Its columns, each row's offset, the watermark it is behind, its epoch, and what `now()` is for it."""
    parts = []
    for batch in batches:
        held = batch.ref
        if held.ref is None:
            continue
        table = with_new_columns(read_late(store.get(held.ref)), stream.schema).drop_columns([TIME, ARRIVED])
        count = table.num_rows
        table = table.append_column(OFFSET, pa.array(np.arange(batch.lo, batch.hi, dtype=np.int64)))
        table = table.append_column(EPOCH, pa.repeat(pa.scalar(held.epoch, pa.int64()), count))
        moment = pa.scalar(held.now_us, pa.timestamp("us", tz="UTC"))
        parts.append(table.append_column(NOW, pa.repeat(moment, count)))
    if parts:
        return pa.concat_tables(parts)
    hidden = [
        (LATE, pa.int64()),
        (OFFSET, pa.int64()),
        (EPOCH, pa.int64()),
        (NOW, pa.timestamp("us", tz="UTC")),
    ]
    fields = [*arrow_schema(stream.schema), *(pa.field(name, type_) for name, type_ in hidden)]
    return pa.schema(fields).empty_table()
