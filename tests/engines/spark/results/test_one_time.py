"""One-time queries: the first full window, and then they are gone."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from penstock.engines.spark.engine import Engine
from penstock.engines.spark.results.one_time import first_window
from penstock.errors import QueryError

STREAM = """CREATE STREAM s (t TIMESTAMP, v INT, WATERMARK FOR t AS t - INTERVAL 0 SECONDS) USING push;
CREATE CONTINUOUS QUERY every AS SELECT count(*) AS n, window.end AS until FROM s [RANGE 10 SECONDS];"""
ONCE = "CREATE ONE-TIME QUERY once AS SELECT count(*) AS n, window.end AS until FROM s [RANGE 10 SECONDS];"


def row(second: int) -> dict[str, object]:
    return {"t": f"2026-01-01T00:{second // 60:02d}:{second % 60:02d}Z", "v": second}


def test_the_first_full_window() -> None:
    rows = pa.table({"__time": [9, 9, 19, 29], "n": [1, 2, 3, 4]})
    assert first_window(rows, 10, -(1 << 62))["n"].to_pylist() == [1, 2]
    assert first_window(rows, 10, 3)["n"].to_pylist() == [3]
    assert first_window(rows, 10, 30).num_rows == 0


@pytest.mark.jvm
def test_it_gets_one_window_and_ends_while_others_go_on(spark: SparkSession, tmp_path: Path) -> None:
    with Engine(tmp_path, spark=spark) as engine:
        engine.execute(STREAM)
        engine.start()
        engine.push("s", [row(n) for n in range(5)])
        assert engine.settle(120)
        engine.execute(ONCE)
        engine.push("s", [row(n) for n in range(5, 45)])
        engine.push("s", [row(n) for n in range(45, 60)])
        engine.end("s")
        engine.run("drained")
        once = engine.results("once").to_pylist()
        assert [(one["n"], one["until"].second) for one in once] == [(10, 20)]  # 0 to 10 was under way
        assert engine.results("every").num_rows == 6
        assert "once" not in engine.coordinator.control.graph.queries


@pytest.mark.jvm
def test_a_join_has_no_first_window(spark: SparkSession, tmp_path: Path) -> None:
    with Engine(tmp_path, spark=spark) as engine:
        engine.execute(STREAM)
        with pytest.raises(QueryError, match="one-time query 'j' joins streams"):
            engine.execute(
                "CREATE ONE-TIME QUERY j AS SELECT a.v FROM s [RANGE 1 SECONDS] AS a "
                "JOIN s [RANGE 1 SECONDS] AS b ON a.v = b.v;"
            )
        assert "j" not in engine.catalog.queries
