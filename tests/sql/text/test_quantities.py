"""Durations, sizes, shares and rates as people write them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.sql.text.quantities import per_second, seconds, share, shown_seconds, size_bytes


@pytest.mark.parametrize(
    ("read", "text", "value"),
    [
        (seconds, "2s", 2.0),
        (seconds, "500 ms", 0.5),
        (seconds, "1.5h", 5400.0),
        (seconds, "1 hour 30 min", 5400.0),
        (seconds, " 10 Seconds ", 10.0),
        (seconds, "250us", 0.00025),
        (seconds, "2 d", 172800.0),
        (size_bytes, "64MB", 64e6),
        (size_bytes, "1.5 GiB", 1.5 * 2**30),
        (size_bytes, "4096", 4096.0),
        (size_bytes, "10 kb", 10e3),
        (share, "95%", 0.95),
        (share, "0.8", 0.8),
        (per_second, "1000/s", 1000.0),
        (per_second, "50 rows per minute", 50 / 60),
        (per_second, "7", 7.0),
    ],
)
def test_what_people_write(read: Callable[[str], float], text: str, value: float) -> None:
    assert read(text) == pytest.approx(value)


@pytest.mark.parametrize("read", [seconds, size_bytes, share, per_second])
@pytest.mark.parametrize("text", ["", "x", "-", "5 5", "1 parsec", "NaNs", "--2"])
def test_what_is_none(read: Callable[[str], float], text: str) -> None:
    with pytest.raises(ValueError, match=r"'|month"):
        read(text)


@given(st.integers(1, 10**9).map(lambda micros: micros / 1e6))
def test_a_duration_that_is_shown_can_be_read(value: float) -> None:
    assert seconds(shown_seconds(value)) == pytest.approx(value, rel=1e-5)
