"""Staleness of rows that wait: an expectation, against chance and by hand."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.engines.spark.results.measures import QueryMeasures
from penstock.engines.spark.results.staleness import (
    Waiting,
    expected_stale_s,
    passing,
    selectivity,
    waiting_stale_s,
)
from penstock.model.batch import Batch
from penstock.model.estimates import Estimate, Estimates
from penstock.model.graph import Graph
from penstock.model.operators import Select, Source
from penstock.model.query import PlanNode, Query
from penstock.model.schema import Schema
from penstock.plan.sharing import merge


def batch(rows: int, arrived_s: float, lo: int = 0, leaf: str = "s") -> Batch:
    return Batch(rows, 8.0 * rows, arrived_s, 0.0, 0.0, leaf, lo, lo + rows)


def test_what_certainly_matters_counts_from_its_arrival_on() -> None:
    span_s = expected_stale_s(np.array([101.0, 103.0]), np.array([5.0, 5.0]), np.ones(2), 100.0, 110.0)
    assert span_s == pytest.approx(9.0)
    counted = expected_stale_s(np.array([101.0]), np.array([5.0]), np.ones(1), 104.0, 110.0)
    assert counted == pytest.approx(6.0)  # before 104 it was counted already


def test_what_cannot_matter_counts_nothing() -> None:
    assert expected_stale_s(np.array([1.0]), np.array([1e6]), np.zeros(1), 0.0, 10.0) == 0.0
    assert expected_stale_s(np.array([1.0]), np.array([0.0]), np.ones(1), 0.0, 10.0) == 0.0
    assert expected_stale_s(np.array([]), np.array([]), np.array([]), 0.0, 10.0) == 0.0


def test_many_rows_count_by_the_papers_formula() -> None:
    span_s = expected_stale_s(np.array([0.0]), np.array([20.0]), np.array([0.1]), 0.0, 8.0)
    assert span_s == pytest.approx(8 * (1 - 0.9**20))


@pytest.mark.parametrize("seed", range(8))
def test_it_is_the_mean_over_all_that_chance_can_do(seed: int) -> None:
    rng = np.random.default_rng(seed)
    count = int(rng.integers(1, 7))
    arrived_s, rows = rng.uniform(0, 10, count), rng.integers(0, 4, count).astype(float)
    chances, fresh_to_s = rng.choice([0.0, 0.05, 0.3, 1.0], count), float(rng.uniform(0, 10))
    spans = []
    for _ in range(20_000):
        matters = [
            a
            for a, n, p in zip(arrived_s, rows, chances, strict=True)
            if rng.random(int(n)).min(initial=2.0) < p
        ]
        spans.append(max(0.0, 12.0 - max(min(matters), fresh_to_s)) if matters else 0.0)
    expected = expected_stale_s(arrived_s, rows, chances, fresh_to_s, 12.0)
    assert expected == pytest.approx(float(np.mean(spans)), abs=0.15)


@pytest.mark.parametrize("seed", range(5))
def test_in_the_end_it_is_the_same_as_what_commits_say(seed: int) -> None:
    """Rows that all match: whenever it is asked for, what waits and what was committed are the whole."""
    rng = np.random.default_rng(seed)
    arrivals_s = np.sort(rng.uniform(0, 20, 30))
    commits_s = np.sort(rng.uniform(20, 30, 4))
    measures, done, last_s = QueryMeasures(since_s=0.0), 0, 0.0
    for n, at_s in enumerate(commits_s):
        before = _stale_s(measures, arrivals_s[done:], at_s)
        until = len(arrivals_s) if n == 3 else int(rng.integers(done, len(arrivals_s) + 1))
        if until > done:
            measures.add((arrivals_s[done:until] * 1e6).astype(np.int64), float(at_s))
            last_s = at_s
        assert _stale_s(measures, arrivals_s[until:], at_s) == pytest.approx(before)
        done = until
    assert measures.stale_s == pytest.approx(last_s - arrivals_s[0])


def _stale_s(measures: QueryMeasures, waiting_s: np.ndarray, now_s: float) -> float:
    one = np.ones(len(waiting_s))
    return measures.stale_s + expected_stale_s(waiting_s, one, one, measures.counted_to_s, now_s)


def test_selectivity_is_believed_at_first_and_measured_then() -> None:
    assert selectivity(0, 0, 0.25) == 0.25
    assert selectivity(0, 0, 40.0) == 1.0
    assert selectivity(10_000, 100_000, 1.0) == pytest.approx(0.1, rel=1e-3)
    assert selectivity(0, 100_000, 1.0) < 2e-5


def chain() -> Graph:
    stream = PlanNode(Source("s", Schema.of(a="int")))
    first = PlanNode(Select("a > 1"), (stream,), name="first")
    return merge(Graph(), [Query("q", PlanNode(Select("a > 2"), (first,), name="second"))])


def test_rows_half_way_are_the_more_likely_to_matter() -> None:
    graph = chain()
    estimates = Estimates({"first": Estimate(selectivity=0.1), "second": Estimate(selectivity=0.5)})
    found = passing(graph, graph.members["q"], estimates)
    assert found.of_stream(graph) == pytest.approx(0.05)
    own = set(graph.members["q"])
    entering = Waiting("s", ("first",), (batch(10, 1.0),))
    half_way = Waiting("first", ("second",), (batch(10, 1.0),))
    assert found.chance(entering, 0.05, own) == pytest.approx(0.05)
    assert found.chance(half_way, 0.05, own) == pytest.approx(0.5)
    assert found.chance(Waiting("s", ("other",), ()), 0.05, own) == 0.0


def test_rows_from_before_a_query_began_or_after_it_ended_do_not_count_for_it() -> None:
    waiting = Waiting("s", ("first",), (batch(10, 1.0, lo=0), batch(10, 2.0, lo=10)))
    assert waiting.rows_between({"s": 10}, {}).tolist() == [0.0, 10.0]
    assert waiting.rows_between({"s": 5}, {"s": 12}).tolist() == [5.0, 2.0]
    assert waiting_stale_s([(waiting, 1.0)], {"s": 10}, {}, 0.0, 10.0) == pytest.approx(8.0)
    assert waiting_stale_s([(waiting, 1.0)], {"s": 0}, {}, 0.0, 10.0) == pytest.approx(9.0)
    assert waiting_stale_s([], {}, {}, 0.0, 10.0) == 0.0
