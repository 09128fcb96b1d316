"""What the engine says of itself is what is: staleness while rows wait, states, snapshots."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import pytest
from pyspark.logger import PySparkLogger

from penstock.engines.spark.engine import Engine
from penstock.engines.spark.status.query_states import QueryState

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
    assert q.met() is (1 - q.staleness >= 0.95 * 0.9)
    assert rare.waiting_stale_s < 0.3 * q.waiting_stale_s  # none of 1000 rows mattered to it
    assert (before.at_s, before.queries["q"].state) < (after.at_s, q.state) or before is not after
    engine.resume("q")
    engine.resume("rare")
    assert engine.settle(30)
    done = engine.status()
    assert done.queries["q"].waiting_stale_s == done.queries["rare"].waiting_stale_s == 0.0
    assert done.queries["q"].stale_s >= began.queries["q"].stale_s + q.waiting_stale_s
    assert done.queries["rare"].stale_s == 0.0  # it turned out that nothing would have changed


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
