"""Results on their way to sinks.

Files are written to staging by the thread that ran the step, count from the step's commit on, and are renamed
after it. Other sinks get results after the commit, from an outbox in the commit log, at least once; so does a
file sink that could not be written to (a full disk), until it can.
"""

from __future__ import annotations

import itertools
import queue
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import pyarrow as pa

from penstock.engines.spark.operators.base import ARRIVED, TIME
from penstock.engines.spark.sinks.base import DurableSink, Sink
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
        self._posted: queue.SimpleQueue[tuple[int, str, Ref] | None] = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._stopped = threading.Event()
        self.problems: dict[str, str] = {}

    def add(self, query: str, name: str, sink: Sink) -> None:
        """One more sink of a query."""
        self._sinks[name] = sink
        self._of.setdefault(query, []).append(name)

    def remove(self, name: str) -> None:
        """A sink that gets nothing more."""
        self._sinks.pop(name, None)
        for names in self._of.values():
            if name in names:
                names.remove(name)

    def sinks_of(self, query: str) -> list[Sink]:
        """A query's sinks."""
        return [self._sinks[name] for name in self._of.get(query, ())]

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

    def recover(self, files: dict[str, list[str]]) -> None:
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

    def stop(self) -> None:
        """Serves what is there once more and ends; what a sink did not take stays in the outbox."""
        self._stopped.set()
        self._posted.put(None)
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while (posted := self._posted.get()) is not None:
            n, name, ref = posted
            sink = self._sinks.get(name)
            if sink is None or self._delivered(n, name, sink, ref):
                self._done(n, ref)
            else:
                self._stopped.wait(RETRY_S)
                if not self._stopped.is_set():
                    self._posted.put(posted)

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
