"""FAS-MCQ: what all queries of a unit gain per second."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.policies.costs import UnitCost
from penstock.policies.gains import Gains, Served
from penstock.policies.ranks.base import TrueRow
from penstock.policies.ranks.freshness import Freshness
from penstock.policies.ranks.rate import Rate


@dataclass
class Waiting:
    """A unit of some queries with rows waiting."""

    served: list[Served]
    pending: int
    fixed_s: float
    row_s: float
    oldest_s: float = 0.0
    place_in_line: int = 0

    @property
    def cost(self) -> UnitCost:
        selectivity = sum(one.selectivity for one in self.served)
        return UnitCost(self.fixed_s, self.row_s, selectivity, selectivity, 0.0, 0.0)

    @property
    def gains(self) -> Gains:
        return Gains.of(self.served)

    def next_turn(self) -> int:
        return 0

    def true_rows(self) -> Iterator[TrueRow]:
        raise AssertionError


rows = st.integers(1, 100_000)
seconds = st.floats(1e-6, 1.0)


@given(st.floats(1e-6, 20.0), rows, st.floats(0, 1.0), seconds)
def test_at_beta_0_it_is_the_rate_based_rank_whatever_a_step_costs_and_yields(
    selectivity: float, pending: int, fixed_s: float, row_s: float
) -> None:
    unit = Waiting([Served(1.0, selectivity)], pending, fixed_s, row_s)
    assert Freshness(0.0).priority(unit, 0.0) == pytest.approx(Rate().priority(unit, 0.0))


@given(st.floats(1e-6, 1.0), rows, st.floats(0, 1.0), seconds)
def test_at_beta_1_it_is_the_papers_with_the_fixed_cost(
    selectivity: float, pending: int, fixed_s: float, row_s: float
) -> None:
    unit = Waiting([Served(0.5, selectivity)], pending, fixed_s, row_s)
    expected = 0.5 * (1 - (1 - selectivity) ** pending) / (fixed_s + pending * row_s)
    assert Freshness(1.0).priority(unit, 0.0) == pytest.approx(expected, rel=1e-6)


def test_twenty_queries_in_one_unit_count_for_all_of_their_weights() -> None:
    """Each with its own weight and selectivity, against one heavy query of a unit of its own."""
    crowd = Waiting([Served((n + 1) / 20, 0.01 * (n + 1)) for n in range(20)], 50, 0.05, 1e-5)
    heavy = Waiting([Served(1.0, 1.0)], 50, 0.05, 1e-5)
    rank = Freshness()
    exact = sum((n + 1) / 20 * (1 - (1 - 0.01 * (n + 1)) ** 50) for n in range(20))
    assert rank.priority(crowd, 0.0) / rank.priority(heavy, 0.0) == pytest.approx(exact, rel=0.03)
    assert exact > 8  # the weightiest alone would have counted for 1
    light = Waiting([Served(w / 20, s) for w, s in crowd.served], 50, 0.05, 1e-5)
    assert rank.priority(light, 0.0) < rank.priority(heavy, 0.0)
