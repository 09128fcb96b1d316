"""What the queries of a unit gain: the sum over all, however many there are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.policies.gains import Gains, Served, grouped

crowds = st.lists(st.builds(Served, st.floats(0.01, 1.0), st.floats(2.5e-4, 1.0)), min_size=1, max_size=200)


def exact(crowd: list[Served], rows: int, beta: float) -> float:
    return sum(weight * (1 - (1 - selectivity) ** (rows**beta)) for weight, selectivity in crowd)


@given(crowds, st.integers(1, 1_000_000), st.sampled_from([0.0, 0.25, 0.5, 1.0]))
def test_the_sum_is_within_3_percent_of_the_exact_one(crowd: list[Served], rows: int, beta: float) -> None:
    assert Gains.of(crowd).total(rows, beta) == pytest.approx(exact(crowd, rows, beta), rel=0.03)


@given(crowds, st.integers(1, 1000))
def test_few_queries_are_counted_exactly(crowd: list[Served], rows: int) -> None:
    few = crowd[:10]
    assert Gains.of(few).total(rows, 1.0) == pytest.approx(exact(few, rows, 1.0))


@given(crowds)
def test_a_decision_looks_at_few_groups_with_all_the_weight(crowd: list[Served]) -> None:
    groups = grouped(crowd)
    assert len(groups) <= 24
    assert sum(one.weight for one in groups) == pytest.approx(sum(one.weight for one in crowd))


def test_a_query_that_puts_nothing_out_gains_nothing_however_many_rows_wait() -> None:
    assert Gains.of([Served(1.0, 0.0)]).total(1_000_000, 1.0) == 0.0


def test_who_makes_more_than_one_row_of_each_is_stale_for_sure_and_at_beta_0_every_row_counts() -> None:
    gains = Gains.of([Served(0.5, 3.0)])
    assert gains.total(7, 1.0) == 0.5
    assert gains.total(7, 0.0) == 1.5
    assert Gains.of([Served(0.5, 1.0)]).total(7, 0.3) == 0.5
