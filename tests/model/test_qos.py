"""QoS with a two-sided tolerance, as MavStream has it."""

from __future__ import annotations

import pytest

from penstock.model.qos import QoS

TWENTY = QoS(latency_s=20, tolerance=0.1)


def test_20_s_at_10_percent_is_18_to_22_s() -> None:
    assert TWENTY.latency_range_s() == pytest.approx((18, 22))


@pytest.mark.parametrize(
    ("measured_s", "met", "spare"),
    [(17, True, True), (19, True, False), (22, True, False), (23, False, False)],
)
def test_better_than_asked_is_met_and_leaves_room(measured_s: float, met: bool, spare: bool) -> None:
    assert TWENTY.latency_met(measured_s) is met
    assert TWENTY.has_spare_latency(measured_s) is spare


def test_where_nothing_was_asked_all_is_met_and_nothing_spare() -> None:
    assert QoS().latency_range_s() is None
    assert QoS().latency_met(1e9)
    assert not QoS().has_spare_latency(0)
