"""Ratios: steady ones are averaged over many observations, changed ones are believed after a few."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.adapt.fits import SURE, Ratio

KEEP = 0.97


def seen(observed: list[tuple[int, int]]) -> Ratio:
    ratio = Ratio()
    for rows_in, rows_out in observed:
        ratio.add(rows_in, rows_out, KEEP)
    return ratio


def by_chance(share: float, steps: int, rows: int, seed: int) -> list[tuple[int, int]]:
    chance = random.Random(seed)
    return [(rows, sum(chance.random() < share for _ in range(rows))) for _ in range(steps)]


def test_a_change_is_believed_after_a_few_steps() -> None:
    before = by_chance(0.05, 60, 200, 1)
    after = by_chance(0.9, SURE, 200, 2)
    assert seen([*before, *after[:-1]]).value == pytest.approx(0.1, abs=0.07)
    assert seen([*before, *after]).value == pytest.approx(0.9, rel=0.05)


def test_one_step_that_is_unlike_the_others_is_not_a_change() -> None:
    steps = by_chance(0.5, 60, 200, 1)
    assert seen([*steps, (200, 0), *steps]).value == pytest.approx(0.5, rel=0.05)


@pytest.mark.parametrize("seed", range(10))
def test_chance_is_not_taken_for_a_change(seed: int) -> None:
    """The average over many steps is nearer to the truth than any few of them."""
    found = seen(by_chance(0.3, 400, 20, seed))
    assert found.value == pytest.approx(0.3, rel=0.2)
    assert found.error < 0.15


def test_what_changes_all_the_time_is_averaged() -> None:
    steps = [(100, 100 if n % 4 == 0 else 0) for n in range(200)]
    assert seen(steps).value == pytest.approx(0.25, rel=0.1)


@given(st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 3000)), max_size=40))
def test_whatever_is_seen_the_ratio_is_between_the_least_and_the_greatest(
    observed: list[tuple[int, int]],
) -> None:
    found = seen([(rows_in, rows_out) for rows_in, rows_out in observed if rows_in])
    shares = [rows_out / rows_in for rows_in, rows_out in observed if rows_in]
    if not shares:
        assert found.value is None
    else:
        assert found.value is not None
        assert min(shares) * (1 - 1e-9) <= found.value <= max(shares) * (1 + 1e-9)
        assert found.error >= 0
