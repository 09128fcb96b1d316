"""What the engine says of itself is what is: staleness while rows wait, states, snapshots."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest
from pyspark.logger import PySparkLogger

from penstock.engines.spark.engine import Engine
from penstock.engines.spark.status.query_states import QueryState
from penstock.model.qos import Judgement, Verdict

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def eventually(condition: Callable[[], object], timeout: float = 20.0) -> None:
    until_s = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < until_s
        time.sleep(0.02)


def numbers(*values: int) -> list[dict[str, int]]:
    return [{"v": value} for value in values]


@pytest.fixture
def engine(spark: SparkSession) -> Iterator[Engine]:
    with Engine(spark=spark) as made:
        made.create_stream("s", {"v": "INT"})
        yield made


def states(engine: Engine) -> dict[str, str]:
    return {name: query.state.value for name, query in engine.status().queries.items()}


@pytest.mark.parametrize("policy", ["fcfs", "round-robin"])
def test_a_held_query_is_stale_while_rows_wait_and_is_not_settled(engine: Engine, policy: str) -> None:
    engine.execute(
        "CREATE CONTINUOUS QUERY q WITH (freshness = '95%') AS SELECT v + 1 AS w FROM s WHERE v > 0;"
        "CREATE CONTINUOUS QUERY rare WITH (freshness = '95%') AS SELECT v FROM s WHERE v = 1000;"
        f"SET policy = '{policy}';"
    )
    engine.start()
    for _ in range(5):
        engine.push("s", numbers(*range(200)))
        assert engine.settle(30)
    began = engine.status()
    engine.suspend("q")
    engine.suspend("rare")
    engine.push("s", numbers(*range(1, 101)))
    assert engine.settle(60) is False  # at once: it would wait for ever
    before = engine.status()
    time.sleep(1.5)
    after = engine.status()
    q, rare = after.queries["q"], after.queries["rare"]
    assert q.state is rare.state is QueryState.held
    assert q.waiting_rows == rare.waiting_rows == 100
    assert q.waiting_stale_s >= before.queries["q"].waiting_stale_s + 1.4
    assert q.staleness * (after.at_s - began.at_s) > 0
    eventually(lambda: engine.status().queries["q"].verdict is Verdict.violated)  # time alone makes it so
    (wish,) = engine.status().queries["q"].judged
    assert wish.measured is not None
    assert wish.measured < 0.95 * 0.9
    assert wish.cause.startswith("it is held, and 100 rows wait on stream s, the oldest for")
    assert f"query 'q': freshness violated, {wish.measured:.0%} of 95%" in str(engine.status())[:10_000]
    assert rare.waiting_stale_s < 0.3 * q.waiting_stale_s  # none of 1000 rows mattered to it
    assert (before.at_s, before.queries["q"].state) < (after.at_s, q.state) or before is not after
    engine.resume("q")
    engine.resume("rare")
    assert engine.settle(30)
    done = engine.status()
    assert done.queries["q"].waiting_stale_s == done.queries["rare"].waiting_stale_s == 0.0
    assert done.queries["q"].stale_s >= began.queries["q"].stale_s + q.waiting_stale_s
    assert done.queries["rare"].stale_s == 0.0  # it turned out that nothing would have changed


def test_wishes_are_judged_with_their_causes(engine: Engine) -> None:
    engine.create_stream("timed", {"t": "TIMESTAMP", "v": "INT"}, time="t")
    windowed = "FROM timed GROUP BY v, window(t, '1 hour')"
    engine.execute(
        "CREATE CONTINUOUS QUERY calm WITH (latency = '10 min', memory = '1 GB') AS SELECT v FROM s;"
        "CREATE CONTINUOUS QUERY hasty WITH (latency = '1 us') AS SELECT v * 2 AS w FROM s;"
        "CREATE CONTINUOUS QUERY plenty WITH (throughput = '100000/s') AS SELECT v FROM s WHERE v % 2 = 0;"
        "CREATE CONTINUOUS QUERY quiet WITH (latency = '1 s', throughput = '1/s') AS SELECT v FROM timed;"
        f"CREATE CONTINUOUS QUERY wide WITH (memory = '100 B') AS SELECT v, count(*) AS n {windowed};"
        f"CREATE CONTINUOUS QUERY narrow WITH (memory = '1 GB') AS SELECT v, sum(v) AS n {windowed};"
        "CREATE CONTINUOUS QUERY modest AS SELECT v - 1 AS w FROM s;"
    )
    engine.start()
    for _ in range(3):
        engine.push("s", numbers(*range(200)))
        engine.push("timed", [{"t": f"2026-01-01 00:00:{n % 60:02}", "v": n} for n in range(500)])
        assert engine.settle(30)

    def judged(name: str) -> dict[str, Judgement]:
        return {one.wish: one for one in engine.status().queries[name].judged}

    assert {one.verdict for one in judged("calm").values()} == {Verdict.spare}
    hasty, wide = judged("hasty")["latency"], judged("wide")["memory"]
    assert hasty.verdict is wide.verdict is Verdict.violated
    assert hasty.cause
    assert wide.cause.startswith("windows of aggregate by v")
    status = engine.status().queries
    assert status["wide"].state_bytes == wide.measured  # nothing waits
    assert status["wide"].queue_bytes == 0
    assert status["narrow"].verdict is Verdict.spare
    assert status["modest"].judged == ()
    eventually(lambda: judged("plenty")["throughput"].verdict is Verdict.violated)
    cause = judged("plenty")["throughput"].cause
    assert re.fullmatch(
        r"stream s brings \S+ rows/s, and (49|50)\.\d% of them come out: \S+ results/s", cause
    )
    told = status["wide"].as_json()
    assert (told["verdict"], told["wishes"][0]["wish"]) == ("violated", "memory")
    assert "query 'wide': memory violated" in str(engine.status())
    engine.end("s")
    engine.end("timed")
    engine.run()
    ended = engine.status()
    assert ended.queries["calm"].judged == ended.queries["calm"].judged_in_life
    assert ended.queries["wide"].memory_bytes == 0  # the window is closed; but it was seen to hold more
    assert ended.queries["wide"].verdict is Verdict.violated
    assert ended.freshness is not None
    assert 0 < ended.freshness <= 1


def test_a_member_is_charged_its_part(engine: Engine) -> None:
    engine.create_stream("timed", {"t": "TIMESTAMP", "v": "INT"}, time="t")
    engine.execute(
        "".join(
            f"CREATE CONTINUOUS QUERY q{n} AS SELECT v, count(*) AS n FROM timed WHERE v > {n} "
            "GROUP BY v, window(t, '1 hour');"
            for n in range(4)
        )
    )
    engine.start()
    engine.push("timed", [{"t": "2026-01-01 00:00:00", "v": n} for n in range(100)])
    assert engine.settle(30)
    queries = engine.status().queries
    parts = {one.state_bytes for one in queries.values()}
    states = engine.coordinator.progress.states.values()
    total = sum(piece.ref.bytes for state in states for piece in state.pieces)
    assert len({one.runs_as for one in queries.values()}) == 1
    assert parts == {total / 4}


def test_a_member_that_is_held_is_stale_by_its_own_rows(engine: Engine) -> None:
    engine.execute(
        "".join(f"CREATE CONTINUOUS QUERY q{n} AS SELECT v FROM s WHERE v > {n};" for n in (0, 50, 5000))
    )
    engine.start()
    engine.push("s", numbers(*range(200)))
    assert engine.settle(30)
    for name in ("q50", "q5000"):
        engine.suspend(name)
    eventually(lambda: engine.settle(1) and states(engine)["q50"] == "held")
    engine.push("s", numbers(*range(40, 140)))
    eventually(lambda: engine.status().queries["q0"].rows == 299)
    time.sleep(0.5)
    now = engine.status().queries
    assert now["q0"].waiting_rows == 0
    assert now["q50"].waiting_rows == now["q5000"].waiting_rows == 100
    assert now["q50"].waiting_stale_s > 0.5
    assert now["q5000"].waiting_stale_s < 0.5 * now["q50"].waiting_stale_s
    assert now["q0"].waiting_stale_s == 0.0


def test_states_say_what_is(engine: Engine) -> None:
    engine.execute(
        "CREATE CONTINUOUS QUERY runs AS SELECT v FROM s;"
        "CREATE CONTINUOUS QUERY fails AS SELECT 1 / v AS x FROM s WHERE v < 10;"
        "CREATE CONTINUOUS QUERY later WITH (start = '1 hour') AS SELECT v * 2 AS x FROM s;"
        "CREATE CONTINUOUS QUERY over AS SELECT v * 3 AS x FROM s;"
        "CREATE CONTINUOUS QUERY waits AS SELECT v * 4 AS x FROM s;"
    )
    assert engine.status().streams["s"].state == "waiting"
    engine.start()
    engine.suspend("waits")
    engine.execute("STOP QUERY over;")
    engine.push("s", numbers(1, 0))
    eventually(lambda: states(engine)["fails"] == "failed")
    wanted = {"runs": "running", "fails": "failed", "later": "scheduled", "over": "ended", "waits": "held"}
    eventually(lambda: states(engine) == wanted)
    shown = engine.execute("SHOW QUERIES;")[0]
    assert {row[0]: row[-1] for row in shown.rows} == wanted
    assert engine.execute("SHOW POLICIES;")[0].rows == (("fcfs",),)
    plan = engine.execute("EXPLAIN runs; EXPLAIN SELECT v FROM s WHERE v = 3;")
    assert "  sink runs" in [row[0] for row in plan[0].rows]
    assert any("1 operators" in row[0] for row in plan[0].rows)
    assert plan[1].rows[0] == ("it does not run; its plan would be",)
    engine.use_policy("chain")
    assert engine.execute("SHOW POLICIES;")[0].rows == (("chain",),)
    assert (engine.status().streams["s"].state, engine.status().streams["s"].rows) == ("running", 2)
    failed = engine.status().queries["fails"]
    assert failed.waiting_rows == 2
    engine.end("s")
    engine.run()
    assert states(engine)["runs"] == "ended"
    assert engine.status().streams["s"].state == "ended"
    assert len(str(engine.status()).splitlines()) < 20


def test_what_was_taken_does_not_change(engine: Engine) -> None:
    engine.execute("CREATE CONTINUOUS QUERY q AS SELECT v FROM s;")
    engine.start()
    engine.push("s", numbers(1, 2))
    assert engine.settle(30)
    status, measures, problems = engine.status(), engine.measures, engine.problems()
    mean_s = status.queries["q"].latencies.mean_s
    engine.push("s", numbers(3))
    assert engine.settle(30)
    assert (status.queries["q"].rows, measures["q"].rows, problems) == (2, 2, {})
    assert status.queries["q"].latencies.mean_s == measures["q"].latencies.mean_s == mean_s
    assert status.queries["q"].latencies.cells.sum() == 2
    assert engine.measures["q"].rows == 3


def test_a_failing_query_puts_no_stack_of_java_on_the_terminal_of_somebody_elses_spark(
    spark: SparkSession,
) -> None:
    log4j = spark.sparkContext._jvm.org.apache.logging.log4j  # type: ignore[union-attr]

    def levels() -> list[str]:
        names = ("org.apache.spark.executor.Executor", "org.apache.spark.scheduler.TaskSetManager")
        return [log4j.LogManager.getLogger(name).getLevel().toString() for name in names]

    before = levels()
    with Engine(spark=spark):
        assert levels() == ["OFF", "OFF"]
        assert PySparkLogger.getLogger("SQLQueryContextLogger").level == logging.CRITICAL
    assert levels() == before
