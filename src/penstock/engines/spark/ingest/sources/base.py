"""The interface of every source: which rows have arrived by now, and where to go on after them.

A source keeps nothing: `ingest` writes what it hands out to the log, with the position, in one commit. So
rows are never asked for twice, but after a crash `open` gets the last committed position and must go on
exactly there. Time is an argument everywhere, in microseconds since 1970; a source never sleeps and, but
for rows that come from outside, never looks at a clock.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.engines.spark.storage.records import KnownFile, PushKey


@dataclass(frozen=True, slots=True)
class BadRow:
    """What did not parse: its text as it came, why not, and where it stood (`doors.json, line 12`)."""

    text: str
    reason: str
    place: str


#: Hears what became of rows: None, or why they were not logged. It must not raise anything.
Listener: TypeAlias = Callable[[BaseException | None], None]


class Ticket:
    """The receipt for rows that somebody waits to have logged; ingest completes it after the commit.

    `repeated` says that they had been pushed before, and were not logged a second time.
    """

    def __init__(self, rows: int = 0, *, repeated: bool = False) -> None:
        self.rows, self.repeated = rows, repeated
        self._lock = threading.Lock()
        self._settled = threading.Event()
        self._problem: BaseException | None = None
        self._listeners: list[Listener] = []

    def complete(self) -> None:
        """The rows are in the log."""
        self._settle(None)

    def fail(self, problem: BaseException) -> None:
        """The rows were not logged; `wait` raises the problem."""
        self._settle(problem)

    def _settle(self, problem: BaseException | None) -> None:
        with self._lock:
            if self._settled.is_set():
                return
            self._problem = problem
            listeners, self._listeners = self._listeners, []
            self._settled.set()
        for listener in listeners:
            listener(problem)

    def then(self, listener: Listener) -> None:
        """Calls a function when it is settled: in the thread that does it, or now if it is."""
        with self._lock:
            if not self._settled.is_set():
                self._listeners.append(listener)
                return
        listener(self._problem)

    @property
    def done(self) -> bool:
        """Whether it is settled, either way."""
        return self._settled.is_set()

    def wait(self, timeout: float | None = None) -> bool:
        """Blocks until the rows are logged; False if that took longer than `timeout` seconds."""
        if not self._settled.wait(timeout):
            return False
        if self._problem is not None:
            raise self._problem
        return True


@dataclass(frozen=True, slots=True)
class WholeFile:
    """A Parquet file that has exactly the stream's columns, all rows of which have arrived at once."""

    path: Path
    rows: int
    arrived_us: int


@dataclass(frozen=True, slots=True)
class Arrived:
    """Rows that have arrived. There may be none of them, if only bad ones came or the position moved."""

    #: The stream's declared columns in Arrow's types, and no others.
    table: pa.Table
    #: When each row arrived, in microseconds since 1970; never decreasing.
    at_us: npt.NDArray[np.int64]
    #: Where to go on after these rows; can be written as JSON.
    position: Any
    bad: tuple[BadRow, ...] = ()
    #: To complete once rows and position are committed.
    tickets: tuple[Ticket, ...] = ()
    #: Files that are read to their end with these rows, to be remembered beside the position.
    finished: tuple[KnownFile, ...] = ()
    #: Under which keys rows were pushed, to be remembered beside the position.
    keys: tuple[PushKey, ...] = ()
    #: After these rows none comes that is older: a heartbeat, in microseconds since 1970.
    mark_us: int | None = None
    #: Instead of a table, a file to be logged as it is.
    file: WholeFile | None = None

    @property
    def rows(self) -> int:
        """How many rows have arrived."""
        return self.table.num_rows if self.file is None else self.file.rows


@runtime_checkable
class RemembersFiles(Protocol):
    """A source that gets back, before it is opened, the files that it has handed out as finished."""

    def remember(self, files: Iterable[KnownFile]) -> None:
        """All of them that were taken in."""


class Source(Protocol):
    """Where a stream's rows come from. One thread calls it."""

    @property
    def live(self) -> bool:
        """Rows may come at any time; False for what is replayed or generated."""

    @property
    def ended(self) -> bool:
        """No row will ever come again."""

    @property
    def full_speed(self) -> bool:
        """Rows come as fast as they are taken."""

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong and does not stop the stream, such as unreadable files; any thread may look."""

    def open(self, position: Any | None, start_us: int) -> None:
        """Starts, or goes on after `position`; `start_us` is now."""

    def poll(self, now_us: int, most_rows: int) -> Arrived | None:
        """At most so many of the rows that have arrived by now; None: nothing new.

        Two may bring more: `structured`, since a micro-batch of Spark's is not divided, and `push`, since
        rows that were pushed under a key are logged in one commit.
        """

    def next_us(self, now_us: int) -> int:
        """When polling again makes sense."""

    def reached_us(self, now_us: int) -> int | None:
        """How far the rows' time has come by now, when nothing has arrived; None: it does not know.

        It is as if a row of this time had come: those that follow may be as much older as the stream's
        watermark allows.
        """

    def quiet_us(self, now_us: int) -> int | None:
        """The moment at which nothing was on its way, when nothing has arrived; None: something may be.

        That is now, if the source itself looks, or when somebody last looked for it.
        """

    def close(self) -> None:
        """Lets go of files and threads."""
