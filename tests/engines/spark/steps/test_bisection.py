"""Which rows make a step fail, found by trying parts of them."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from penstock.engines.spark.steps.bisection import MOST_TRIES, failing_rows


class Rows:
    """Rows of which some fail alone, and some only together."""

    def __init__(self, alone: set[int], together: tuple[int, int] | None = None) -> None:
        self.alone, self.together, self.tries = alone, together, 0

    def failure(self, start: int, end: int) -> str | None:
        self.tries += 1
        bad = [row for row in sorted(self.alone) if start <= row < end]
        if bad:
            return f"row {bad[0]}"
        both = self.together is not None and all(start <= row < end for row in self.together)
        return "together" if both else None


@given(st.data())
def test_exactly_the_rows_that_fail_alone_are_found(data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 5_000))
    alone = data.draw(st.sets(st.integers(0, count - 1), max_size=3))
    rows = Rows(alone)
    found, explained = failing_rows(count, rows.failure)
    assert (found, explained) == ({row: f"row {row}" for row in alone}, True)
    assert rows.tries <= MOST_TRIES


@given(st.data())
def test_rows_that_fail_together_and_not_alone_explain_nothing(data: st.DataObject) -> None:
    count = data.draw(st.integers(2, 1_000))
    first, second = sorted(data.draw(st.sets(st.integers(0, count - 1), min_size=2, max_size=2)))
    assert failing_rows(count, Rows(set(), (first, second)).failure) == ({}, False)
    alone = data.draw(st.sets(st.integers(0, count - 1), max_size=2)) - {first, second}
    found, _ = failing_rows(count, Rows(alone, (first, second)).failure)
    assert set(found) <= alone


def test_there_are_no_more_tries_than_allowed_and_what_was_found_is_kept() -> None:
    rows = Rows(set(range(0, 5_000, 100)))
    found, explained = failing_rows(5_000, rows.failure)
    assert not explained
    assert rows.tries <= MOST_TRIES
    assert found
    assert found.keys() < rows.alone


def test_what_fails_without_any_rows_is_no_rows_fault() -> None:
    assert failing_rows(10, lambda _start, _end: "always") == ({}, False)
