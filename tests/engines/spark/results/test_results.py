"""Results as those who asked for them see them: read at any time, handed over, and after a restart."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from penstock.engines.spark.engine import Engine
from penstock.engines.spark.results import reading as reading_results

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SQL = """
CREATE STREAM s (id INT, v DOUBLE) USING push;
CREATE CONTINUOUS QUERY q AS SELECT id FROM s WHERE v > 0;
"""


def rows(*ids: int) -> list[dict[str, object]]:
    return [{"id": n, "v": 1.0} for n in ids]


def push(engine: Engine, *ids: int) -> None:
    engine.push("s", rows(*ids))
    assert engine.settle(30)


def ids(table: pa.Table) -> list[int]:
    return sorted(table["id"].to_pylist())


def eventually(condition: Callable[[], object], timeout: float = 20.0) -> None:
    until_s = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < until_s
        time.sleep(0.02)


@pytest.fixture
def engine(spark: SparkSession, tmp_path: Path) -> Iterator[Engine]:
    with Engine(tmp_path / "state", spark=spark) as made:
        made.execute(SQL)
        made.start()
        yield made


def test_a_result_that_a_function_did_not_take_comes_after_a_restart(
    spark: SparkSession, tmp_path: Path
) -> None:
    got: list[int] = []
    raises = True

    def alert(table: pa.Table, _position: int) -> None:
        if raises:
            raise ConnectionError("no mail today")
        got.extend(ids(table))

    with Engine(tmp_path / "state", spark=spark) as engine:
        engine.execute(SQL)
        engine.on_result("q", alert)
        push(engine, 1)
        eventually(engine.problems)
        subscription = engine.subscribe("q")
    raises = False
    with Engine(tmp_path / "state", spark=spark) as engine:
        engine.on_result("q", alert)
        subscription = engine.subscribe("q")
        push(engine, 2)
        eventually(lambda: got == [1, 2])
        assert [ids(one.table) for one in (subscription.get(5), subscription.get(0.1)) if one] == [[2]]
        assert ids(engine.results("q")) == [1, 2]  # without a directory for results, too


def test_subscribers_and_readers_cost_one_table_and_closed_ones_nothing(
    engine: Engine, tmp_path: Path
) -> None:
    tables = tmp_path / "state" / "tables"
    waited: list[float] = []

    def reads(_table: pa.Table, _position: int) -> None:
        began = time.monotonic()
        engine.results("q")
        waited.append(time.monotonic() - began)

    name = engine.on_result("q", reads)
    subscriptions = [engine.subscribe("q") for _ in range(5)]
    push(engine, 1)
    eventually(lambda: waited)
    assert waited[0] < 9.0  # it waited for itself once, for 10 s
    engine.unsubscribe("q", name)
    result_tables = [file for file in os.listdir(tables) if file.startswith("result")]
    assert len(result_tables) == 1
    for subscription in subscriptions:
        assert subscription.get(5) is not None
        subscription.close()
    push(engine, 2)
    eventually(lambda: len([file for file in os.listdir(tables) if file.startswith("result")]) == 2)
    assert ids(engine.results("q")) == [1, 2]


def test_nobody_waits_for_a_reader_of_results(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_files, begun, go_on = reading_results.read_files, threading.Event(), threading.Event()

    def slow(*args: object) -> pa.Table:
        begun.set()
        assert go_on.wait(30)
        return read_files(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(reading_results, "read_files", slow)
    found: list[pa.Table] = []
    with Engine(tmp_path / "other", out=tmp_path / "out", spark=spark) as other:
        other.execute(SQL)
        push(other, 1)
        reader = threading.Thread(target=lambda: found.append(other.results("q")))
        reader.start()
        assert begun.wait(10)
        push(other, 2)
        assert other.status().queries["q"].rows == 2
        go_on.set()
        reader.join(10)
    assert ids(found[0]) == [1]


def test_results_mean_the_same_before_and_after_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    more = "".join(
        f"CREATE CONTINUOUS QUERY m{n} AS SELECT id FROM s WHERE v > 0 AND id % 10 < {n};" for n in (1, 2, 3)
    )
    with Engine(tmp_path / "state", spark=spark) as engine:
        engine.execute(SQL + more)
        engine.execute("CREATE CONTINUOUS QUERY gone AS SELECT id, v FROM s;")
        push(engine, 1, 2, 3)
        engine.execute("STOP QUERY gone; STOP QUERY m3;")
        push(engine, 4, 10)
        names = ("q", "m1", "m2", "m3", "gone")
        before = {name: engine.results(name).sort_by("id") for name in names}
        assert ids(before["m2"]) == [1, 10]
        assert ids(before["m3"]) == ids(before["gone"])[:2] == [1, 2]
    with Engine(tmp_path / "state", spark=spark) as engine:
        assert {name: engine.results(name).sort_by("id") for name in names} == before
        engine.execute("DROP QUERY gone;")
        engine.execute("CREATE CONTINUOUS QUERY gone AS SELECT v AS x FROM s;")
        assert engine.results("gone").num_rows == 0  # another query
        push(engine, 5)
        assert engine.results("gone").to_pydict() == {"x": [1.0]}
        assert ids(engine.results("q")) == [1, 2, 3, 4, 5, 10]


def test_files_of_a_query_that_had_the_name_before_are_not_its_results(
    spark: SparkSession, tmp_path: Path
) -> None:
    with Engine(tmp_path / "state", out=tmp_path / "out", spark=spark) as engine:
        engine.execute(SQL)
        push(engine, 1)
        engine.execute("DROP QUERY q;")
        assert engine.settle(30)
        engine.execute("CREATE CONTINUOUS QUERY q AS SELECT v AS x FROM s;")
        push(engine, 2)
        assert engine.results("q").to_pydict() == {"x": [1.0]}
        assert len(list((tmp_path / "out" / "q").glob("part-*"))) == 1
        assert len(list((tmp_path / "out" / ".former" / "q-1").glob("part-*"))) == 1
