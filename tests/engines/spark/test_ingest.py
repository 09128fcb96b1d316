"""What ingest decides: times, lateness by the rows before, watermarks."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from penstock.engines.spark.ingest import MOST_BYTES, Feed, Feeder, Ingested, Standing, stamped
from penstock.engines.spark.operators.base import TIMELESS, UNKNOWN
from penstock.engines.spark.relations import Relations
from penstock.engines.spark.sources.base import Arrived
from penstock.engines.spark.sources.dead_letters import DeadLetters
from penstock.engines.spark.store import Store
from penstock.model.schema import Schema
from penstock.sql.catalog import Stream

TIMED = Stream("s", Schema.of(t="timestamp"), "t", delay_s=5e-6)


def times(*values: int | None) -> pa.Table:
    return pa.table({"t": pa.array(values, pa.timestamp("us", tz="UTC"))})


def test_a_row_is_late_by_the_rows_before_it() -> None:
    _, late, mark = stamped(times(10, 4, 5, 20, 14, 15, 14), TIMED, UNKNOWN)
    assert late.tolist() == [False, True, False, False, True, False, True]
    assert mark == 15


def test_a_row_without_a_time_is_late_and_moves_nothing() -> None:
    found, late, mark = stamped(times(None, 10), TIMED, UNKNOWN)
    assert found.to_pylist() == [None, 10]
    assert late.tolist() == [True, False]
    assert mark == 5


def test_a_stream_without_time_is_never_late() -> None:
    found, late, mark = stamped(times(3, 1), Stream("s", Schema.of(t="timestamp")), UNKNOWN)
    assert found.null_count == 2
    assert not late.any()
    assert mark == TIMELESS


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
        parts += late.tolist()
    assert parts == whole.tolist()
    assert mark == end


def test_few_rows_that_are_large_become_several_batches(tmp_path: Path) -> None:
    """All of them are put down at once: the source has handed them over together."""
    got: list[Ingested] = []
    store = Store(tmp_path / "tables", 1 << 20)
    relations = Relations(store, tmp_path, lambda _: None)
    feeder = Feeder(store, relations, DeadLetters(tmp_path / "bad"), got.append, lambda: True, lambda: 0.0)
    stream = Stream("s", Schema.of(t="timestamp", x="string"), "t", delay_s=0.0)
    feed = Feed(stream, 3, None, Standing(), None)  # type: ignore[arg-type]
    rows = 10
    table = pa.table(
        {
            "t": pa.array(range(rows), pa.timestamp("us", tz="UTC")),
            "x": ["x" * (MOST_BYTES // 4)] * rows,
        }
    )
    feeder.take_in(feed, Arrived(table, np.arange(rows), {"row": rows}), now_us=100)
    (message,) = got
    assert [(batch.lo, batch.hi) for batch in message.batches] == [(0, 3), (3, 6), (6, 9), (9, 10)]
    assert [batch.ref.mark for batch in message.batches] == [2, 5, 8, 9]
    assert message.standing.batches == 4
    assert message.standing.offset == rows
    assert feed.standing.position == {"row": rows}
