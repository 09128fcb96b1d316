"""What a query gets lately and in its life, from what was counted and what waits."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.engines.spark.results.measures import QueryMeasures
from penstock.engines.spark.status.judging import Standing, measured_in_life, measured_lately
from penstock.model.qos import QoS

HURRIED = QoS(latency_s=2.0)


def counted(latency_s: float = 0.5) -> QueryMeasures:
    """Ten rows each second for a minute and a half."""
    query = QueryMeasures(since_s=1000.0)
    for second in range(1000, 1090):
        query.add(np.array([second * 1_000_000] * 10), second + latency_s)
    return query


def test_what_was_put_out_in_the_last_minute_counts() -> None:
    got = measured_lately(HURRIED, Standing(counted(), 77.0), 1090.0)
    assert got.latency_s == pytest.approx(0.5)
    assert got.memory_bytes == 77.0
    assert got.throughput_per_s == pytest.approx(10.0, rel=0.05)
    assert got.freshness == pytest.approx(0.5, abs=0.02)


def test_rows_that_wait_take_at_least_as_long_as_they_have_by_now() -> None:
    held = Standing(counted(), 0.0, waiting_stale_s=30.0, waiting_s=30.0)
    got = measured_lately(HURRIED, held, 1120.0)
    assert got.latency_s == 30.0
    assert got.freshness is not None
    assert got.freshness < 0.5


def test_nothing_is_known_of_latency_if_nothing_came_lately_and_what_waits_is_in_time() -> None:
    calm = Standing(counted(), 0.0, waiting_s=1.0)
    assert measured_lately(HURRIED, calm, 1200.0).latency_s is None
    late = Standing(counted(), 0.0, waiting_s=9.0)
    assert measured_lately(HURRIED, late, 1200.0).latency_s == 9.0
    assert measured_lately(HURRIED, calm, 1200.0).throughput_per_s == 0.0
    assert measured_lately(HURRIED, calm, 1200.0).freshness == 1.0


def test_in_its_life_all_counts() -> None:
    got = measured_in_life(Standing(counted(), 5.0), 1180.0)
    assert got.latency_s == pytest.approx(0.5)
    assert got.throughput_per_s == pytest.approx(900 / 180)
    assert got.freshness == pytest.approx(0.75)
