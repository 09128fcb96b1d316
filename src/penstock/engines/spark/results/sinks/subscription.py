"""Results for a reader at its own pace, in this process."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import pyarrow as pa

#: Rows that wait for a reader unless told otherwise.
ROWS = 100_000


@dataclass(frozen=True, slots=True)
class Result:
    """The rows of one commit, and its position: a number that grows."""

    table: pa.Table
    position: int


class Waiting(Protocol):
    """Where results wait for subscribers, who have numbers."""

    def next(self, number: int, timeout: float | None) -> Result | None:
        """The oldest result that waits; None if none came in so many seconds, or none will."""
        ...

    def close(self, number: int) -> None:
        """No more results are wanted."""
        ...

    def is_open(self, number: int) -> bool:
        """Whether results come."""
        ...

    def dropped(self, number: int) -> int:
        """Rows that were dropped."""
        ...


class Subscription:
    """Results as they are committed: iterate over it, or `get` them one by one.

    They wait on disk, at most as many rows as were asked for: a reader that is too slow does not hold up the
    engine; the oldest results are dropped, and `dropped` counts their rows. A result counts as taken when the
    next one is asked for, or the subscription or the engine is closed; after a crash it comes again.
    """

    def __init__(self, name: str, number: int, waiting: Waiting) -> None:
        self.name, self._number, self._waiting = name, number, waiting

    @property
    def dropped(self) -> int:
        """Rows that were dropped because nobody took them in time."""
        return self._waiting.dropped(self._number)

    @property
    def closed(self) -> bool:
        """Whether no more results will come; some may still wait."""
        return not self._waiting.is_open(self._number)

    def get(self, timeout: float | None = None) -> Result | None:
        """The oldest result that waits; None if none came in so many seconds, or none will."""
        return self._waiting.next(self._number, timeout)

    def close(self) -> None:
        """Takes no more results. What waits can still be read; then iteration ends.

        Under a name of its own, what waits is left to the next who subscribes under that name.
        """
        self._waiting.close(self._number)

    def __iter__(self) -> Iterator[Result]:
        while (result := self.get()) is not None:
            yield result
