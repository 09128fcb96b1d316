"""Queues: FIFOs of batches with one cursor per reader; a batch is freed after the last has read it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from penstock.model.batch import Batch
from penstock.model.graph import Edge, Port

if TYPE_CHECKING:
    from penstock.control.units import UnitState

_TRIM = 256  # freed batches kept at the front before the list is cut: cutting costs a copy


class Queue:
    """The batches at one output port, numbered from 0 for ever; those before `freed` are gone."""

    __slots__ = (
        "_batches", "_places", "base", "bytes", "ended", "freed", "last_readers", "offset", "port", "readers",
        "register_s", "rows_in", "tail",
    )  # fmt: skip

    def __init__(self, port: Port, first: int = 0) -> None:
        self.port = port
        self.readers: list[Reader] = []
        self.rows_in = 0
        self.offset = 0  # of a stream: where its log ends so far
        self.bytes = 0.0
        self.freed = first
        self.last_readers = 0  # how many readers stand at `freed`; when all have moved on, more can go
        self.ended = False
        self.register_s = float("-inf")
        self._batches: list[Batch] = []
        self._places: list[int] = []
        self.base = first  # the first batch that is still remembered, freed or not
        self.tail = first  # the number the next batch will get

    def has_ended_at(self, offset: int) -> bool:
        """Whether no row of a stream comes from an offset on."""
        return self.ended and offset >= self.offset

    def push(self, batch: Batch, place: int) -> None:
        """Appends a batch; `place` counts all batches put into any queue."""
        self._batches.append(batch)
        self._places.append(place)
        self.tail += 1
        self.rows_in += batch.rows
        self.bytes += batch.bytes
        self.offset = batch.hi
        if batch.until_s > self.register_s:
            self.register_s = batch.until_s

    def batch(self, number: int) -> Batch:
        """The batch of that number."""
        return self._batches[number - self.base]

    def place(self, number: int) -> int:
        """When the batch of that number was queued, counted over all queues."""
        return self._places[number - self.base]

    def slice(self, start: int, stop: int) -> list[Batch]:
        """The batches from `start` up to `stop`."""
        return self._batches[start - self.base : stop - self.base]

    def free(self) -> None:
        """Drops what every reader has read."""
        cursors = [reader.cursor for reader in self.readers]
        low = min(cursors, default=self.tail)
        self.last_readers = cursors.count(low)
        batches, base = self._batches, self.base
        for number in range(self.freed - base, low - base):
            self.bytes -= batches[number].bytes
        self.freed = low
        if low - base > _TRIM and 2 * (low - base) > len(batches):
            del batches[: low - base]
            del self._places[: low - base]
            self.base = low


class Reader:
    """One unit's place in a queue: read and done up to `cursor`, in a step's hands up to `claimed`.

    While a switch is under way `limit` may keep it from reading on.
    """

    __slots__ = ("claimed", "cursor", "edges", "limit", "number", "queue", "rows_read", "unit")

    def __init__(self, number: int, queue: Queue, edges: tuple[Edge, ...], unit: UnitState) -> None:
        self.number = number  # among the unit's readers
        self.queue = queue
        self.edges = edges
        self.unit = unit
        self.cursor = self.claimed = queue.tail
        self.rows_read = queue.rows_in
        self.limit: int | None = None

    @property
    def end(self) -> int:
        """Up to where it may read."""
        return self.queue.tail if self.limit is None else min(self.limit, self.queue.tail)

    def waiting_rows(self) -> int:
        """Rows it may read that no step has claimed."""
        if self.limit is None:
            return self.queue.rows_in - self.rows_read
        return sum(batch.rows for batch in self.queue.slice(self.claimed, self.end))

    def claim(self, most_rows: int | None, most_bytes: float) -> tuple[Batch, ...]:
        """Puts batches into a step's hands: all that wait, or the first up to so many rows and bytes.

        It is at least one, however large.
        """
        queue, start, stop = self.queue, self.claimed, self.end
        if most_rows is not None or queue.bytes > most_bytes:
            rows, bytes_, number = 0, 0.0, start
            while number < stop:
                batch = queue.batch(number)
                rows, bytes_ = rows + batch.rows, bytes_ + batch.bytes
                if number > start and (bytes_ > most_bytes or (most_rows is not None and rows > most_rows)):
                    break
                number += 1
            stop = number
        batches = tuple(queue.slice(start, stop))
        self.claimed = stop
        if stop == queue.tail:
            self.rows_read = queue.rows_in
        else:
            self.rows_read += sum([batch.rows for batch in batches])
        return batches

    def claim_one(self) -> Batch:
        """Puts the next batch into a step's hands."""
        batch = self.queue.batch(self.claimed)
        self.claimed += 1
        self.rows_read += batch.rows
        return batch

    def done(self) -> None:
        """What was claimed has been processed."""
        queue, before = self.queue, self.cursor
        self.cursor = self.claimed
        if before == queue.freed:
            queue.last_readers -= 1
            if not queue.last_readers:
                queue.free()

    def undo(self) -> None:
        """What was claimed goes back to the front of the queue."""
        self.rows_read -= sum(batch.rows for batch in self.queue.slice(self.cursor, self.claimed))
        self.claimed = self.cursor

    def start_at(self, number: int) -> None:
        """Begins at that batch, which must not have been freed."""
        self.cursor = self.claimed = number
        waiting = self.queue.slice(number, self.queue.tail)
        self.rows_read = self.queue.rows_in - sum(batch.rows for batch in waiting)
