"""Positions as text and in order."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import PositionError
from penstock.server.committed.positions import Position

NUMBERS = st.integers(0, 10**18 - 1)
POSITIONS = st.builds(Position, NUMBERS, NUMBERS)


@given(POSITIONS)
def test_what_is_written_is_read_again(position: Position) -> None:
    assert Position.parse(str(position)) == position


@given(POSITIONS, POSITIONS)
def test_the_commit_counts_first_and_then_the_row(one: Position, other: Position) -> None:
    assert (one < other) == ((one.number, one.row) < (other.number, other.row))


@given(st.from_regex(r"[0-9]{1,3}-[0-9]{1,3}", fullmatch=True))
def test_a_text_is_a_position_only_if_it_would_be_written_so(text: str) -> None:
    number, row = text.split("-")
    if text == f"{int(number)}-{int(row)}":
        assert str(Position.parse(text)) == text
    else:
        with pytest.raises(PositionError):
            Position.parse(text)


@pytest.mark.parametrize(
    "text", ["", "17", "17-", "-3", "17-3 ", "017-3", "17-٣", "1e3-2", "17-3-4", "9" * 19 + "-1"]
)
def test_other_texts_are_refused(text: str) -> None:
    with pytest.raises(
        PositionError, match="is not a position; use one that results came with, such as 17-3"
    ):
        Position.parse(text)
