"""Results on their way to sinks.

Files are written to staging by the thread that ran the step, count from the step's commit on, and are renamed
after it. Other sinks get results after the commit, from an outbox in the commit log, at least once; so does a
file sink that could not be written to (a full disk), until it can.
"""

from __future__ import annotations

import itertools
import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import pyarrow as pa

from penstock.engines.spark.operators.base import ARRIVED, TIME
from penstock.engines.spark.sinks.base import DurableSink, Sink
from penstock.engines.spark.sinks.subscription import Subscription
from penstock.engines.spark.store import Ref, Store
from penstock.errors import SinkError

#: Numbers of files that were late, apart from all others: the same again when one is written twice.
_LATE_FILES = 1_000_000_000
#: Seconds before a sink that failed is tried again.
RETRY_S = 1.0


@dataclass(frozen=True, slots=True)
class Staged:
    """A result for one sink: a staged file, or a stored table for the outbox."""

    sink: str
    file: str | None = None
    ref: Ref | None = None


class Deliveries:
    """All sinks, by name, and the thread that serves those that get results after the commit."""

    def __init__(self, store: Store, first_file: int, done: Callable[[int, Ref], None]) -> None:
        self._store, self._done = store, done
        self._numbers = itertools.count(first_file)
        self._sinks: dict[str, Sink] = {}
        self._of: dict[str, list[str]] = {}
        self._posted: queue.SimpleQueue[tuple[int, str, Ref] | threading.Event | None] = queue.SimpleQueue()
        #: Results of sinks that failed, oldest first, and when each sink is tried again.
        self._held: dict[str, deque[tuple[int, Ref]]] = {}
        self._again_s: dict[str, float] = {}
        self._thread: threading.Thread | None = None
        self.problems: dict[str, str] = {}

    def add(self, query: str, name: str, sink: Sink) -> None:
        """One more sink of a query."""
        self._sinks[name] = sink
        self._of.setdefault(query, []).append(name)

    def share(self, query: str, name: str) -> bool:
        """A query gets its results to a sink that is there already; whether it is."""
        if name in self._sinks:
            self._of[query] = [name]
        return name in self._sinks

    def detach(self, query: str, name: str) -> None:
        """A query's results go to that sink no more; it keeps what it has."""
        if name in self._of.get(query, ()):
            self._of[query].remove(name)

    def remove(self, name: str) -> None:
        """A sink that gets nothing more."""
        self._sinks.pop(name, None)
        for names in self._of.values():
            if name in names:
                names.remove(name)

    def get(self, name: str) -> Sink | None:
        """A sink."""
        return self._sinks.get(name)

    def sinks_of(self, query: str) -> list[Sink]:
        """A query's sinks."""
        return [self._sinks[name] for name in self._of.get(query, ())]

    def has_sinks(self, query: str) -> bool:
        """Whether a query has sinks of its own."""
        return bool(self._of.get(query))

    def next_file(self) -> int:
        """A number that no file has yet."""
        return next(self._numbers)

    def stage(self, query: str, rows: pa.Table) -> list[Staged]:
        """Puts a result where each of the query's sinks will find it. Any thread may call it."""
        shown = rows.drop_columns([TIME, ARRIVED])
        if shown.num_rows == 0:
            return []
        staged, ref = [], None
        for name in list(self._of.get(query, ())):
            sink = self._sinks[name]
            if isinstance(sink, DurableSink):
                try:
                    staged.append(Staged(name, file=sink.stage(shown, self.next_file())))
                    self.problems.pop(name, None)
                    continue
                except SinkError as error:
                    self.problems[name] = str(error)
            ref = self._store.put(shown, "result")
            staged.append(Staged(name, ref=ref))
        return staged

    def publish(self, files: Iterable[tuple[str, str]]) -> None:
        """Renames committed files."""
        for name, file in files:
            sink = self._sinks.get(name)
            if isinstance(sink, DurableSink):
                sink.publish([file])

    def recover(self, files: Mapping[str, list[str]]) -> None:
        """On start: committed files are renamed, other staged ones deleted."""
        for name, sink in self._sinks.items():
            if isinstance(sink, DurableSink):
                sink.recover(files.get(name, []))

    # --- after the commit ---

    def post(self, n: int, sink: str, ref: Ref) -> None:
        """A committed result that a sink is to get."""
        self._posted.put((n, sink, ref))

    def start(self) -> None:
        """Begins to serve."""
        self._thread = threading.Thread(target=self._run, name="penstock-delivery", daemon=True)
        self._thread.start()

    def settle(self, timeout: float = 10.0) -> None:
        """Waits until every sink has got what was posted so far, or has failed to take it."""
        if self._thread is not None and self._thread.is_alive():
            passed = threading.Event()
            self._posted.put(passed)
            passed.wait(timeout)

    def stop(self) -> None:
        """Serves what is there once more and ends; what a sink did not take stays in the outbox."""
        self._posted.put(None)
        if self._thread is not None:
            self._thread.join()
        for sink in self._sinks.values():
            if isinstance(sink, Subscription):
                sink.close()

    def _run(self) -> None:
        while True:
            wait_s = min(self._again_s.values()) - time.monotonic() if self._again_s else None
            try:
                posted = self._posted.get(timeout=None if wait_s is None else max(0.0, wait_s))
            except queue.Empty:
                posted = threading.Event()  # nothing new
            match posted:
                case None:
                    break
                case (n, name, ref):
                    if name in self._held:  # behind those that it has not taken
                        self._held[name].append((n, ref))
                    else:
                        self._serve(name, deque([(n, ref)]))
                case passed:
                    passed.set()
            for name in [name for name, at_s in self._again_s.items() if at_s <= time.monotonic()]:
                self._serve(name, self._held[name])
        for name in list(self._held):
            self._serve(name, self._held[name])

    def _serve(self, name: str, results: deque[tuple[int, Ref]]) -> None:
        """Hands results to a sink in order; one that fails is left alone for a while."""
        while results:
            n, ref = results[0]
            sink = self._sinks.get(name)
            if sink is not None and not self._delivered(n, name, sink, ref):
                self._held[name], self._again_s[name] = results, time.monotonic() + RETRY_S
                return
            self._done(n, ref)
            results.popleft()
        self._held.pop(name, None)
        self._again_s.pop(name, None)

    def _delivered(self, n: int, name: str, sink: Sink, ref: Ref) -> bool:
        table = self._store.get(ref)
        try:
            if isinstance(sink, DurableSink):
                file = sink.stage(table, _LATE_FILES + n)
                if file is not None:
                    sink.publish([file])
            else:
                sink.deliver(table, n)
        except Exception as error:  # a callback may raise anything; it is told and tried again
            self.problems[name] = str(error) or type(error).__name__
            return False
        self.problems.pop(name, None)
        return True
