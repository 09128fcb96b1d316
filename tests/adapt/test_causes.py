"""Why a wish is violated, in one sentence with figures."""

from __future__ import annotations

from dataclasses import replace

from penstock.adapt.causes import (
    Circumstances,
    OperatorLoad,
    StreamRates,
    WaitingRows,
    WindowMemory,
    cause,
    with_causes,
)
from penstock.model.qos import Judgement, Measured, QoS, Verdict

LATENCY = Judgement("latency", 2.0, 3.0, Verdict.violated)
MEMORY = Judgement("memory", 1e6, 2e6, Verdict.violated)
THROUGHPUT = Judgement("throughput", 100.0, 2.0, Verdict.violated)
FRESHNESS = Judgement("freshness", 0.95, 0.4, Verdict.violated)

BUSY = Circumstances(
    waiting=(
        WaitingRows("on stream s", 100, 4e4, 1.2),
        WaitingRows("behind select v > 3", 12_000, 9e5, 3.24),
    ),
    work=(OperatorLoad("select v > 3", 1e-6, 0.01), OperatorLoad("project slow(v)", 45e-6, 0.09)),
    streams=(StreamRates("s", 1000.0, 1000.0),),
    remembered=(WindowMemory("aggregate by room", 7e5),),
    fixed_s=0.06,
    selectivity=0.5,
)


def test_the_oldest_rows_that_wait_and_the_costliest_operator() -> None:
    said = cause(LATENCY, BUSY)
    assert said == (
        "12,000 rows wait behind select v > 3, the oldest for 3.2 s; "
        "90% of its work is project slow(v), 45.0 µs a row"
    )
    assert cause(FRESHNESS, BUSY) == said


def test_a_query_that_is_held_or_has_failed() -> None:
    held = replace(BUSY, held=True)
    assert (
        cause(FRESHNESS, held) == "it is held, and 12,000 rows wait behind select v > 3, the oldest for 3.2 s"
    )
    assert cause(LATENCY, replace(held, waiting=())) == "it is held"
    failed = replace(held, failure="division by zero\nat java", waiting=())
    assert cause(THROUGHPUT, failed) == "it has failed (division by zero)"


def test_a_burst() -> None:
    burst = replace(BUSY, streams=(StreamRates("s", 5000.0, 1000.0), StreamRates("r", 1.0, 1.0)))
    assert cause(LATENCY, burst).startswith(
        "a burst: stream s brings 5,000 rows/s, 1,000 on average; 12,000 rows wait"
    )
    assert not cause(LATENCY, replace(burst, waiting=())).startswith("a burst")


def test_streams_that_bring_too_little() -> None:
    few = replace(BUSY, streams=(StreamRates("s", 10.0, 12.0),), selectivity=0.02)
    said = "stream s brings 10 rows/s, and 2.00% of them come out: 0.2 results/s"
    assert cause(THROUGHPUT, few) == said
    two = replace(few, streams=(StreamRates("s", 10.0, 12.0), StreamRates("r", 30.0, 30.0)))
    assert cause(THROUGHPUT, two).startswith("streams s and r bring 40 rows/s")
    assert cause(THROUGHPUT, BUSY).startswith("12,000 rows wait")  # enough comes, it is not processed


def test_what_holds_the_memory() -> None:
    assert cause(MEMORY, BUSY) == "900 kB wait behind select v > 3, the oldest for 3.2 s"
    windows = replace(BUSY, remembered=(WindowMemory("aggregate by room", 2e6), WindowMemory("join", 1.0)))
    assert cause(MEMORY, windows) == "windows of aggregate by room hold 2 MB"
    assert cause(MEMORY, replace(BUSY, held=True)).endswith("3.2 s; it is held")


def test_a_step_alone_may_take_longer_than_was_asked_for() -> None:
    quiet = Circumstances(fixed_s=0.06, work=BUSY.work)
    tight = Judgement("latency", 0.01, 0.07, Verdict.violated)
    assert cause(tight, quiet) == "a step takes 60 ms before its first row"
    assert cause(LATENCY, quiet) == "it waits for its turn: a step takes 60 ms before its first row"
    said = "no row waits now, and a step takes 60 ms before its first row; 90% of its work is project slow(v)"
    assert cause(FRESHNESS, quiet).startswith(said)
    assert cause(LATENCY, Circumstances()) == "no row waits now"


def test_of_a_query_that_has_ended_nothing_is_told_as_it_is_now() -> None:
    ended = Circumstances(work=BUSY.work, most=(9e5, 2e3), ended=True)
    assert cause(FRESHNESS, ended) == "90% of its work is project slow(v), 45.0 µs a row"
    assert cause(MEMORY, ended) == "when it held most, 900 kB waited and windows had 2 kB"
    assert cause(FRESHNESS, Circumstances(ended=True)) == "no step of it is known"


def test_only_what_is_violated_has_a_cause() -> None:
    judged = QoS(latency_s=1.0, freshness=0.5).judged(Measured(latency_s=5.0, freshness=0.9))
    late, fresh = with_causes(judged, BUSY)
    assert late.cause
    assert not fresh.cause
