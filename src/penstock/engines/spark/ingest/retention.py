"""Retention: rows of some streams stay for a while after they came, for queries that come later.

Two kinds of queries have such rows. The first query of a stream that nobody reads has all of them: control
is not told of what comes meanwhile, so that its queue at the stream stands before it, and the query begins
there. It gets them in the commit in which it begins. What expires before that goes through control as well,
which frees what nobody reads. And a query that looks back (`start = '-10 min'`) begins at a row that came so
long ago, whoever has read it since: its batches are put into control's queue again.

Such rows meet stored tables as they were when the rows came.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
import numpy as np
import pyarrow.compute as pc

from penstock.control.events import BatchArrived, Recalled, StreamEnded
from penstock.engines.spark.ingest.feeder import Ingested
from penstock.engines.spark.ingest.retained import Kept, Retained
from penstock.engines.spark.operators.base import ARRIVED, END, TIME, UNKNOWN, micros
from penstock.model.batch import Batch
from penstock.model.operators import Source

if TYPE_CHECKING:
    from penstock.engines.spark.runtime.coordinator import Coordinator

_RETAINED = "retained"
_NEVER_S = float("inf")
#: What expires is let go of together, so often at most: each time is a commit.
_EXPIRY_S = 1.0
#: Of a stream: its first batch that is kept, for how long, from which on control has yet to be told, and the
#: watermark before all of them.
_Recorded: TypeAlias = tuple[int, float, int | None, int]


@dataclass(frozen=True, slots=True)
class LookBack:
    """Where a query that looks back begins in a stream, and when the first row there came, if there is one.

    Rows before that had made the watermark `mark`. It is `short` of what was asked for if they are not kept.
    """

    recalled: Recalled
    mark: int
    arrived_s: float | None
    short: bool


class Retention:
    """What the coordinator does about it, between two events and within a commit."""

    def __init__(self, coordinator: Coordinator) -> None:
        self._of, self._log = coordinator, coordinator.log
        self._retained = Retained()
        self._for_s: dict[str, float] = {}  # how long rows of each stream are kept
        self._marks: dict[str, int] = {}  # the watermark before what is kept
        self._unread: dict[str, int] = {}  # the first batch that control has not been told of
        self._recorded: dict[str, _Recorded] = {}
        self._alarm_s, self._expired_s = _NEVER_S, 0.0

    def arrived(self, message: Ingested, mark: int) -> None:
        """Batches that were logged: some are kept, and control hears of them unless nobody reads them.

        Those before them had made that watermark.
        """
        stream = message.stream
        for_s = message.feed.retention_s if message.feed is not None else None
        if for_s is None:
            self._let_go(stream)
        else:
            self._for_s[stream] = for_s
            if stream not in self._retained:
                self._marks[stream] = mark
            self._keep(stream, enumerate(message.batches, message.n))
        if for_s is not None and not self._is_read(stream):
            self._unread.setdefault(stream, message.n)
        else:
            self.hand_over()
            self._tell(stream, message.batches)
        self._changed()

    def hand_over(self) -> None:
        """Gives what waits for the first query of streams that are read by now. Called before each commit."""
        found = [stream for stream in self._unread if self._is_read(stream)]
        for stream in found:
            self._tell_unread(stream)
        if found:
            self._changed()

    def drop(self, stream: str) -> None:
        """A stream that is no more."""
        self._unread.pop(stream, None)
        if self._retained.drop(stream):
            self._changed()

    def look_back(self, source: Source, since_s: float) -> LookBack:
        """Where a query begins that wants the rows of a stream which came from then on.

        What waits for the first query of the stream waits no more: this one is that.
        """
        stream = source.stream
        if stream in self._unread:
            self._tell_unread(stream)
            self._changed()
        queue, kept = self._of.control.stream_queue(stream), self._retained.of(stream)
        since_us = round(since_s * 1e6)
        place = next((n for n, one in enumerate(kept) if one.batch.ref.arrived_us >= since_us), None)
        if place is None:
            short = queue.offset > 0 and not kept
            return LookBack(Recalled(stream, queue.tail, ()), micros(queue.register_s), None, short)
        one = kept[place]
        mark = kept[place - 1].batch.ref.mark if place else self._marks[stream]
        first, rows, arrived_us = one.batch, 0, round(one.batch.arrived_s * 1e6)
        if first.ref.ref is not None and arrived_us < since_us:
            table = self._of.store.get(first.ref.ref)
            arrived = np.asarray(table[ARRIVED])
            rows = int(np.argmax(arrived >= since_us))
            arrived_us = int(arrived[rows])
            latest = pc.max(table[TIME].slice(0, rows)).as_py()
            mark = mark if latest is None else max(mark, latest - micros(source.delay_s))
        now_s = self._of.now()  # nobody has waited for them so far
        again = tuple(
            msgspec.structs.replace(one.batch, arrived_s=now_s) for one in kept[place:] if one.n < queue.freed
        )
        short = place == 0 and rows == 0 and first.lo > 0
        return LookBack(Recalled(stream, one.n, again, rows), mark, arrived_us / 1e6, short)

    @property
    def oldest_epoch(self) -> int | None:
        """Tables as they were from that epoch on may be met by what is kept; None if nothing is."""
        return self._retained.oldest_epoch

    def restore(
        self, batches: Mapping[str, Sequence[tuple[int, Batch]]], unread: Iterable[str], now_s: float
    ) -> dict[str, Kept]:
        """After a restart; of streams that nobody reads, the first batch to tell control of."""
        recorded: Mapping[str, Sequence[Any]] = self._log.get(_RETAINED, {})
        for stream, (first, for_s, *more) in recorded.items():
            # Once only what waited for the first query was kept, and no watermark recorded.
            waits_from, self._marks[stream] = more or (first, UNKNOWN)
            self._for_s[stream] = for_s
            self._keep(stream, [(n, batch) for n, batch in batches.get(stream, ()) if n >= first])
            if waits_from is not None:
                self._unread[stream] = waits_from
        self._take_expired(now_s)
        found = {stream: self._retained.of(stream, self._unread.get(stream, END)) for stream in unread}
        waiting = {stream: kept[0] for stream, kept in found.items() if kept}
        self._unread = {stream: one.n for stream, one in waiting.items()}
        self._record()
        return waiting

    def _is_read(self, stream: str) -> bool:
        return bool(self._of.control.stream_queue(stream).readers)

    def _keep(self, stream: str, batches: Iterable[tuple[int, Batch]]) -> None:
        for_s = self._for_s[stream]
        kept = (Kept(n, batch, batch.ref.arrived_us / 1e6 + for_s) for n, batch in batches)
        self._retained.keep(stream, kept)

    def _let_go(self, stream: str) -> None:
        """Rows of a stream are kept no more."""
        if stream in self._retained:
            self._tell_unread(stream)
            self._retained.drop(stream)

    def _tell_unread(self, stream: str) -> None:
        """Control hears of what waited for the first query."""
        since = self._unread.pop(stream, None)
        if since is not None:
            self._tell(stream, [one.batch for one in self._retained.of(stream, since)])

    def _tell(self, stream: str, batches: Iterable[Batch]) -> None:
        """Control hears of batches; if they are the last of their stream, of its end as well."""
        of = self._of
        for batch in batches:
            of.handle(BatchArrived(of.now(), stream, batch))
        queue = of.control.stream_queue(stream)
        if of.intake.standings[stream].ended and stream not in self._unread and not queue.ended:
            of.handle(StreamEnded(of.now(), stream))
        of.records.sweep(stream, queue)

    def _take_expired(self, now_s: float) -> dict[str, list[Kept]]:
        found = self._retained.take_expired(now_s)
        for stream, kept in found.items():
            self._marks[stream] = kept[-1].batch.ref.mark
        return found

    def _expire(self) -> None:
        self._alarm_s, self._expired_s = _NEVER_S, self._of.now()
        for stream, kept in self._take_expired(self._expired_s).items():
            since = self._unread.get(stream)
            if since is not None:
                if stream in self._retained:
                    self._unread[stream] = max(since, self._retained.first(stream).n)
                else:
                    del self._unread[stream]
                self._tell(stream, [one.batch for one in kept if one.n >= since])
        self._changed()

    def _changed(self) -> None:
        """Something else is kept: what is not any more goes."""
        before = self._recorded
        self._record()
        for stream in before:
            if before[stream] != self._recorded.get(stream):
                self._of.records.sweep(stream, self._of.control.stream_queue(stream))

    def _record(self) -> None:
        """What is kept is recorded, and what expires next has its alarm."""
        now = {stream: self._recorded_of(stream) for stream in self._retained}
        if now != self._recorded:
            for stream in {*self._recorded, *now}:
                self._of.records.keep_from(stream, now[stream][0] if stream in now else None)
            self._recorded = now
            self._log.set(_RETAINED, now)
        at_s = max(self._retained.next_s, self._expired_s + _EXPIRY_S)
        if at_s < self._alarm_s:
            self._alarm_s = at_s
            self._of.mailbox.at(at_s, self._expire)

    def _recorded_of(self, stream: str) -> _Recorded:
        first = self._retained.first(stream).n
        return first, self._for_s[stream], self._unread.get(stream), self._marks[stream]
