"""What becomes of a queue's tables when everybody has read them."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pytest

from penstock.control.queues import Queue
from penstock.engines.spark.storage.commit_log import CommitLog
from penstock.engines.spark.storage.queue_records import QueueRecords
from penstock.engines.spark.storage.records import StoredBatch
from penstock.engines.spark.storage.store import Store
from penstock.model.batch import Batch
from penstock.model.graph import Port


@pytest.mark.parametrize("keep_log", [False, True])
def test_a_log_that_is_kept_is_on_disk_and_not_in_memory(tmp_path: Path, keep_log: bool) -> None:
    log, store, garbage = CommitLog(tmp_path / "log.db"), Store(tmp_path / "tables"), list[str]()
    records, queue = QueueRecords(log, store, garbage, keep_log=keep_log), Queue(Port("s"))
    for n in range(4):
        ref = store.put(pa.table({"n": [n]}), "log-s")
        batch = Batch(1, 8.0, 0.0, 0.0, 0.0, "s", n, n + 1, StoredBatch(ref, 0, 0))
        records.put("s", n, batch)
        queue.push(batch, n)
    queue.freed = 3
    records.sweep("s", queue)
    records.sweep("s", queue)
    assert len(garbage) == (0 if keep_log else 3)
    assert len(log.batches()["s"]) == (4 if keep_log else 1)
    store.delete(garbage)
    assert len(os.listdir(tmp_path / "tables")) == (4 if keep_log else 1)
    assert list(store._held) == [ref.name]  # what everybody has read is read no more
    records.drop("s")
    store.delete(garbage)
    assert os.listdir(tmp_path / "tables") == []
    log.close()
