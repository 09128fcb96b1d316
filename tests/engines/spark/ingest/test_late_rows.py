"""Late rows that a query misses are counted from when it begins to when it ends, also over a restart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.engines.spark.ingest.late_rows import LateRows, Missing, late_rows
from penstock.engines.spark.operators.base import END
from penstock.engines.spark.storage.commit_log import CommitLog


def missed(windows: str, *rows: tuple[int, int]) -> int:
    times, marks = zip(*rows, strict=True)
    return LateRows(np.array(times, dtype=np.int64), np.array(marks, dtype=np.int64)).missed_by(windows)


def test_a_row_misses_a_window_that_had_closed() -> None:
    assert [missed("10,10,0", (7, mark)) for mark in (8, 9, 10, 30)] == [0, 0, 1, 1]
    assert [missed("10,5,0", (7, mark)) for mark in (9, 10, 14)] == [0, 1, 1]  # in [0, 10) and [5, 15)
    assert [missed("10,10,3", (7, mark)) for mark in (12, 13)] == [0, 1]
    assert [missed("2,10,0", (7, 40)), missed("2,10,0", (1, 40))] == [0, 1]  # between windows, and in one
    assert [missed("10,10,0", (-3, -1)), missed("10,10,0", (-3, 0))] == [0, 1]
    assert missed("10,10,0 20,20,0", (7, 12), (1, 9), (15, 20)) == 2  # once, however many windows
    assert missed("10,10,0 none", (7, 8), (7, 9)) == 2
    assert missed("", (7, 100)) == 0


def test_rows_on_time_are_not_looked_at_and_rows_without_a_time_are_in_no_window() -> None:
    rows = late_rows(pa.array([5, 3, None], pa.int64()), pa.array([None, 4, END], pa.int64()))
    assert (len(rows.times), rows.missed_by("10,10,0")) == (2, 1)


def test_counts_are_those_of_a_query_s_life(tmp_path: Path) -> None:
    log = CommitLog(tmp_path / "log.sqlite")
    rows = [LateRows(np.array([7, 8], dtype=np.int64), np.array([9, 12], dtype=np.int64))]
    first: dict[str, Any] = {}
    second: dict[str, Any] = {}
    with log.transaction():
        counted = Missing(log)
        counted.began(first, {"s": "10,10,0", "other": ""})
        counted.taken_in("s", rows)
        counted.began(second, {"s": "10,10,0"})
        counted.taken_in("s", rows)
    again = Missing(log)
    again.restore([first, second])
    assert (again.of(first), again.of(second), again.of({})) == (2, 1, 0)
    with log.transaction():
        again.began(first, {"s": "none"})  # it is something else from now on
        again.ended(second)
        again.taken_in("s", rows)
    assert (again.of(first), again.of(second)) == (4, 1)
    log.close()
