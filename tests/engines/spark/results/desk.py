"""Results, deliveries and readers over a commit log and a store, as an engine has them, without Spark."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pyarrow as pa

from penstock.engines.spark.results.delivery import Deliveries
from penstock.engines.spark.results.readers import Readers
from penstock.engines.spark.results.reading import KeptRows, Reading
from penstock.engines.spark.results.results import Results, StagedResult
from penstock.engines.spark.results.sinks.base import Sink
from penstock.engines.spark.sharing.shared import SharedQueries
from penstock.engines.spark.storage.commit_log import CommitLog
from penstock.engines.spark.storage.store import Store
from tests.engines.spark.results.sinks.tables import numbers


class Desk:
    """One query, `q`, whose results are numbers. `sinks` are opened with each start."""

    def __init__(self, root: Path, sinks: dict[str, Sink] | None = None) -> None:
        self.root, self._sinks = root, sinks or {}
        self._open()

    def _open(self) -> None:
        self.log = CommitLog(self.root / "penstock.db")
        self.store = Store(self.root / "tables")
        self.store.keep_only({entry.ref.name for entry in self.log.outbox()})
        self.deliveries = Deliveries(self.store, self.log.get("next_file", 0), lambda: None)
        self.garbage: list[str] = []
        self.results = Results(self.log, self.deliveries, SharedQueries(self.log), self.garbage)
        for name, sink in self._sinks.items():
            self.deliveries.add("q", name, sink)
        self.readers.restore()
        files = self.log.files()
        self.deliveries.recover(files)
        for sink, names in files.items():
            self.log.drop_files(sink, [one for one in names if (sink, one) not in self.deliveries.unseen])
        self.deliveries.post(self.log.outbox())

    @property
    def readers(self) -> Readers:
        return self.results.readers

    def stage(self, *values: int) -> StagedResult:
        """What the thread of a step does."""
        rows = numbers(*values)
        arrived = np.zeros(len(values), dtype=np.int64)
        return StagedResult("q", self.deliveries.stage("q", rows), arrived, rows=rows)

    def commit(self, *staged: StagedResult) -> None:
        """What the coordinator does with it."""
        with self.log.transaction():
            self.results.cross_off()
            self.results.deliver(staged, {}, lambda _: None)
        self.results.show()
        self.store.delete(self.garbage)
        self.garbage.clear()

    def put_out(self, *values: int) -> None:
        """A step with this result."""
        self.commit(self.stage(*values))

    def serve(self) -> None:
        """What the threads do when they are to end: each sink gets all that it takes."""
        failed: set[str] = set()
        while (work := self.deliveries.due(failed, at_once=True)) is not None:
            if not work.do():
                failed.add(work.sink)

    def crash(self) -> None:
        """What was not recorded is forgotten, and all begins again from the log."""
        self.log.close()
        self._open()

    def close(self) -> None:
        self.deliveries.stop()
        self.commit()
        self.log.close()

    def tables(self) -> list[str]:
        """The stored tables."""
        return sorted(os.listdir(self.root / "tables"))

    def kept(self, name: str) -> list[int]:
        """The rows that are kept for a memory sink."""
        columns = pa.schema([("n", pa.int64())])
        rows = Reading(columns, (KeptRows(*self.deliveries.kept(name)),)).read(self.store)
        return list(rows["n"].to_pylist())
