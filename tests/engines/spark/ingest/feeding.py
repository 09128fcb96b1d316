"""A feeder without an engine: what it delivers is in a list, and its store can be read."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.control.waiting import Waiting
from penstock.engines.spark.ingest.feeder import Feed, Feeder, Ingested, LogPosition
from penstock.engines.spark.ingest.relations import Relations
from penstock.engines.spark.ingest.sources.base import Arrived, Source
from penstock.engines.spark.ingest.sources.dead_letters import DeadLetters
from penstock.engines.spark.storage.store import Ref, Store
from penstock.model.schema import Schema
from penstock.sql.binding.catalog import Stream, Table


class Numbers:
    """Rows 0, 1, 2, …, as many as are asked for; `before_poll` may raise, or wait."""

    live, full_speed, ended = True, False, False
    problems: tuple[str, ...] = ()

    def __init__(self, rows: int, before_poll: Callable[[int], object] = lambda _: None) -> None:
        self._rows, self._before_poll, self._at = rows, before_poll, 0
        self.asked, self.quiet = 0, True  # how often it was asked how far its time has come
        self.reached: int | None = None

    def open(self, position: Any | None, start_us: int) -> None:  # noqa: ARG002
        self._at = 0 if position is None else position["at"]

    def poll(self, now_us: int, most_rows: int) -> Arrived | None:
        count = min(most_rows, self._rows - self._at)
        if count == 0:
            return None
        first, self._at = self._at, self._at + count  # taken, though what follows may raise
        self._before_poll(first)
        table = pa.table({"n": pa.array(range(first, self._at), pa.int64())})
        return Arrived(table, np.full(count, now_us), {"at": self._at})

    def next_us(self, now_us: int) -> int:
        return now_us if self._at < self._rows else now_us + 1000

    def reached_us(self, now_us: int) -> int | None:  # noqa: ARG002
        self.asked += 1
        return self.reached

    def quiet_us(self, now_us: int) -> int | None:
        return now_us if self.quiet else None

    def close(self) -> None: ...


class Harness:
    """A feeder and what it has delivered."""

    def __init__(self, root: Path, *, first_rows: int, waited_s: float) -> None:
        self.may_read = True
        self.waiting = Waiting()
        self.got: list[Ingested] = []
        self.told: list[str] = []
        self.store = Store(root / "tables")
        self.relations = Relations(self.store, root, self.told.append)
        letters = DeadLetters(root / "bad")
        self.feeder = Feeder(
            self.store,
            self.relations,
            letters,
            self.got.append,
            lambda: self.may_read,
            lambda: waited_s,
            first_rows,
            self.told.append,
            self.waiting,
        )

    def feed(self, name: str, make: Callable[[], Source], **columns: str) -> Feed:
        """A stream that is fed from now on, whether its source can be opened or not."""
        feed = Feed(Stream(name, Schema.of(**(columns or {"n": "long"}))), 0, None, LogPosition(), None, make)
        self.feeder.add(feed, check=False)
        return feed

    def join(self, table: Table) -> list[tuple[str, int, Ref]]:
        """A stored table that is joined from now on; its first version."""
        with ExitStack() as undo:
            read = self.relations.read(table, undo)
            undo.pop_all()
        return self.relations.add(read)

    def rows(self, stream: str) -> list[Any]:
        """The first column of all rows of a stream, in the order of its log."""
        batches = [batch for one in self.got if one.stream == stream for batch in one.batches]
        assert [batch.lo for batch in batches[1:]] == [batch.hi for batch in batches[:-1]]
        tables = [self.store.get(batch.ref.ref) for batch in batches if batch.rows]
        return [value for table in tables for value in table.column(0).to_pylist()]


@contextmanager
def feeding(root: Path, *, first_rows: int = 50_000, waited_s: float = 0.0) -> Iterator[Harness]:
    """A feeder that runs."""
    harness = Harness(root, first_rows=first_rows, waited_s=waited_s)
    harness.feeder.start()
    try:
        yield harness
    finally:
        harness.feeder.stop()


def eventually(condition: Callable[[], object], timeout: float = 20.0) -> None:
    """Waits until something holds."""
    until_s = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < until_s
        time.sleep(0.005)
