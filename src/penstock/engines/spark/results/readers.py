"""Readers: functions and subscriptions that get a query's results under a name.

A name is kept in the commit log. What was committed and not taken waits for whoever registers under the same
name next, also after a restart, up to a number of rows; then the oldest are dropped. Waiting ends when the
name is unsubscribed or its query dropped. A subscription that was given no name gives up the one it has when
it is closed, or when nobody holds it any more; not when the engine is closed.
"""

from __future__ import annotations

import weakref
from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from penstock.engines.spark.results.delivery import Deliveries
from penstock.engines.spark.results.sinks.base import Sink
from penstock.engines.spark.results.sinks.callback import CallbackSink
from penstock.engines.spark.results.sinks.subscription import Result, Subscription
from penstock.engines.spark.storage.commit_log import CommitLog
from penstock.errors import EngineError, closest

#: Rows that wait for a function unless told otherwise.
FUNCTION_ROWS = 1_000_000

Function = Callable[[pa.Table, int], Any]


@dataclass(frozen=True, slots=True)
class Registration:
    """A name under which results of a query wait, and who takes them now.

    `subscriber` is a subscription's number; `lasting` a name that was given, and is kept without anybody.
    """

    query: str
    name: str
    most: int
    present: bool = False
    subscriber: int | None = None
    lasting: bool = True

    @property
    def reader(self) -> str:
        """What results wait under."""
        return f"reader {self.name} of {self.query}"


class Readers:
    """All registrations. Changed by the coordinator's thread, within a commit."""

    def __init__(self, log: CommitLog, deliveries: Deliveries) -> None:
        self._log, self._deliveries, self._subscribers = log, deliveries, deliveries.subscribers
        self._known: dict[str, Registration] = {}
        self._counts: Counter[str] = Counter()  # registrations of each query
        # Subscriptions that were closed or collected: only noted, since who notices may hold any lock.
        self._left: deque[int] = deque()
        self._collected: deque[int] = deque()

    def count(self, query: str) -> int:
        """How many names get a query's results, or will when somebody is there again."""
        return self._counts.get(query, 0)

    # --- within a commit ---

    def subscribe(self, query: str, most: int, name: str | None) -> Subscription:
        """Somebody who takes results at their own pace."""
        found = self._free(query, name, "subscription", most)
        number = self._subscribers.open(found.reader)
        self._register(replace(found, subscriber=number, lasting=name is not None), None)
        made = Subscription(found.name, number, self)
        weakref.finalize(made, self._collected.append, number).atexit = False
        return made

    def on_result(self, query: str, function: Function, most: int, name: str | None) -> str:
        """A function that is called with results; its name."""
        default = f"{function.__module__}.{getattr(function, '__qualname__', type(function).__qualname__)}"
        found = self._free(query, name, default, most)
        self._register(found, CallbackSink(found.name, function))
        return found.name

    def unsubscribe(self, query: str, name: str) -> None:
        """A name that is given up, with all that waits for it."""
        found = self._known.get(Registration(query, name, 0).reader)
        if found is None:
            names = [one.name for one in self._known.values() if one.query == query]
            raise EngineError(
                f"nobody gets the results of query '{query}' as '{name}'.{closest(name, names)}"
            )
        self._forget(found)

    def drop(self, query: str) -> None:
        """A query is dropped, and so are all that got its results."""
        for found in [one for one in self._known.values() if one.query == query]:
            self._forget(found)

    def restore(self) -> None:
        """All names that are in the commit log; nobody is there yet."""
        for _, query, name, most in self._log.registrations():
            found = Registration(query, name, most)
            self._know(found)
            self._deliveries.add(query, found.reader, None, most)

    def tidy(self) -> None:
        """Subscriptions that were closed or collected cost nothing from now on."""
        while self._left or self._collected:
            collected = not self._left
            number = self._collected.popleft() if collected else self._left.popleft()
            for found in [one for one in self._known.values() if one.subscriber == number]:
                if found.lasting:
                    self._known[found.reader] = replace(found, present=False, subscriber=None)
                else:
                    self._forget(found)
            if collected:
                self._subscribers.forget(number)

    def _free(self, query: str, name: str | None, default: str, most: int) -> Registration:
        """A name that nobody has at the moment."""
        if most < 1:
            raise EngineError(f"{most} rows cannot wait for a reader; ask for 1 or more")
        found = Registration(query, name or default, most)
        if name is not None and self._is_present(found):
            raise EngineError(
                f"somebody gets the results of query '{query}' as '{name}' already; unsubscribe that one "
                "first, or choose another name"
            )
        count = 1
        while self._is_present(found):
            count += 1
            found = replace(found, name=f"{default} #{count}")
        return found

    def _is_present(self, wanted: Registration) -> bool:
        self.tidy()
        known = self._known.get(wanted.reader)
        return known is not None and known.present

    def _register(self, found: Registration, sink: Sink | None) -> None:
        found = replace(found, present=True)
        self._know(found)
        self._log.put_registration(found.reader, found.query, found.name, found.most)
        self._deliveries.add(found.query, found.reader, sink, found.most)

    def _know(self, found: Registration) -> None:
        self._counts[found.query] += found.reader not in self._known
        self._known[found.reader] = found

    def _forget(self, found: Registration) -> None:
        del self._known[found.reader]
        self._counts[found.query] -= 1
        self._log.drop_registration(found.reader)
        self._deliveries.remove(found.reader)

    # --- what a subscription asks for, from any thread ---

    def next(self, number: int, timeout: float | None) -> Result | None:
        """The oldest result that waits; None if none came in so many seconds, or none will."""
        return self._subscribers.next(number, timeout)

    def close(self, number: int) -> None:
        """No more results are wanted."""
        lasting = any(one.lasting for one in list(self._known.values()) if one.subscriber == number)
        self._subscribers.end(number, reads_on=not lasting)
        self._left.append(number)
        self._deliveries.done()

    def is_open(self, number: int) -> bool:
        """Whether results come."""
        return self._subscribers.is_open(number)

    def dropped(self, number: int) -> int:
        """Rows that were dropped."""
        return self._subscribers.dropped(number)
