"""What is decided about rows as they are taken in: times, lateness by the rows before, watermarks."""

from __future__ import annotations

from itertools import pairwise

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from penstock.engines.spark.ingest.stamping import read_late, stamped
from penstock.engines.spark.operators.base import END, LATE, TIMELESS, UNKNOWN
from penstock.model.schema import Schema
from penstock.sql.binding.catalog import Stream

TIMED = Stream("s", Schema.of(t="timestamp"), "t", delay_s=5e-6)


def times(*values: int | None) -> pa.Table:
    return pa.table({"t": pa.array(values, pa.timestamp("us", tz="UTC"))})


def test_a_late_row_keeps_the_watermark_of_the_rows_before_it() -> None:
    _, late, mark = stamped(times(10, 4, 5, 20, 14, 15, 14), TIMED, UNKNOWN)
    assert late.to_pylist() == [None, 5, None, None, 15, None, 15]
    assert mark == 15


def test_a_row_without_a_time_is_behind_everything_and_moves_nothing() -> None:
    found, late, mark = stamped(times(None, 10), TIMED, UNKNOWN)
    assert found.to_pylist() == [None, 10]
    assert late.to_pylist() == [END, None]
    assert mark == 5


def test_a_stream_without_time_is_never_late() -> None:
    found, late, mark = stamped(times(3, 1), Stream("s", Schema.of(t="timestamp")), UNKNOWN)
    assert found.null_count == late.null_count == 2
    assert mark == TIMELESS


def test_no_window_takes_what_an_earlier_version_said_is_late() -> None:
    before = pa.table({"x": [1, 2], LATE: [True, False]})
    assert read_late(before).to_pydict() == {"x": [1, 2], LATE: [END, None]}
    today = pa.table({"x": [1, 2], LATE: pa.array([7, None], pa.int64())})
    assert read_late(today) is today


@given(
    st.lists(st.one_of(st.none(), st.integers(0, 50)), min_size=1, max_size=30),
    st.lists(st.integers(1, 30), max_size=5),
)
def test_batch_boundaries_decide_nothing(values: list[int | None], cuts: list[int]) -> None:
    _, whole, end = stamped(times(*values), TIMED, UNKNOWN)
    parts, mark = [], UNKNOWN
    bounds = [0, *sorted(cut for cut in set(cuts) if cut < len(values)), len(values)]
    for start, stop in pairwise(bounds):
        _, late, mark = stamped(times(*values[start:stop]), TIMED, mark)
        parts += late.to_pylist()
    assert parts == whole.to_pylist()
    assert mark == end
