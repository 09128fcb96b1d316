"""QoS with a two-sided tolerance, as MavStream has it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.model.qos import Measured, QoS, Verdict, overall

TWENTY = QoS(latency_s=20, tolerance=0.1)


@pytest.mark.parametrize(
    ("measured_s", "verdict"),
    [(17.9, "spare"), (18, "met"), (20, "met"), (22, "met"), (22.1, "violated"), (None, "unknown")],
)
def test_20_s_at_10_percent_is_met_from_18_to_22_s(measured_s: float | None, verdict: str) -> None:
    (found,) = TWENTY.judged(Measured(latency_s=measured_s))
    assert (found.wish, found.asked, found.measured, found.verdict) == ("latency", 20, measured_s, verdict)


@pytest.mark.parametrize(
    ("qos", "spare", "violated"),
    [
        (QoS(memory_bytes=100), Measured(memory_bytes=50), Measured(memory_bytes=111)),
        (QoS(throughput_per_s=100), Measured(throughput_per_s=111), Measured(throughput_per_s=89)),
        (QoS(freshness=0.8), Measured(freshness=0.9), Measured(freshness=0.7)),
    ],
)
def test_of_memory_less_is_better_and_of_the_others_more(
    qos: QoS, spare: Measured, violated: Measured
) -> None:
    assert overall(qos.judged(spare)) is Verdict.spare
    assert overall(qos.judged(violated)) is Verdict.violated


def test_the_worst_holds_and_what_is_unknown_does_not_count() -> None:
    qos = QoS(latency_s=1.0, memory_bytes=100, throughput_per_s=10, freshness=0.9)
    assert overall(qos.judged(Measured())) is Verdict.unknown
    assert overall(qos.judged(Measured(latency_s=0.1))) is Verdict.spare
    assert overall(qos.judged(Measured(latency_s=0.1, memory_bytes=95))) is Verdict.met
    assert overall(qos.judged(Measured(latency_s=0.1, memory_bytes=95, freshness=0.1))) is Verdict.violated
    assert [one.wish for one in qos.judged(Measured())] == ["latency", "memory", "throughput", "freshness"]


def test_who_asked_for_nothing_is_not_judged() -> None:
    assert QoS().judged(Measured(1.0, 1.0, 1.0, 1.0)) == ()
    assert overall(()) is Verdict.unknown


@given(st.floats(1e-3, 1e6), st.floats(0, 0.9), st.floats(0, 1e7), st.floats(0, 1e7))
def test_more_latency_is_never_better(asked: float, tolerance: float, one: float, other: float) -> None:
    order = [Verdict.spare, Verdict.met, Verdict.violated]
    qos = QoS(latency_s=asked, tolerance=tolerance)
    less, more = (qos.judged(Measured(latency_s=s))[0].verdict for s in sorted((one, other)))
    assert order.index(less) <= order.index(more)
