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
