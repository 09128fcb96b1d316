"""Guessing of tokens is slowed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import AccessError
from penstock.server.security.guessing import FREE, LONGEST_S, MOST_ADDRESSES, Guesses


def refused(guesses: Guesses, address: str, now_s: float) -> bool:
    try:
        guesses.check(address, now_s)
    except AccessError as error:
        return error.status == 429 and 0 < (error.retry_after_s or 0) <= LONGEST_S
    return False


def test_pauses_grow_and_end() -> None:
    guesses, now_s, pauses = Guesses(), 0.0, []
    for _ in range(FREE + 12):
        guesses.failed("10.0.0.1", now_s)
        begun_s = now_s
        while refused(guesses, "10.0.0.1", now_s):
            now_s += 0.5
        pauses.append(now_s - begun_s)
    assert pauses[:FREE] == [0.0] * FREE
    assert pauses[FREE : FREE + 4] == [1.0, 2.0, 4.0, 8.0]
    assert pauses[-1] == LONGEST_S
    assert not refused(guesses, "10.0.0.2", now_s)


def test_the_words() -> None:
    guesses = Guesses()
    for _ in range(FREE + 3):
        guesses.failed("10.0.0.1", 50.0)
    with pytest.raises(AccessError, match=r"too many wrong tokens came from this address; try again in 3 s"):
        guesses.check("10.0.0.1", 51.0)


def test_neighbours_in_one_ipv6_network_are_one_client() -> None:
    guesses = Guesses()
    for place in range(FREE + 1):
        guesses.failed(f"2001:db8::{place:x}", 0.0)
    assert refused(guesses, "2001:db8::ffff", 0.0)
    assert not refused(guesses, "2001:db8:0:1::1", 0.0)
    for _ in range(FREE + 1):
        guesses.failed("::ffff:10.0.0.9", 0.0)
    assert refused(guesses, "10.0.0.9", 0.0)


def test_addresses_do_not_fill_the_memory() -> None:
    guesses = Guesses()
    for place in range(MOST_ADDRESSES + 500):
        guesses.failed(f"10.{place >> 16}.{place >> 8 & 255}.{place & 255}", float(place))
    assert len(guesses._failures) == MOST_ADDRESSES


@given(st.lists(st.floats(0, 2), max_size=400))
def test_who_never_pauses_gets_few_guesses(pauses: list[float]) -> None:
    guesses, now_s, looked_at = Guesses(), 0.0, 0
    for pause in pauses:
        now_s += pause
        if not refused(guesses, "a", now_s):
            guesses.failed("a", now_s)
            looked_at += 1
    # Each guess beyond the free ones costs twice the time of the one before.
    assert 2.0 ** max(0, looked_at - FREE - 2) <= now_s + 1
