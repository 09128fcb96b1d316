"""What a state directory holds after a long time, and what is taken up from it."""

from __future__ import annotations

import os
import sqlite3
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from penstock.engines.spark.engine import Engine

pytestmark = pytest.mark.slow

START = datetime(2026, 1, 1, tzinfo=UTC)
SQL = """
CREATE STREAM temps (t TIMESTAMP, room STRING, temp DOUBLE, WATERMARK FOR t AS t - INTERVAL 1 SECOND)
USING push;
CREATE TABLE rooms (room STRING, floor INT) USING csv OPTIONS (path 'rooms.csv');
CREATE CONTINUOUS QUERY placed AS SELECT t, floor, temp FROM temps JOIN rooms USING (room);
CREATE CONTINUOUS QUERY counts AS SELECT room, count(*) AS n, window.end AS until
FROM temps [RANGE 10 SECONDS] GROUP BY room;
"""


def engine_on(tmp_path: Path, spark: SparkSession) -> Engine:
    return Engine(tmp_path / "state", out=tmp_path / "out", spark=spark, base_dir=tmp_path)


def rooms(tmp_path: Path, floor: int) -> None:
    (tmp_path / ".rooms.csv").write_text(f"room,floor\nhall,{floor}\n")
    (tmp_path / ".rooms.csv").replace(tmp_path / "rooms.csv")


def push(engine: Engine, first: int, count: int) -> None:
    for n in range(first, first + count):
        engine.push("temps", [{"t": START + timedelta(seconds=n), "room": "hall", "temp": float(n)}], 60)


def settle(engine: Engine, offset: int) -> None:
    waited = threading.Event()
    for _ in range(600):
        if engine.read_up_to("temps") >= offset:
            return
        waited.wait(0.1)
    raise AssertionError("rows still wait")


def sizes(tmp_path: Path) -> dict[str, int]:
    """How many records each table of the commit log has, and how many files there are."""
    log = sqlite3.connect(tmp_path / "state" / "penstock.db")
    names = ("statement", "batch", "file", "outbox", "relation", "state", "mark", "reader")
    found: dict[str, Any] = {
        name: log.execute(f"SELECT count(*) FROM {name}").fetchone()[0] for name in names
    }
    log.close()
    return {**found, "tables": len(os.listdir(tmp_path / "state" / "tables"))}


def test_the_state_does_not_grow_with_age(tmp_path: Path, spark: SparkSession) -> None:
    rooms(tmp_path, 1)
    with engine_on(tmp_path, spark) as engine:
        engine.execute(SQL)
        engine.start()
        push(engine, 0, 30)
        settle(engine, 30)
    young = sizes(tmp_path)
    with engine_on(tmp_path, spark) as engine:
        assert engine.execute(SQL, once=True) == []
        engine.start()
        for age in range(1, 6):
            engine.execute("SHOW QUERIES;")
            rooms(tmp_path, age)
            push(engine, 30 * age, 30)
            settle(engine, 30 * age + 30)
    old = sizes(tmp_path)
    assert old["statement"] == young["statement"] == 1
    assert old["file"] <= 4
    assert old["batch"] <= 2
    assert old["relation"] <= 2
    assert old["tables"] <= young["tables"] + 4
    with engine_on(tmp_path, spark) as engine:
        engine.start()
        engine.end("temps")
        engine.run("drained")
        assert sorted(engine.results("placed")["temp"].to_pylist()) == [float(n) for n in range(180)]
        assert engine.results("counts")["n"].to_pylist() == [10] * 18
    assert sizes(tmp_path)["state"] <= young["state"]


def test_what_a_step_stores_and_lets_go_of_again_is_deleted(tmp_path: Path, spark: SparkSession) -> None:
    with engine_on(tmp_path, spark) as engine:
        engine.execute(
            "CREATE STREAM temps (t TIMESTAMP, room STRING, temp DOUBLE, "
            "WATERMARK FOR t AS t - INTERVAL 1 SECOND) USING push;"
            "CREATE CONTINUOUS QUERY stays AS SELECT room, count(*) AS n FROM temps "
            "GROUP BY room, session_window(t, '2 seconds');"
            "CREATE CONTINUOUS QUERY five AS SELECT max(temp) AS most FROM temps [ROWS 5];"
        )
        engine.start()
        push(engine, 0, 30)
        settle(engine, 30)
        states = engine.coordinator.progress.states.values()
        remembered = {piece.ref.name for state in states for piece in state.pieces}
        assert remembered
        assert set(os.listdir(tmp_path / "state" / "tables")) == remembered


def test_a_relation_that_did_not_change_is_the_same_version_after_a_restart(
    tmp_path: Path, spark: SparkSession
) -> None:
    rooms(tmp_path, 1)
    for _ in range(3):
        with engine_on(tmp_path, spark) as engine:
            engine.execute(SQL, once=True)
            engine.start()
            threading.Event().wait(1.5)
        assert sizes(tmp_path)["relation"] == 1
