"""Quanta, thread plans and latency wishes on Spark: they bind, and results do not depend on them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from penstock.control.commands import RunStep
from penstock.engines.spark.engine import Engine
from penstock.engines.spark.runtime.scheduling import AskedScheduling
from penstock.engines.spark.runtime.workers import Workers
from penstock.errors import PolicyError, SqlError
from penstock.model.graph import Graph
from penstock.model.scheduling import SCHEDULINGS, Scheduling
from penstock.sql.binding.catalog import Partition

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERIES = """
CREATE STREAM s (t TIMESTAMP, k INT, v INT, WATERMARK FOR t AS t - INTERVAL 0 SECONDS) USING push;
CREATE CONTINUOUS QUERY odd AS SELECT k, v * 2 AS d FROM (SELECT * FROM s WHERE v % 2 = 1) WHERE k < 3;
CREATE CONTINUOUS QUERY sums AS
    SELECT window(t, '10 seconds').start AS w, k, sum(v) AS total FROM s GROUP BY window(t, '10 seconds'), k;
CREATE CONTINUOUS QUERY pairs AS
    SELECT a.v AS x, b.v AS y FROM s [RANGE 2 SECONDS] AS a JOIN s [RANGE 2 SECONDS] AS b ON a.k = b.k
    WHERE a.v % 7 = 0 AND b.v % 5 = 0;
"""


def rows(first: int, count: int) -> list[dict[str, Any]]:
    start = 1_767_225_600
    return [
        {"t": f"{time.strftime('%Y-%m-%d %H:%M:%S', time.gmtime(start + n // 10))}", "k": n % 4, "v": n}
        for n in range(first, first + count)
    ]


def results(engine: Engine) -> dict[str, list[tuple[Any, ...]]]:
    return {
        name: sorted(tuple(row.values()) for row in engine.results(name).to_pylist())
        for name in engine.catalog.queries
    }


@pytest.fixture(scope="module")
def expected(spark: SparkSession) -> dict[str, list[tuple[Any, ...]]]:
    """What comes of 900 rows when each step takes all that waits."""
    with Engine(spark=spark) as engine:
        engine.execute(QUERIES)
        engine.push("s", rows(0, 900))
        engine.end("s")
        engine.run()
        return results(engine)


def test_a_quantum_in_rows_binds_inside_batches_and_a_restart_goes_on_there(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expected: dict[str, Any]
) -> None:
    taken: list[int] = []
    submit = Workers.submit

    def noted(self: Workers, command: RunStep) -> None:
        taken.append(sum(batch.rows for take in command.takes for batch in take.batches))
        submit(self, command)

    monkeypatch.setattr(Workers, "submit", noted)
    with Engine(tmp_path / "state", spark=spark, policy="round-robin(rows=70)") as engine:
        engine.execute(QUERIES)
        engine.start()
        engine.push("s", rows(0, 900))
        while len(taken) < 12:
            engine.check()
            time.sleep(0.01)
    assert max(taken) == 70
    with Engine(tmp_path / "state", spark=spark, policy="round-robin(rows=400)") as engine:
        cursors = {cursor for cursor in engine.coordinator.log.readers().values() if cursor[1]}
        assert cursors  # some unit stands inside a batch
        engine.start()
        engine.end("s")
        engine.run()
        assert results(engine) == expected
    assert max(taken) == 400


def test_queries_run_under_every_scheduling_while_rows_flow(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, expected: dict[str, Any]
) -> None:
    steps: list[tuple[str, int, int]] = []
    submit, now = Workers.submit, "pool"

    def noted(self: Workers, command: RunStep) -> None:
        steps.append((now, command.unit, command.worker))
        submit(self, command)

    monkeypatch.setattr(Workers, "submit", noted)
    with Engine(spark=spark, policy="fifo(rows=60)", workers=2) as engine:
        engine.execute(QUERIES)
        engine.start()
        for number, scheduling in enumerate(SCHEDULINGS):
            engine.use_scheduling(scheduling)
            now = scheduling
            engine.push("s", rows(150 * number, 150))
            assert engine.settle(60)
            assert engine.status().scheduling == scheduling
        engine.end("s")
        engine.run()
        assert results(engine) == expected
    workers = {kind: {worker for one, _, worker in steps if one == kind} for kind in SCHEDULINGS}
    assert workers["gts"] == workers["di"] == {0}
    assert len(workers["ots"]) > 2
    owners: dict[int, set[int]] = {}
    for kind, unit, worker in steps:
        if kind == "owned":
            owners.setdefault(unit, set()).add(worker)
    assert all(len(found) == 1 for found in owners.values())
    assert set.union(*owners.values()) == {0, 1}
    assert len({unit for kind, unit, _ in steps if kind == "di"}) < len(owners)


def test_partitions_are_set_changed_shown_and_dropped(spark: SparkSession) -> None:
    with Engine(spark=spark) as engine:
        engine.execute(QUERIES)
        with pytest.raises(SqlError, match="write SET scheduling = 'hmts' first"):
            engine.set_partition("slow", queries=["pairs"])
        engine.execute("SET scheduling = 'HMTS';")
        engine.set_partition("slow", queries=["PAIRS"], policy="chain", priority=0.5)
        with pytest.raises(SqlError, match="'pairs' is in partition 'slow' already"):
            engine.set_partition("other", queries=["pairs"])
        with pytest.raises(SqlError, match="no query 'pears'"):
            engine.set_partition("other", queries=["pears"])
        with pytest.raises(SqlError, match="has nothing to run"):
            engine.set_partition("other", priority=2)
        with pytest.raises(PolicyError, match="no policy 'chian'"):
            engine.set_partition("slow", policy="chian")
        with pytest.raises(PolicyError, match="no operator 'nothing'"):
            engine.set_partition("other", operators=["nothing"])
        engine.set_partition("SLOW", priority=2)
        with pytest.raises(SqlError, match="runs what no other does"):
            engine.set_partition("rest", queries=["odd"])
        engine.set_partition("rest", policy="round-robin(rows=5)", priority=3)
        engine.push("s", rows(0, 30))
        assert engine.settle(60)
        (shown,) = engine.execute("SHOW PARTITIONS;")
        ran = {row[0]: row[1:] for row in shown.rows}
        assert ran["slow"] == ("pairs", "chain", "2")
        assert ran["rest"][1:] == ("round-robin(rows=5)", "3")
        assert "odd" in ran["rest"][0]
        (explained,) = engine.execute("EXPLAIN odd;")
        assert any("in partition rest under round-robin(rows=5)" in line for (line,) in explained.rows)
        found = {one.name: one for one in engine.coordinator.control.partitions}
        assert set(found) == {"slow", "rest"}
        assert (found["slow"].policy.text, found["slow"].priority) == ("chain", 2.0)
        engine.execute("DROP PARTITION slow; STOP QUERY pairs;")
        assert engine.settle(60)
        names = {one.name for one in engine.coordinator.control.partitions}
        assert "rest" in names  # the others are chosen by what was measured
        assert "slow" not in names
        with pytest.raises(SqlError, match="use gts, ots, di, pool, owned, hmts"):
            engine.use_scheduling("hmst")


def test_scheduling_and_partitions_are_back_after_a_restart(
    spark: SparkSession, tmp_path: Path, expected: dict[str, Any]
) -> None:
    with Engine(tmp_path / "state", spark=spark) as engine:
        engine.execute(f"{QUERIES} SET scheduling = 'hmts';")
        engine.set_partition("slow", queries=["pairs"], policy="chain", priority=2)
        engine.set_partition("rest", policy="round-robin(rows=50)")
        engine.push("s", rows(0, 300))
        assert engine.settle(60)
    with Engine(tmp_path / "state", spark=spark) as engine:
        engine.push("s", rows(300, 300))
        assert engine.settle(60)
        assert engine.status().scheduling == "hmts"
        (shown,) = engine.execute("SHOW PARTITIONS;")
        ran = {row[0]: row[1:] for row in shown.rows}
        assert ran["slow"] == ("pairs", "chain", "2")
        assert ran["rest"][1] == "round-robin(rows=50)"
        engine.execute("DROP PARTITION slow; DROP PARTITION rest; SET scheduling = 'owned';")
        engine.push("s", rows(600, 100))
        assert engine.settle(60)
    with Engine(tmp_path / "state", spark=spark) as engine:
        assert engine.status().scheduling == "owned"
        assert engine.coordinator.control.partitions[0].name != "slow"
        engine.push("s", rows(700, 200))
        engine.end("s")
        engine.run()
        assert results(engine) == expected


def test_a_query_that_grants_much_time_gets_few_steps_and_files(spark: SparkSession, tmp_path: Path) -> None:
    with Engine(spark=spark, out=tmp_path / "out") as engine:
        engine.execute(
            "CREATE STREAM s (v INT) USING push;"
            "CREATE CONTINUOUS QUERY slow WITH (latency = '10 min') AS SELECT v + 1 AS v FROM s WHERE v >= 0;"
            "CREATE CONTINUOUS QUERY fast WITH (latency = '200 ms') AS SELECT v FROM s;"
        )
        engine.start()
        for n in range(8):
            engine.push("s", [{"v": n}])
            until_s = time.monotonic() + 30
            while engine.results("fast").num_rows <= n:
                assert time.monotonic() < until_s
                time.sleep(0.01)
        assert engine.results("slow").num_rows == 0
        assert engine.settle(60)
        assert sorted(engine.results("slow")["v"].to_pylist()) == list(range(1, 9))
        assert len(engine.result_files("slow")) == 1
        assert len(engine.result_files("fast")) == 8


@pytest.mark.parametrize(("kind", "workers"), [("gts", 1), ("di", 1), ("ots", 8), ("pool", 3), ("hmts", 3)])
def test_how_many_steps_run_at_once(kind: Scheduling, workers: int) -> None:
    plan = AskedScheduling(3, kind, (Partition("p", ("q",)),)).plan(Graph(), str)
    assert (plan.kind, plan.workers, plan.groups) == (kind, workers, ())
