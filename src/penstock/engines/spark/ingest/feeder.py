"""Ingest: what arrives becomes batches of a stream's log, with all that is to be decided about them decided.

Batch boundaries, offsets, lateness, watermarks, heartbeats, `now()` and the versions of stored relations are
fixed here and recorded; whatever runs later depends on the log alone. One thread feeds all streams, with what
`reading` has read of each.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.control.waiting import Waiting, as_far_as_others, holds_up
from penstock.engines.spark.failing import FailingOnes, reason_of
from penstock.engines.spark.ingest.late_rows import LateRows, late_rows
from penstock.engines.spark.ingest.reading import (
    MOST_ROWS,
    Answered,
    Broken,
    Ended,
    Pace,
    Reader,
    clock_us,
    refuse,
)
from penstock.engines.spark.ingest.relations import Relations
from penstock.engines.spark.ingest.sources.base import Arrived, RemembersFiles, Source, Ticket, WholeFile
from penstock.engines.spark.ingest.sources.dead_letters import DeadLetters
from penstock.engines.spark.ingest.sources.types import arrow_schema
from penstock.engines.spark.ingest.stamping import mark_at, stamped
from penstock.engines.spark.ingest.whole_files import mark_after, rows_in
from penstock.engines.spark.operators.base import ARRIVED, END, LATE, TIME, TIMELESS, UNKNOWN
from penstock.engines.spark.storage.records import KnownFile, PushKey, StoredBatch
from penstock.engines.spark.storage.store import Ref, Store
from penstock.engines.spark.storage.whole_files import Stamps
from penstock.errors import PenstockError, SourceError
from penstock.model.batch import Batch
from penstock.sql.binding.catalog import Stream

#: The most bytes of a batch.
MOST_BYTES = 32 << 20
#: The longest the feeder waits before it looks again, in seconds.
TICK_S = 0.02
#: A stream that failed and was opened again is well after so many seconds, or once rows have come.
WELL_S = 1.0
#: Tries after which a run to the end waits for a failing stream no longer.
STUCK_TRIES = 3
#: How long closing waits for a source that hangs, in seconds.
CLOSING_S = 5.0
#: A live stream that brings nothing for so long does not hold the others up.
IDLE_S = 60.0
#: A stream that others wait for is asked how far its time has come after so many seconds without a row, and
#: as often.
ASK_S = 0.25


@dataclass(slots=True)
class LogPosition:
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
    standing: LogPosition
    tickets: tuple[Ticket, ...] = ()
    versions: tuple[tuple[str, int, Ref], ...] = ()
    finished: tuple[KnownFile, ...] = ()
    keys: tuple[PushKey, ...] = ()
    feed: Feed | None = None
    late: tuple[LateRows, ...] = ()

    @property
    def counts(self) -> bool:
        """Whether its stream is still fed: else it was dropped, and these batches with it."""
        return self.feed is None or not self.feed.removed


@dataclass(slots=True)
class Feed:
    """A stream that is fed: where from, and where it stands.

    Without a way to make its source anew the source is kept when it fails: rows that were pushed wait in it.
    """

    stream: Stream
    number: int
    source: Source | None  # none if it could not be made so far
    standing: LogPosition  # never changed, but replaced
    idle_us: int | None  # as the stream's options say, like the next
    make: Callable[[], Source] | None = None
    known: list[KnownFile] = field(default_factory=list)  # files that were read
    heard_us: int = 0  # when rows last came
    asked_us: int = 0  # when it was last looked at whether others wait for it
    closed: bool = False
    removed: bool = False
    is_read: bool = True  # by some query; for others nobody waits
    retention_s: float | None = None  # how long rows wait for the first query; None: not at all
    wall_clock: bool = False  # rows have the time at which they come
    reopen: bool = False  # its source is to be made anew, since the stream was altered


class Feeder:
    """The thread that takes in what has arrived, for all streams.

    A stream whose source, or whose log, raises anything is failing: it is opened again after a pause, where
    its log stands, and the others go on.
    """

    def __init__(
        self,
        store: Store,
        relations: Relations,
        letters: DeadLetters,
        deliver: Callable[[Ingested], None],
        may_read: Callable[[], bool],
        waited_s: Callable[[], float],
        first_rows: int = MOST_ROWS,
        tell: Callable[[str], None] = lambda _: None,
        waiting: Waiting | None = None,
    ) -> None:
        """`deliver` takes what is to be committed; `waiting` says for which streams' time something waits."""
        self._store, self._relations, self._letters = store, relations, letters
        self._deliver, self._tell, self._waiting = deliver, tell, waiting or Waiting()
        self._pace = Pace(first_rows, may_read, waited_s)
        self._feeds: dict[str, Feed] = {}
        self._readers: dict[str, Reader] = {}
        self._lock = threading.Lock()
        self._wake = threading.Event()
        self._stopping = self._ending = False
        self._thread: threading.Thread | None = None
        self.failing = FailingOnes()
        self.failed: BaseException | None = None

    def add(self, feed: Feed, *, check: bool = True) -> None:
        """One more stream; it begins, or goes on where its log stands.

        With `check`, SourceError if its source cannot be opened now; else it is failing then.
        """
        now_us = clock_us()
        feed.heard_us, feed.closed = now_us, feed.standing.ended
        reader = None
        if check and not feed.closed:
            try:
                source = _opened(feed, feed.standing.position, now_us)
            except PenstockError:
                raise
            except Exception as error:
                raise SourceError(f"stream '{feed.stream.name}': {reason_of(error)}") from error
            reader = self._reader(feed, lambda: source)
        with self._lock:
            self._feeds[feed.stream.name] = feed
            if reader is not None:
                self._readers[feed.stream.name] = reader
                reader.start()
        self._wake.set()

    def remove(self, name: str) -> None:
        """A stream that is fed no more. What it had on its way to the coordinator does not count any more."""
        with self._lock:
            feed, reader = self._feeds.pop(name, None), self._readers.pop(name, None)
            if feed is not None:
                feed.removed = True
            self.failing.succeeded(name)
        if reader is not None:
            reader.stop()

    def end_all(self) -> None:
        """Ends every stream where its log stands: nothing more of it is taken in."""
        self._ending = True
        self._wake.set()

    def start(self) -> None:
        """Begins to feed."""
        self._thread = threading.Thread(target=self._run, name="penstock-feeder", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Takes in nothing more."""
        self._stopping = True
        self._wake.set()
        if self._thread is not None:
            self._thread.join()
        with self._lock:
            feeds, readers = dict(self._feeds), dict(self._readers)
        for reader in readers.values():
            reader.stop()
        until_s = time.monotonic() + CLOSING_S
        for reader in readers.values():
            reader.join(max(0.0, until_s - time.monotonic()))
        for name, feed in feeds.items():
            if name not in readers and feed.source is not None:
                with contextlib.suppress(Exception):
                    feed.source.close()

    @property
    def ended(self) -> bool:
        """Whether every stream that some query reads has ended, and the coordinator has been told."""
        with self._lock:
            return all(feed.closed for feed in self._feeds.values() if feed.is_read)

    @property
    def stuck(self) -> dict[str, str]:
        """The streams that were tried in vain a few times, if all others have ended, and why they fail."""
        failing = self.failing.now
        with self._lock:
            left = [name for name, feed in self._feeds.items() if feed.is_read and not feed.closed]
        if any(name not in failing or failing[name].tries < STUCK_TRIES for name in left):
            return {}
        return {name: f"stream '{name}' fails: {failing[name].reason}" for name in left}

    def feeds(self) -> dict[str, Feed]:
        """The streams that are fed."""
        with self._lock:
            return dict(self._feeds)

    def _run(self) -> None:
        try:
            while not self._stopping:
                if not self.turn():
                    self._wake.wait(TICK_S)
                self._wake.clear()
        except BaseException as error:  # a defect; told by the engine, which stops
            self.failed = error

    def turn(self) -> bool:
        """Takes in what was read of each stream; whether there was something."""
        now_us = clock_us()
        for version in self._relations.look(now_us):
            self._deliver_versions(version)
        left = [feed for feed in self.feeds().values() if not feed.standing.ended]
        if self._ending:
            for feed in left:
                self._end(feed, now_us)
            return False
        served = [self._serve(feed, now_us) for feed in left]
        return any(served)

    def _serve(self, feed: Feed, now_us: int) -> bool:
        """Takes in what was read next of a stream, or opens it again if it is time; whether it did."""
        name = feed.stream.name
        if feed.reopen:
            self._reopen(feed)
        reader = self._readers.get(name)
        if reader is None:
            if self.failing.may_try(name, now_us / 1e6):
                self._open(feed)
            return False
        found = reader.take()
        match found:
            case Arrived():
                try:
                    self.take_in(feed, found, now_us)
                except Exception as error:  # the state's disk may be full
                    refuse(found, SourceError(f"stream '{name}': {reason_of(error)}"))
                    self._fail(feed, error, now_us)
                else:
                    self._well(feed)
            case Answered():
                self._answered(feed, found, now_us)
            case Ended():
                self._end(feed, now_us)
                self._well(feed)
            case Broken(error):
                self._fail(feed, error, now_us)
            case None:
                if (
                    name in self.failing.now
                    and now_us - reader.began_us > 1e6 * WELL_S
                    and reader.nothing_at_us
                ):
                    self._well(feed)
                self._ask(feed, reader, now_us)
        return found is not None

    def _reader(self, feed: Feed, opened: Callable[[], Source]) -> Reader:
        return Reader(
            feed.stream.name,
            opened,
            feed.standing.offset,
            self._pace,
            self._wake.set,
            keeps_source=feed.make is None,
        )

    def _open(self, feed: Feed) -> None:
        """Opens a stream's source where its log stands, in a thread of its own."""
        position = feed.standing.position

        def opened() -> Source:
            return _opened(feed, position, clock_us())

        with self._lock:
            if not feed.removed:
                reader = self._readers[feed.stream.name] = self._reader(feed, opened)
                reader.start()

    def _reopen(self, feed: Feed) -> None:
        """Makes a stream's source anew where its log stands. What was read ahead is read again."""
        feed.reopen = False
        with self._lock:
            reader = self._readers.pop(feed.stream.name, None)
        if reader is not None:
            reader.stop()
            feed.source = None

    def _fail(self, feed: Feed, error: Exception, now_us: int) -> None:
        """A stream fails. What was read ahead of its log does not count: it is read again."""
        name = feed.stream.name
        with self._lock:
            if feed.removed:
                return
            reader = self._readers.pop(name)
            failing = self.failing.failed(name, reason_of(error), now_us / 1e6)
        reader.stop(for_good=False)
        if feed.make is not None:
            feed.source = None
        if failing.tries == 1:
            self._tell(f"stream '{name}' fails, and is tried again: {failing.reason}")

    def _well(self, feed: Feed) -> None:
        name = feed.stream.name
        if name in self.failing.now:
            with self._lock:
                self.failing.succeeded(name)
            self._tell(f"stream '{name}' goes on")

    def _deliver_versions(self, version: tuple[str, int, Ref]) -> None:
        self._deliver(Ingested("", 0, (), LogPosition(), (), (version,)))

    def take_in(self, feed: Feed, arrived: Arrived, now_us: int) -> None:
        """Rows become a batch: offsets, times, and which are late by the rows before them.

        Few rows may be large, and become several. The log stands where it stood if anything is raised.
        """
        standing = replace(feed.standing, position=arrived.position)
        batches: list[Batch] = []
        late: list[LateRows] = []
        try:
            self._log(feed, standing, arrived, batches, late, now_us)
        except Exception:
            self._store.delete(batch.ref.ref.name for batch in batches if batch.ref.ref is not None)
            raise
        feed.heard_us = now_us
        self._put_down(feed, standing, batches, arrived, tuple(late))

    def _log(
        self,
        feed: Feed,
        standing: LogPosition,
        arrived: Arrived,
        batches: list[Batch],
        behind: list[LateRows],
        now_us: int,
    ) -> None:
        """Stores rows, and adds their batches and those that are late to lists."""
        if arrived.file is not None:
            self._log_file(feed, standing, arrived.file, batches, behind, now_us)
            return
        table, count = arrived.table, arrived.table.num_rows
        rows = max(1, count * MOST_BYTES // max(1, table.nbytes))
        for start in range(0, count, rows):
            part, at_us = table.slice(start, rows), arrived.at_us[start : start + rows]
            times, late, mark = stamped(part, feed.stream, standing.mark)
            if late.null_count < len(late):
                standing.late += len(late) - late.null_count
                behind.append(late_rows(times, late))
            part = part.append_column(TIME, times)
            part = part.append_column(ARRIVED, pa.array(np.asarray(at_us, dtype=np.int64)))
            part = part.append_column(LATE, late)
            ref = self._store.put(part, f"log-{feed.stream.name}")
            batches.append(self._batch(feed, standing, mark, ref, int(at_us[0]), int(at_us[-1]), now_us))
        mark_us = UNKNOWN if arrived.mark_us is None else arrived.mark_us
        if count == 0 or mark_us > standing.mark:
            mark = max(standing.mark, mark_us)
            batches.append(self._batch(feed, standing, mark, None, now_us, now_us, now_us))
        if arrived.bad:
            standing.bad += len(arrived.bad)
            self._letters.add(feed.stream.name, arrived.bad, now_us)

    def _log_file(
        self,
        feed: Feed,
        standing: LogPosition,
        file: WholeFile,
        batches: list[Batch],
        behind: list[LateRows],
        now_us: int,
    ) -> None:
        """Logs a file as it is; one with a late row, or one without a time, like rows of any other."""
        mark, at_us = mark_after(file.path, feed.stream, standing.mark), file.arrived_us
        if mark is not None:
            stamps = Stamps(feed.stream.schema.names, feed.stream.time, at_us)
            ref = self._store.put_file(file.path, f"log-{feed.stream.name}", stamps)
            batches.append(self._batch(feed, standing, mark, ref, at_us, at_us, now_us))
            return
        for rows in rows_in(file.path, arrow_schema(feed.stream.schema)):
            arrived = Arrived(rows, np.full(rows.num_rows, at_us, np.int64), None)
            self._log(feed, standing, arrived, batches, behind, now_us)

    def _end(self, feed: Feed, now_us: int) -> None:
        standing = replace(feed.standing, ended=True)
        self._put_down(feed, standing, [self._batch(feed, standing, END, None, now_us, now_us, now_us)])
        feed.closed = True

    def _ask(self, feed: Feed, reader: Reader, now_us: int) -> None:
        """Asks a stream that is silent how far its time has come, if somebody waits for that."""
        name = feed.stream.name
        waits = self._waiting.waits
        if name not in waits or now_us - max(feed.heard_us, feed.asked_us) < 1e6 * ASK_S:
            return
        feed.asked_us = now_us
        if name in self._waiting.unread or name in self.failing.now or not reader.has_nothing:
            return
        if holds_up(name, waits, self._marks()):
            reader.ask()

    def _answered(self, feed: Feed, answer: Answered, now_us: int) -> None:
        """A heartbeat: the log goes on without a row, if the source knows how far time has come."""
        reached_us = answer.reached_us
        if reached_us is None and feed.stream.time is None:
            reached_us = TIMELESS  # whatever comes, it is never late
        if reached_us is None and feed.wall_clock:
            reached_us = answer.quiet_us
        if reached_us is not None:
            self._beat(feed, mark_at(feed.stream, reached_us), now_us)
        elif answer.quiet_us is not None and feed.stream.name in (idle := self._idle()):
            mark = as_far_as_others(feed.stream.name, self._waiting.waits, self._marks(), idle)
            self._beat(feed, UNKNOWN if mark is None else mark, now_us)

    def _idle(self) -> set[str]:
        """The streams that have brought nothing for longer than they may hold up others; none that fails."""
        found = set()
        for name, feed in self.feeds().items():
            reader = self._readers.get(name)
            if reader is None or name in self.failing.now or not reader.has_nothing:
                continue
            idle_us = feed.idle_us
            if idle_us is None:
                idle_us = round(1e6 * IDLE_S) if reader.is_live else END
            if reader.nothing_at_us - feed.heard_us >= idle_us:
                found.add(name)
        return found

    def _marks(self) -> dict[str, int]:
        """The watermarks of the streams that have not ended; those without a time are never behind."""
        return {
            name: feed.standing.mark
            for name, feed in self.feeds().items()
            if not feed.standing.ended and feed.standing.mark < TIMELESS
        }

    def _beat(self, feed: Feed, mark: int, now_us: int) -> None:
        """An entry of the log without rows: none that comes is older than this."""
        if mark > feed.standing.mark:
            standing = replace(feed.standing)
            self._put_down(feed, standing, [self._batch(feed, standing, mark, None, now_us, now_us, now_us)])

    def _batch(
        self,
        feed: Feed,
        standing: LogPosition,
        mark: int,
        ref: Ref | None,
        first_us: int,
        last_us: int,
        now_us: int,
    ) -> Batch:
        """The next batch of a stream's log, which stands behind it then, with that watermark.

        That before it is the time which no row from there on is before, but for late ones.
        """
        since_s, standing.mark = standing.mark / 1e6, mark
        rows = ref.rows if ref is not None else 0
        held = StoredBatch(ref, standing.mark, last_us, feed.number, now_us, self._relations.epoch)
        lo = standing.offset
        standing.offset += rows
        return Batch(
            rows,
            float(ref.bytes) if ref is not None else 0.0,
            first_us / 1e6,
            since_s,
            mark / 1e6,
            feed.stream.name,
            lo,
            standing.offset,
            held,
        )

    def _put_down(
        self,
        feed: Feed,
        standing: LogPosition,
        batches: list[Batch],
        arrived: Arrived | None = None,
        late: tuple[LateRows, ...] = (),
    ) -> None:
        n = standing.batches
        standing.batches += len(batches)
        feed.standing = standing
        tickets, finished = ((), ()) if arrived is None else (arrived.tickets, arrived.finished)
        feed.known += finished
        self._deliver(
            Ingested(
                feed.stream.name,
                n,
                tuple(batches),
                standing,
                tickets,
                finished=finished,
                keys=() if arrived is None else arrived.keys,
                feed=feed,
                late=late,
            )
        )


def _opened(feed: Feed, position: Any, now_us: int) -> Source:
    """A stream's source, open where its log stands."""
    source = feed.source or _made(feed)
    if isinstance(source, RemembersFiles):
        source.remember(feed.known)
    source.open(position, now_us)
    return source


def _made(feed: Feed) -> Source:
    """A stream's source, made anew."""
    if feed.make is None:
        raise SourceError(f"stream '{feed.stream.name}' has no source")
    feed.source = feed.make()
    return feed.source
