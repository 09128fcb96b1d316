"""Rows that come while no query reads their stream wait for the first one, for as long as the stream says."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from penstock.engines.spark.engine import Engine
from penstock.errors import SqlError
from tests.engines.spark.ingest.feeding import eventually

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STREAM = "CREATE STREAM {0} (id INT) USING push OPTIONS (retention '{1}', endless 'false');"
ALL = "CREATE CONTINUOUS QUERY {0} AS SELECT id FROM {1};"


def rows(*ids: int) -> list[dict[str, int]]:
    return [{"id": one} for one in ids]


def ids(engine: Engine, query: str) -> list[int]:
    assert engine.settle(30)
    return list(engine.results(query)["id"].to_pylist())


def tables(state: Path, stream: str) -> list[str]:
    return sorted(path.name for path in (state / "tables").glob(f"*log-{stream}*"))


def begun(engine: Engine, query: str) -> dict[str, int]:
    return dict(engine.coordinator.results.lives[query]["from"])


def test_the_first_query_has_the_rows_that_are_kept_and_later_ones_begin_with_the_next(
    spark: SparkSession, tmp_path: Path
) -> None:
    state, names = tmp_path / "state", tmp_path / "names.csv"
    names.write_text("id,name\n2,two\n")
    with Engine(state, base_dir=tmp_path, spark=spark) as engine:
        engine.start()
        engine.execute(STREAM.format("s", "1 h") + STREAM.format("brief", "300 ms"))
        engine.execute(STREAM.format("ended", "1 h") + "CREATE STREAM unkept (id INT) USING push;")
        engine.execute("CREATE TABLE names (id INT, name STRING) USING csv OPTIONS (path 'names.csv');")
        for stream in ("s", "brief", "ended", "unkept"):
            engine.push(stream, rows(1))
            engine.push(stream, rows(2, 3))
        engine.end("ended")
        eventually(lambda: not tables(state, "brief"))  # nothing else happens
        assert (len(tables(state, "s")), len(tables(state, "unkept"))) == (2, 0)
        engine.push("brief", rows(4))
        eventually(lambda: not tables(state, "brief"))
    with Engine(state, base_dir=tmp_path, spark=spark, keep_log=True) as engine:
        engine.start()
        engine.push("s", rows(4))
        engine.execute("".join(ALL.format(f"{stream}_1", stream) for stream in ("s", "brief", "unkept")))
        engine.execute(
            "CREATE CONTINUOUS QUERY named AS SELECT e.id, name FROM ended e JOIN names n ON e.id = n.id;"
            "CREATE CONTINUOUS QUERY total AS SELECT count(*) AS id FROM ended;"
        )
        assert ids(engine, "s_1") == [1, 2, 3, 4]
        assert (ids(engine, "brief_1"), ids(engine, "unkept_1")) == ([], [])
        assert (ids(engine, "named"), ids(engine, "total")) == ([2], [3])
        assert [begun(engine, f"{one}_1") for one in ("s", "brief", "unkept")] == [
            {"s": 0},
            {"brief": 4},
            {"unkept": 3},
        ]
        engine.execute(ALL.format("s_2", "s"))
        engine.push("s", rows(5))
        assert (ids(engine, "s_1"), ids(engine, "s_2")) == ([1, 2, 3, 4, 5], [5])
        assert begun(engine, "s_2") == {"s": 4}
        engine.execute("DROP QUERY s_1; DROP QUERY s_2;")
        eventually(lambda: not engine.coordinator.control.stream_queue("s").readers)
        engine.push("s", rows(6))
        logged = engine.recorded_streams()["s"]
        assert logged["id"].to_pylist()[-3:] == [4, 5, 6]
    with Engine(state, base_dir=tmp_path, spark=spark) as engine:
        engine.execute(ALL.format("s_3", "s"))
        engine.start()
        assert ids(engine, "s_3") == [6]
        engine.execute("DROP QUERY s_3; DROP STREAM s;")
        eventually(lambda: not tables(state, "s"))


def test_rows_that_wait_go_with_their_stream(spark: SparkSession, tmp_path: Path) -> None:
    state = tmp_path / "state"
    with Engine(state, spark=spark) as engine:
        engine.start()
        engine.execute(STREAM.format("s", "1 h"))
        engine.push("s", rows(1))
        engine.execute("DROP STREAM s;")
        assert tables(state, "s") == []
        engine.execute(STREAM.format("s", "1 h"))
        engine.push("s", rows(2))
    with Engine(state, spark=spark) as engine:
        engine.execute(ALL.format("q", "s"))
        engine.start()
        assert ids(engine, "q") == [2]
        assert begun(engine, "q") == {"s": 0}
        for bad in ("soon", "0 s", "1 month"):
            with pytest.raises(SqlError, match=r"stream 'bad', option 'retention'"):
                engine.execute(STREAM.format("bad", bad))
