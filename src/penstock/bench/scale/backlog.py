"""The rows of the bench: readings in Parquet files, the same ones every time."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

COLUMNS = "t TIMESTAMP, k INT, v BIGINT"
#: One reading of a thousand devices every 50 µs, up to 0.1 s out of order.
KEYS, APART_US, DISORDER_US = 1000, 50, 100_003
_START_US = 1_700_000_000_000_000
_FILE_ROWS = 500_000


@dataclass(frozen=True, slots=True)
class Backlog:
    """A directory of files, and what is in them: rows, and the sum of their values."""

    root: Path
    rows: int
    total: int


def write(root: Path, rows: int) -> Backlog:
    """Makes the files of a backlog."""
    root.mkdir(parents=True)
    total = 0
    for number, first in enumerate(range(0, rows, _FILE_ROWS)):
        table = readings(first, min(_FILE_ROWS, rows - first))
        total += int(np.asarray(table["v"]).sum())
        pq.write_table(table, root / f"readings-{number:05d}.parquet")
    return Backlog(root, rows, total)


def readings(first: int, rows: int) -> pa.Table:
    """Rows with these numbers."""
    numbers = np.arange(first, first + rows, dtype=np.int64)
    times = _START_US + numbers * APART_US - numbers * 7919 % DISORDER_US
    return pa.table(
        {
            "t": pa.array(times, pa.timestamp("us", "UTC")),
            "k": pa.array(numbers * 48_271 % 65_537 % KEYS, pa.int32()),
            "v": numbers * 104_729 % 10_007,
        }
    )
