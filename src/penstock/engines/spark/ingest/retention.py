"""Retention: rows that come while no query reads their stream wait for the first one that will.

Control is not told of them, so that its queue at the stream stands before them, and the query begins there.
It gets them in the commit in which it begins. What expires before that goes through control as well, which
frees what nobody reads.

Such rows meet stored tables as they are when the query begins: nobody has read the tables before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from penstock.control.events import BatchArrived, StreamEnded
from penstock.engines.spark.ingest.feeder import Ingested
from penstock.engines.spark.ingest.retained import Kept, Retained
from penstock.model.batch import Batch

if TYPE_CHECKING:
    from penstock.engines.spark.runtime.coordinator import Coordinator

_RETAINED = "retained"
_NEVER_S = float("inf")


class Retention:
    """What the coordinator does about it, between two events and within a commit."""

    def __init__(self, coordinator: Coordinator) -> None:
        self._of, self._log = coordinator, coordinator.log
        self._retained = Retained()
        self._for_s: dict[str, float] = {}  # how long rows of each stream are kept
        self._recorded: dict[str, tuple[int, float]] = {}
        self._alarm_s = _NEVER_S

    def arrived(self, message: Ingested) -> None:
        """Batches that were logged: they are kept for the first reader, or control hears of them."""
        stream = message.stream
        for_s = message.feed.retention_s if message.feed is not None else None
        if for_s is not None and not self._is_read(stream):
            self._for_s[stream] = for_s
            self._keep(stream, enumerate(message.batches, message.n))
            self._changed()
        else:
            self.hand_over()
            self._tell(stream, message.batches)

    def hand_over(self) -> None:
        """Gives what is kept of streams that are read by now to their readers. Called before each commit."""
        if not any(self._is_read(stream) for stream in self._retained):
            return
        epoch = self._log.last_epoch()
        for stream in self._retained:
            if self._is_read(stream):
                kept = [self._of_epoch(stream, one, epoch) for one in self._retained.take(stream)]
                self._tell(stream, kept)
        self._changed()

    def drop(self, stream: str) -> None:
        """A stream that is no more."""
        if self._retained.take(stream):
            self._changed()

    def restore(
        self, batches: Mapping[str, Sequence[tuple[int, Batch]]], unread: Iterable[str], now_s: float
    ) -> dict[str, Kept]:
        """After a restart: what is kept of streams that nobody reads; the first batch of each."""
        recorded = self._log.get(_RETAINED, {})
        for stream in [stream for stream in unread if stream in recorded]:
            first, self._for_s[stream] = recorded[stream]
            self._keep(stream, [(n, batch) for n, batch in batches.get(stream, ()) if n >= first])
        self._retained.take_expired(now_s)
        self._changed()
        return {stream: self._retained.first(stream) for stream in self._retained}

    def _is_read(self, stream: str) -> bool:
        return bool(self._of.control.stream_queue(stream).readers)

    def _keep(self, stream: str, batches: Iterable[tuple[int, Batch]]) -> None:
        for_s = self._for_s[stream]
        kept = (Kept(n, batch, batch.ref.arrived_us / 1e6 + for_s) for n, batch in batches)
        self._retained.keep(stream, kept)

    def _of_epoch(self, stream: str, kept: Kept, epoch: int) -> Batch:
        """A batch whose rows meet the tables of that epoch."""
        held = kept.batch.ref
        if held.epoch >= epoch:
            return kept.batch
        batch = msgspec.structs.replace(kept.batch, ref=replace(held, epoch=epoch))
        self._log.replace_batch(stream, kept.n, batch)
        return batch

    def _tell(self, stream: str, batches: Iterable[Batch]) -> None:
        """Control hears of batches; if they are the last of their stream, of its end as well."""
        of = self._of
        for batch in batches:
            of.handle(BatchArrived(of.now(), stream, batch))
        if of.intake.standings[stream].ended and stream not in self._retained:
            of.handle(StreamEnded(of.now(), stream))
        of.records.sweep(stream, of.control.stream_queue(stream))

    def _expire(self) -> None:
        self._alarm_s = _NEVER_S
        for stream, kept in self._retained.take_expired(self._of.now()).items():
            self._tell(stream, [one.batch for one in kept])
        self._changed()

    def _changed(self) -> None:
        """Something else is kept: that is recorded, and what expires next has its alarm."""
        now = {stream: (self._retained.first(stream).n, self._for_s[stream]) for stream in self._retained}
        if now != self._recorded:
            self._recorded = now
            self._log.set(_RETAINED, now)
        if self._retained.next_s < self._alarm_s:
            self._alarm_s = self._retained.next_s
            self._of.mailbox.at(self._alarm_s, self._expire)
