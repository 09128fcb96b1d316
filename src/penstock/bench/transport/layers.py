"""Tuple transport layers: inputs in time order, and the signals that make an operator ready (StreamAPAS, 4).

Each operator has one. `available` says that there is something to process, `unavailable` that there is no
more, always one after the other. `take` gives the batch of least time stamp; where an input is empty, a batch
may pass that is not later than its register, the last time stamp that it gave.

The paper has the least register of all inputs. That of one with batches waiting would hold up the second of
two equal time stamps, and to let both pass is what the paper has registers for.

The paper's algorithm 2 names the two points of algorithm 1 the wrong way round in its comments: the least
time stamp decides where no input is empty.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from threading import Lock
from typing import Protocol, TypeAlias

from penstock.bench.transport.buffers import BUFFERS, Buffer
from penstock.model.batch import Batch

#: What a layer gives: a batch and the input it came by.
Taken: TypeAlias = tuple[Batch, int]


class Observer(Protocol):
    """Who wants to know whether an operator has something to process."""

    def available(self, layer: Layer) -> None:
        """It has."""
        ...

    def unavailable(self, layer: Layer) -> None:
        """It has no more."""
        ...


class Layer:
    """What all have in common; used as it is, one thread puts and takes, and nothing is synchronised."""

    __slots__ = ("_buffers", "_observer", "_registers", "_slot")

    def __init__(self, buffers: Sequence[Buffer], observer: Observer) -> None:
        self._buffers = tuple(buffers)
        self._registers = [float("-inf")] * len(buffers)
        self._observer = observer
        self._slot: int | None = None  # the input whose head is next; None while the operator is unavailable

    def put(self, slot: int, batch: Batch) -> None:
        """A batch for an input."""
        if self._buffers[slot].put(batch):
            self.occupied()

    def take(self) -> Taken | None:
        """The next batch to process, and its input."""
        slot = self._slot
        if slot is None:
            return None
        taken = self._from(slot)
        self._slot = self._next_slot()
        if self._slot is None:
            self._observer.unavailable(self)
        return taken

    def occupied(self) -> None:
        """An input that was empty is not any more."""
        if self._slot is None:
            self._slot = self._next_slot()
            if self._slot is not None:
                self._observer.available(self)

    def _from(self, slot: int) -> Taken:
        batch = self._buffers[slot].get()
        assert batch is not None, "only the operator's own worker takes"
        self._registers[slot] = batch.time_s
        return batch, slot

    def _next_slot(self) -> int | None:
        """Algorithm 1."""
        first: int | None = None
        least = reached = float("inf")
        for slot, buffer in enumerate(self._buffers):
            head = buffer.head()
            if head is None:
                reached = min(reached, self._registers[slot])
            elif head.time_s < least:
                first, least = slot, head.time_s
        return None if least > reached else first


class Synchronised(Layer):
    """The simple one: a lock for every call."""

    __slots__ = ("_monitor",)

    def __init__(self, buffers: Sequence[Buffer], observer: Observer) -> None:
        super().__init__(buffers, observer)
        self._monitor = Lock()

    def put(self, slot: int, batch: Batch) -> None:
        """Under the lock."""
        with self._monitor:
            super().put(slot, batch)

    def take(self) -> Taken | None:
        """Under the lock."""
        with self._monitor:
            return super().take()


class MonitoredSignals(Layer):
    """V1: a monitor where a signal may be due, that is where an input is empty or about to be (4.1).

    `least` is what the shortest input holds, if that is less than two. Whoever puts something into an empty
    input takes the monitor, and so does who takes while an input holds less than two.
    """

    __slots__ = ("_least", "_monitor")

    def __init__(self, buffers: Sequence[Buffer], observer: Observer) -> None:
        super().__init__(buffers, observer)
        self._monitor = Lock()
        self._least = 0

    def put(self, slot: int, batch: Batch) -> None:
        """By any thread."""
        if self._buffers[slot].put(batch):
            with self._monitor:
                self._least = self._shortest()
                self.occupied()

    def take(self) -> Taken | None:
        """By the worker."""
        if self._least > 1 and self._slot is not None:
            slot = self._slot
            taken = self._from(slot)
            if self._buffers[slot].at_most_two() < 2:
                self._least = 1
            # `_slot` stays while no other is known, so that nobody signals `available` a second time.
            following = self._next_slot()
            if following is not None:
                self._slot = following
                return taken
            with self._monitor:
                self._slot = self._next_slot()
                if self._slot is None:
                    self._observer.unavailable(self)
                return taken
        with self._monitor:
            taken_now = super().take()
            self._least = self._shortest()
            return taken_now

    def _shortest(self) -> int:
        return min(buffer.at_most_two() for buffer in self._buffers)


class OwnThread(Layer):
    """V2: only the worker's own thread touches signals, registers and the ready queue (4.2).

    Another thread that puts something into an empty input leaves an instruction for the worker.
    """

    __slots__ = ("_instruct",)

    def __init__(
        self, buffers: Sequence[Buffer], observer: Observer, instruct: Callable[[Callable[[], None]], None]
    ) -> None:
        super().__init__(buffers, observer)
        self._instruct = instruct

    def hand_over(self, slot: int, batch: Batch) -> None:
        """A batch from another thread; `put` is for the worker's own."""
        if self._buffers[slot].put(batch):
            self._instruct(self.occupied)


#: By name: the layer and its buffers. Those of V1 that cross threads are lock-free, as its `minSize` is.
KINDS: Mapping[str, tuple[type[Layer], str]] = {
    "local": (Layer, "local"),
    "synch": (Synchronised, "local"),
    "V1": (MonitoredSignals, "lock-free"),
    "V2, locked": (OwnThread, "locked"),
    "V2, lock-free": (OwnThread, "lock-free"),
    "V2, single-producer": (OwnThread, "single-producer"),
}


def make(
    kind: str, inputs: int, observer: Observer, instruct: Callable[[Callable[[], None]], None]
) -> tuple[Layer, Callable[[int, Batch], None]]:
    """A layer of that kind, and how another thread puts something into it."""
    layer_type, buffer = KINDS[kind]
    buffers = [BUFFERS[buffer]() for _ in range(inputs)]
    if layer_type is OwnThread:
        own = OwnThread(buffers, observer, instruct)
        return own, own.hand_over
    layer = layer_type(buffers, observer)
    return layer, layer.put
