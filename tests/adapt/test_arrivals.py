"""A stream's rate lately beside its mean."""

from __future__ import annotations

import pytest

from penstock.adapt.arrivals import Arrivals, StreamRate


def test_a_burst_shows_beside_the_mean() -> None:
    arrivals = Arrivals()
    for second in range(101):
        arrivals.add("s", 10 if second <= 90 else 500, 1000.0 + second)
    rate = arrivals.rates(1100.0)["s"]
    assert rate.lately_per_s == pytest.approx(500, rel=0.1)
    assert rate.mean_per_s == pytest.approx((90 * 10 + 10 * 500) / 100, rel=0.01)


def test_a_stream_that_has_gone_quiet_brings_nothing() -> None:
    arrivals = Arrivals()
    for second in range(20):
        arrivals.add("s", 10, 1000.0 + second)
    assert arrivals.rates(1040.0)["s"].lately_per_s == 0.0
    assert arrivals.rates(1040.0)["s"].mean_per_s == pytest.approx(190 / 40)
    arrivals.forget("s")
    assert arrivals.rates(1040.0) == {}


def test_of_the_first_rows_nobody_knows_how_long_they_took() -> None:
    arrivals = Arrivals()
    arrivals.add("s", 1_000_000, 1000.0)
    assert arrivals.rates(1001.0) == {"s": StreamRate(0.0, 0.0, 1000.0)}
