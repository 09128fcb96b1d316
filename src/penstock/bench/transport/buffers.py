"""Stream buffers: FIFO queues of batches between two operators (StreamAPAS, 5).

What "lock-free" can mean here: CPython runs one thread's bytecode at a time, and a deque's `append` and
`popleft` are atomic under its lock, so that threads may use a deque without a lock of ours. There is no
compare-and-swap to write the paper's queue with; the interpreter's own lock does its work, and that is paid
whether threads share a buffer or not. So the same deque is a local buffer and a lock-free one from many to
many; what differs between them is how many threads are at it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from threading import Lock
from typing import Protocol

from penstock.model.batch import Batch


class Buffer(Protocol):
    """A FIFO queue of batches."""

    def put(self, batch: Batch) -> bool:
        """Appends a batch; whether it is the only one now, so that it was empty before."""
        ...

    def get(self) -> Batch | None:
        """Takes the first batch, if there is one."""
        ...

    def head(self) -> Batch | None:
        """The first batch, left where it is."""
        ...

    def at_most_two(self) -> int:
        """How many batches wait; 2 for any more, too."""
        ...


class Plain:
    """A deque as it is: local to a thread, or between any number of them thanks to the interpreter's lock."""

    __slots__ = ("_batches",)

    def __init__(self) -> None:
        self._batches: deque[Batch] = deque()

    def put(self, batch: Batch) -> bool:
        """Asks after having appended: what was taken in between was not lost, and needs no signal."""
        batches = self._batches
        batches.append(batch)
        return len(batches) == 1

    def get(self) -> Batch | None:
        """Another thread may have been faster: to look first would not help."""
        try:
            return self._batches.popleft()
        except IndexError:
            return None

    def head(self) -> Batch | None:
        """The same."""
        try:
            return self._batches[0]
        except IndexError:
            return None

    def at_most_two(self) -> int:
        """As the deque says."""
        return min(len(self._batches), 2)


class Locked:
    """Every access under a lock of the buffer's own: the basic implementation of the paper."""

    __slots__ = ("_batches", "_lock")

    def __init__(self) -> None:
        self._batches: deque[Batch] = deque()
        self._lock = Lock()

    def put(self, batch: Batch) -> bool:
        """Under the lock."""
        with self._lock:
            self._batches.append(batch)
            return len(self._batches) == 1

    def get(self) -> Batch | None:
        """Under the lock."""
        with self._lock:
            return self._batches.popleft() if self._batches else None

    def head(self) -> Batch | None:
        """Under the lock."""
        with self._lock:
            return self._batches[0] if self._batches else None

    def at_most_two(self) -> int:
        """Under the lock."""
        with self._lock:
            return min(len(self._batches), 2)


class _Node:
    __slots__ = ("batch", "next")

    def __init__(self, batch: Batch | None) -> None:
        self.batch = batch
        self.next: _Node | None = None


class SingleProducer:
    """A linked list that begins with a dummy, for one thread that puts and one that takes (algorithm 3).

    Putting changes only the tail, taking only the head.
    """

    __slots__ = ("_head", "_tail")

    def __init__(self) -> None:
        self._head = self._tail = _Node(None)

    def put(self, batch: Batch) -> bool:
        """Links a new node behind the tail."""
        node = _Node(batch)
        self._tail.next = node
        self._tail = node
        return self._head.next is node

    def get(self) -> Batch | None:
        """The first node behind the dummy becomes the dummy."""
        first = self._head.next
        if first is None:
            return None
        self._head = first
        batch, first.batch = first.batch, None
        return batch

    def head(self) -> Batch | None:
        """What is behind the dummy."""
        first = self._head.next
        return None if first is None else first.batch

    def at_most_two(self) -> int:
        """By following the list."""
        first = self._head.next
        return 0 if first is None else 1 if first.next is None else 2


#: By name. The local buffer and the lock-free one are the same structure.
BUFFERS: Mapping[str, Callable[[], Buffer]] = {
    "local": Plain,
    "locked": Locked,
    "lock-free": Plain,
    "single-producer": SingleProducer,
}
