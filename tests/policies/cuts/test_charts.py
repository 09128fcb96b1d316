"""Chart partitioning."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from penstock.policies.cuts.charts import Stretch, partition, prepend, side_by_side

STRETCHES = st.lists(
    st.builds(
        Stretch.of,
        st.just(("o",)),
        seconds=st.integers(1, 8).map(float),
        fall=st.integers(-20, 20).map(float),
    ),
    min_size=1,
    max_size=12,
)


def steepest_first(path: list[Stretch]) -> list[int]:
    """Chart partitioning as the papers tell it: from the start the steepest end point, then on from there."""
    sizes = []
    while path:
        ends = [
            Stretch.of((), sum(s.seconds for s in path[:n]), sum(s.fall for s in path[:n])).slope
            for n in range(1, len(path) + 1)
        ]
        farthest = max(range(len(path)), key=lambda n: (ends[n], n)) + 1
        sizes.append(farthest)
        path = path[farthest:]
    return sizes


def test_a_slow_start_is_taken_together_with_the_steep_fall_behind_it() -> None:
    slow, steep, flat = Stretch.of("a", 4, 0), Stretch.of("b", 1, 10), Stretch.of("c", 5, 5)

    assert [stretch.operators for stretch in partition([slow, steep, flat])] == [("c",), ("a", "b")]


def test_work_before_a_chart_may_join_several_of_its_partitions() -> None:
    chart = partition([Stretch.of("b", 1, 9), Stretch.of("c", 1, 5), Stretch.of("d", 1, 2)])

    longest = prepend(Stretch.of("a", 10, 0), chart)

    assert [(stretch.operators, stretch.seconds, stretch.fall) for stretch in longest] == [
        (("a", "b", "c", "d"), 13, 16)
    ]


def test_branches_run_by_decreasing_slope_whatever_their_length() -> None:
    slow, fast = Stretch.of("slow", 1, 1), Stretch.of("fast", 1, 2)

    assert [s.operators for s in side_by_side([fast.scaled(0.001), slow])] == [tuple("slow"), tuple("fast")]


def test_work_that_takes_no_time_is_steepest_of_all() -> None:
    assert Stretch.of("a", 0.0, 1e-9).slope > Stretch.of("b", 1e-9, 1e9).slope
    assert Stretch.of("a", 0.0, 0.0).slope == 0.0


@given(STRETCHES)
def test_partitions_are_those_of_the_papers_procedure(path: list[Stretch]) -> None:
    found = [len(stretch.operators) for stretch in reversed(partition(path))]

    assert found == steepest_first(path)


@given(STRETCHES)
def test_slopes_fall_strictly_so_the_envelope_is_convex(path: list[Stretch]) -> None:
    assert all(later.slope < sooner.slope for later, sooner in pairwise(partition(path)))


@given(STRETCHES)
def test_partitioning_loses_neither_time_nor_fall(path: list[Stretch]) -> None:
    chart = partition(path)

    assert sum(s.seconds for s in chart) == sum(s.seconds for s in path)
    assert sum(s.fall for s in chart) == sum(s.fall for s in path)
