"""Streams and stored tables that fail by themselves, in an engine: others go on, and so do they later."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from penstock.engines.spark.engine import Engine
from penstock.errors import EngineError, PenstockError
from tests.engines.spark.ingest.feeding import eventually

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def stream_and_query(name: str, using: str) -> str:
    return (
        f"CREATE STREAM {name} (value STRING) USING {using};"
        f"CREATE CONTINUOUS QUERY of_{name} AS SELECT value FROM {name};"
    )


def arriving(path: Path) -> str:
    return f"json OPTIONS (path '{path}', arriving 'true')"


def drop(directory: Path, value: str) -> None:
    part = directory.parent / "part"
    part.write_text(f'{{"value": "{value}"}}\n')
    part.rename(directory / f"{value}.json")


def test_a_stream_that_cannot_be_opened_fails_alone_and_not_the_start(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "one.txt").write_text("x\n")
    (tmp_path / "there").mkdir()
    with Engine(spark=spark) as engine:
        engine.execute(
            stream_and_query("pushed", "push")
            + stream_and_query("missing", arriving(tmp_path / "missing"))
            + stream_and_query("there", arriving(tmp_path / "there"))
            + stream_and_query("brokers", "kafka OPTIONS (subscribe 'x', `kafka.bootstrap.servers` 'x:1')")
            + stream_and_query("lines", f"text OPTIONS (path '{tmp_path}/one.txt')")
        )
        engine.start()

        def values(query: str) -> list[str]:
            return engine.results(query)["value"].to_pylist()

        eventually(lambda: {"stream missing", "stream brokers", "stream lines"} <= set(engine.problems()))
        assert "kafka" in engine.problems()["stream brokers"]
        engine.push("pushed", [{"value": "a"}])
        drop(tmp_path / "there", "b")
        eventually(lambda: (values("of_pushed"), values("of_there")) == (["a"], ["b"]))

        # A directory that a file takes the place of.
        (tmp_path / "there").rename(tmp_path / "away")
        (tmp_path / "there").write_text("")
        (tmp_path / "missing").mkdir()
        drop(tmp_path / "missing", "c")
        eventually(lambda: values("of_missing") == ["c"] and "stream there" in engine.problems())
        (tmp_path / "there").unlink()
        (tmp_path / "away").rename(tmp_path / "there")
        drop(tmp_path / "there", "d")
        eventually(lambda: values("of_there") == ["b", "d"])
        eventually(lambda: set(engine.problems()) == {"stream brokers", "stream lines"})

        # A path that no file system takes: the statement is refused, and nobody else notices.
        with pytest.raises(PenstockError, match="File name too long"):
            engine.execute(stream_and_query("long", arriving(tmp_path / ("x" * 300))))
        engine.push("pushed", [{"value": "e"}])
        eventually(lambda: values("of_pushed") == ["a", "e"])
        engine.check()


def test_a_run_to_the_end_does_not_wait_for_a_stream_that_fails(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "rows.json").write_text('{"value": "a"}\n')
    state = tmp_path / "state"
    with Engine(state, spark=spark, out=tmp_path / "out") as engine:
        engine.execute(
            stream_and_query("good", f"json OPTIONS (path '{tmp_path}/rows.json')")
            + stream_and_query("missing", f"json OPTIONS (path '{tmp_path}/missing.json')")
        )
        with pytest.raises(EngineError, match=r"stream 'missing' fails: .*missing\.json"):
            engine.run()
        assert engine.results("of_good").num_rows == 1
    (tmp_path / "missing.json").write_text('{"value": "b"}\n')
    with Engine(state, spark=spark, out=tmp_path / "out") as engine:
        engine.run()
        assert engine.results("of_good").num_rows == 1
        assert engine.results("of_missing")["value"].to_pylist() == ["b"]


def test_rows_that_wait_for_a_held_query_do_not_stop_a_stream_at_full_speed(spark: SparkSession) -> None:
    rows = 600_000
    with Engine(spark=spark, memory_bytes=1 << 20, first_batch_rows=10_000) as engine:
        engine.execute(
            f"CREATE STREAM made (n BIGINT, v DOUBLE) USING generator OPTIONS (rows '{rows}', "
            "columns.n 'sequence', columns.v 'uniform(0, 1)');"
            "CREATE CONTINUOUS QUERY held AS SELECT n FROM made WHERE v > 0.99;"
            f"CREATE CONTINUOUS QUERY other AS SELECT n, v FROM made WHERE n = {rows - 1};"
        )
        engine.suspend("held")
        engine.start()
        eventually(lambda: engine.results("other").num_rows == 1)
