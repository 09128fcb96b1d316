"""Serving: threads that do what is due for sinks, so that one which takes long holds up no other.

For each sink one thing is done at a time. There are as many threads as there is work for at once, up to a
limit, and one that waits for more.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Protocol

#: The most threads: so many functions that never return hold up the others.
MOST_THREADS = 64
#: How long closing waits while nothing gets done, in seconds.
CLOSING_S = 30.0


@dataclass(frozen=True, slots=True)
class Work:
    """Something to do for a sink; `do` says whether that went well."""

    sink: str
    do: Callable[[], bool]


class Due(Protocol):
    """What is to be done next for a sink that is none of these, if anything; `at_once` without any pause."""

    def __call__(self, without: Collection[str], *, at_once: bool) -> Work | None: ...


class Serving:
    """The threads. `changed` guards what `due` looks at, and tells of changes; `pause_s` is how long until
    something may be due without one."""

    def __init__(self, changed: threading.Condition, due: Due, pause_s: Callable[[], float | None]) -> None:
        self._changed, self._due, self._pause_s = changed, due, pause_s
        self._threads: set[threading.Thread] = set()
        self._busy: set[str] = set()
        self._given_up: set[str] = set()  # sinks that failed while the threads were to end
        self._idle = self._done = 0
        self._closing = False

    def start(self) -> None:
        """Begins to serve."""
        with self._changed:
            self._hire()

    def settle(self, timeout_s: float) -> None:
        """Waits until nothing is due, or for a while; not in one of the threads: it would wait for itself."""
        if threading.current_thread() in self._threads:
            return
        with self._changed:
            self._changed.wait_for(lambda: not self._threads or self._is_through(), timeout_s)

    def close(self) -> frozenset[str]:
        """Serves every sink once more, without pauses, and ends; the sinks that are still busy.

        They are left alone once nothing has got done for a while: a function may never return.
        """
        with self._changed:
            self._closing = True
            self._changed.notify_all()
            done = -1
            while self._threads and done != self._done:
                done = self._done
                self._changed.wait_for(lambda: not self._threads, CLOSING_S)
            return frozenset(self._busy)

    def _is_through(self) -> bool:
        return not self._busy and self._next() is None

    def _next(self) -> Work | None:
        return self._due(self._busy | self._given_up, at_once=self._closing)

    def _hire(self) -> None:
        thread = threading.Thread(target=self._run, name="penstock-delivery", daemon=True)
        self._threads.add(thread)
        thread.start()

    def _run(self) -> None:
        while (work := self._wait()) is not None:
            went_well = False
            try:
                went_well = work.do()
            finally:
                with self._changed:
                    self._busy.discard(work.sink)
                    self._done += 1
                    if self._closing and not went_well:
                        self._given_up.add(work.sink)
                    self._changed.notify_all()
        with self._changed:
            self._threads.discard(threading.current_thread())
            self._changed.notify_all()

    def _wait(self) -> Work | None:
        """The next thing to do, when there is one; None when the threads are to end."""
        with self._changed:
            self._idle += 1
            while (work := self._next()) is None and not self._closing and self._idle == 1:
                self._changed.wait(self._pause_s())
            self._idle -= 1
            if work is None:
                return None
            self._busy.add(work.sink)
            if not self._idle and len(self._threads) < MOST_THREADS and self._next() is not None:
                self._hire()
            return work
