"""The place of a needle, and which wishes that are kept are at risk."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.model.qos import Measured, QoS
from penstock.web.live.history import Point
from penstock.web.queries.gauges import Gauge, Level, beyond, gauges, overall


def point(latency_s: float | None = None, staleness: float | None = None) -> Point:
    """What the latest look saw."""
    return Point(1.0, latency_s, 0.0, staleness, 0.0)


def of(wish: str, asked: float, measured: float | None, verdict: str, *points: Point) -> Gauge:
    """The gauge of one wish with a tolerance of a tenth."""
    found: dict[str, Any] = {"wish": wish, "asked": asked, "measured": measured, "verdict": verdict}
    (made,) = gauges([found], 0.1, points)
    return made


@pytest.mark.parametrize(
    ("measured", "verdict", "level"),
    [
        (1.0, "spare", Level.spare),
        (1.9, "met", Level.met),
        (2.1, "met", Level.risk),
        (5.0, "violated", Level.violated),
        (None, "unknown", Level.unknown),
    ],
)
def test_what_only_the_tolerance_saves_is_at_risk(measured: float | None, verdict: str, level: Level) -> None:
    assert of("latency", 2.0, measured, verdict).level is level


def test_what_was_kept_for_a_minute_and_is_not_now_is_at_risk() -> None:
    assert of("latency", 2.0, 1.0, "spare", point(latency_s=3.0)).level is Level.risk
    assert of("latency", 2.0, 1.0, "spare", point(latency_s=1.0)).level is Level.spare
    assert of("freshness", 0.9, 0.95, "met", point(staleness=0.5)).level is Level.risk


def test_of_freshness_and_throughput_more_is_better() -> None:
    assert of("freshness", 0.5, 1.0, "spare").place == pytest.approx(0.5 / 1.5)
    assert of("throughput", 100.0, 50.0, "violated").place == 1.0
    assert of("throughput", 100.0, 0.0, "violated").place == 1.0


@given(
    st.floats(0.01, 100.0),
    st.floats(0.0, 1000.0),
    st.floats(0.0, 0.9),
    st.sampled_from(["latency", "memory", "throughput"]),
)
def test_the_needle_stands_where_the_verdict_says(
    asked: float, measured: float, tolerance: float, wish: Any
) -> None:
    key = {"latency": "latency_s", "memory": "memory_bytes", "throughput": "throughput_per_s"}[wish]
    (judged,) = QoS(tolerance=tolerance, **{key: asked}).judged(Measured(**{key: measured}))
    document = {"wish": wish, "asked": asked, "measured": measured, "verdict": judged.verdict.value}
    (made,) = gauges([document], tolerance, [])
    assert made.place is not None
    assert 0.0 <= made.place <= 1.0
    if made.level is Level.violated and wish != "throughput":
        assert made.place >= min(made.high, 1.0) - 1e-9
    if made.level is Level.spare:
        assert made.place <= 1.0 / 1.5 + 1e-9


def test_the_worst_wish_is_that_of_the_query() -> None:
    assert overall([]) is Level.none
    assert overall([of("latency", 2.0, 1.0, "spare"), of("memory", 2.0, 9.0, "violated")]) is Level.violated


def test_the_worst_wish_says_how_far_a_query_is_beyond() -> None:
    late, slow = of("latency", 2.0, 8.0, "violated"), of("throughput", 30.0, 10.0, "violated")
    assert beyond([late, slow]) == 4.0
    assert beyond([of("throughput", 30.0, 0.0, "violated"), late]) > 1000
    assert beyond([of("latency", 2.0, 1.0, "spare"), of("memory", 2.0, None, "unknown")]) == beyond([]) == 1.0
