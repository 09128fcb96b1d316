"""Subscribers: readers that take results from the outbox at their own pace, in threads of their own."""

from __future__ import annotations

import itertools
import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from time import monotonic

from penstock.engines.spark.results.outbox import Outbox
from penstock.engines.spark.results.sinks.subscription import Result
from penstock.engines.spark.storage.records import Entry
from penstock.engines.spark.storage.store import Store


@dataclass(slots=True)
class _Subscriber:
    """Under which name somebody reads, the position handed out last, and at the end what is left to read."""

    reader: str
    position: int = -1
    ended: bool = False
    left: deque[Result] = field(default_factory=deque)


class Subscribers:
    """Subscribers by number. `changed` guards the outbox, and tells of results; `taken` hears of takings."""

    def __init__(
        self, changed: threading.Condition, outbox: Outbox, store: Store, taken: Callable[[], None]
    ) -> None:
        self._changed, self._outbox, self._store, self._taken = changed, outbox, store, taken
        self._numbers = itertools.count()
        self._subscribers: dict[int, _Subscriber] = {}

    def open(self, reader: str) -> int:
        """Somebody reads under that name from now on, first what waits for it; the subscriber's number."""
        with self._changed:
            number = next(self._numbers)
            self._subscribers[number] = _Subscriber(reader)
        return number

    def next(self, number: int, timeout: float | None) -> Result | None:
        """The oldest result that was not handed out yet; None if none came in so many seconds, or none will.

        What was handed out before counts as taken: whoever asks for the next has done with it.
        """
        until = None if timeout is None else monotonic() + timeout
        with self._changed:
            one = self._subscribers[number]
            self._take(one)
            while one.ended or (entry := self._outbox.first(one.reader, one.position)) is None:
                if one.ended:
                    return one.left.popleft() if one.left else None
                left_s = None if until is None else until - monotonic()
                if left_s is not None and left_s <= 0:
                    return None
                self._changed.wait(left_s)
            one.position = entry.n
            self._store.pin([entry.ref.name])
        try:
            return self._result(entry)
        finally:
            self._store.unpin([entry.ref.name])

    def end(self, number: int, *, reads_on: bool) -> None:
        """No more results come for a subscriber; what waits can still be read, if it `reads_on`."""
        with self._changed:
            self._end(self._subscribers[number], reads_on=reads_on)
            self._changed.notify_all()

    def end_all(self, reader: str | None = None) -> None:
        """No more results come for anybody, or for those who read under a name."""
        with self._changed:
            for one in self._subscribers.values():
                if reader is None or one.reader == reader:
                    self._end(one, reads_on=True)
            self._changed.notify_all()

    def forget(self, number: int) -> None:
        """Nobody will ask for that subscriber's results any more."""
        with self._changed:
            self._subscribers.pop(number, None)

    def is_open(self, number: int) -> bool:
        """Whether results come."""
        return not self._subscribers[number].ended

    def dropped(self, number: int) -> int:
        """Rows that were dropped because they were not taken in time."""
        with self._changed:
            return self._outbox.dropped(self._subscribers[number].reader)

    def _end(self, one: _Subscriber, *, reads_on: bool) -> None:
        if one.ended:
            return
        self._take(one)
        if reads_on:
            one.left.extend(self._result(entry) for entry in self._outbox.of(one.reader))
        one.ended = True

    def _take(self, one: _Subscriber) -> None:
        first = self._outbox.first(one.reader)
        if first is not None and first.n <= one.position:
            self._outbox.take(one.reader, one.position)
            self._taken()

    def _result(self, entry: Entry) -> Result:
        return Result(entry.shown(self._store.get(entry.ref)), entry.n)
