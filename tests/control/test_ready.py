"""The ready set gives back units in exactly the order a sorted list would."""

from __future__ import annotations

import math

from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.control.ready import ReadySet


class Thing:
    """Anything with an entry."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.entry = None


PRIORITIES = st.one_of(
    st.floats(-1e6, 1e6),
    st.integers(-3, 3).map(float),  # many ties
    st.floats(1e9, 1e9 + 1e-3),  # close together, far from zero
    st.just(math.inf),  # Chain-Flush
)
OPERATIONS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.integers(0, 300), PRIORITIES, st.floats(0, 3)),
        st.tuples(st.just("discard"), st.integers(0, 300), st.none(), st.none()),
        st.tuples(st.just("pop"), st.integers(1, 4), st.none(), st.none()),
    ),
    max_size=400,
)


@given(st.integers(1, 301), OPERATIONS)
@settings(max_examples=150)
def test_pops_the_most_urgent_then_the_oldest_then_the_lowest_number(size: int, operations: list) -> None:
    things = [Thing(number) for number in range(size)]
    ready = ReadySet()
    model: dict[int, tuple[float, float, int]] = {}
    for what, number, priority, tie in operations:
        thing = things[number % size]
        if what == "put":
            ready.put(thing, priority, tie, thing.number)
            model[thing.number] = (-priority, tie, thing.number)
        elif what == "discard":
            ready.discard(thing)
            model.pop(thing.number, None)
        else:
            for _ in range(number):
                popped = ready.pop()
                best = min(model.values(), default=None)
                assert (popped.number if popped else None) == (best[2] if best else None)
                if best is not None:
                    del model[best[2]]
        assert ready.live == len(model)


def test_outdated_entries_do_not_pile_up() -> None:
    things = [Thing(number) for number in range(10)]
    ready = ReadySet()
    for turn in range(10_000):
        ready.put(things[turn % 10], -float(turn), 0.0, 0)
    assert ready._stored <= 64 + 4 * 10
