"""Windows `[begin + n·hop, end + n·hop)`."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.model.window import Window

# Whole numbers, so that no rounding stands between the formula and the count.
whole = st.integers(0, 50).map(float)


@st.composite
def windows(draw: st.DrawFn) -> Window:
    begin, width = draw(whole), draw(st.integers(1, 20))
    return Window(
        "time",
        end=begin + width,
        begin=begin,
        hop=draw(st.none() | st.integers(1, width).map(float)),
        end_of_query=draw(st.none() | st.integers(1, 60).map(lambda length: begin + length)),
    )


def begins_in_query(window: Window, n: int) -> bool:
    return window.end_of_query is None or window.bounds(n)[0] < window.end_of_query


@given(windows(), st.integers(0, 120).map(float))
def test_closed_windows_are_those_that_lie_wholly_before(window: Window, position: float) -> None:
    closed = [n for n in range(200) if window.bounds(n)[1] <= position and begins_in_query(window, n)]
    assert window.closed_by(position) == len(closed)


@given(windows().filter(lambda window: window.end_of_query is not None))
def test_a_query_holds_the_windows_that_begin_before_its_end(window: Window) -> None:
    assert window.count_in_query() == sum(begins_in_query(window, n) for n in range(200))


def test_without_a_hop_each_row_falls_into_one_window() -> None:
    window = Window.seconds(10)
    assert (window.bounds(0), window.bounds(1)) == ((0, 10), (10, 20))


def test_with_a_shorter_hop_windows_overlap() -> None:
    window = Window.rows(1000, hop=500)
    assert (window.bounds(0), window.bounds(1)) == ((0, 1000), (500, 1500))


@pytest.mark.parametrize(("position", "closed"), [(9.99, 0), (10, 1), (14.9, 1), (15, 2)])
def test_a_window_closes_at_its_end(position: float, closed: int) -> None:
    assert Window.seconds(10, hop=5).closed_by(position) == closed


def test_a_query_that_ends_where_it_begins_has_no_windows() -> None:
    assert Window("time", begin=10, end=20, end_of_query=10).count_in_query() == 0
