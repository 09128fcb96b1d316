"""Rows pushed from Python, and heartbeats: that no older row will be pushed.

Each push gets a ticket, which ingest completes once the rows are in the log; so does each heartbeat.

Rows that were pushed and not logged are lost in a crash: who cannot bear that waits for the ticket, and
pushes again when none came. Under a key, rows that were logged already are not logged again then: the key is
committed with them, all of them at once, and remembered for a day.
"""

from __future__ import annotations

import hashlib
import io
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.engines.spark.ingest.sources.base import Arrived, Ticket
from penstock.engines.spark.ingest.sources.pushed_rows import fitted
from penstock.engines.spark.ingest.sources.types import times_us, widened
from penstock.engines.spark.storage.records import PushKey
from penstock.errors import BusyError, KeyUsedError, PenstockError, SourceError

#: Bytes that may wait to be logged before a push blocks.
MOST_BYTES = 64 << 20
#: What can be pushed under one key, which is logged in one commit.
KEYED_ROWS, KEYED_BYTES = 100_000, 32 << 20
#: The longest key, and how long keys are remembered, in seconds.
KEY_CHARACTERS = 200
KEYS_KEPT_S = 24 * 3600.0


@dataclass(frozen=True, slots=True)
class PushOutcome:
    """What became of pushed rows: they are in the log, by this push or (`repeated`) an earlier one under the
    same key; or there was a problem, and none of them is."""

    stream: str
    rows: int
    repeated: bool = False
    problem: PenstockError | None = None


def wall_us() -> int:
    """Now, in microseconds since 1970."""
    return time.time_ns() // 1000


@dataclass(frozen=True, slots=True)
class _Pushed:
    """Rows, and when they were pushed."""

    table: pa.Table
    at_us: int
    ticket: Ticket
    key: PushKey | None = None


@dataclass(frozen=True, slots=True)
class _Heartbeat:
    """From here on no row is older."""

    mark_us: int
    ticket: Ticket


class PushSource:
    """A stream fed by a program; any thread may push."""

    live = True
    full_speed = False
    problems: tuple[str, ...] = ()

    def __init__(self, stream: str, schema: pa.Schema, clock_us: Callable[[], int] = wall_us) -> None:
        self._stream, self._schema, self._clock_us = stream, schema, clock_us
        self._changed = threading.Condition()
        self._waiting: deque[_Pushed | _Heartbeat] = deque()
        self._under_way: dict[str, tuple[PushKey, Ticket]] = {}  # pushes by key, until they are settled
        #: What was logged under a key, however long ago.
        self.logged_key: Callable[[str], PushKey | None] = lambda _: None
        self._bytes = self._rows = self._last_us = 0
        self._opened = self._finished = False

    @property
    def ended(self) -> bool:
        """Whether `end` was called and everything before it was taken."""
        with self._changed:
            return self._finished and not self._waiting

    def push(self, rows: Any, timeout: float | None = None, key: str | None = None) -> Ticket:
        """Takes all rows or, with a SourceError that says why, none; `pushed_rows` says what rows can be.

        Blocks while too much waits to be logged, at most `timeout` seconds; but not before the engine runs.
        Under a key that the same rows were pushed under before, nothing is added.
        """
        table = fitted(self._stream, self._schema, rows)
        keyed = None if key is None else self._keyed(key, table)
        ticket = Ticket(table.num_rows)
        if table.num_rows == 0:
            ticket.complete()
            return ticket
        with self._changed:
            table = widened(table, self._schema)
            if keyed is not None and (earlier := self._repeated(keyed)) is not None:
                return earlier
            self._changed.wait_for(lambda: self._has_room() or self._finished, timeout)
            if keyed is not None and (earlier := self._repeated(keyed)) is not None:
                return earlier  # somebody else has pushed it meanwhile
            if self._finished:
                raise SourceError(f"stream '{self._stream}' was ended; nothing can be pushed any more")
            if not self._has_room():
                raise BusyError(
                    f"stream '{self._stream}' has {self._bytes >> 20} MiB to log; push again later"
                )
            self._waiting.append(_Pushed(table, self._clock_us(), ticket, keyed))
            self._bytes += table.nbytes
            if keyed is not None:
                self._under_way[keyed.key] = keyed, ticket
                ticket.then(lambda _: self._settled(keyed))  # nobody can have settled it yet
        return ticket

    def _keyed(self, key: str, table: pa.Table) -> PushKey:
        if not 0 < len(key) <= KEY_CHARACTERS:
            raise SourceError(
                f"stream '{self._stream}' took no rows: a key has 1 to {KEY_CHARACTERS} characters, "
                f"and this one {len(key)}"
            )
        if table.num_rows > KEYED_ROWS or table.nbytes > KEYED_BYTES:
            raise SourceError(
                f"stream '{self._stream}' took no rows: {table.num_rows} rows of {table.nbytes >> 20} MiB "
                f"are too many for one key; push at most {KEYED_ROWS} rows and {KEYED_BYTES >> 20} MiB "
                "under each"
            )
        return PushKey(key, digest(table), table.num_rows, self._clock_us() / 1e6)

    def _repeated(self, keyed: PushKey) -> Ticket | None:
        """If something was pushed under that key already, a ticket that is settled with the first one's."""
        earlier, first = self._under_way.get(keyed.key, (None, None))
        if earlier is None:
            earlier = self.logged_key(keyed.key)
        if earlier is None or earlier.at_s < keyed.at_s - KEYS_KEPT_S:
            return None
        if earlier.digest != keyed.digest:
            raise KeyUsedError(
                f"stream '{self._stream}' took no rows: other rows were pushed under the key '{keyed.key}'; "
                "use a new key for new rows, and the same rows to repeat a push"
            )
        ticket = Ticket(keyed.rows, repeated=True)
        if first is None:
            ticket.complete()
        else:
            first.then(lambda problem: ticket.complete() if problem is None else ticket.fail(problem))
        return ticket

    def _settled(self, keyed: PushKey) -> None:
        """The key is in the log from now on; or nowhere, and the push can be repeated."""
        with self._changed:
            self._under_way.pop(keyed.key, None)

    def heartbeat(self, column: str, time_: Any) -> Ticket:
        """Says that no row to come has an earlier time in that column; one that does is late.

        The time is what a pushed row may have there.
        """
        (mark_us,) = times_us(fitted(self._stream, self._schema, [{column: time_}])[column]).to_pylist()
        if mark_us is None:
            raise SourceError(f"stream '{self._stream}': a heartbeat has a time, and this one is NULL")
        ticket = Ticket()
        with self._changed:
            if self._finished:
                raise SourceError(f"stream '{self._stream}' was ended; its time goes on no more")
            self._waiting.append(_Heartbeat(mark_us, ticket))
        return ticket

    def widen(self, schema: pa.Schema) -> None:
        """Rows have more columns from now on; in those that wait they are NULL."""
        with self._changed:
            self._schema = schema
            self._waiting = deque(
                replace(one, table=widened(one.table, schema)) if isinstance(one, _Pushed) else one
                for one in self._waiting
            )

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
        """What was pushed, in that order, up to a heartbeat. A ticket comes with the last of its rows."""
        times: list[np.ndarray] = [np.empty(0, np.int64)]
        tickets: list[Ticket] = []
        keys: list[PushKey] = []
        left = most_rows
        mark_us: int | None = None
        with self._changed:
            tables = [self._schema.empty_table()]
            while self._waiting and left > 0 and mark_us is None:
                match self._waiting.popleft():
                    case _Heartbeat(mark_us, ticket):
                        tickets.append(ticket)
                    case _Pushed(table, pushed_us, ticket, key) as pushed:
                        if key is not None and left < min(table.num_rows, most_rows):
                            self._waiting.appendleft(pushed)  # it comes next, and alone if it must
                            break
                        part = table.slice(0, left) if key is None else table
                        self._last_us = max(self._last_us, min(pushed_us, now_us))
                        tables.append(part)
                        times.append(np.full(part.num_rows, self._last_us, np.int64))
                        left -= part.num_rows
                        if part.num_rows < table.num_rows:
                            rest = table.slice(part.num_rows)
                            self._waiting.appendleft(_Pushed(rest, pushed_us, ticket))
                        else:
                            tickets.append(ticket)
                        if key is not None:
                            keys.append(key)
                        self._bytes -= part.nbytes
            if not self._waiting:
                self._bytes = 0
            self._rows += most_rows - left
            self._changed.notify_all()
        if len(tables) == 1 and mark_us is None:
            return None
        return Arrived(
            pa.concat_tables(tables),
            np.concatenate(times),
            {"rows": self._rows},
            tickets=tuple(tickets),
            keys=tuple(keys),
            mark_us=mark_us,
        )

    def next_us(self, now_us: int) -> int:
        """Ten milliseconds from now, or now if something waits."""
        with self._changed:
            return now_us if self._waiting else now_us + 10_000

    def reached_us(self, now_us: int) -> int | None:  # noqa: ARG002
        """Only the program knows, and says so by a heartbeat."""
        return None

    def quiet_us(self, now_us: int) -> int | None:
        """Now, if nothing waits."""
        with self._changed:
            return None if self._waiting else now_us

    def close(self) -> None:
        """Fails the tickets of rows that nobody took."""
        with self._changed:
            self._finished = True
            waiting = [one.ticket for one in self._waiting]
            self._waiting.clear()
            self._changed.notify_all()
        for ticket in waiting:
            ticket.fail(SourceError(f"stream '{self._stream}' was closed before these rows were logged"))

    def _has_room(self) -> bool:
        return not self._opened or self._bytes < MOST_BYTES


def digest(table: pa.Table) -> str:
    """A text that is the same for the same rows only, however they are divided in memory."""
    sums = hashlib.sha256()
    with pa.ipc.new_stream(pa.PythonFile(_Hashed(sums), "w"), table.schema) as stream:
        for batch in table.combine_chunks().to_batches():
            stream.write_batch(batch)
    return sums.hexdigest()


class _Hashed(io.RawIOBase):
    """A file that keeps nothing but a sum of what is written to it."""

    def __init__(self, sums: hashlib._Hash) -> None:
        self._sums = sums

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        self._sums.update(content)
        return len(content)
