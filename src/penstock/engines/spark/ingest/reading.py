"""Reading: for each stream a thread asks the source what has arrived, ahead of the feeder that takes it in.

Parsing so goes on beside everything else, and a source that hangs or fails is alone with it. How far a stream
was read counts only once the feeder has taken it in: what was read ahead and not taken is read again.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from penstock.engines.spark.ingest.sources.base import Arrived, Source
from penstock.errors import SourceError

#: The most rows that are read at once.
MOST_ROWS = 50_000
#: What may be read ahead of the feeder: so many times the most rows.
AHEAD = 2
#: The longest a thread waits before it looks again, in seconds.
TICK_S = 0.02
#: Rows of a stream are gathered for a share of the time that rows wait to be processed, within these seconds,
#: unless there are as many as can be taken: each batch costs a file and a record.
GATHER_SHARE = 0.1
GATHER_S = (0.01, 0.25)


@dataclass(frozen=True, slots=True)
class Answered:
    """The stream was asked how far its time has come: what the source says (see `Source`)."""

    reached_us: int | None
    quiet_us: int | None


@dataclass(frozen=True, slots=True)
class Ended:
    """The stream has ended."""


@dataclass(frozen=True, slots=True)
class Broken:
    """The source raised something; the thread has ended."""

    error: Exception


#: What the thread found.
Found: TypeAlias = Arrived | Answered | Ended | Broken


@dataclass(frozen=True, slots=True)
class Pace:
    """How all streams are read: how much at first, whether there is room, how long rows wait lately."""

    first_rows: int
    may_read: Callable[[], bool]
    waited_s: Callable[[], float]

    @property
    def gather_us(self) -> int:
        """How long to let rows gather."""
        shortest_s, longest_s = GATHER_S
        return round(1e6 * min(longest_s, max(shortest_s, GATHER_SHARE * self.waited_s())))


class Reader:
    """Reads one stream until it ends, fails or is stopped."""

    def __init__(
        self,
        stream: str,
        opened: Callable[[], Source],
        offset: int,
        pace: Pace,
        found: Callable[[], None],
        *,
        keeps_source: bool = False,
    ) -> None:
        """`opened` gives the source, open; `found` is called when there is something to take.

        A source that is kept outlives a failure: rows that were pushed wait in it.
        """
        self._stream, self._opened, self._offset, self._pace = stream, opened, offset, pace
        self._found, self._keeps_source = found, keeps_source
        self._ahead: queue.Queue[Found] = queue.Queue()
        self._room = threading.Semaphore(AHEAD)
        self._stopping = threading.Event()
        self._asked = threading.Event()
        self._for_good = False
        self._thread = threading.Thread(target=self._run, name=f"penstock-read-{stream}", daemon=True)
        self.began_us = clock_us()
        self.nothing_at_us = 0  # the last time that nothing had arrived
        self.is_live = False

    def start(self) -> None:
        """Begins."""
        self._thread.start()

    def stop(self, *, for_good: bool = True) -> None:
        """Reads no further, and gives up what was not taken. Does not wait for a source that hangs."""
        self._for_good = for_good
        self._stopping.set()
        self._room.release()
        self._give_up()

    def join(self, timeout_s: float) -> None:
        """Waits until the source is closed, or for a while."""
        if self._thread.is_alive():
            self._thread.join(timeout_s)

    def take(self) -> Found | None:
        """What was found next, if there is something."""
        try:
            found = self._ahead.get_nowait()
        except queue.Empty:
            return None
        self._room.release()
        return found

    def ask(self) -> None:
        """Asks how far the stream's time has come; the answer is found next, unless rows come first."""
        self._asked.set()

    @property
    def has_nothing(self) -> bool:
        """Whether there is nothing to take now."""
        return self._ahead.empty()

    def _run(self) -> None:
        source: Source | None = None
        ended = False
        try:
            source = self._opened()
            self.is_live = source.live
            ended = self._read(source)
        except Exception as error:  # whatever a source raises is the failure of this stream alone
            self._put(Broken(error))
        finally:
            if source is not None and (ended or self._for_good or not self._keeps_source):
                with contextlib.suppress(Exception):
                    source.close()
            if self._stopping.is_set():
                self._give_up()

    def _read(self, source: Source) -> bool:
        """Reads until the stream ends, or it is stopped; whether it has ended."""
        while not self._stopping.is_set():
            self._room.acquire()
            wait_us = self._poll(source)
            if wait_us is None:
                return True
            if wait_us > 0:
                self._stopping.wait(min(wait_us / 1e6, GATHER_S[1]))
        return False

    def _poll(self, source: Source) -> int | None:
        """Asks once what has arrived, with room for it; how long to wait until then, None at the end."""
        now_us = clock_us()
        has_to_wait = source.full_speed and not self._pace.may_read()
        if self._stopping.is_set() or (has_to_wait and not source.live):
            self._room.release()
            return round(1e6 * TICK_S)
        most = min(MOST_ROWS, max(self._pace.first_rows, self._offset // 2))
        # What is live is asked all the same: it notes when things arrive.
        arrived = source.poll(now_us, 0 if has_to_wait else most)
        if arrived is not None:
            self._asked.clear()
            self._offset += arrived.rows
            self._put(arrived)
        else:
            if not has_to_wait:
                self.nothing_at_us = now_us
            if self._asked.is_set() and not has_to_wait and not source.ended:
                self._asked.clear()
                self._put(Answered(source.reached_us(now_us), source.quiet_us(now_us)))
            else:
                self._room.release()
        if source.ended:
            self._put(Ended())
            return None
        if has_to_wait:
            return round(1e6 * TICK_S)
        due_us = source.next_us(clock_us())
        if arrived is not None and not source.full_speed and not _is_full(arrived, most):
            due_us = max(due_us, now_us + self._pace.gather_us)
        elif arrived is None:
            due_us = min(due_us, now_us + round(1e6 * TICK_S))
        return due_us - clock_us()

    def _put(self, found: Found) -> None:
        self._ahead.put(found)
        self._found()

    def _give_up(self) -> None:
        while (found := self.take()) is not None:
            if isinstance(found, Arrived):
                refuse(
                    found, SourceError(f"rows of stream '{self._stream}' were not logged; push them again")
                )


def _is_full(arrived: Arrived, most: int) -> bool:
    """Whether there was no more room, or reading ended at rows that do not parse: more may be there."""
    return arrived.rows >= most or bool(arrived.bad)


def refuse(arrived: Arrived, error: Exception) -> None:
    """Whoever waits for these rows hears that they were not logged."""
    for ticket in arrived.tickets:
        ticket.fail(error)


def clock_us() -> int:
    """Microseconds since 1970."""
    return time.time_ns() // 1000
