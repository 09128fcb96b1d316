"""A status prints in a screen, however many queries there are."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.engines.spark.failing import Failing
from penstock.engines.spark.results.measures import Latencies
from penstock.engines.spark.runtime.coordinator import Totals
from penstock.engines.spark.status.query_states import PartState, QueryState
from penstock.engines.spark.status.status import PartStatus, QueryStatus, Status, StreamStatus
from penstock.model.qos import Judgement, QoS, Verdict


def query(name: str, state: QueryState = QueryState.running, failure: str | None = None) -> QueryStatus:
    return QueryStatus(name, QoS(), 5, Latencies(), 0.25, 1.0, 0.0, 0, 0, failure, state, 7)


def test_a_thousand_queries_fit_into_a_screen_with_those_first_that_need_somebody() -> None:
    queries = {f"q{n}": query(f"q{n}") for n in range(1000)}
    queries["q900"] = query("q900", QueryState.failed, "division by zero " * 30)
    queries["q901"] = query("q901", QueryState.held)
    failing = Failing("no such directory\nat java.lang", 90.0, 3, 104.0)
    status = Status(
        100.0, queries, {"s": 1}, 0.0, 0, Totals(), "fcfs",
        {f"s{n}": StreamStatus(f"s{n}", PartState.running, n, 0, 0) for n in range(30)}
        | {"bad": StreamStatus("bad", PartState.failing, 0, 0, 0, failing)},
        sinks={"k": PartStatus("k", PartState.failing, failing)},
    )  # fmt: skip
    lines = str(status).splitlines()
    assert len(lines) <= 40
    assert max(map(len, lines)) <= 110
    assert repr(status) == str(status)
    assert "stream bad fails: no such directory (for 10 s, tried 3×, again in 4 s)" in lines
    assert any(line.startswith("sink k fails") for line in lines)
    names = [line.split()[0] for line in lines]
    assert names.index("q900") < names.index("q901") < names.index("q0")
    assert "… and 980 more queries" in lines
    assert set(status.failing) == {"stream bad", "sink k"}


def test_freshness_is_that_of_all_queries_and_weighted() -> None:
    queries = {
        "light": replace(query("light"), staleness=0.9, qos=QoS(weight=0.1)),
        "heavy": replace(query("heavy"), staleness=0.1, qos=QoS(weight=0.9)),
        "later": replace(query("later", QueryState.scheduled), staleness=0.0),
    }
    status = Status(100.0, queries, {}, 0.0, 0, Totals(), "fcfs")
    assert status.freshness == pytest.approx(0.5)
    assert status.weighted_freshness == pytest.approx(0.1 * 0.1 + 0.9 * 0.9)
    assert str(status).splitlines()[0].endswith("fresh 50% (weighted 82%)")
    assert replace(status, queries={}).freshness is None


def test_what_is_violated_is_told_with_its_cause() -> None:
    held = "it is held, and 100 rows wait on stream s, the oldest for 5.6 s"
    judged = (
        Judgement("latency", 2.0, 0.12, Verdict.spare),
        Judgement("freshness", 0.95, 0.61, Verdict.violated, held),
    )
    queries = {
        "bad": replace(query("bad", QueryState.held), qos=QoS(latency_s=2.0, freshness=0.95), judged=judged),
        "good": replace(query("good"), qos=QoS(latency_s=2.0), judged=judged[:1]),
        "new": replace(query("new"), judged=(Judgement("latency", 2.0, None, Verdict.unknown),)),
    }
    lines = str(Status(100.0, queries, {}, 0.0, 0, Totals(), "fcfs")).splitlines()
    assert f"query 'bad': freshness violated, 61% of 95%: {held}" in lines
    last = {line.split()[0]: line.split()[-1] for line in lines}
    assert (last["bad"], last["good"], last["new"]) == ("violated", "spare", "unknown")
