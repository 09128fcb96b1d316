"""How much of a queue one step takes."""

from __future__ import annotations

from penstock.control.queues import Queue, Reader
from penstock.model.batch import Batch
from penstock.model.graph import Port

MOST_BYTES = 1000


def filled(*sizes: float) -> Reader:
    """A reader of a queue with batches of ten rows and so many bytes."""
    queue = Queue(Port("s"))
    reader = Reader(0, queue, (), None)  # type: ignore[arg-type]
    queue.readers.append(reader)
    for n, size in enumerate(sizes):
        queue.push(Batch(10, size, 0.0, 0.0, 0.0, "s", 10 * n, 10 * n + 10), n + 1)
    return reader


def test_a_train_is_bounded_in_bytes_but_never_empty() -> None:
    reader = filled(2 * MOST_BYTES, 10, MOST_BYTES / 2, MOST_BYTES / 2, 20)
    trains = [[batch.lo for batch in reader.claim(None, MOST_BYTES)] for _ in range(3)]
    assert trains == [[0], [10, 20], [30, 40]]


def test_rows_and_bytes_are_bounded_together() -> None:
    reader = filled(MOST_BYTES / 2, MOST_BYTES / 2, MOST_BYTES / 2, 10, 10)
    assert len(reader.claim(25, MOST_BYTES)) == 2
    assert len(reader.claim(15, MOST_BYTES)) == 1
    assert len(reader.claim(100, MOST_BYTES)) == 2
