"""Queries that leave out the rows that they cannot process."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from penstock.engines.spark.engine import Engine
from penstock.verify.schedules import Schedule
from penstock.verify.verifying import verify

pytestmark = [pytest.mark.jvm, pytest.mark.slow]

STREAM = "CREATE STREAM s (id BIGINT, v BIGINT, word STRING) USING push OPTIONS (endless 'false');"
QUERIES = """
CREATE CONTINUOUS QUERY held AS SELECT id, 10 DIV v AS x FROM s;
CREATE CONTINUOUS QUERY ratios WITH (on_error = 'skip') AS SELECT id, 10 DIV v AS x FROM s;
CREATE CONTINUOUS QUERY numbers WITH (on_error = 'skip') AS
SELECT id, CAST(word AS INT) AS n FROM s WHERE id > 2;
CREATE CONTINUOUS QUERY sums WITH (on_error = 'skip') AS
SELECT id % 2 AS odd, sum(100 DIV v) AS x FROM s GROUP BY id % 2;
CREATE CONTINUOUS QUERY large WITH (on_error = 'skip') AS SELECT sum(v * 4000000000000000000) AS x FROM s;
CREATE CONTINUOUS QUERY others AS SELECT id, v FROM s WHERE id >= 0;
"""
BAD = [3, 17]


def column(table: pa.Table, name: str) -> list[object]:
    return sorted(table[name].to_pylist())


def test_rows_that_fail_alone_are_left_out_and_everything_else_holds_the_query(
    tmp_path: Path, spark: SparkSession
) -> None:
    pushed = [{"id": i, "v": 0 if i in BAD else 1, "word": "x" if i in BAD else str(i)} for i in range(40)]
    with Engine(tmp_path / "state", out=tmp_path / "out", spark=spark, policy="round-robin") as engine:
        engine.execute(STREAM + QUERIES)
        engine.push("s", pushed)
        engine.end("s")
        engine.run()
        status = engine.status().queries
        good = [i for i in range(40) if i not in BAD]
        assert column(engine.results("ratios"), "id") == good
        assert column(engine.results("numbers"), "id") == [i for i in good if i > 2]
        assert column(engine.results("sums"), "x") == [1_800, 2_000]
        assert column(engine.results("others"), "id") == list(range(40))
        left_out = {name: one.skipped_rows for name, one in status.items() if one.skipped_rows}
        assert left_out == {"ratios": 2, "numbers": 2, "sums": 2}
        assert [(one.stream, one.offset) for one in engine.skipped("ratios")] == [("s", i) for i in BAD]
        assert "DIVIDE_BY_ZERO" in engine.skipped("ratios")[0].reason
        failures = {name: one.failure for name, one in status.items() if one.failure}
        assert failures.keys() == {"held", "large"}
    letters = tmp_path / "state" / "dead-letters" / "queries" / "ratios.jsonl"
    told = [json.loads(line) for line in letters.read_text("utf-8").splitlines()]
    assert [one["offset"] for one in told] == BAD
    assert json.loads(told[0]["text"]) == {"id": 3, "v": 0, "word": "x"}

    letters.write_text(letters.read_text("utf-8")[:-30], "utf-8")  # as if it had been killed while it wrote
    with Engine(tmp_path / "state", out=tmp_path / "out", spark=spark) as engine:
        assert [one.offset for one in engine.skipped("ratios")] == BAD
        assert engine.status().queries["ratios"].skipped_rows == 2
    assert [json.loads(line) for line in letters.read_text("utf-8").splitlines()] == told


def test_what_is_left_out_does_not_depend_on_the_schedule(tmp_path: Path, spark: SparkSession) -> None:
    values = [0 if i in (7, 80) else i % 5 + 1 for i in range(100)]
    lines = [f"2026-01-01 00:00:{i // 10:02d},{i},{v},{'ab'[i % 2]}\n" for i, v in enumerate(values)]
    (tmp_path / "s.csv").write_text("t,id,v,room\n" + "".join(lines))
    (tmp_path / "rooms.csv").write_text("room,floor\na,1\na,2\nb,5\n")
    sql = """
    CREATE STREAM s (t TIMESTAMP, id BIGINT, v BIGINT, room STRING, WATERMARK FOR t AS t - INTERVAL 1 SECOND)
        USING csv OPTIONS (path 's.csv');
    CREATE TABLE rooms (room STRING, floor INT) USING csv OPTIONS (path 'rooms.csv');
    CREATE CONTINUOUS QUERY sums WITH (on_error = 'skip') AS
        SELECT room, window.end AS until, sum(60 DIV v) AS x FROM s [RANGE 5 SECONDS] GROUP BY room;
    CREATE CONTINUOUS QUERY twice WITH (on_error = 'skip') AS
        SELECT id, 0 AS x FROM s WHERE id % 2 = 0 UNION ALL SELECT id, 60 DIV v AS x FROM s;
    CREATE CONTINUOUS QUERY floors WITH (on_error = 'skip') AS
        SELECT id, 100 DIV (floor - 1 + v) AS x FROM s JOIN rooms USING (room) WHERE id > 7;
    """
    schedules = (Schedule("fcfs", 200_000, 2), Schedule("round-robin", 40, 2, "chain", first_batch_rows=20))
    verdicts = list(verify(sql, tmp_path, spark, schedules))
    assert [(one.query, one.difference) for one in verdicts if one.difference] == []
    for run in (verdicts[:3], verdicts[3:]):
        assert {one.query: one.skipped for one in run} == {"sums": 2, "twice": 2, "floors": 1}
