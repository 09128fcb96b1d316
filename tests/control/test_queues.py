"""How much of a queue one step takes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.control.queues import Queue, Reader
from penstock.model.batch import Batch
from penstock.model.graph import Port

MOST_BYTES = 1000


def filled(*sizes: float) -> Reader:
    """A reader of a queue with batches of ten rows and so many bytes."""
    queue = Queue(Port("s"), logged=True)
    reader = Reader(0, queue, (), None)  # type: ignore[arg-type]
    queue.readers.append(reader)
    for n, size in enumerate(sizes):
        queue.push(Batch(10, size, 0.0, 0.0, 0.0, "s", 10 * n, 10 * n + 10), n + 1)
    return reader


def test_a_train_is_bounded_in_bytes_and_has_at_least_one_row() -> None:
    reader = filled(2 * MOST_BYTES, 10, MOST_BYTES / 2, MOST_BYTES / 2, 20)
    trains = [[(batch.lo, batch.rows) for batch in reader.claim(None, MOST_BYTES)] for _ in range(4)]
    assert trains == [[(0, 5)], [(5, 5)], [(10, 10), (20, 10)], [(30, 10), (40, 10)]]
    assert len(filled(2 * MOST_BYTES).claim(None, 1)) == 1


def test_rows_and_bytes_are_bounded_together() -> None:
    reader = filled(MOST_BYTES / 2, MOST_BYTES / 2, MOST_BYTES / 2, 10, 10)
    assert [batch.rows for batch in reader.claim(25, MOST_BYTES)] == [10, 10]
    assert [batch.rows for batch in reader.claim(15, MOST_BYTES)] == [10, 5]
    assert [batch.rows for batch in reader.claim(100, MOST_BYTES)] == [5, 10]


def test_batches_without_rows_come_along() -> None:
    queue = Queue(Port("s"))
    reader = Reader(0, queue, (), None)  # type: ignore[arg-type]
    for n, rows in enumerate([0, 3, 0, 2]):
        queue.push(Batch(rows, 8.0 * rows, 0.0, 0.0, 0.0, "s", 0, 0), n + 1)
    assert [batch.rows for batch in reader.claim(3, MOST_BYTES)] == [0, 3, 0]


@given(
    st.lists(st.integers(0, 9), min_size=1, max_size=8),
    st.lists(
        st.tuples(st.none() | st.integers(1, 7), st.sampled_from([30.0, 1e9]), st.booleans()), min_size=1
    ),
    st.booleans(),
)
def test_however_rows_are_claimed_each_is_claimed_once_and_in_order(
    sizes: list[int], claims: list[tuple[int | None, float, bool]], logged: bool
) -> None:
    queue = Queue(Port("s"), logged=logged)
    reader = Reader(0, queue, (), None)  # type: ignore[arg-type]
    queue.readers.append(reader)
    queue.free()
    lo = 0
    for n, rows in enumerate(sizes):
        queue.push(Batch(rows, 8.0 * rows, 0.0, 1.0, 2.0, "s", lo, lo + rows, n), n + 1)
        lo += rows
    got: list[tuple[int, int]] = []
    completed: list[int] = []
    for number in range(1000):
        if reader.cursor == queue.tail:
            break
        most_rows, most_bytes, succeeds = claims[number % len(claims)]
        batches = reader.claim(most_rows, most_bytes)
        assert batches
        assert most_rows is None or sum(batch.rows for batch in batches) <= most_rows
        assert queue.rows_in - reader.rows_read == sum(batch.rows for batch in reader.unclaimed())
        assert batches[-1].complete == (not reader.claimed_rows)
        if not succeeds and number < 500:
            reader.undo()
            continue
        for batch in batches:
            got += [(batch.ref, batch.first_row + row) for row in range(batch.rows)]
            completed += [batch.ref] * batch.complete
            assert batch.until_s == (2.0 if batch.complete else 1.0)
            if logged:
                assert (batch.lo, batch.hi) == (
                    sum(sizes[: batch.ref]) + batch.first_row,
                    batch.lo + batch.rows,
                )
        reader.done()
    assert got == [(n, row) for n, rows in enumerate(sizes) for row in range(rows)]
    assert completed == list(range(len(sizes)))
    assert (queue.freed, queue.bytes) == (queue.tail, 0)
