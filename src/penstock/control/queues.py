"""Queues: FIFOs of batches with one cursor per reader; a batch is freed after the last has read it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock.model.batch import Batch
from penstock.model.graph import Edge, Port

if TYPE_CHECKING:
    from penstock.control.units import UnitState

_TRIM = 256  # freed batches kept at the front before the list is cut: cutting costs a copy


class Queue:
    """The batches at one output port, numbered from 0 for ever; those before `freed` are gone."""

    __slots__ = (
        "_batches", "_places", "awaited", "base", "bytes", "ended", "freed", "last_readers", "logged",
        "offset", "port", "readers", "register_s", "rows_in", "tail",
    )  # fmt: skip

    def __init__(self, port: Port, first: int = 0, *, logged: bool = False) -> None:
        self.port = port
        self.logged = logged  # whether it is a stream's: rows have consecutive offsets
        self.readers: list[Reader] = []
        self.awaited: dict[str, int] = {}  # where queries will begin that have yet to
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

    def recall(self, first: int, batches: Sequence[Batch], place: int) -> None:
        """Batches from that number on are there again, before those that somebody has yet to read.

        Nobody has read them yet of those who will; as far as order goes, all are queued now.
        """
        if not batches:
            return
        kept = slice(self.freed - self.base, None)
        self._batches = [*batches, *self._batches[kept]]
        self._places = [*[place] * len(batches), *self._places[kept]]
        self.base = self.freed = first
        self.bytes += sum(batch.bytes for batch in batches)
        self.last_readers = 0

    def free(self) -> None:
        """Drops what every reader has read, and nobody who is about to begin waits for."""
        cursors = [reader.cursor for reader in self.readers]
        low = min([*cursors, *self.awaited.values()], default=self.tail)
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

    Both are the number of a batch; `cursor_rows` and `claimed_rows` are how many rows of that batch are done
    or claimed already. While a switch is under way `limit` may keep it from reading on.
    """

    __slots__ = (
        "claimed", "claimed_rows", "cursor", "cursor_rows", "edges", "limit", "number", "queue", "rows_read",
        "unit",
    )  # fmt: skip

    def __init__(self, number: int, queue: Queue, edges: tuple[Edge, ...], unit: UnitState) -> None:
        self.number = number  # among the unit's readers
        self.queue = queue
        self.edges = edges
        self.unit = unit
        self.cursor = self.claimed = queue.tail
        self.cursor_rows = self.claimed_rows = 0
        self.rows_read = queue.rows_in
        self.limit: int | None = None

    @property
    def end(self) -> int:
        """Up to where it may read."""
        return self.queue.tail if self.limit is None else min(self.limit, self.queue.tail)

    @property
    def has_claimed(self) -> bool:
        """Whether a step has something of it in hand."""
        return self.claimed != self.cursor or self.claimed_rows != self.cursor_rows

    @property
    def batch_end(self) -> int:
        """Before which batch it stands once it has claimed the rest of the one it is in."""
        return self.claimed + 1 if self.claimed_rows else self.claimed

    def waiting_rows(self) -> int:
        """Rows it may read that no step has claimed."""
        if self.limit is None:
            return self.queue.rows_in - self.rows_read
        rows = sum(batch.rows for batch in self.queue.slice(self.claimed, self.end))
        return rows - self.claimed_rows if self.claimed < self.end else 0

    def unfinished(self) -> list[Batch]:
        """The batches that are not done, the first without the rows that are."""
        return self._from(self.cursor, self.cursor_rows, self.queue.tail)

    def unclaimed(self) -> list[Batch]:
        """The batches that no step has in hand, the first without the rows that one has."""
        return self._from(self.claimed, self.claimed_rows, self.queue.tail)

    def _from(self, number: int, rows: int, stop: int) -> list[Batch]:
        batches = self.queue.slice(number, stop)
        if rows and batches:
            batches[0] = batches[0].part(rows, batches[0].rows - rows, logged=self.queue.logged)
        return batches

    def claim(self, most_rows: int | None, most_bytes: float) -> tuple[Batch, ...]:
        """Puts rows into a step's hands: all that wait, or the first up to so many rows and bytes.

        It is at least one row. The claim may end inside a batch; for the bytes' sake it does only where that
        batch alone has too many. Batches without rows come along.
        """
        stop, queue = self.end, self.queue
        if most_rows is None and queue.bytes <= most_bytes:
            batches = self._from(self.claimed, self.claimed_rows, stop)
            rows = queue.rows_in - self.rows_read if stop == queue.tail else sum([b.rows for b in batches])
            self._claimed_up_to(stop, 0, rows)
            return tuple(batches)
        if most_rows is not None and queue.bytes <= most_bytes and self.claimed < stop:
            # Steps of few rows end inside a batch, or with it.
            batch, after = queue.batch(self.claimed), self.claimed + 1
            left = batch.rows - self.claimed_rows
            if most_rows < left or (most_rows == left and (after == stop or queue.batch(after).rows)):
                return (self.claim_part(most_rows),)
        taken: list[Batch] = []
        rows_left = float("inf") if most_rows is None else most_rows
        bytes_left = most_bytes
        while self.claimed < stop:
            batch = queue.batch(self.claimed)
            rows = batch.rows - self.claimed_rows
            row_bytes = batch.bytes / batch.rows if batch.rows else 0.0
            most = min(rows, rows_left)
            if rows * row_bytes > bytes_left:
                most = min(most, 0 if taken else int(bytes_left / row_bytes))
            if not taken:
                most = max(most, min(rows, 1))
            if most < rows:
                if most > 0:
                    taken.append(self.claim_part(int(most)))
                break
            taken.append(self.claim_part(rows))
            rows_left, bytes_left = rows_left - rows, bytes_left - rows * row_bytes
        return tuple(taken)

    def claim_part(self, most_rows: int | None) -> Batch:
        """Puts the next batch into a step's hands, or so many rows of what is left of it."""
        batch, first = self.queue.batch(self.claimed), self.claimed_rows
        rows = batch.rows - first if most_rows is None else min(most_rows, batch.rows - first)
        if first + rows == batch.rows:
            self._claimed_up_to(self.claimed + 1, 0, rows)
        else:
            self._claimed_up_to(self.claimed, first + rows, rows)
        return batch.part(first, rows, logged=self.queue.logged)

    def _claimed_up_to(self, number: int, rows_of_it: int, rows: int) -> None:
        self.claimed, self.claimed_rows = number, rows_of_it
        self.rows_read += rows

    def done(self) -> None:
        """What was claimed has been processed."""
        queue, before = self.queue, self.cursor
        self.cursor, self.cursor_rows = self.claimed, self.claimed_rows
        if before == queue.freed and self.cursor > before:
            queue.last_readers -= 1
            if not queue.last_readers:
                queue.free()

    def undo(self) -> None:
        """What was claimed goes back to the front of the queue."""
        claimed = sum(batch.rows for batch in self.queue.slice(self.cursor, self.claimed))
        self.rows_read -= claimed + self.claimed_rows - self.cursor_rows
        self.claimed, self.claimed_rows = self.cursor, self.cursor_rows

    def start_at(self, number: int, rows: int = 0) -> None:
        """Begins at that batch, which must not have been freed, behind so many rows of it."""
        self.cursor = self.claimed = number
        self.cursor_rows = self.claimed_rows = rows
        waiting = self.queue.slice(number, self.queue.tail)
        self.rows_read = self.queue.rows_in - sum(batch.rows for batch in waiting) + rows
