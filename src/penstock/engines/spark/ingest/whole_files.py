"""Files that are logged whole: which can be, and whether any of their rows is late.

A Parquet file with a stream's very columns need not be parsed and written again: a copy of it is a logged
table (`storage/whole_files`). The driver reads one column of it, that with the times, some rows at a time.
Rows that are late have to be told apart: a file with one of them is read like any other.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.engines.spark.operators.base import TIMELESS, micros
from penstock.sql.binding.catalog import Stream

#: A file with fewer rows is read into batches with those of others; one that takes more memory is, too, since
#: a step in hand would have all of it.
LEAST_ROWS, MOST_BYTES = 100_000, 256 << 20
#: Rows of which times are read at once.
_CHUNK_ROWS = 1 << 18


def rows_of_whole(path: Path, schema: pa.Schema) -> int | None:
    """How many rows a file has, if it can be logged whole."""
    try:
        footer, found = pq.read_metadata(path), pq.read_schema(path)
    except (OSError, pa.ArrowException):
        return None  # whoever reads it says what is wrong
    size = sum(footer.row_group(n).total_byte_size for n in range(footer.num_row_groups))
    if not footer.num_rows >= LEAST_ROWS or size > MOST_BYTES:
        return None
    there = {field.name: field.type for field in found}
    unique = len(there) == len(found.names)
    same = all(there.get(field.name) == field.type for field in schema)
    return int(footer.num_rows) if unique and same else None


def mark_after(path: Path, stream: Stream, mark: int) -> int | None:
    """The watermark behind all rows of a file; None if one of them is late, or has no time."""
    if stream.time is None:
        return TIMELESS
    delay = micros(stream.delay_s)
    for times in _times(path, stream.time):
        if times is None:
            return None
        made = np.maximum.accumulate(np.concatenate(([mark], times - delay)))
        if (times < made[:-1]).any():
            return None
        mark = int(made[-1])
    return mark


def takes_whole(stream: Stream) -> bool:
    """Whether the time of a stream's rows is a column of microseconds, or they have none."""
    if stream.time is None:
        return True
    field = stream.schema.get(stream.time)
    return field is not None and field.type in ("timestamp", "timestamp_ntz")


def _times(path: Path, column: str) -> Iterator[np.ndarray | None]:
    """The times of a file's rows in order, some at once; None where one is missing."""
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(_CHUNK_ROWS, columns=[column]):
            times = batch.column(0).cast(pa.int64())
            yield None if times.null_count else np.asarray(times, dtype=np.int64)


def rows_in(path: Path, schema: pa.Schema) -> Iterator[pa.Table]:
    """The rows of a file that is not logged whole after all."""
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(_CHUNK_ROWS, columns=schema.names):
            yield pa.Table.from_batches([batch]).select(schema.names).replace_schema_metadata(None)
