"""What is true of control between any two events. Tests check it after every one; nothing else need."""

from __future__ import annotations

from penstock.control.lifecycle import State
from penstock.control.machine import Control
from penstock.control.queues import Queue, Reader
from penstock.control.units import UnitState
from penstock.errors import ControlError


def check_invariants(control: Control) -> None:
    """Raises ControlError with what is wrong and where."""
    for unit in control.units.values():
        _check_unit(unit)
        for reader in unit.readers:
            _check_reader(reader)
        running = [other for other in unit.conflicts if other.step]
        _must(
            not (unit.step and running), f"unit '{unit.place.unit.name}' runs beside one it shares state with"
        )
    for partition in control.partitions:  # right after a change it may run more steps than it has threads
        busy = sum(1 for unit in partition.units if unit.step)
        _must(busy == partition.running, f"partition {partition.number} runs {busy} steps")
    for queue in {id(r.queue): r.queue for unit in control.units.values() for r in unit.readers}.values():
        _check_queue(queue)


def _check_unit(unit: UnitState) -> None:
    name = unit.place.unit.name
    _must(
        (unit.state is State.RUNNING) == bool(unit.step),
        f"unit '{name}' is {unit.state.name} in step {unit.step}",
    )
    _must(
        (unit.state is State.READY) == (unit.entry is not None),
        f"unit '{name}' is {unit.state.name}, wrongly listed",
    )
    claimed = any(reader.has_claimed for reader in unit.readers)
    _must(
        bool(unit.step) == claimed,
        f"unit '{name}' in step {unit.step} has claimed {'something' if claimed else 'nothing'}",
    )


def _check_reader(reader: Reader) -> None:
    queue = reader.queue
    done, claimed = (reader.cursor, reader.cursor_rows), (reader.claimed, reader.claimed_rows)
    _must(
        queue.freed <= reader.cursor and done <= claimed <= (queue.tail, 0),
        f"a reader of {queue.port} stands at {reader.cursor}, {reader.claimed} of {queue.freed}…{queue.tail}",
    )
    for number, rows in (done, claimed):
        _must(
            rows == 0 or 0 < rows < queue.batch(number).rows,
            f"a reader of {queue.port} has read {rows} rows of batch {number}",
        )
    left = sum(batch.rows for batch in reader.unclaimed())
    _must(
        queue.rows_in - reader.rows_read == left, f"a reader of {queue.port} has lost count: {left} rows wait"
    )
    _must(reader in queue.readers, f"a reader of {queue.port} is not among its readers")


def _check_queue(queue: Queue) -> None:
    cursors = [reader.cursor for reader in queue.readers]
    wanted = min([*cursors, *queue.awaited.values()])
    _must(queue.freed == wanted, f"queue {queue.port} keeps what all have read")
    _must(
        queue.last_readers == cursors.count(queue.freed), f"queue {queue.port} has lost count of its readers"
    )
    held = sum(batch.bytes for batch in queue.slice(queue.freed, queue.tail))
    _must(
        abs(held - queue.bytes) < 1e-6 * max(1.0, held),
        f"queue {queue.port} counts {queue.bytes} bytes of {held}",
    )


def _must(true: bool, otherwise: str) -> None:
    if not true:
        raise ControlError(f"a defect in control: {otherwise}")
