"""Results for a reader at its own pace, in this process."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from time import monotonic

import pyarrow as pa

#: Rows that wait for a reader unless told otherwise.
ROWS = 100_000


@dataclass(frozen=True, slots=True)
class Result:
    """The rows of one commit, and its position: a number that grows."""

    table: pa.Table
    position: int


class Subscription:
    """A bounded queue of results: iterate over it, or `get` them one by one.

    A reader that is too slow does not hold up the engine: the oldest results that wait are dropped, and
    `dropped` counts their rows. Results that come twice, after a crash, are passed on once.
    """

    def __init__(self, rows: int = ROWS) -> None:
        self._limit = rows
        self._changed = threading.Condition()
        self._waiting: deque[Result] = deque()
        self._held = 0
        self._position = -1
        self._dropped = 0
        self._closed = False

    @property
    def dropped(self) -> int:
        """Rows that were dropped because nobody took them in time."""
        return self._dropped

    @property
    def closed(self) -> bool:
        """Whether no more results will come; some may still wait."""
        return self._closed

    def deliver(self, table: pa.Table, position: int) -> None:
        """Adds a result, at the cost of the oldest if there are too many. The last one is always kept."""
        with self._changed:
            if self._closed or position <= self._position:
                return
            self._position = position
            if table.num_rows == 0:
                return
            self._waiting.append(Result(table, position))
            self._held += table.num_rows
            while self._held > self._limit and len(self._waiting) > 1:
                rows = self._waiting.popleft().table.num_rows
                self._held -= rows
                self._dropped += rows
            self._changed.notify()

    def get(self, timeout: float | None = None) -> Result | None:
        """The oldest result that waits; None if none came in so many seconds, or none will."""
        until = None if timeout is None else monotonic() + timeout
        with self._changed:
            while not self._waiting:
                left = None if until is None else until - monotonic()
                if self._closed or (left is not None and left <= 0):
                    return None
                self._changed.wait(left)
            result = self._waiting.popleft()
            self._held -= result.table.num_rows
            return result

    def close(self) -> None:
        """Takes no more results. What waits can still be read; then iteration ends."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()

    def __iter__(self) -> Iterator[Result]:
        while (result := self.get()) is not None:
            yield result
