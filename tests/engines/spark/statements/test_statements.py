"""A statement is applied whole or not at all: in memory, in the commit log and on disk."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from penstock.engines.spark.engine import Engine
from penstock.engines.spark.statements import registrar
from penstock.errors import PenstockError, QueryError, SinkError, SourceError, SqlError
from penstock.model.graph import Graph
from penstock.plan.shared.together import Admitted, admitted
from penstock.plan.sharing import merge
from tests.engines.spark.ingest.feeding import eventually

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STREAM = "CREATE STREAM s (t TIMESTAMP, id INT, WATERMARK FOR t) USING push;"
QUERY = "CREATE CONTINUOUS QUERY q AS SELECT id FROM s WHERE id > 1;"
OTHER = "CREATE CONTINUOUS QUERY other AS SELECT id * 2 AS twice FROM s;"


def log_of(state: Path) -> dict[str, list[tuple[Any, ...]]]:
    """All rows of all tables of the commit log of a state that nobody uses."""
    db = sqlite3.connect(state / "penstock.db")
    try:
        names = [name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        return {name: db.execute(f"SELECT * FROM {name}").fetchall() for name in names}
    finally:
        db.close()


def rewrite(state: Path, sql: str) -> None:
    """Makes the statements of a state something else."""
    db = sqlite3.connect(state / "penstock.db")
    db.execute("UPDATE statement SET sql = ?", (sql,))
    db.commit()
    db.close()


def files_in(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in root.rglob("*")}


def rows(first: int, count: int = 3) -> list[dict[str, int]]:
    return [{"id": first + n} for n in range(count)]


def ids(engine: Engine, query: str = "q") -> list[int]:
    assert engine.settle(30)
    return sorted(engine.results(query)["id"].to_pylist())


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Where paths begin: a CSV of three rows, a table of two, a file that is no directory."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "good.csv").write_text("id\n1\n2\n3\n")
    (tmp_path / "data" / "names.csv").write_text("id,name\n1,one\n2,two\n")
    return tmp_path / "data"


class Opened:
    """An engine that is opened again and again on one state."""

    def __init__(self, spark: SparkSession, tmp_path: Path) -> None:
        self._spark, self._root = spark, tmp_path
        self.engine: Engine

    def __call__(self) -> Engine:
        self.close()
        self.engine = Engine(
            self._root / "state", out=self._root / "out", base_dir=self._root / "data", spark=self._spark
        ).open()
        return self.engine

    def close(self) -> None:
        if hasattr(self, "engine"):
            self.engine.close()


@pytest.fixture
def opened(spark: SparkSession, tmp_path: Path, data: Path) -> Iterator[Opened]:
    assert data.is_dir()
    one = Opened(spark, tmp_path)
    yield one
    one.close()


REFUSED = {
    "a sink in a place that cannot be": (
        f"{OTHER} CREATE SINK k FROM other USING parquet OPTIONS (path '/proc/nope/x');",
        SinkError,
    ),
    "a sink below a file": (
        "CREATE SINK k FROM q USING csv OPTIONS (path 'new/a'); "
        "CREATE SINK l FROM q USING csv OPTIONS (path 'good.csv/x');",
        SinkError,
    ),
    "a sink of no format": (f"{OTHER} CREATE SINK k FROM other USING kafka;", SqlError),
    "a stream from a path that is not": (
        "CREATE STREAM typo (id INT) USING csv OPTIONS (path 'typo.csv'); "
        "CREATE CONTINUOUS QUERY other AS SELECT id FROM typo;",
        SourceError,
    ),
    "a stream from a path that is too long": (
        f"CREATE STREAM typo (id INT) USING csv OPTIONS (path '{'x' * 300}');",
        SourceError,
    ),
    "a directory that files do not arrive in": (
        "CREATE STREAM typo (id INT) USING json OPTIONS (path 'nowhere', arriving 'true');",
        SourceError,
    ),
    "a stream from something that Spark does not know": (
        "CREATE STREAM typo (id INT) USING kafkaesque;",
        SourceError,
    ),
    "a stream that Spark brings other columns of": (
        "CREATE STREAM typo (id INT) USING rate;",
        SourceError,
    ),
    "a table that is not there": (
        "CREATE TABLE n (id INT, name STRING) USING csv OPTIONS (path 'gone.csv');",
        SourceError,
    ),
    "a table with a row that does not fit": (
        "CREATE TABLE n (id INT, name INT) USING csv OPTIONS (path 'names.csv'); CREATE CONTINUOUS QUERY "
        "other AS SELECT s.id FROM s JOIN n ON s.id = n.id;",
        SourceError,
    ),
    "the second of three": (
        f"{OTHER} CREATE CONTINUOUS QUERY q AS SELECT id FROM s; DROP QUERY q;",
        SqlError,
    ),
    "a name that is taken": ("DROP QUERY q; CREATE CONTINUOUS QUERY q AS SELECT t FROM s;", QueryError),
    "a policy that is not": (f"{OTHER} SET policy = 'luck';", PenstockError),
}


def test_what_is_refused_leaves_no_trace(opened: Opened, tmp_path: Path) -> None:
    opened().execute(STREAM + QUERY)
    opened.close()
    log, files = log_of(tmp_path / "state"), files_in(tmp_path)
    engine = opened()
    engine.start()
    catalog = engine.catalog
    for what, (sql, kind) in REFUSED.items():
        with pytest.raises(kind):
            engine.execute(sql)
        assert engine.catalog == catalog, what
        for place in ("out", "data", "state/tables"):
            assert {f"{place}/{name}" for name in files_in(tmp_path / place)} <= files, what
    opened.close()
    assert log_of(tmp_path / "state") == log
    assert files_in(tmp_path) == files
    engine = opened()
    engine.start()
    engine.push("s", rows(1))
    assert ids(engine) == [2, 3]


def test_an_engine_that_cannot_be_opened_lets_go_of_its_state(opened: Opened, tmp_path: Path) -> None:
    opened().execute(STREAM + QUERY)
    opened.close()
    rewrite(tmp_path / "state", "CREATE NONSENSE")
    for _ in range(2):
        with pytest.raises(SqlError):
            opened()
    rewrite(tmp_path / "state", STREAM + QUERY)
    assert list(opened().catalog.queries) == ["q"]


def test_the_corrected_statement_reads_every_row(opened: Opened) -> None:
    engine = opened()
    engine.start()
    stream = "CREATE STREAM f (id INT) USING csv OPTIONS (path '{}', endless 'false');"
    query = "CREATE CONTINUOUS QUERY q AS SELECT id FROM f;"
    with pytest.raises(SourceError):
        engine.execute(stream.format("god.csv") + query)
    engine.execute(stream.format("good.csv") + query)
    engine.run()
    assert ids(engine) == [1, 2, 3]


def test_what_is_dropped_and_created_again_begins_anew(opened: Opened, data: Path) -> None:
    table = "CREATE TABLE n (id INT, name STRING) USING csv OPTIONS (path 'names.csv');"
    join = "CREATE CONTINUOUS QUERY q AS SELECT s.id FROM s JOIN n ON s.id = n.id;"
    drop = "DROP QUERY q; DROP STREAM s; DROP TABLE n;"
    engine = opened()
    engine.start()
    for again in range(4):
        engine.execute(STREAM + table + join)
        engine.push("s", rows(0, 9))
        if again == 1:
            engine.end("s")
        assert ids(engine) == [1, 2]
        if again == 2:
            engine = opened()
            engine.start()
        engine.execute(drop)
    engine.execute("CREATE STREAM s (name STRING) USING push;")
    engine.execute("CREATE TABLE n (name STRING, id BIGINT) USING csv OPTIONS (path 'names.csv');")
    engine.execute("CREATE CONTINUOUS QUERY q AS SELECT n.id FROM s JOIN n ON s.name = n.name;")
    engine.push("s", [{"name": "two"}])
    assert ids(engine) == [2]
    assert (data / "names.csv").exists()


def test_dropping_everything_leaves_nothing_of_streams_and_tables(opened: Opened, tmp_path: Path) -> None:
    engine = opened()
    engine.execute("CREATE STREAM r (value BIGINT) USING rate OPTIONS (rowsPerSecond '1000');")
    engine.execute("CREATE TABLE n (id INT, name STRING) USING csv OPTIONS (path 'names.csv');")
    engine.execute("CREATE CONTINUOUS QUERY q AS SELECT value FROM r JOIN n ON r.value = n.id;")
    engine.start()
    eventually(lambda: engine.results("q").num_rows)
    assert files_in(tmp_path / "state" / "checkpoints")
    engine.execute("DROP QUERY q; DROP STREAM r; DROP TABLE n;")
    eventually(lambda: not any((tmp_path / "state" / "checkpoints").iterdir()))
    assert engine.settle(30)
    opened.close()
    log = log_of(tmp_path / "state")
    assert [log[name] for name in ("stream", "batch", "relation", "query")] == [[], [], [], []]
    assert files_in(tmp_path / "state" / "tables") == set()


def test_a_state_opens_with_what_cannot_be_used_now_failing_and_it_can_be_dropped(
    opened: Opened, data: Path
) -> None:
    engine = opened()
    engine.execute(
        STREAM
        + QUERY
        + "CREATE SINK k FROM q USING csv OPTIONS (path 'k');"
        + "CREATE SINK l FROM q USING csv OPTIONS (path 'l');"
        + "CREATE STREAM f (id INT) USING csv OPTIONS (path 'good.csv');"
        + "CREATE CONTINUOUS QUERY of_f AS SELECT id FROM f;"
    )
    opened.close()
    for place in ("k", "l"):
        (data / place).rename(data / f"{place}-away")
        (data / place).write_text("in the way")
    (data / "good.csv").rename(data / "away.csv")
    engine = opened()
    engine.start()
    engine.push("s", rows(1))
    assert ids(engine) == [2, 3]
    eventually(lambda: {"sink k", "sink l", "stream f"} <= set(engine.problems()))
    engine.execute("DROP SINK l; STOP QUERY of_f; DROP QUERY of_f; DROP STREAM f;")
    eventually(lambda: set(engine.problems()) == {"sink k"})
    (data / "k").unlink()
    (data / "k-away").rename(data / "k")
    eventually(lambda: list((data / "k").glob("part-*")) and not engine.problems())
    assert list(opened().catalog.streams) == ["s"]


def test_queries_are_planned_beside_the_steps_and_again_if_others_have_come_or_gone(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = opened()
    above = "CREATE CONTINUOUS QUERY above_{0} AS SELECT id FROM s WHERE id > {0};"
    engine.execute(STREAM + above.format(1) + above.format(2) + above.format(3))
    engine.start()
    engine.push("s", rows(1))
    assert ids(engine, "above_1") == [2, 3]
    planned_by: list[str] = []

    def overtaken(*given: Any) -> Admitted:
        planned_by.append(threading.current_thread().name)
        if len(planned_by) == 1:
            engine.suspend("above_2")  # so that there is another shared query when this one is applied
        return admitted(*given)

    monkeypatch.setattr(registrar, "admitted", overtaken)
    engine.execute(above.format(4))
    assert planned_by == ["MainThread", "MainThread"]
    engine.push("s", rows(4))
    eventually(lambda: sorted(engine.results("above_4")["id"].to_pylist()) == [5, 6])
    assert sorted(engine.results("above_2")["id"].to_pylist()) == [3]
    engine.resume("above_2")
    assert ids(engine, "above_2") == [3, 4, 5, 6]


def test_a_text_that_is_overtaken_again_and_again_is_planned_where_nothing_can_change(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = opened()
    engine.execute(STREAM)
    engine.start()
    planned_by: list[str] = []

    def overtaken(*given: Any) -> Admitted:
        planned_by.append(threading.current_thread().name)
        if planned_by[-1] == "MainThread":
            found = admitted(*given)
            engine._call(lambda: setattr(engine._coordinator.sharing.plans, "graph", replace_graph(engine)))
            return found
        return admitted(*given)

    def replace_graph(engine: Engine) -> Graph:
        return merge(Graph(), engine._coordinator.sharing.plans.graph.queries.values())

    monkeypatch.setattr(registrar, "admitted", overtaken)
    engine.execute(QUERY)
    assert planned_by == ["MainThread"] * 3 + ["penstock-control"]
    engine.push("s", rows(1))
    assert ids(engine) == [2, 3]
