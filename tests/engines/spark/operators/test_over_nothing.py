"""A global aggregate of which no row qualifies has its one row, once, as in batch."""

from __future__ import annotations

import shutil
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from penstock.engines.spark.engine import Engine
from penstock.engines.spark.runtime.workers import Workers
from penstock.oracle.translate import translate
from penstock.verify.batch import evaluate, recorded
from penstock.verify.comparison import difference

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STREAMS = """
CREATE STREAM s (k STRING, v INT, price DECIMAL(8,2)) USING push OPTIONS (endless 'false');
CREATE STREAM e (k STRING, v INT, price DECIMAL(8,2)) USING push OPTIONS (endless 'false');
CREATE TABLE floors (n BIGINT, name STRING) USING csv OPTIONS (path 'floors.csv', header 'true');
"""
SELECTS = {
    "parts": "SELECT count(*) AS n, sum(v) AS s, avg(price) AS a, stddev(v) AS d FROM s WHERE v > 1000",
    "rows_kept": "SELECT median(v) AS m, count(DISTINCT k) AS n, collect_list(k) AS c FROM s WHERE k = ''",
    "no_row_at_all": "SELECT count(*) AS n, max(k) AS k FROM e",
    "of_groups": "SELECT count(*) AS groups FROM (SELECT k, count(*) AS n FROM s WHERE v > 1000 GROUP BY k)",
    "of_a_global_one": "SELECT sum(n) AS n, count(*) AS r FROM (SELECT count(*) AS n FROM s WHERE v > 1000)",
    "of_a_union": "SELECT count(*) AS n FROM (SELECT v FROM s WHERE v > 1000 UNION ALL SELECT v FROM e)",
    "groups": "SELECT k, count(*) AS n FROM s WHERE v > 1000 GROUP BY k",
    "one_constant_group": "SELECT count(*) AS n FROM s WHERE v > 1000 GROUP BY 'x'",
    "kept_by_having": "SELECT count(*) AS n FROM s WHERE v > 1000 HAVING count(*) = 0",
    "dropped_by_having": "SELECT count(*) AS n FROM s WHERE v > 1000 HAVING count(*) > 0",
    "joined": "SELECT c.n, f.name FROM (SELECT count(*) AS n FROM s WHERE v > 1000) AS c JOIN floors AS f "
    "ON c.n = f.n",
}
#: Members of one shared query: two of them have rows, three have not; HAVING drops one of each.
MEMBERS = {
    f"more_than_{least}": "SELECT count(*) AS n, sum(v) AS s FROM s "
    f"WHERE v > {least} HAVING count(*) < {most}"
    for least, most in ((1, 9), (2, 9), (3, 1), (1000, 9), (2000, 9), (3000, 0))
}


def created(selects: dict[str, str]) -> str:
    return "".join(f"CREATE CONTINUOUS QUERY {name} AS {select};\n" for name, select in selects.items())


@pytest.fixture
def there(tmp_path: Path) -> Path:
    (tmp_path / "floors.csv").write_text("n,name\n0,none\n1,one\n")
    return tmp_path


def wrong(engine: Engine, spark: SparkSession, sql: str, *, from_row: int = 0) -> dict[str, str]:
    """What differs from batch over the rows from one on, by query."""
    tables = {name: table.slice(from_row * (name in "se")) for name, table in recorded(engine).items()}
    wanted = evaluate(spark, translate(sql), tables)
    found = {name: difference(engine.results(name), theirs) for name, theirs in wanted.items()}
    return {name: text for name, text in found.items() if text is not None}


def test_no_row_qualifies(spark: SparkSession, there: Path) -> None:
    sql = STREAMS + created(SELECTS) + created(MEMBERS)
    settings: dict[str, Any] = {"spark": spark, "base_dir": there, "out": there / "out", "keep_log": True}
    settings["policy"] = "round-robin"  # each operator is a unit
    with Engine(there / "state", **settings) as engine:
        engine.execute(sql)
        engine.push("s", [{"k": "x", "v": v} for v in (1, 2, 3)], timeout=60)
        assert engine.settle(30)
        assert engine.results("parts").num_rows == 0  # rows may still come
    with Engine(there / "state", **settings) as engine:
        engine.end("s")
        engine.end("e")
        engine.run()
        assert not engine.coordinator.failures
        assert engine.results("parts").to_pylist() == [{"n": 0, "s": None, "a": None, "d": None}]
        assert engine.results("of_a_global_one").to_pylist() == [{"n": 0, "r": 1}]
        assert [engine.results(f"more_than_{n}")["n"].to_pylist() for n in (1, 3, 2000, 3000)] == [
            [2],
            [0],
            [0],
            [],
        ]
        assert wrong(engine, spark, sql) == {}
    with Engine(there / "state", **settings) as engine:
        engine.run()
        assert wrong(engine, spark, sql) == {}


def test_a_query_that_is_drained_has_its_row(spark: SparkSession, there: Path) -> None:
    with Engine(spark=spark, base_dir=there) as engine:
        engine.execute(STREAMS + created(SELECTS) + created(MEMBERS))
        engine.push("s", [{"k": "x", "v": 1}], timeout=60)
        for name in ("parts", "more_than_2000"):
            engine.execute(f"STOP QUERY {name} AND DRAIN;")
        assert engine.settle(30)
        assert engine.results("parts")["n"].to_pylist() == [0]
        assert engine.results("more_than_2000")["n"].to_pylist() == [0]
        assert engine.results("more_than_1000").num_rows == 0


#: They come last, as members of a shared query that runs already.
LATER = {name.replace("more", "later"): select for name, select in MEMBERS.items()}


def test_queries_that_begin_after_some_rows_or_after_the_end_have_their_rows_once(
    spark: SparkSession, there: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings: dict[str, Any] = {"spark": spark, "base_dir": there, "keep_log": True}
    after_rows = {"since_then": SELECTS["parts"], "since_then_too": "SELECT count(*) AS n FROM s WHERE v < 9"}
    after_end = {**SELECTS, **MEMBERS}
    with Engine(there / "state", **settings) as engine:
        engine.execute(STREAMS + "CREATE CONTINUOUS QUERY every AS SELECT k, v FROM s;")
        engine.push("s", [{"k": "x", "v": v} for v in (1, 2000)], timeout=60)
        assert engine.settle(30)
        engine.execute(created(after_rows))
        engine.push("s", [{"k": "y", "v": 500}], timeout=60)
        for stream in "se":
            engine.end(stream)
        engine.run()
        assert wrong(engine, spark, STREAMS + created(after_rows), from_row=2) == {}
        may_run, ended = threading.Event(), Workers._ended
        monkeypatch.setattr(Workers, "_ended", lambda *given: may_run.wait(60) and ended(*given))
        engine.execute(created(after_end))
        engine.execute(created(LATER))
        shutil.copytree(there / "state", there / "killed")  # what a kill would leave
        may_run.set()
    after_end |= LATER
    with Engine(there / "killed", **settings) as engine:
        engine.run()
        assert not engine.coordinator.failures
        assert engine.results("parts").to_pylist() == [{"n": 0, "s": None, "a": None, "d": None}]
        assert wrong(engine, spark, STREAMS + created(after_end), from_row=3) == {}
        engine.execute("ALTER QUERY later_than_1 AS SELECT count(*) AS n, sum(v) AS s FROM s WHERE v > 7;")
        for name in ("parts", "more_than_1", "later_than_1000"):
            engine.execute(f"STOP QUERY {name} AND DRAIN;")
        assert engine.settle(30)
        assert engine.results("later_than_1")["n"].to_pylist() == [0, 0]  # as what it was, and as what it is
    with Engine(there / "killed", **settings) as engine:
        engine.run()
        assert engine.results("later_than_1")["n"].to_pylist() == [0, 0]
        del after_end["later_than_1"]
        assert wrong(engine, spark, STREAMS + created(after_end), from_row=3) == {}
        assert wrong(engine, spark, STREAMS + created(after_rows), from_row=2) == {}
