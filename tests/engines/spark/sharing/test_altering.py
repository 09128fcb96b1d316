"""Queries that become something else while rows flow: each row is in the results of one of the two."""

from __future__ import annotations

import random
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.engines.spark.engine import Engine
from penstock.errors import QueryError
from penstock.oracle.translate import translate
from penstock.verify.batch import evaluate, recorded
from penstock.verify.comparison import difference
from tests.engines.spark.sharing.test_shared import SHAPES, make
from tests.engines.spark.test_verify_lives import STREAMS, Feed, eventually, seen

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.jvm, pytest.mark.slow]


class Altered:
    """Queries and all that each has been."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.definitions: dict[str, list[str]] = {}

    def create(self, name: str, select: str) -> None:
        self.create_all({name: select})

    def create_all(self, selects: Mapping[str, str]) -> None:
        """In one text, so that they run together from the start."""
        self.engine.execute("".join(f"CREATE CONTINUOUS QUERY {n} AS {s};" for n, s in selects.items()))
        self.definitions |= {name: [select] for name, select in selects.items()}

    def alter(self, name: str, select: str) -> None:
        self.engine.execute(f"ALTER QUERY {name} AS {select};")
        self.definitions[name].append(select)

    def wait(self, name: str) -> None:
        eventually(lambda: len(self._periods(name)) == len(self.definitions[name]))

    def _periods(self, name: str) -> list[dict[str, dict[str, int]]]:
        life = self.engine.coordinator.results.lives[name]
        return [*life.get("before", []), {key: life[key] for key in ("from", "to") if key in life}]

    def check(self, spark: SparkSession) -> None:
        tables = recorded(self.engine)
        assert not self.engine.coordinator.failures
        for name, selects in self.definitions.items():
            periods = self._periods(name)
            assert len(periods) == len(selects), (name, periods)
            parts = []
            for select, period in zip(selects, periods, strict=True):
                sql = f"{STREAMS}CREATE CONTINUOUS QUERY {name} AS {select};"
                parts.append(evaluate(spark, translate(sql), seen(tables, period))[name])
            expected = pa.concat_tables([part.cast(parts[0].schema) for part in parts])
            wrong = difference(self.engine.results(name), expected)
            assert wrong is None, f"{name}: {selects}\n{periods}\n{wrong}"
            for earlier, later in pairwise(periods):
                common = earlier["to"].keys() & later["from"].keys()
                assert {s: earlier["to"][s] for s in common} == {s: later["from"][s] for s in common}


def test_other_constants(spark: SparkSession, tmp_path: Path) -> None:
    """Of all shapes, of members and of queries that run alone."""
    chance = random.Random(5)
    with make(spark, tmp_path) as engine:
        engine.execute(STREAMS)
        queries = Altered(engine)
        shapes = {name: shape for name, shape in SHAPES.items() if name not in ("filter", "equal")}
        shapes["plain"] = lambda c: (
            f"SELECT t, temp * {c.randint(1, 9)} AS x FROM temps WHERE id > {c.randint(1, 90)}"
        )
        for shape, write in shapes.items():
            for n in range(3):
                queries.create(f"{shape}_{n}", write(chance))
        queries.create("alone", "SELECT id, room FROM temps WHERE id = 5")
        engine.start()
        feed = Feed(engine, 3)
        feed.push(4, 40)
        for turn in range(3):
            for name in list(queries.definitions):
                if name == "alone":
                    queries.alter(name, f"SELECT id, room FROM temps WHERE id = {turn}")
                elif chance.random() < 0.5:
                    queries.alter(name, shapes[name.rpartition("_")[0]](chance))
            feed.push(4, 40)
            if turn == 1:
                engine.use_policy("round-robin")
        for name in queries.definitions:
            queries.wait(name)
        feed.push(8, 60)
        feed.end()
        engine.run("drained")
        queries.check(spark)


def test_something_else(spark: SparkSession, tmp_path: Path) -> None:
    """Another shape, another stream, no constants at all; twice in a row; with sinks and subscribers."""
    with make(spark, tmp_path) as engine:
        engine.execute(STREAMS)
        queries = Altered(engine)
        counted = "SELECT room, count(*) AS n FROM {} GROUP BY room, window(t, '3 seconds')"
        queries.create("q", counted.format("temps"))
        queries.create("other", counted.format("temps"))
        engine.execute(f"CREATE SINK k FROM q USING parquet OPTIONS (path '{tmp_path / 'copy'}');")
        engine.execute("CREATE CONTINUOUS QUERY d AS SELECT id FROM doors;")
        engine.start()
        feed = Feed(engine, 4)
        heard = engine.subscribe("q", most=100_000)
        feed.push(6, 60)
        queries.alter("q", counted.format("doors"))
        queries.alter("q", "SELECT room, CAST(id AS BIGINT) AS n FROM doors")
        feed.push(6, 60)
        queries.alter("q", "SELECT room, count(*) AS n FROM temps [ROWS 10] GROUP BY room")
        feed.push(6, 60)
        queries.wait("q")
        queries.alter("q", counted.format("temps WHERE temp > 5"))
        feed.push(6, 60)
        feed.end()
        engine.run("drained")
        queries.check(spark)
        found = engine.results("q").num_rows
    copied = sum(pq.read_table(path).num_rows for path in (tmp_path / "copy").glob("part-*"))
    assert copied == found
    assert sum(result.table.num_rows for result in heard) == found


def test_a_restart_in_between(spark: SparkSession, tmp_path: Path) -> None:
    with make(spark, tmp_path) as engine:
        engine.execute(STREAMS)
        queries = Altered(engine)
        for n in range(4):
            queries.create(f"q{n}", f"SELECT id, temp FROM temps WHERE id > {n}")
        queries.create("alone", "SELECT sum(id) AS s FROM doors GROUP BY window(t, '4 seconds')")
        engine.start()
        feed = Feed(engine, 5)
        feed.push(5, 60)
        queries.alter("q1", "SELECT id, temp FROM temps WHERE id > 50")
        queries.alter("alone", "SELECT sum(id + 1) AS s FROM doors GROUP BY window(t, '4 seconds')")
    with make(spark, tmp_path) as engine:
        queries.engine, feed._engine = engine, engine
        engine.start()
        feed.push(5, 60)
        queries.alter("q2", "SELECT id, temp FROM temps WHERE temp > 3 AND id < 40")
        feed.push(5, 60)
        feed.end()
        engine.run("drained")
        queries.check(spark)


def test_what_is_held_cannot_be_altered(spark: SparkSession, tmp_path: Path) -> None:
    with make(spark, tmp_path) as engine:
        engine.execute(STREAMS)
        for n in range(3):
            engine.execute(f"CREATE CONTINUOUS QUERY q{n} AS SELECT id FROM temps WHERE id > {n};")
        engine.suspend("q1")
        eventually(lambda: engine.coordinator.sharing.queries["q1"].phase == "running")
        with pytest.raises(QueryError, match="is held; resume it first"):
            engine.execute("ALTER QUERY q1 AS SELECT id FROM temps WHERE id > 9;")


@pytest.mark.parametrize("restarted", [True, False])
def test_a_query_that_failed_is_mended_by_altering_it(
    tmp_path: Path, spark: SparkSession, restarted: bool
) -> None:
    """After a restart it fails again while it is altered. The new definition begins with the bad row."""
    (tmp_path / "s.csv").write_text("id,a,b\n1,6,3\n2,5,0\n3,8,2\n")
    altered = "ALTER QUERY quotients AS SELECT id, try_divide(a, b) AS r FROM s;"
    with Engine(tmp_path / "state", spark=spark, base_dir=tmp_path) as engine:
        engine.execute(
            "CREATE STREAM s (id INT, a INT, b INT) USING csv OPTIONS (path 's.csv');"
            "CREATE CONTINUOUS QUERY quotients AS SELECT id, a / b AS r FROM s;"
            "CREATE CONTINUOUS QUERY good AS SELECT id FROM s WHERE id > 1;"
        )
        engine.run()
        assert engine.status().queries["quotients"].failure is not None
        if not restarted:
            engine.execute(altered)
            eventually(lambda: engine.results("quotients").num_rows == 3)
    with Engine(tmp_path / "state", spark=spark, base_dir=tmp_path) as engine:
        if restarted:
            engine.execute(altered)
        engine.run()
        assert sorted(engine.results("good")["id"].to_pylist()) == [2, 3]
        rows = {row["id"]: row["r"] for row in engine.results("quotients").to_pylist()}
        assert rows == {1: 2.0, 2: None, 3: 4.0}
        assert engine.status().queries["quotients"].failure is None
