"""The window of a join, written as a condition and read again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.sql.expressions.windowing import Within, read_within, within
from penstock.sql.text.dialect import parse_expression, render


@pytest.mark.parametrize(
    ("said", "text"),
    [
        (("b_t", "t", 10), "b_t < t + INTERVAL '10' SECONDS"),
        (("b_t", "t", 0.5), "b_t < t + INTERVAL '0.5' SECONDS"),
        (("b t", "order", 0.000001), "`b t` < `order` + INTERVAL '0.000001' SECONDS"),
        (("x", "y", 86400.25), "x < y + INTERVAL '86400.25' SECONDS"),
    ],
)
def test_a_window_as_a_condition(said: tuple[str, str, float], text: str) -> None:
    assert within(*said) == text
    assert read_within(text) == Within(*said)
    assert render(parse_expression(text)) == text


@given(st.text(min_size=1, max_size=6), st.text(min_size=1, max_size=6), st.integers(1, 10**13))
def test_what_was_written_is_read_to_the_microsecond(later: str, earlier: str, micros: int) -> None:
    said = read_within(within(later, earlier, micros / 1_000_000))
    assert said is not None
    assert said[:2] == (later, earlier)
    assert round(said.width_s * 1_000_000) == micros


@pytest.mark.parametrize("text", ["a < b", "a < b + INTERVAL '1' MINUTES", "a < b + 1 AND c < d", "a <= b"])
def test_other_conditions_say_nothing_of_windows(text: str) -> None:
    assert read_within(text) is None
