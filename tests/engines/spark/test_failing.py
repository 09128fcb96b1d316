"""What fails by itself is tried again after pauses that grow."""

from __future__ import annotations

from penstock.engines.spark.failing import LONGEST_PAUSE_S, FailingOnes


def test_pauses_grow_and_since_when_stays() -> None:
    streams = FailingOnes()
    pauses = []
    now_s = 100.0
    for _ in range(9):
        failing = streams.failed("doors", "no directory", now_s)
        assert not streams.may_try("doors", now_s)
        assert streams.may_try("doors", failing.next_try_s)
        pauses.append(failing.next_try_s - now_s)
        now_s = failing.next_try_s
    assert pauses == [0.5, 1, 2, 4, 8, 16, LONGEST_PAUSE_S, LONGEST_PAUSE_S, LONGEST_PAUSE_S]
    assert streams.now["doors"].since_s == 100.0


def test_what_went_well_is_no_longer_listed_and_begins_anew_when_it_fails_again() -> None:
    streams = FailingOnes()
    streams.failed("doors", "no directory", 1.0)
    streams.failed("temps", "unreadable", 2.0)
    seen = streams.now
    assert streams.next_try_s == 1.5
    streams.succeeded("doors")
    assert set(streams.now) == {"temps"}
    assert set(seen) == {"doors", "temps"}  # what somebody looks at does not change
    assert streams.may_try("doors", 1.0)
    assert streams.failed("doors", "again", 9.0).tries == 1
