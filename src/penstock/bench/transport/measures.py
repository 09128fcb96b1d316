"""What is measured: each a function that says how many seconds one batch, signal, access or row takes.

Costs are those of a thread that does what the paper's engine does, in Python, calls of methods included. They
are processor time, of the thread or of all threads together, so that other programs do not count; only waking
a thread is told by the clock. Threads of one interpreter take turns, so all of them together need what one
would, and what it costs to take turns.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from threading import Lock
from typing import TypeAlias, TypeVar

from penstock.bench.transport.buffers import BUFFERS, Buffer
from penstock.bench.transport.layers import KINDS, Layer, make
from penstock.bench.transport.threads import switch_s, together_s, wake_up_s
from penstock.model.batch import Batch

#: Seconds for one, given how many are to be handled.
Measure: TypeAlias = Callable[[int], float]
Value = TypeVar("Value")

THREADS = (1, 2, 3, 4)
#: That take turns: as many as a thread for each operator of up to 200 queries can come to.
MANY_THREADS = (2, 10, 100, 1000)
#: The paper's windows.
WINDOW_ROWS = 500
_STRIDE = 2  # inputs of a layer: those of a join


def handles(count: int) -> list[Batch]:
    """Batches of one row, in order of time."""
    return [Batch(1, 100.0, n * 1e-3, n * 1e-3, n * 1e-3, "s", n, n + 1) for n in range(count)]


# --- buffers ---


def putting(kind: str, count: int) -> float:
    """One batch into a buffer, by the only thread there is."""
    buffer, batches = BUFFERS[kind](), handles(count)
    return _each(buffer.put, batches)


def getting(kind: str, count: int) -> float:
    """One batch out of it."""
    buffer = BUFFERS[kind]()
    for batch in handles(count):
        buffer.put(batch)
    return _seconds(partial(_drain, buffer, count)) / count


def paired(kind: str, count: int) -> float:
    """One batch through a buffer while one thread puts and another takes; there is always one to take."""
    buffer, batches = BUFFERS[kind](), handles(count)
    for batch in handles(count):
        buffer.put(batch)
    return together_s([partial(_fill, buffer, batches), partial(_drain, buffer, count)]) / count


def contended(kind: str, threads: int, count: int) -> float:
    """One batch into and out of a buffer that so many threads use, each putting and taking in turn."""
    buffer, batches = BUFFERS[kind](), handles(max(count // threads, 1))
    works = [partial(_in_and_out, buffer, batches) for _ in range(threads)]
    return together_s(works) / (threads * len(batches))


def _in_and_out(buffer: Buffer, batches: list[Batch]) -> None:
    for batch in batches:
        buffer.put(batch)
        buffer.get()


def _fill(buffer: Buffer, batches: list[Batch]) -> None:
    for batch in batches:
        buffer.put(batch)


def _drain(buffer: Buffer, count: int) -> None:
    for _ in range(count):
        buffer.get()


# --- layers ---


class _Silent:
    """Signals cost what sending them costs; what a ready queue does with them is measured by itself."""

    def available(self, layer: Layer) -> None:
        """Nothing."""

    def unavailable(self, layer: Layer) -> None:
        """Nothing."""


class _Instructions:
    """A worker's instruction queue; the worker serves it between two batches."""

    def __init__(self) -> None:
        self._queue: deque[Callable[[], None]] = deque()
        self.leave = self._queue.append

    def serve(self) -> None:
        """All that there is."""
        while self._queue:
            self._queue.popleft()()


def layer_putting(kind: str, count: int) -> float:
    """One batch into an operator's transport layer whose inputs are not empty: no signal."""
    instructions = _Instructions()
    layer, put = make(kind, _STRIDE, _Silent(), instructions.leave)
    batches = _primed(put, count)
    taken = _seconds(lambda: _spread(put, batches))
    instructions.serve()
    assert layer.take() is not None
    return taken / len(batches)


def layer_taking(kind: str, count: int) -> float:
    """The next batch of an operator whose inputs are not empty, in order of time: no signal."""
    instructions = _Instructions()
    layer, put = make(kind, _STRIDE, _Silent(), instructions.leave)
    _spread(put, _primed(put, count))
    instructions.serve()

    def take_all() -> None:
        for _ in range(count):
            layer.take()

    return _seconds(take_all) / count


def signalling(kind: str, count: int) -> float:
    """One batch through a layer that is empty before and after: both signals, and the instruction of V2."""
    instructions = _Instructions()
    layer, put = make(kind, 1, _Silent(), instructions.leave)
    serve = instructions.serve if kind.startswith("V2") else None
    batches = handles(count)

    def through() -> None:
        for batch in batches:
            put(0, batch)
            if serve is not None:
                serve()
            layer.take()

    return _seconds(through) / count


def unsignalled(kind: str, count: int) -> float:
    """The same through a layer that is never empty: signals cost what `signalling` takes more than this."""
    instructions = _Instructions()
    layer, put = make(kind, 1, _Silent(), instructions.leave)
    for batch in handles(4):
        put(0, batch)
    instructions.serve()
    batches = handles(count)

    def through() -> None:
        for batch in batches:
            put(0, batch)
            layer.take()

    return _seconds(through) / count


def layer_paired(kind: str, count: int) -> float:
    """One batch through a layer while one thread feeds it and its worker takes."""
    instructions = _Instructions()
    layer, put = make(kind, 1, _Silent(), instructions.leave)
    for batch in handles(count):
        put(0, batch)
    instructions.serve()
    batches = handles(count)

    def feed() -> None:
        for batch in batches:
            put(0, batch)

    def take() -> None:
        for _ in batches:
            layer.take()

    return together_s([feed, take]) / count


def _primed(put: Callable[[int, Batch], None], count: int) -> list[Batch]:
    """Batches of which the first few are in already, so that no input is empty."""
    batches = handles(count + 4 * _STRIDE)
    _spread(put, batches[: 4 * _STRIDE])
    return batches[4 * _STRIDE :]


def _spread(put: Callable[[int, Batch], None], batches: list[Batch]) -> None:
    """Over the inputs in turn."""
    slot = 0
    for batch in batches:
        put(slot, batch)
        slot = 1 - slot


# --- ready queues, threads ---


def readying(threads: int, count: int) -> float:
    """Taking an operator from the ready queue of all workers and putting it back: two locked accesses."""
    queue, lock = deque(range(threads * 4)), Lock()

    def work() -> None:
        for _ in range(max(count // threads, 1)):
            with lock:
                operator = queue.popleft()
            with lock:
                queue.append(operator)

    return together_s([work] * threads) / (threads * max(count // threads, 1))


def readying_own(count: int) -> float:
    """The same at a worker's own ready queue."""
    queue = deque(range(4))

    def work() -> None:
        for _ in range(count):
            queue.append(queue.popleft())

    return _seconds(work) / count


def waking(count: int) -> float:
    """From one thread's putting something until another, which waited for it, has it; the median of many."""
    return wake_up_s(max(count // 20, 50))


def switching(threads: int, count: int) -> float:
    """From one of so many threads to the next, in turn."""
    return switch_s(threads, max(count // 4 // threads, 3))


# --- operators, for scale ---


def calling(count: int) -> float:
    """Handing a row to the next operator by calling it."""
    return _each(_Passing().process, [float(n % 100) for n in range(count)])


def selecting(count: int) -> float:
    """A selection of one row."""
    return _each(_Selecting().process, [float(n % 100) for n in range(count)])


def windowing(count: int) -> float:
    """One row into a window of the last 500, and the oldest out of it."""
    return _each(_Windowing().process, [float(n % 100) for n in range(count)])


def joining(count: int) -> float:
    """One row against each row of a full window, per row of that window: value1 < value2."""
    window = deque((float(n % 100) for n in range(WINDOW_ROWS)), WINDOW_ROWS)
    probes = [0.0 if n % 4 else 100.0 for n in range(max(count // WINDOW_ROWS, 4))]

    def probe() -> None:
        for value in probes:
            [other for other in window if value < other]

    return _seconds(probe) / len(probes) / WINDOW_ROWS


def pairing(count: int) -> float:
    """Making one result of two rows."""
    rows = [(float(n), 1.0) for n in range(count)]
    return _seconds(lambda: [(one, other, one < other) for one, other in rows]) / count


class _Passing:
    def process(self, value: float) -> float:
        return value


class _Selecting:
    def __init__(self) -> None:
        self.passed = 0

    def process(self, value: float) -> None:
        if value < 50.0:
            self.passed += 1


class _Windowing:
    def __init__(self) -> None:
        self._rows: deque[float] = deque()

    def process(self, value: float) -> None:
        self._rows.append(value)
        if len(self._rows) > WINDOW_ROWS:
            self._rows.popleft()


def _each(function: Callable[[Value], object], values: Sequence[Value]) -> float:
    def work() -> None:
        for value in values:
            function(value)

    return _seconds(work) / len(values)


def _seconds(work: Callable[[], object]) -> float:
    began = time.thread_time()
    work()
    return time.thread_time() - began


def _named() -> Mapping[str, Measure]:
    named: dict[str, Measure] = {}
    for kind in BUFFERS:
        named[f"buffer, {kind}: put"] = partial(putting, kind)
        named[f"buffer, {kind}: get"] = partial(getting, kind)
        if kind != "local":
            named[f"buffer, {kind}: one puts, one gets"] = partial(paired, kind)
    for kind in ("locked", "lock-free"):
        for threads in THREADS:
            named[f"buffer, {kind}: {threads} threads"] = partial(contended, kind, threads)
    for kind in KINDS:
        named[f"layer, {kind}: put"] = partial(layer_putting, kind)
        named[f"layer, {kind}: take"] = partial(layer_taking, kind)
        named[f"layer, {kind}: with signals"] = partial(signalling, kind)
        named[f"layer, {kind}: without signals"] = partial(unsignalled, kind)
        if kind != "local":
            named[f"layer, {kind}: one puts, one takes"] = partial(layer_paired, kind)
    named["ready queue, own"] = readying_own
    for threads in THREADS:
        named[f"ready queue, shared: {threads} threads"] = partial(readying, threads)
    named["waking a thread"] = waking
    for threads in MANY_THREADS:
        named[f"switching threads: {threads} in turn"] = partial(switching, threads)
    named["operator: call"] = calling
    named["operator: selection"] = selecting
    named["operator: window"] = windowing
    named["operator: join, per row of the window"] = joining
    named["operator: join, per result"] = pairing
    return named


#: Everything by name.
MEASURES: Mapping[str, Measure] = _named()
