"""Ingest: what arrives becomes batches of a stream's log, with all that is to be decided about them decided.

Batch boundaries, offsets, lateness, watermarks, heartbeats, `now()` and the versions of stored relations are
fixed here and recorded; whatever runs later depends on the log alone. One thread feeds all streams.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.engines.spark.operators.base import ARRIVED, END, LATE, TIME, TIMELESS, UNKNOWN
from penstock.engines.spark.relations import Relations
from penstock.engines.spark.sources.base import Arrived, Source
from penstock.engines.spark.sources.dead_letters import DeadLetters
from penstock.engines.spark.stamping import stamped
from penstock.engines.spark.steps import Held
from penstock.engines.spark.store import Ref, Store
from penstock.model.batch import Batch
from penstock.sql.catalog import Stream

#: The most rows and bytes of a batch, and the longest the feeder waits before it looks again.
MOST_ROWS = 50_000
MOST_BYTES = 32 << 20
TICK_S = 0.02
#: Rows of a stream are gathered for a share of the time that rows wait to be processed, within these seconds:
#: each batch costs a file and a record.
GATHER_SHARE = 0.1
GATHER_S = (0.01, 0.25)
#: A live stream that brings nothing for so long does not hold the others up.
IDLE_S = 60.0


@dataclass(slots=True)
class Standing:
    """Where a stream's log stands."""

    offset: int = 0
    batches: int = 0
    mark: int = UNKNOWN
    position: Any = None
    late: int = 0
    bad: int = 0
    ended: bool = False


@dataclass(frozen=True, slots=True)
class Ingested:
    """Batches, to be committed: the first one's number in the log, and where the log stands after them."""

    stream: str
    n: int
    batches: tuple[Batch, ...]
    standing: Standing
    tickets: tuple[Any, ...] = ()
    versions: tuple[tuple[str, int, Ref], ...] = ()


@dataclass(slots=True)
class Feed:
    """A stream that is fed: where from, and where it stands."""

    stream: Stream
    number: int
    source: Source
    standing: Standing
    idle_us: int | None
    heard_us: int = 0
    again_us: int = 0  # nothing is taken in before
    closed: bool = field(default=False)


class Feeder:
    """The thread that takes in what has arrived, for all streams."""

    def __init__(
        self,
        store: Store,
        relations: Relations,
        letters: DeadLetters,
        deliver: Callable[[Ingested], None],
        may_read: Callable[[], bool],
        waited_s: Callable[[], float],
        first_rows: int = MOST_ROWS,
    ) -> None:
        self._store, self._relations, self._letters = store, relations, letters
        self._deliver, self._may_read, self._waited_s = deliver, may_read, waited_s
        self._first_rows = first_rows
        self._feeds: dict[str, Feed] = {}
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self.failed: BaseException | None = None

    def add(self, feed: Feed) -> None:
        """One more stream; it begins, or goes on where its log stands."""
        now_us = clock_us()
        feed.source.open(feed.standing.position, now_us)
        feed.heard_us, feed.closed = now_us, feed.standing.ended
        with self._lock:
            self._feeds[feed.stream.name] = feed

    def start(self) -> None:
        """Begins to feed."""
        self._thread = threading.Thread(target=self._run, name="penstock-feeder", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Takes in nothing more."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        for feed in self._feeds.values():
            feed.source.close()

    @property
    def ended(self) -> bool:
        """Whether every stream has ended, and the coordinator has been told."""
        with self._lock:
            return all(feed.closed for feed in self._feeds.values())

    def feeds(self) -> dict[str, Feed]:
        """The streams that are fed."""
        with self._lock:
            return dict(self._feeds)

    def _run(self) -> None:
        try:
            while not self._stop.is_set():
                wait_s = self.turn()
                if wait_s > 0:
                    self._stop.wait(wait_s)
        except BaseException as error:  # told by the engine, which stops
            self.failed = error

    def turn(self) -> float:
        """Takes in what has arrived on each stream; how long to wait for more."""
        now_us = clock_us()
        due_us = now_us + round(TICK_S * 1_000_000)
        shortest_s, longest_s = GATHER_S
        gather_us = round(1e6 * min(longest_s, max(shortest_s, GATHER_SHARE * self._waited_s())))
        for version in self._relations.look(now_us):
            self._deliver_versions(version)
        for feed in self.feeds().values():
            if feed.standing.ended:
                continue
            if feed.source.full_speed and not self._may_read():
                continue
            if now_us < feed.again_us:
                due_us = min(due_us, feed.again_us)
                continue
            most = min(MOST_ROWS, max(self._first_rows, feed.standing.offset // 2))
            arrived = feed.source.poll(now_us, most)
            if arrived is not None:
                self.take_in(feed, arrived, now_us)
            if feed.source.ended:
                self._end(feed, now_us)
            elif arrived is None:
                self._beat(feed, now_us)
            if arrived is not None and not feed.source.full_speed:
                feed.again_us = now_us + gather_us
            due_us = min(due_us, max(feed.again_us, feed.source.next_us(now_us)))
        return max(0.0, (due_us - clock_us()) / 1e6)

    def _deliver_versions(self, version: tuple[str, int, Ref]) -> None:
        self._deliver(Ingested("", 0, (), Standing(), (), (version,)))

    def take_in(self, feed: Feed, arrived: Arrived, now_us: int) -> None:
        """Rows become a batch: offsets, times, and which are late by the rows before them.

        Few rows may be large, and become several.
        """
        standing = feed.standing
        if arrived.bad:
            standing.bad += len(arrived.bad)
            self._letters.add(feed.stream.name, arrived.bad, now_us)
        standing.position = arrived.position
        table, count = arrived.table, arrived.table.num_rows
        feed.heard_us = now_us
        if count == 0:
            self._put_down(feed, [self._batch(feed, None, now_us, now_us, now_us)], arrived.tickets)
            return
        rows = max(1, count * MOST_BYTES // max(1, table.nbytes))
        batches: list[Batch] = []
        for start in range(0, count, rows):
            part, at_us = table.slice(start, rows), arrived.at_us[start : start + rows]
            times, late, mark = stamped(part, feed.stream, standing.mark)
            standing.late += int(late.sum())
            part = part.append_column(TIME, times)
            part = part.append_column(ARRIVED, pa.array(np.asarray(at_us, dtype=np.int64)))
            part = part.append_column(LATE, pa.array(late))
            standing.mark = mark
            ref = self._store.put(part, f"log-{feed.stream.name}")
            batches.append(self._batch(feed, ref, int(at_us[0]), int(at_us[-1]), now_us))
        self._put_down(feed, batches, arrived.tickets)

    def _end(self, feed: Feed, now_us: int) -> None:
        feed.standing.mark, feed.standing.ended = END, True
        self._put_down(feed, [self._batch(feed, None, now_us, now_us, now_us)])
        feed.closed = True

    def _beat(self, feed: Feed, now_us: int) -> None:
        """A stream that has been idle for long is as far as the others are."""
        if feed.idle_us is None or now_us - feed.heard_us < feed.idle_us or feed.stream.time is None:
            return
        others = [
            f.standing.mark for f in self.feeds().values() if f is not feed and f.stream.time is not None
        ]
        reached = max((mark for mark in others if mark < TIMELESS), default=UNKNOWN)
        if reached > feed.standing.mark:
            feed.standing.mark = reached
            self._put_down(feed, [self._batch(feed, None, now_us, now_us, now_us)])

    def _batch(self, feed: Feed, ref: Ref | None, first_us: int, last_us: int, now_us: int) -> Batch:
        """The next batch of a stream's log, which stands behind it then."""
        standing, rows = feed.standing, ref.rows if ref is not None else 0
        held = Held(ref, standing.mark, last_us, feed.number, now_us, self._relations.epoch)
        until_s = standing.mark / 1e6
        lo = standing.offset
        standing.offset += rows
        return Batch(
            rows,
            float(ref.bytes) if ref is not None else 0.0,
            first_us / 1e6,
            until_s,
            until_s,
            feed.stream.name,
            lo,
            standing.offset,
            held,
        )

    def _put_down(self, feed: Feed, batches: list[Batch], tickets: tuple[Any, ...] = ()) -> None:
        standing = feed.standing
        n = standing.batches
        standing.batches += len(batches)
        self._deliver(Ingested(feed.stream.name, n, tuple(batches), Standing(**asdict(standing)), tickets))


def clock_us() -> int:
    """Microseconds since 1970."""
    return time.time_ns() // 1000
