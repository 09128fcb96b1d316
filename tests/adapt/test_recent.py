"""What came lately, told apart from what came before."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.adapt.recent import Mark, Marks

SPAN_S, STEP_S = 60.0, 10.0


def after(times_s: list[float]) -> tuple[Marks, Mark]:
    """Marks of a total that grows by one at each time, and what it is in the end."""
    marks, last = Marks((Mark(0.0, (0.0,)),), SPAN_S, STEP_S), Mark(0.0, (0.0,))
    for count, at_s in enumerate(times_s, start=1):
        before, last = last, Mark(at_s, (float(count),))
        if at_s >= marks.due_s:
            marks = marks.grown(before, last)
    return marks, last


@given(st.lists(st.floats(0, 500), max_size=80).map(sorted), st.floats(0, 400))
def test_all_of_the_last_minute_counts_and_nothing_much_older(times_s: list[float], later_s: float) -> None:
    marks, last = after(times_s)
    now_s = (times_s[-1] if times_s else 0.0) + later_s
    start = marks.start(now_s, last)
    found = last.totals[0] - start.totals[0]
    assert found >= sum(at_s > now_s - SPAN_S for at_s in times_s)
    assert found <= sum(at_s > now_s - SPAN_S - STEP_S for at_s in times_s)
    assert start.at_s <= max(0.0, now_s - SPAN_S)
    assert len(marks.marks) <= 2 * SPAN_S / STEP_S + 3


def test_what_grows_often_is_told_within_ten_seconds() -> None:
    marks, last = after([n / 10 for n in range(1, 5000)])
    start = marks.start(499.9, last)
    assert SPAN_S <= 499.9 - start.at_s < SPAN_S + STEP_S + 0.2
