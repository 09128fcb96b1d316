"""Units at run time: what a rank reads of them, and the trains they take."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

from penstock.control.commands import Take
from penstock.control.lifecycle import State
from penstock.control.merging import next_in_order
from penstock.control.queues import Reader
from penstock.model.batch import Batch
from penstock.policies.costs import UnitCost
from penstock.policies.layout import UnitPlace
from penstock.policies.quantum import Quantum
from penstock.policies.ranks.base import TrueRow

if TYPE_CHECKING:
    from penstock.control.partitions import Partition

#: Tells the true cost of a unit's waiting rows; only a simulator has one.
Oracle: TypeAlias = Callable[["UnitState"], Iterator[TrueRow]]


class UnitState:
    """One unit of the running cut. Satisfies `policies.ranks.base.RankedUnit`."""

    __slots__ = (
        "conflicts",
        "cost",
        "debt_s",
        "entry",
        "failures",
        "held",
        "in_inbox",
        "index",
        "oldest_s",
        "oracle",
        "order",
        "ordered",
        "partition",
        "pending",
        "place",
        "readers",
        "seat",
        "sole",
        "spare_s",
        "state",
        "step",
        "weight",
    )

    def __init__(self, index: int, place: UnitPlace, *, ordered: bool, oracle: Oracle | None) -> None:
        self.index = index
        self.place = place
        self.ordered = ordered
        self.oracle = oracle
        self.readers: tuple[Reader, ...] = ()
        self.sole: Reader | None = None  # its reader, if it has one and takes rows as they come
        self.conflicts: tuple[UnitState, ...] = ()
        self.partition: Partition
        self.cost: UnitCost
        self.weight = 1.0
        self.seat = 0  # its place among the units of its partition
        self.order = 0  # among equals the least goes first: what is nearer to a result, then by seat
        self.state = State.SUSPENDED
        self.entry: Any = None  # its entry in the ready set
        self.in_inbox = False
        self.held = False  # all queries it serves are suspended
        self.step = 0  # the step it runs, 0 for none
        self.failures = 0
        self.spare_s: float | None = None  # seconds its step may take, None for any
        self.debt_s = 0.0
        self.pending = 0
        self.oldest_s = 0.0

    def look(self, tau: int) -> bool:
        """Counts what waits, for ranks to read; whether that is enough to run."""
        reader = self.sole
        if reader is not None and reader.limit is None:
            queue, start = reader.queue, reader.claimed
            if start == queue.tail:
                return False
            rows = queue.rows_in - reader.rows_read
            self.pending = rows or 1
            self.oldest_s = queue.batch(start).arrived_s
            return rows > tau or tau == 0 or queue.ended
        return self._look_in_order(tau) if self.ordered else self._look_at_all(tau)

    def _look_at_all(self, tau: int) -> bool:
        rows, oldest, waived, waits = 0, float("inf"), tau == 0, False
        for reader in self.readers:
            start, queue = reader.claimed, reader.queue
            if start < (queue.tail if reader.limit is None else reader.end):
                rows += reader.waiting_rows()
                oldest = min(oldest, queue.batch(start).arrived_s)
                waits = True
                waived = waived or queue.ended or reader.limit is not None
        self.pending, self.oldest_s = rows or 1, oldest
        return waits and (waived or rows > tau)

    def _look_in_order(self, tau: int) -> bool:
        reader = next_in_order(self.readers)
        if reader is None:
            return False
        head = reader.queue.batch(reader.claimed)
        rows = sum(r.waiting_rows() for r in self.readers)
        self.pending, self.oldest_s = rows or 1, head.arrived_s
        waived = tau == 0 or any(r.queue.ended or r.limit is not None for r in self.readers)
        return waived or rows > tau

    def take(self, quantum: Quantum) -> tuple[Take, ...]:
        """Claims a train of batches of at most the quantum, the oldest first."""
        most_rows, most_bytes = quantum.rows, self.partition.most_bytes
        if quantum.seconds is None:
            self.spare_s = None
        else:  # every operator of the unit runs for the quantum
            self.spare_s = max(0.0, quantum.seconds * self.cost.operators - self.debt_s)
            # A hair's breadth more, so that rounding does not cost a row.
            timed = max(1, int((self.spare_s - self.cost.fixed_s) / self.cost.row_s + 1e-6))
            most_rows = timed if most_rows is None else min(timed, most_rows)
        reader = self.sole
        if reader is not None:
            return (Take(0, reader.edges, reader.claim(most_rows, most_bytes)),)
        if most_rows is None and not self.ordered:
            waiting = [r for r in self.readers if r.claimed < r.end]
            return tuple(Take(r.number, r.edges, r.claim(None, most_bytes)) for r in waiting)
        return self._take_one_by_one(most_rows, most_bytes)

    def _take_one_by_one(self, most_rows: int | None, most_bytes: float) -> tuple[Take, ...]:
        runs: list[tuple[Reader, list[Batch]]] = []
        rows, bytes_ = 0, 0.0
        while most_rows is None or rows < most_rows:
            reader = next_in_order(self.readers) if self.ordered else self._oldest()
            if reader is None:
                break
            batch = reader.queue.batch(reader.claimed)
            rows, bytes_ = rows + batch.rows, bytes_ + batch.bytes
            if runs and (bytes_ > most_bytes or (most_rows is not None and rows > most_rows)):
                break
            if not runs or runs[-1][0] is not reader:
                runs.append((reader, []))
            runs[-1][1].append(reader.claim_one())
        return tuple(Take(reader.number, reader.edges, tuple(batches)) for reader, batches in runs)

    @property
    def place_in_line(self) -> int:
        """Which of all batches put into queues so far its oldest waiting one was."""
        reader = self.sole or self._oldest()
        return 0 if reader is None else reader.queue.place(reader.claimed)

    def _oldest(self) -> Reader | None:
        waiting = [reader for reader in self.readers if reader.claimed < reader.end]
        return min(waiting, key=lambda r: r.queue.place(r.claimed), default=None)

    def next_turn(self) -> int:
        """The number of its next turn when units take turns in order of seat."""
        turn, size = self.partition.turn, self.partition.size
        return turn + 1 + (self.seat - turn - 1) % size

    def true_rows(self) -> Iterator[TrueRow]:
        """Its waiting rows in order, as they really are."""
        assert self.oracle is not None, "control refuses policies that need an oracle when there is none"
        return self.oracle(self)
