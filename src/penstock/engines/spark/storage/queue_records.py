"""Queues in the commit log: their batches, how far each unit has read them, and which files nobody needs."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import takewhile

from penstock.control.queues import Queue
from penstock.control.units import UnitState
from penstock.engines.spark.storage.commit_log import CommitLog
from penstock.engines.spark.storage.store import Store
from penstock.model.batch import Batch
from penstock.model.graph import Graph, Port


def key(port: Port, graph: Graph) -> str:
    """The name of a queue in the commit log: a stream's own, or that of an operator and its output."""
    return port.node if graph.is_source(port.node) else f"{port.node}#{port.output}"


def _is_stream(name: str) -> bool:
    return "#" not in name


class QueueRecords:
    """What is written down of queues. Files that nobody needs any more are put among the `garbage`.

    Those of a log that is kept stay on disk, but not in memory.
    """

    def __init__(self, log: CommitLog, store: Store, garbage: list[str], *, keep_log: bool) -> None:
        self._log, self._store, self._garbage, self._keep_log = log, store, garbage, keep_log
        self._files: dict[str, dict[int, str]] = {}  # of each queue's batches that somebody has yet to read
        self._kept: dict[str, list[str]] = {}  # of each stream's batches that everybody has read
        self._from: dict[str, int] = {}  # of streams that keep what everybody has read: from which batch on

    def restore(self, name: str, batches: Mapping[int, Batch]) -> None:
        """A queue as it was written down."""
        self._files[name] = {n: _file(batch) for n, batch in batches.items()}

    def put(self, name: str, n: int, batch: Batch) -> None:
        """One more batch of a queue."""
        self._log.put_batch(name, n, batch)
        self._files.setdefault(name, {})[n] = _file(batch)

    def read(self, unit: UnitState, graph: Graph) -> None:
        """A unit has read on."""
        for reader in unit.readers:
            name = key(reader.queue.port, graph)
            self._log.put_reader(unit.index, name, reader.cursor, reader.cursor_rows)
            self.sweep(name, reader.queue)

    def keep_from(self, stream: str, first: int | None) -> None:
        """What everybody has read of a stream stays from that batch on, or, with None, does not any more."""
        if first is None:
            self._from.pop(stream, None)
        else:
            self._from[stream] = first

    def sweep(self, name: str, queue: Queue) -> None:
        """Forgets batches that every reader has read, and that are not kept for others to come."""
        files = self._files.get(name, {})
        before = min(queue.freed, self._from.get(name, queue.freed))
        gone = list(takewhile(lambda n: n < before, files))
        if not gone:
            return
        names = [file for file in (files.pop(n) for n in gone) if file]
        if self._keep_log and _is_stream(name):
            self._kept.setdefault(name, []).extend(names)
            self._store.forget(names)
        else:
            self._garbage.extend(names)
            self._log.drop_batches(name, before)

    def drop(self, stream: str) -> None:
        """A stream that is no more."""
        self._garbage.extend(file for file in self._files.pop(stream, {}).values() if file)
        self._garbage.extend(self._kept.pop(stream, ()))
        self._from.pop(stream, None)
        self._log.drop_stream(stream)

    def write(self, units: Mapping[int, tuple[str, ...]], queues: Mapping[Port, Queue], graph: Graph) -> None:
        """The units, queues and cursors as they are now."""
        self._log.put_units(units)
        self._log.drop_queues()
        there = {key(port, graph): queue for port, queue in queues.items()}
        for name in [name for name in self._files if not _is_stream(name)]:
            queue = there.get(name)
            live = (
                {_file(batch) for batch in queue.slice(queue.freed, queue.tail)} if queue is not None else ()
            )
            self._garbage.extend(file for file in self._files.pop(name).values() if file and file not in live)
        for name, queue in there.items():
            for reader in queue.readers:
                self._log.put_reader(reader.unit.index, name, reader.cursor, reader.cursor_rows)
            if _is_stream(name):
                self.sweep(name, queue)
            else:
                for n in range(queue.freed, queue.tail):
                    self.put(name, n, queue.batch(n))


def _file(batch: Batch) -> str:
    return batch.ref.ref.name if batch.ref.ref is not None else ""
