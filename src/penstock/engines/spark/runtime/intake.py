"""Intake: what the feeder brings is recorded, and control hears of it; what was dropped is forgotten."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from penstock.control.events import StreamDropped
from penstock.engines.spark.ingest.feeder import Ingested, LogPosition
from penstock.engines.spark.ingest.relations import Relations
from penstock.engines.spark.ingest.sources.push import KEYS_KEPT_S
from penstock.errors import SourceError

if TYPE_CHECKING:
    from penstock.engines.spark.runtime.coordinator import Coordinator

#: Seconds between two looks whether keys of pushes are old.
SWEEP_S = 600.0


class Intake:
    """Streams' logs and versions of stored tables, as committed. Between two events, within a commit."""

    def __init__(
        self, coordinator: Coordinator, relations: Relations, garbage: list[str], *, keep_log: bool
    ) -> None:
        self._of, self._relations, self._garbage, self._keep_log = coordinator, relations, garbage, keep_log
        self._keys_swept_s = 0.0
        self.standings: dict[str, LogPosition] = {}  # where each stream's log stands

    def take(self, message: Ingested) -> None:
        """Batches of a stream, or a version of a stored table."""
        for name, epoch, ref in message.versions:
            if not self._relations.knows(name, ref):  # it was dropped while it was read
                self._garbage.append(ref.name)
                continue
            self._of.log.put_version(name, epoch, {"name": ref.name, "rows": ref.rows, "bytes": ref.bytes})
            self._forget_versions(epoch)
        if not message.stream:
            return
        stream = message.stream
        if not message.counts:  # it was dropped meanwhile
            self._garbage.extend(batch.ref.ref.name for batch in message.batches if batch.ref.ref is not None)
            for ticket in message.tickets:
                ticket.fail(SourceError(f"stream '{stream}' was dropped before its rows were logged"))
            return
        for n, batch in enumerate(message.batches, message.n):
            self._of.records.put(stream, n, batch)
            self._of.monitor.arrived(stream, batch.rows, self._of.now())
            self._of.arrivals.add(stream, batch.rows, self._of.now())
        self._of.log.put_stream(stream, message.batches[0].ref.stream, asdict(message.standing))
        before = self.standings.get(stream, LogPosition())
        self.standings[stream] = message.standing
        self._of.progress.waiting.advanced(stream, by_rows=any(batch.rows for batch in message.batches))
        self._of.log.add_known_files(stream, message.finished)
        self._remember_keys(message)
        self._of.retention.arrived(message, before.mark)
        self._of.results.missing.taken_in(stream, message.late)
        for ticket in message.tickets:
            self._of.afterwards(ticket.complete)

    def _remember_keys(self, message: Ingested) -> None:
        """Keys count with the rows that were pushed under them; old ones are forgotten now and then."""
        if message.keys:
            self._of.log.add_push_keys(message.stream, message.keys)
            if self._of.now() > self._keys_swept_s + SWEEP_S:
                self._keys_swept_s = self._of.now()
                self._of.log.forget_push_keys(self._keys_swept_s - KEYS_KEPT_S)

    def _forget_versions(self, epoch: int) -> None:
        """Drops versions of stored relations that no row meets: those on their way, or from this epoch on."""
        remembered = any(needs.epoch for needs in self._of.progress.asked.values())
        if self._keep_log or remembered or self._of.drains.need_relations:
            return  # what operators remember may be of any epoch
        queues = self._of.control.queues.values()
        waiting = (batch for queue_ in queues for batch in queue_.slice(queue_.freed, queue_.tail))
        oldest = min((batch.ref.oldest_epoch for batch in waiting), default=epoch)
        kept = self._of.retention.oldest_epoch
        for name, first, refs in self._relations.forget(min(oldest, epoch, epoch if kept is None else kept)):
            self._of.log.drop_versions(name, first)
            self._garbage.extend(ref.name for ref in refs)

    def drop_stream(self, stream: str) -> None:
        """Forgets a stream that no query reads."""
        self._of.retention.drop(stream)
        self.standings.pop(stream, None)
        self._of.progress.waiting.read(stream)
        self._of.arrivals.forget(stream)
        self._of.handle(StreamDropped(self._of.now(), stream))
        self._of.records.drop(stream)
        self._of.results.missing.drop(stream)

    def drop_relation(self, name: str) -> None:
        """Forgets a stored relation that no query reads."""
        self._garbage.extend(ref.name for ref in self._relations.remove(name))
        self._of.log.drop_relation(name)

    def has_been_read(self, stream: str) -> bool:
        """Whether somebody has read all of a stream, so that it makes sense to ask how far its time has come.

        Others may have much to do or be held; those that have not do not wait for them.
        """
        queue_ = self._of.control.stream_queue(stream)
        return not queue_.readers or any(reader.cursor >= queue_.tail for reader in queue_.readers)

    def read_up_to(self, stream: str) -> int:
        """The offset of a stream before which nothing waits or runs; asked between two events."""
        offsets = [
            batch.lo
            for queue_ in self._of.control.queues.values()
            for reader in queue_.readers
            for batch in reader.unfinished()
            if batch.leaf == stream
        ]
        return min(offsets, default=self._of.control.stream_queue(stream).offset)
