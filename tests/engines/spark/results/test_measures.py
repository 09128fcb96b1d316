"""Latency and staleness of a query's results."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.engines.spark.results.measures import Latencies, QueryMeasures, add_all


def test_latencies() -> None:
    some = Latencies()
    some.add(np.array([0.1] * 90 + [2.0] * 10))
    assert some.mean_s == pytest.approx(0.29)
    assert some.percentile_s(0.5) == pytest.approx(0.1, rel=0.1)
    assert some.percentile_s(0.95) == pytest.approx(2.0, rel=0.1)
    before = some.copy()
    some.add(np.array([10.0]))
    assert some.since(before).mean_s == pytest.approx(10.0)


def test_nothing_yet() -> None:
    assert Latencies().mean_s is None
    assert Latencies().percentile_s(0.95) is None
    assert QueryMeasures(since_s=10.0).staleness(20.0) == 0.0


def test_stale_spans_are_counted_once() -> None:
    query = QueryMeasures(since_s=100.0)
    query.add(np.array([101_000_000, 102_000_000]), 103.0)  # stale from 101 to 103
    query.add(np.array([102_500_000]), 104.0)  # until 104, but 102.5 to 103 was counted
    query.add(np.array([107_000_000]), 108.0)
    assert query.stale_s == pytest.approx(4.0)
    assert query.staleness(110.0) == pytest.approx(0.4)
    assert query.rows == 4


def test_many_at_once_are_as_one_after_the_other() -> None:
    rng = np.random.default_rng(1)
    together = [QueryMeasures(since_s=1.0) for _ in range(5)]
    apart = [QueryMeasures(since_s=1.0) for _ in range(5)]
    for turn in range(120):  # more than are counted in one go
        counts = rng.integers(1, 9, 5)
        parts = [rng.integers(0, 10_000_000, count) for count in counts]
        starts = np.concatenate(([0], np.cumsum(counts)[:-1])).tolist()
        add_all(together, starts, np.concatenate(parts), 10.0 + turn)
        for one, part in zip(apart, parts, strict=True):
            one.add(part, 10.0 + turn)
    for one, other in zip(together, apart, strict=True):
        assert one.rows == other.rows == one.latencies.count == one.latencies.cells.sum()
        assert one.latencies.mean_s == pytest.approx(other.latencies.mean_s)
        assert (one.latencies.cells == other.latencies.cells).all()
        assert one.stale_s == pytest.approx(other.stale_s)


def test_no_percentile_is_longer_than_the_longest() -> None:
    latencies = Latencies()
    latencies.add(np.array([1.0, 26.5]))
    assert latencies.percentile_s(0.95) == 26.5
    assert latencies.copy().percentile_s(0.95) == 26.5


def test_what_was_slow_an_hour_ago_does_not_count_lately() -> None:
    query = QueryMeasures(since_s=1000.0)
    query.add(np.array([1000_000_000]), 1030.0)  # it took half a minute
    for second in range(1030, 4600, 5):
        query.add(np.array([second * 1_000_000] * 10), second + 0.5)
    lately, life = query.lately(4600.0), query.life(4600.0)
    assert lately.mean_latency_s == pytest.approx(0.5)
    assert life.mean_latency_s is not None
    assert life.mean_latency_s > lately.mean_latency_s
    assert 60 <= lately.until_s - lately.since_s <= 75
    assert lately.rows_per_s == pytest.approx(2.0, rel=0.1)
    assert lately.freshness(0.0) == pytest.approx(0.9, abs=0.01)
    assert query.lately(4700.0).mean_latency_s is None  # nothing came in the last minute
    assert query.lately(4700.0).freshness(0.0) == 1.0
    assert query.lately(4700.0).freshness(60.0) == pytest.approx(1 - 60 / (4700 - 4595.5))


def test_lately_is_the_whole_life_of_who_is_younger_than_a_minute() -> None:
    query = QueryMeasures(since_s=1000.0)
    assert query.lately(1000.2).rows_per_s is None
    assert query.lately(1010.0).rows_per_s == 0.0
    query.add(np.array([1001_000_000, 1002_000_000]), 1004.0)
    assert query.lately(1010.0) == query.life(1010.0)
    assert query.copy().lately(1010.0) == query.lately(1010.0)
    assert query.lately(1010.0).freshness(0.0) == pytest.approx(0.7)
