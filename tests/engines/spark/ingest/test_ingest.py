"""What ingest decides: times, lateness by the rows before, watermarks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from penstock.engines.spark.ingest.feeder import MOST_BYTES, Feed, Feeder, Ingested, LogPosition
from penstock.engines.spark.ingest.relations import Relations
from penstock.engines.spark.ingest.sources.base import Arrived
from penstock.engines.spark.ingest.sources.dead_letters import DeadLetters
from penstock.engines.spark.storage.store import Store
from penstock.model.schema import Schema
from penstock.sql.binding.catalog import Stream


def test_few_rows_that_are_large_become_several_batches(tmp_path: Path) -> None:
    """All of them are put down at once: the source has handed them over together."""
    got: list[Ingested] = []
    store = Store(tmp_path / "tables", 1 << 20)
    relations = Relations(store, tmp_path, lambda _: None)
    feeder = Feeder(store, relations, DeadLetters(tmp_path / "bad"), got.append, lambda: True, lambda: 0.0)
    stream = Stream("s", Schema.of(t="timestamp", x="string"), "t", delay_s=0.0)
    feed = Feed(stream, 3, None, LogPosition(), None)  # type: ignore[arg-type]
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
