"""Queries that begin with rows from before: those that came since then, as far as their stream keeps them."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from penstock.engines.spark.engine import Engine
from tests.engines.spark.ingest.feeding import eventually

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.jvm

STREAMS = """
CREATE STREAM s (id INT) USING push OPTIONS (retention '1 h', endless 'false');
CREATE STREAM brief (id INT) USING push OPTIONS (retention '1500 ms', endless 'false');
CREATE STREAM unkept (id INT) USING push;
CREATE STREAM unread (id INT) USING push OPTIONS (retention '1 h');
CREATE TABLE names (id INT, name STRING) USING csv OPTIONS (path 'names.csv');
CREATE CONTINUOUS QUERY s_now AS SELECT id FROM s;
CREATE CONTINUOUS QUERY brief_now AS SELECT id FROM brief;
CREATE CONTINUOUS QUERY unkept_now AS SELECT id FROM unkept;
CREATE CONTINUOUS QUERY named AS SELECT s.id, name FROM s JOIN names ON s.id = names.id;
"""


def rows(*ids: int) -> list[dict[str, int]]:
    return [{"id": one} for one in ids]


def looking(name: str, start: str, select: str) -> str:
    return f"CREATE CONTINUOUS QUERY {name} WITH (start = '{start}') AS {select};"


def ids(engine: Engine, query: str) -> list[int]:
    assert engine.settle(60)
    return list(engine.results(query)["id"].to_pylist())


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="microseconds")


def test_rows_from_before_as_far_as_they_are_kept(spark: SparkSession, tmp_path: Path) -> None:
    state, said = tmp_path / "state", list[str]()
    (tmp_path / "names.csv").write_text("id,name\n1,one\n2,two\n3,three\n")
    with Engine(state, base_dir=tmp_path, spark=spark, tell=said.append) as engine:
        engine.start()
        engine.execute(STREAMS)
        for stream in ("s", "brief", "unkept", "unread"):
            engine.push(stream, rows(1))
        assert ids(engine, "named") == [1]
        (tmp_path / "names.csv").write_text("id,name\n1,ONE\n2,TWO\n3,THREE\n")
        eventually(lambda: engine.recorded_tables()["names"].num_rows == 6)
        time.sleep(0.01)
        between = now()
        for stream in ("s", "brief", "unkept", "unread"):
            engine.push(stream, rows(2, 3))
        assert ids(engine, "named") == [1, 2, 3]  # all of it is read
        engine.execute(
            looking("all_of_it", "-10 min", "SELECT id FROM s")
            + looking("some", between, "SELECT id FROM s")
            + looking("joined", "-10 min", "SELECT s.id, name FROM s JOIN names ON s.id = names.id")
            + looking("unkept_then", "-10 min", "SELECT id FROM unkept")
            + looking("first", between, "SELECT id FROM unread")
            + "CREATE CONTINUOUS QUERY later AS SELECT id FROM unread;"
        )
        assert [ids(engine, one) for one in ("all_of_it", "some")] == [[1, 2, 3], [2, 3]]
        assert engine.results("joined")["name"].to_pylist() == ["one", "TWO", "THREE"]  # as they were then
        assert ids(engine, "unkept_then") == []
        status = engine.status().queries
        assert status["all_of_it"].began_with.startswith("s from ")
        assert "not kept" not in status["all_of_it"].began_with
        assert status["all_of_it"].latencies.percentile_s(1.0) < 30  # nobody has waited for ten minutes
        assert status["unkept_then"].began_with == "unkept from the next row on, older rows are not kept"
        assert any("query 'unkept_then' begins with unkept from the next row on" in one for one in said)
        assert ids(engine, "first") == [2, 3]
        assert ids(engine, "later") in ([], [1, 2, 3])
    with Engine(state, base_dir=tmp_path, spark=spark) as engine:
        engine.execute(looking("again", between, "SELECT id FROM s"))
        engine.start()
        eventually(lambda: not list((state / "tables").glob("log-brief*")))
        assert list((state / "tables").glob("log-s-*"))
        engine.push("s", rows(4))
        engine.push("brief", rows(4))
        engine.execute(looking("brief_then", "-10 min", "SELECT id FROM brief"))
        assert ids(engine, "again") == [2, 3, 4]
        assert ids(engine, "all_of_it")[-1] == 4
        assert ids(engine, "brief_then") == [4]
        assert "older rows are not kept" in engine.status().queries["brief_then"].began_with
        assert engine.status().queries["again"].began_with == engine.status().queries["some"].began_with
