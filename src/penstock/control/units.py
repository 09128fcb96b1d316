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
from penstock.policies.gains import NOTHING
from penstock.policies.layout import UnitPlace
from penstock.policies.quantum import Quantum
from penstock.policies.ranks.base import TrueRow

if TYPE_CHECKING:
    from penstock.control.partitions import Partition

#: Tells the true cost of a unit's waiting rows; only a simulator has one.
Oracle: TypeAlias = Callable[["UnitState"], Iterator[TrueRow]]


#: The share of a latency for which rows may wait for others; and that which one step may take.
WAIT_SHARE, STEP_SHARE = 0.25, 0.5


class UnitState:
    """One unit of the running cut. Satisfies `policies.ranks.base.RankedUnit`."""

    __slots__ = (
        "broken",
        "conflicts",
        "cost",
        "debt_s",
        "entry",
        "failures",
        "finishing",
        "fixed_s",
        "gains",
        "held",
        "in_inbox",
        "index",
        "is_measured",
        "latency_s",
        "may_be_large",
        "may_wait",
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
        "wanted_s",
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
        self.cost: UnitCost  # as the policy's rank counts it
        self.fixed_s = 0.0  # what a step takes before its first row
        self.is_measured = False  # whether that is known from its own steps
        self.gains = NOTHING
        self.latency_s: float | None = None  # the least that a query it serves asks for
        self.may_wait = False  # whether all of them ask for one, so that nobody minds if rows wait for more
        self.may_be_large = False  # whether many tasks can run it at once
        self.wanted_s = float("-inf")  # what arrived until then is not to wait
        self.seat = 0  # its place among the units of its partition
        self.order = 0  # among equals the least goes first: what is nearer to a result, then by seat
        self.state = State.SUSPENDED
        self.entry: Any = None  # its entry in the ready set
        self.in_inbox = False
        self.held = False  # all queries it serves are suspended
        self.finishing = False  # they are, but it is inside a batch that it has to read to its end first
        self.broken = False  # its last steps have failed
        self.step = 0  # the step it runs, 0 for none
        self.failures = 0
        self.spare_s: float | None = None  # seconds its step may take, None for any
        self.debt_s = 0.0
        self.pending = 0
        self.oldest_s = 0.0

    @property
    def is_inside_batch(self) -> bool:
        """Whether it has read a part of a batch of an inner queue.

        Nobody knows which rows of a stream the other part stems from, so no query can stop there.
        """
        return any((r.cursor_rows or r.claimed_rows) and not r.queue.logged for r in self.readers)

    def look(self, tau: int) -> bool:
        """Counts what waits, for ranks to read; whether that is enough to run."""
        if self.finishing:
            return self._look_at_rest()
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

    def _begun(self) -> list[Reader]:
        """The readers that are inside a batch of an inner queue."""
        return [r for r in self.readers if r.claimed_rows and not r.queue.logged]

    def _look_at_rest(self) -> bool:
        heads = [(reader, reader.queue.batch(reader.claimed)) for reader in self._begun()]
        self.pending = sum(head.rows - reader.claimed_rows for reader, head in heads) or 1
        self.oldest_s = min((head.arrived_s for _, head in heads), default=0.0)
        return bool(heads)

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

    def waits_until(self) -> float:
        """Until when rows wait for more to come, so that there are fewer and larger steps and files.

        That is a part of the latency that the queries grant, from the moment rows came in from outside. Where
        no more can come or go into one step, or a switch needs the rows, they do not.
        """
        if not self.may_wait or self.latency_s is None or self.finishing:
            return float("-inf")
        if self.oldest_s <= self.wanted_s:
            return float("-inf")
        if any(r.limit is not None or r.queue.ended for r in self.readers) or self._fills_a_step():
            return float("-inf")
        step_s = self.fixed_s + self.pending * self.cost.row_s
        if step_s >= WAIT_SHARE * self.latency_s:
            return float("-inf")
        return self.oldest_s + WAIT_SHARE * self.latency_s - step_s

    def _fills_a_step(self) -> bool:
        """Whether one step would not take all that waits."""
        most_rows, most_bytes = self.partition.quantum.rows, self.partition.most_bytes
        return (most_rows is not None and self.pending >= most_rows) or (
            sum(r.queue.bytes for r in self.readers) >= most_bytes
        )

    def is_long(self, seconds: float) -> bool:
        """Whether a step would take longer, and longer than twice its fixed cost.

        That is over all that waits, or over so many rows of it as the policy lets a step take.
        """
        partition = self.partition
        most = None if partition.sizes else partition.quantum.rows
        rows = self.pending if most is None else min(self.pending, most)
        return self.fixed_s + rows * self.cost.row_s > max(seconds, 2 * self.fixed_s)

    def rows_within(self, seconds: float) -> int:
        """How many rows a step of so many seconds takes, or of twice its fixed cost if that is longer."""
        return max(1, int((max(seconds, 2 * self.fixed_s) - self.fixed_s) / self.cost.row_s))

    def take(self, quantum: Quantum, most_bytes: float) -> tuple[Take, ...]:
        """Claims a train of batches of at most the quantum, the oldest first."""
        most_rows = quantum.rows
        if quantum.seconds is None:
            self.spare_s = None
        else:  # every operator of the unit runs for the quantum; a step is never mostly its fixed cost
            fixed_s = self.fixed_s
            self.spare_s = max(2 * fixed_s, quantum.seconds * self.cost.operators - self.debt_s)
            # A hair's breadth more, so that rounding does not cost a row.
            timed = max(1, int((self.spare_s - fixed_s) / self.cost.row_s + 1e-6))
            most_rows = timed if most_rows is None else min(timed, most_rows)
        if self.finishing:
            return tuple(Take(r.number, r.edges, (r.claim_part(most_rows),)) for r in self._begun())
        reader = self.sole
        if reader is not None:
            return (Take(0, reader.edges, reader.claim(most_rows, most_bytes)),)
        if most_rows is None and not self.ordered:
            waiting = [r for r in self.readers if r.claimed < r.end]
            each = most_bytes / max(len(waiting), 1)
            return tuple(Take(r.number, r.edges, r.claim(None, each)) for r in waiting)
        return self._take_one_by_one(most_rows, most_bytes)

    def _take_one_by_one(self, most_rows: int | None, most_bytes: float) -> tuple[Take, ...]:
        runs: list[tuple[Reader, list[Batch]]] = []
        rows, bytes_ = 0, 0.0
        while True:
            reader = next_in_order(self.readers) if self.ordered else self._oldest()
            if reader is None:
                break
            whole = reader.queue.batch(reader.claimed)
            left = None if most_rows is None else most_rows - rows
            if runs and whole.rows and (left == 0 or bytes_ + whole.bytes > most_bytes):
                break
            if whole.bytes > most_bytes:  # one row at the least
                fitting = max(1, int(most_bytes / whole.bytes * whole.rows))
                left = fitting if left is None else min(left, fitting)
            batch = reader.claim_part(left)
            rows, bytes_ = rows + batch.rows, bytes_ + batch.bytes
            if not runs or runs[-1][0] is not reader:
                runs.append((reader, []))
            runs[-1][1].append(batch)
        return tuple(Take(reader.number, reader.edges, tuple(batches)) for reader, batches in runs)

    @property
    def place_in_line(self) -> int:
        """Which of all batches put into queues so far its oldest waiting one was."""
        reader = self.sole or self._oldest()
        return 0 if reader is None else reader.queue.place(reader.claimed)

    @property
    def place_among_ready(self) -> float:
        """Which of its partition's units that became ready it was; while it is ready it keeps its place.

        For ranks that have it as their priority: the key in the ready set is the place then.
        """
        entry = self.entry
        return self.partition.ready.serial + 1 if entry is None else float(entry[0])

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
