"""The engine as a Python program sees it: streams, queries and rows in, results out."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

import penstock as ps
from penstock.engines.spark.engine import Engine
from penstock.errors import EngineError, PolicyError, QueryError, SourceError, SqlError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MIDNIGHT = datetime(2026, 1, 1, tzinfo=UTC)


def reading(second: float, room: str, temp: float | None) -> dict[str, Any]:
    return {"t": MIDNIGHT + timedelta(seconds=second), "room": room, "temp": temp}


def readings(*temps: float) -> list[dict[str, Any]]:
    """One row per second, from the hall."""
    return [reading(second, "hall", temp) for second, temp in enumerate(temps)]


def create_temps(engine: Engine) -> None:
    columns = {"t": "TIMESTAMP", "room": "STRING", "temp": "DOUBLE"}
    engine.create_stream("temps", columns, time="t", delay="5s")


@pytest.fixture
def engine(spark: SparkSession) -> Iterator[Engine]:
    """An engine with a stream `temps` to push to, and the query `alarm` on it."""
    with Engine(spark=spark) as made:
        create_temps(made)
        made.submit(ps.stream("temps").where("temp > 30").select("room", "temp").query("alarm", latency="2s"))
        yield made


def eventually(condition: Callable[[], object], timeout: float = 20.0) -> None:
    until_s = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < until_s
        time.sleep(0.02)


def temps_of(table: pa.Table) -> list[float]:
    return table["temp"].to_pylist()


# --- rows in, results out ---


def test_pushed_rows_become_results_as_arrow(engine: Engine) -> None:
    engine.push("temps", readings(20.0, 31.0))
    engine.push("TEMPS", pa.table({"room": ["cellar"], "temp": [32.5]}))
    engine.end("temps")
    engine.run()
    table = engine.results("alarm")
    assert table.schema.names == ["room", "temp"]
    assert table.schema.field("temp").type == pa.float64()
    assert table.to_pylist() == [{"room": "hall", "temp": 31.0}, {"room": "cellar", "temp": 32.5}]


def test_results_of_rows_pushed_while_it_runs_are_there_once_it_has_settled(engine: Engine) -> None:
    engine.start()
    for temp in (31.0, 32.0, 33.0):
        engine.push("temps", readings(temp))
        assert engine.settle(30)
        assert temps_of(engine.results("ALARM"))[-1] == temp


def test_windows_close_as_time_goes_on_and_at_the_end(engine: Engine) -> None:
    means = ps.stream("temps").range("10 seconds").group_by("room").agg("avg(temp) AS temp")
    engine.submit(means.query("means"))
    engine.push("temps", [reading(1, "hall", 10.0), reading(3, "hall", 20.0), reading(12, "hall", 7.0)])
    assert engine.settle(30)
    assert temps_of(engine.results("means")) == []
    engine.push("temps", [reading(15, "hall", 9.0)])
    assert engine.settle(30)
    assert temps_of(engine.results("means")) == [15.0]
    engine.end("temps")
    engine.run()
    assert temps_of(engine.results("means")) == [15.0, 8.0]


def test_a_wrong_push_takes_nothing(engine: Engine) -> None:
    with pytest.raises(SourceError, match=r"took none of 2 rows: row 2, column temp: 'hot' is not a double"):
        engine.push("temps", [{"temp": 50.0}, {"temp": "hot"}])
    engine.push("temps", readings(31.0))
    engine.end("temps")
    engine.run()
    assert temps_of(engine.results("alarm")) == [31.0]
    with pytest.raises(SourceError, match="was ended"):
        engine.push("temps", readings(32.0))


def test_a_push_to_the_wrong_place_says_what_is_wrong(engine: Engine) -> None:
    with pytest.raises(EngineError, match=r"there is no stream 'temp'. Did you mean 'temps'\?"):
        engine.push("temp", [])
    engine.create_stream("doors", {"open": "BOOLEAN"})
    engine.push("doors", [{"open": True}])  # nobody reads it
    engine.create_stream("made_up", {"n": "INT"}, format="generator", rows="1")
    with pytest.raises(EngineError, match="the rows of stream 'made_up' come from generator"):
        engine.push("made_up", [{"n": 1}])


def test_late_rows_are_counted_and_kept_by_queries_without_windows(engine: Engine) -> None:
    counts = ps.stream("temps").range("10 seconds").group_by("room").agg("count(*) AS readings")
    engine.submit(counts.query("counts"))
    engine.push("temps", [reading(100, "hall", 31.0), reading(1, "hall", 32.0), reading(96, "hall", 33.0)])
    engine.end("temps")
    engine.run()
    assert engine.status().queries["counts"].late_rows == 1
    assert engine.results("counts")["readings"].to_pylist() == [1, 1]
    assert sorted(temps_of(engine.results("alarm"))) == [31.0, 32.0, 33.0]


def test_bad_rows_are_counted_and_stop_nothing(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "temps.csv").write_text("room,temp\nhall,31\nhall,hot\ncellar,32\n")
    state = tmp_path / "state"
    with Engine(state, spark=spark, base_dir=tmp_path) as engine:
        engine.create_stream(
            "temps", {"room": "STRING", "temp": "DOUBLE"}, format="csv", path="temps.csv", header="true"
        )
        engine.submit("CREATE CONTINUOUS QUERY all AS SELECT * FROM temps")
        engine.run()
        assert temps_of(engine.results("all")) == [31.0, 32.0]
        assert engine.status().queries["all"].bad_rows == 1
    assert "'hot' is not a double" in "".join(
        file.read_text() for file in (state / "dead-letters").rglob("*") if file.is_file()
    )


# --- subscribers and callbacks ---


def test_a_subscriber_gets_each_result_once_with_growing_positions(engine: Engine) -> None:
    subscription = engine.subscribe("alarm")
    engine.start()
    for temp in (31.0, 32.0):
        engine.push("temps", readings(temp))
        assert engine.settle(30)
    found = [subscription.get(5), subscription.get(5)]
    assert [temps_of(result.table) for result in found if result is not None] == [[31.0], [32.0]]
    positions = [result.position for result in found if result is not None]
    assert positions == sorted(set(positions))


def test_closing_the_engine_ends_a_subscription(spark: SparkSession) -> None:
    got: list[float] = []
    with Engine(spark=spark) as engine:
        create_temps(engine)
        engine.submit("CREATE CONTINUOUS QUERY every AS SELECT temp FROM temps")
        subscription = engine.subscribe("every")
        reader = threading.Thread(
            target=lambda: got.extend(temp for result in subscription for temp in temps_of(result.table))
        )
        reader.start()
        engine.push("temps", readings(1.0, 2.0))
        assert engine.settle(30)
    reader.join(10)
    assert not reader.is_alive()
    assert got == [1.0, 2.0]


def test_a_callback_that_raises_once_gets_the_same_again_and_in_order(engine: Engine) -> None:
    got: list[tuple[float, int]] = []
    attempts = 0

    def careless(table: pa.Table, position: int) -> None:
        nonlocal attempts
        attempts += 1
        if attempts == 1:
            raise ValueError("not today")
        got.append((table["temp"][0].as_py(), position))

    engine.on_result("alarm", careless)
    others: list[float] = []
    engine.on_result("alarm", lambda table, _: others.extend(temps_of(table)))
    engine.start()
    engine.push("temps", readings(31.0))
    assert engine.settle(30)
    assert any("ValueError: not today" in problem for problem in engine.problems().values())
    engine.push("temps", readings(32.0))
    assert engine.settle(30)
    assert others == [31.0, 32.0]  # one that fails holds up nobody else
    eventually(lambda: len(got) == 2)
    assert [temp for temp, _ in got] == [31.0, 32.0]
    assert got[0][1] < got[1][1]
    assert engine.problems() == {}


# --- life of a query ---


def test_a_suspended_query_waits_and_then_goes_on(engine: Engine) -> None:
    engine.suspend("alarm")
    engine.start()
    engine.push("temps", readings(31.0))
    time.sleep(0.5)
    assert temps_of(engine.results("alarm")) == []
    engine.resume("alarm")
    eventually(lambda: temps_of(engine.results("alarm")) == [31.0])


def test_a_stopped_query_keeps_its_results_and_gets_no_more(engine: Engine) -> None:
    engine.execute("CREATE CONTINUOUS QUERY every AS SELECT temp FROM temps;")
    engine.start()
    engine.push("temps", readings(31.0))
    assert engine.settle(30)
    engine.execute("STOP QUERY alarm;")
    engine.push("temps", readings(32.0))
    assert engine.settle(30)
    assert temps_of(engine.results("every")) == [31.0, 32.0]
    assert temps_of(engine.results("alarm")) == [31.0]


def test_a_query_that_starts_later_sees_later_rows_only(engine: Engine) -> None:
    engine.start()
    engine.push("temps", readings(31.0))
    assert engine.settle(30)
    engine.submit(ps.stream("temps").select("temp").query("late"))
    engine.push("temps", readings(32.0))
    assert engine.settle(30)
    assert temps_of(engine.results("late")) == [32.0]
    assert temps_of(engine.results("alarm")) == [31.0, 32.0]


def test_wishes_and_the_policy_change_while_it_runs(engine: Engine) -> None:
    engine.start()
    engine.execute("ALTER QUERY alarm SET (weight = 0.25, latency = '9s'); SET policy = 'chain';")
    engine.push("temps", readings(31.0))
    assert engine.settle(30)
    now = engine.status()
    assert now.policy == "chain"
    assert now.queries["alarm"].qos.weight == 0.25
    assert now.queries["alarm"].qos.latency_s == 9.0
    assert temps_of(engine.results("alarm")) == [31.0]


def test_a_policy_that_cannot_run_here_changes_nothing(engine: Engine) -> None:
    before = engine.status().policy
    with pytest.raises(PolicyError, match="which only the simulator knows"):
        engine.use_policy("greedy")
    with pytest.raises(PolicyError):
        engine.execute("SET policy = 'fastest';")
    assert engine.status().policy == before


def test_statements_are_taken_all_or_none(engine: Engine) -> None:
    with pytest.raises(SqlError, match="there is no column 'tmep'"):
        engine.execute(
            "CREATE CONTINUOUS QUERY a AS SELECT * FROM temps; CREATE VIEW b AS SELECT tmep FROM temps;"
        )
    assert list(engine.catalog.queries) == ["alarm"]
    with pytest.raises(QueryError, match="no query 'alarms'"):
        engine.results("alarms")


def test_a_query_that_fails_is_suspended_with_the_reason_while_others_go_on(spark: SparkSession) -> None:
    told: list[str] = []
    with Engine(spark=spark, tell=told.append) as engine:
        create_temps(engine)
        engine.execute(
            "CREATE CONTINUOUS QUERY inverse AS SELECT 1 / temp AS x FROM temps;"
            "CREATE CONTINUOUS QUERY every AS SELECT temp FROM temps;"
        )
        engine.start()
        engine.push("temps", readings(2.0, 0.0))
        eventually(lambda: engine.status().queries["inverse"].failure)
        failure = engine.status().queries["inverse"].failure
        assert failure is not None
        assert "ivision by zero" in failure
        assert "\n" not in failure
        assert any("query 'inverse' is suspended" in text for text in told)
        engine.push("temps", readings(3.0))
        eventually(lambda: temps_of(engine.results("every")) == [2.0, 0.0, 3.0])
        assert engine.status().queries["every"].failure is None


# --- life of an engine ---


def test_results_survive_a_close_and_go_on_after_it(spark: SparkSession, tmp_path: Path) -> None:
    state, out = tmp_path / "state", tmp_path / "out"
    sums = ps.stream("temps").range("10 seconds").group_by("room").agg("sum(temp) AS temp").query("sums")
    with Engine(state, out=out, spark=spark) as engine:
        create_temps(engine)
        engine.submit(sums)
        engine.push("temps", [reading(1, "hall", 1.0), reading(16, "hall", 10.0)])
        assert engine.settle(30)
        assert temps_of(engine.results("sums")) == [1.0]
    with Engine(state, out=out, spark=spark) as engine:
        assert temps_of(engine.results("sums")) == [1.0]
        engine.push("temps", [reading(17, "hall", 20.0)])
        engine.end("temps")
        engine.run()
        assert temps_of(engine.results("sums")) == [1.0, 30.0]


def test_an_engine_that_is_not_open_says_so() -> None:
    engine = Engine()
    with pytest.raises(EngineError, match="the engine is not open; write `with Engine"):
        engine.execute("SHOW QUERIES;")
    engine.close()


def test_an_engine_can_be_opened_and_closed_by_hand(spark: SparkSession) -> None:
    engine = Engine(spark=spark).open()
    engine.execute("SHOW QUERIES;")
    engine.close()
    engine.close()
    with pytest.raises(EngineError, match="not open"):
        engine.status()


def test_an_engine_leaves_a_spark_alone_that_was_there_before(spark: SparkSession) -> None:
    with Engine() as engine:
        engine.execute("SHOW QUERIES;")
    assert spark.range(3).count() == 3
