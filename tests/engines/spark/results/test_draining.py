"""STOP … AND DRAIN: open windows are put out by a step, while others go on, and once, whatever happens."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from penstock.engines.spark.engine import Engine
from penstock.engines.spark.results.draining import Drain
from penstock.engines.spark.runtime.workers import Workers
from penstock.engines.spark.steps.steps import Result

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SQL = """
CREATE STREAM s (t TIMESTAMP, k INT, v DOUBLE, WATERMARK FOR t AS t - INTERVAL 1 SECOND) USING push;
CREATE CONTINUOUS QUERY sums AS SELECT k, sum(v) AS v FROM s [RANGE 10 SECONDS] GROUP BY k;
CREATE CONTINUOUS QUERY every AS SELECT k FROM s;
"""
MEMBERS = "".join(
    f"CREATE CONTINUOUS QUERY over{n} AS SELECT k, count(*) AS n FROM s [RANGE 10 SECONDS] WHERE v > {n} "
    "GROUP BY k;"
    for n in (1, 2, 3)
)


def row(second: int, k: int, v: float) -> dict[str, Any]:
    return {"t": f"2026-01-01T00:00:{second:02}", "k": k, "v": v}


def push(engine: Engine, *rows: dict[str, Any]) -> None:
    engine.push("s", list(rows))
    assert engine.settle(30)


def eventually(condition: Callable[[], object], timeout: float = 30.0) -> None:
    until_s = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < until_s
        time.sleep(0.02)


class Gate:
    """Holds drains until it is opened."""

    def __init__(self) -> None:
        self.held: list[str] = []
        self.open = threading.Event()


@pytest.fixture
def gate(monkeypatch: pytest.MonkeyPatch) -> Iterator[Gate]:
    made, ended = Gate(), Workers._ended

    def held(self: Workers, drain: Drain) -> Result:
        made.held.append(drain.query)
        assert made.open.wait(60)
        return ended(self, drain)

    monkeypatch.setattr(Workers, "_ended", held)
    yield made
    made.open.set()


def test_others_go_on_while_windows_are_put_out_and_a_crash_puts_them_out_once(
    spark: SparkSession, tmp_path: Path, gate: Gate
) -> None:
    with Engine(tmp_path / "state", spark=spark) as engine:
        engine.execute(SQL + MEMBERS)
        subscription = engine.subscribe("sums", name="mail")
        push(engine, row(1, 1, 2.5), row(2, 1, 4.0), row(3, 2, 1.5))
        engine.execute("STOP QUERY sums AND DRAIN; STOP QUERY over2 AND DRAIN;")
        eventually(lambda: len(gate.held) == 1)  # the other one is behind it
        engine.push("s", [row(4, 3, 9.0)])
        eventually(lambda: engine.results("every").num_rows == 4)
        assert engine.status().queries["sums"].state.value == "draining"
        assert engine.status().queries["over2"].state.value == "draining"
        assert engine.results("sums").num_rows == 0
        shutil.copytree(tmp_path / "state", tmp_path / "killed")  # what a kill would leave
        gate.open.set()
        assert engine.settle(30)
        expected = {"sums": [(1, 6.5), (2, 1.5)], "over2": [(1, 2)]}
        assert found(engine) == expected
        assert engine.status().queries["sums"].state.value == "ended"
        result = subscription.get(5)
        assert result is not None
        assert result.table.num_rows == 2
    with Engine(tmp_path / "killed", spark=spark) as engine:
        assert engine.settle(30)
        assert found(engine) == expected
        assert sorted(engine.results("every")["k"].to_pylist()) == [1, 1, 2, 3]
        result = engine.subscribe("sums", name="mail").get(5)
        assert result is not None
        assert result.table.num_rows == 2
    with Engine(tmp_path / "killed", spark=spark) as engine:
        assert engine.settle(30)
        assert found(engine) == expected


def found(engine: Engine) -> dict[str, list[tuple[Any, ...]]]:
    return {
        name: sorted(tuple(one.values()) for one in engine.results(name).to_pylist())
        for name in ("sums", "over2")
    }


def test_windows_that_cannot_be_put_out_are_told_and_hold_up_nobody(spark: SparkSession) -> None:
    told: list[str] = []
    with Engine(spark=spark, tell=told.append) as engine:
        engine.execute(SQL)
        engine.execute(
            "CREATE CONTINUOUS QUERY bad AS SELECT k, 1 / (count(*) - 1) AS x "
            "FROM s [RANGE 10 SECONDS] GROUP BY k;"
        )
        push(engine, row(1, 1, 2.5))
        engine.execute("STOP QUERY bad AND DRAIN;")
        eventually(
            lambda: any("query 'bad': the windows that were open in the end are lost" in one for one in told)
        )
        push(engine, row(2, 1, 1.0))
        assert engine.results("every").num_rows == 2
        failure = engine.status().queries["bad"].failure
        assert failure is not None
        assert "ivision by zero" in failure


def test_dropping_a_query_gives_up_its_open_windows(spark: SparkSession, tmp_path: Path, gate: Gate) -> None:
    with Engine(tmp_path / "state", out=tmp_path / "out", spark=spark) as engine:
        engine.execute(SQL)
        push(engine, row(1, 1, 2.5))
        engine.execute("STOP QUERY sums AND DRAIN;")
        eventually(lambda: gate.held == ["sums"])
        engine.execute("DROP QUERY sums;")
        engine.execute("CREATE CONTINUOUS QUERY sums AS SELECT k FROM s;")
        gate.open.set()
        push(engine, row(2, 7, 1.0))
        assert engine.results("sums").to_pydict() == {"k": [7]}
        assert list((tmp_path / "out" / "sums" / ".staging").iterdir()) == []
