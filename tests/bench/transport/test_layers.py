"""Buffers and transport layers do what StreamAPAS says, in one thread and between threads."""

from __future__ import annotations

from collections.abc import Callable
from threading import Thread

import pytest

from penstock.bench.transport.buffers import BUFFERS
from penstock.bench.transport.layers import KINDS, Layer, make
from penstock.model.batch import Batch


def batch(time_s: float) -> Batch:
    return Batch(1, 8.0, time_s, time_s, time_s, "s", 0, 1)


class Heard:
    """The signals of a layer, in order."""

    def __init__(self) -> None:
        self.signals: list[str] = []

    def available(self, layer: Layer) -> None:  # noqa: ARG002
        self.signals.append("available")

    def unavailable(self, layer: Layer) -> None:  # noqa: ARG002
        self.signals.append("unavailable")


def at_once(instruction: Callable[[], None]) -> None:
    """A worker that serves its instructions immediately."""
    instruction()


@pytest.mark.parametrize("kind", BUFFERS)
def test_buffers_are_queues_that_say_whether_they_were_empty(kind: str) -> None:
    buffer = BUFFERS[kind]()
    assert buffer.get() is None
    assert buffer.head() is None
    assert [buffer.put(batch(n)) for n in range(3)] == [True, False, False]
    assert buffer.at_most_two() == 2
    head = buffer.head()
    assert head is not None
    assert head.time_s == 0.0
    assert [one.time_s for one in iter(buffer.get, None)] == [0.0, 1.0, 2.0]
    assert buffer.at_most_two() == 0
    assert buffer.put(batch(4))


@pytest.mark.parametrize("kind", KINDS)
def test_inputs_are_taken_in_order_of_time_and_an_empty_one_makes_the_others_wait(kind: str) -> None:
    heard = Heard()
    layer, put = make(kind, 2, heard, at_once)
    for time_s in (1.0, 3.0):
        put(0, batch(time_s))
    assert layer.take() is None
    assert heard.signals == []
    for time_s in (2.0, 3.0):
        put(1, batch(time_s))
    taken = [(one.time_s, slot) for one, slot in iter(layer.take, None)]
    # The second 3.0 may pass though the first input is empty: it is not later than the last one there.
    assert taken == [(1.0, 0), (2.0, 1), (3.0, 0), (3.0, 1)]
    assert heard.signals == ["available", "unavailable"]


@pytest.mark.parametrize("kind", KINDS)
def test_signals_follow_each_other(kind: str) -> None:
    heard = Heard()
    layer, put = make(kind, 1, heard, at_once)
    for count in (1, 3, 2):
        for _ in range(count):
            put(0, batch(1.0))
        while layer.take() is not None:
            pass
    assert heard.signals == ["available", "unavailable"] * 3


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind.startswith(("synch", "V1"))])
def test_between_threads_nothing_is_lost_and_nothing_comes_twice(kind: str) -> None:
    heard = Heard()
    layer, put = make(kind, 2, heard, at_once)

    def feed(slot: int) -> None:
        for number in range(500):
            put(slot, batch(float(number)))

    feeders = [Thread(target=feed, args=(slot,)) for slot in (0, 1)]
    for feeder in feeders:
        feeder.start()
    taken: list[tuple[float, int]] = []
    while len(taken) < 1_000:
        found = layer.take()
        if found is not None:
            taken.append((found[0].time_s, found[1]))
    for feeder in feeders:
        feeder.join()
    assert taken == sorted(taken, key=lambda one: one[0])
    assert sorted(taken) == [(float(number), slot) for number in range(500) for slot in (0, 1)]
    assert heard.signals == ["available", "unavailable"] * (len(heard.signals) // 2)


def test_another_thread_leaves_v2_an_instruction_and_touches_nothing_else() -> None:
    heard = Heard()
    left: list[Callable[[], None]] = []
    layer, put = make("V2, lock-free", 1, heard, left.append)
    put(0, batch(1.0))
    put(0, batch(2.0))
    assert (heard.signals, layer.take(), len(left)) == ([], None, 1)
    left[0]()
    assert heard.signals == ["available"]
    assert layer.take() is not None
