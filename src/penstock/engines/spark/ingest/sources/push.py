"""Rows pushed from Python. Each push gets a ticket, which ingest completes once the rows are in the log.

Rows that were pushed and not logged are lost in a crash: who cannot bear that waits for the ticket, and
pushes again when none came.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.engines.spark.ingest.sources.base import Arrived, Ticket
from penstock.engines.spark.ingest.sources.pushed_rows import fitted
from penstock.errors import SourceError

#: Bytes that may wait to be logged before a push blocks.
MOST_BYTES = 64 << 20


def wall_us() -> int:
    """Now, in microseconds since 1970."""
    return time.time_ns() // 1000


class PushSource:
    """A stream fed by a program; any thread may push."""

    live = True
    full_speed = False
    problems: tuple[str, ...] = ()

    def __init__(self, stream: str, schema: pa.Schema, clock_us: Callable[[], int] = wall_us) -> None:
        self._stream, self._schema, self._clock_us = stream, schema, clock_us
        self._changed = threading.Condition()
        self._waiting: deque[tuple[pa.Table, int, Ticket]] = deque()
        self._bytes = self._rows = self._last_us = 0
        self._opened = self._finished = False

    @property
    def ended(self) -> bool:
        """Whether `end` was called and everything before it was taken."""
        with self._changed:
            return self._finished and not self._waiting

    def push(self, rows: Any, timeout: float | None = None) -> Ticket:
        """Takes all rows or, with a SourceError that says why, none; `pushed_rows` says what rows can be.

        Blocks while too much waits to be logged, at most `timeout` seconds; but not before the engine runs.
        """
        table = fitted(self._stream, self._schema, rows)
        ticket = Ticket()
        if table.num_rows == 0:
            ticket.complete()
            return ticket
        with self._changed:
            self._changed.wait_for(lambda: self._has_room() or self._finished, timeout)
            if self._finished:
                raise SourceError(f"stream '{self._stream}' was ended; nothing can be pushed any more")
            if not self._has_room():
                raise SourceError(
                    f"stream '{self._stream}' has {self._bytes >> 20} MiB to log; push again later"
                )
            self._waiting.append((table, self._clock_us(), ticket))
            self._bytes += table.nbytes
        return ticket

    def end(self) -> None:
        """No more rows will be pushed."""
        with self._changed:
            self._finished = True
            self._changed.notify_all()

    def open(self, position: Any | None, start_us: int) -> None:
        """Rows pushed from now on follow those that were logged."""
        with self._changed:
            self._rows = 0 if position is None else position["rows"]
            self._last_us, self._opened = start_us, True

    def poll(self, now_us: int, most_rows: int) -> Arrived | None:
        """What was pushed, in that order. A ticket comes with the last of its rows."""
        tables, times, tickets = [], [], []
        left = most_rows
        with self._changed:
            while self._waiting and left:
                table, pushed_us, ticket = self._waiting.popleft()
                part = table.slice(0, left)
                self._last_us = max(self._last_us, min(pushed_us, now_us))
                tables.append(part)
                times.append(np.full(part.num_rows, self._last_us, np.int64))
                left -= part.num_rows
                if part.num_rows < table.num_rows:
                    self._waiting.appendleft((table.slice(part.num_rows), pushed_us, ticket))
                else:
                    tickets.append(ticket)
                self._bytes -= part.nbytes
            if not self._waiting:
                self._bytes = 0
            self._rows += most_rows - left
            self._changed.notify_all()
        if not tables:
            return None
        position = {"rows": self._rows}
        return Arrived(pa.concat_tables(tables), np.concatenate(times), position, tickets=tuple(tickets))

    def next_us(self, now_us: int) -> int:
        """Ten milliseconds from now, or now if something waits."""
        with self._changed:
            return now_us if self._waiting else now_us + 10_000

    def close(self) -> None:
        """Fails the tickets of rows that nobody took."""
        with self._changed:
            self._finished = True
            waiting = [ticket for _, _, ticket in self._waiting]
            self._waiting.clear()
            self._changed.notify_all()
        for ticket in waiting:
            ticket.fail(SourceError(f"stream '{self._stream}' was closed before these rows were logged"))

    def _has_room(self) -> bool:
        return not self._opened or self._bytes < MOST_BYTES
