"""Files of statements that are applied again, and streams and queries that become something else."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from penstock.engines.spark.engine import Engine
from penstock.errors import PlanFormatError, QueryError, SqlError
from penstock.plan import document
from penstock.sql.session import run
from tests.engines.spark.ingest.feeding import eventually

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STREAM = "CREATE STREAM s (t TIMESTAMP, id INT, WATERMARK FOR t) USING push;\n"
FIRST = f"""{STREAM}CREATE VIEW v AS SELECT id FROM s WHERE id > 1;
CREATE CONTINUOUS QUERY q AS SELECT id FROM v WHERE id < 100;
CREATE CONTINUOUS QUERY r WITH (weight = 0.5) AS SELECT id FROM s;
CREATE SINK k FROM q USING csv OPTIONS (path 'one');
"""
SECOND = f"""-- another file
{STREAM}CREATE VIEW v AS SELECT id FROM s WHERE id > 11;
CREATE CONTINUOUS QUERY q WITH (latency = '5 s') AS SELECT id FROM v WHERE id < 100;
CREATE CONTINUOUS QUERY n AS SELECT id * 2 AS twice FROM s;
CREATE SINK k FROM q USING csv OPTIONS (path 'two');
"""
START = datetime(2026, 1, 1, tzinfo=UTC)


def rows(*ids: int) -> list[dict[str, Any]]:
    return [{"t": START + timedelta(seconds=one), "id": one} for one in ids]


def values(engine: Engine, query: str, column: str = "id") -> list[int]:
    assert engine.settle(60)
    return sorted(engine.results(query)[column].to_pylist())


def lines_in(path: Path) -> int:
    return sum(len(one.read_text().splitlines()) - 1 for one in path.glob("*.csv"))


def test_a_file_that_is_applied_again_changes_what_runs_and_a_restart_keeps_it(
    spark: SparkSession, tmp_path: Path
) -> None:
    with Engine(tmp_path / "state", base_dir=tmp_path, spark=spark) as engine:
        assert str(engine.apply(FIRST)) == "+ stream s\n+ view v\n+ query q\n+ query r\n+ sink k"
        engine.push("s", rows(1, 2, 3))
        assert (values(engine, "q"), values(engine, "r")) == ([2, 3], [1, 2, 3])
        before = len(engine._log.statements())
        again = engine.apply(f"/* the same */ {FIRST}")
        assert (str(again), again.applied) == ("nothing changes", True)
        assert len(engine._log.statements()) == before
        wanted = (
            "~ view v: another SELECT\n~ query q: latency none -> 5 s, another SELECT\n+ query n\n"
            "~ sink k: path one -> two"
        )
        dry = engine.apply(SECOND, dry_run=True)
        assert (str(dry), dry.applied) == (f"{wanted}\n- query r (runs on; --prune stops it)", False)
        assert engine.catalog.queries["q"].qos.latency_s is None
        with pytest.raises(SqlError, match="line 3, column 25: query 'q' cannot become that"):
            engine.apply(FIRST.replace("SELECT id FROM v", "SELECT id, id + 1 AS next FROM v"))
        assert engine.apply(SECOND).applied
        engine.push("s", rows(11, 12))
        assert (values(engine, "q"), values(engine, "n", "twice")) == ([2, 3, 12], [22, 24])
        assert values(engine, "r") == [1, 2, 3, 11, 12]
        eventually(lambda: (lines_in(tmp_path / "one"), lines_in(tmp_path / "two")) == (2, 1))
    with Engine(tmp_path / "state", base_dir=tmp_path, spark=spark) as engine:
        assert str(engine.apply(SECOND)) == "- query r (runs on; --prune stops it)"
        assert str(engine.apply(SECOND, prune=True)) == "- query r"
        engine.push("s", rows(20))
        assert (values(engine, "q"), values(engine, "n", "twice")) == ([2, 3, 12, 20], [22, 24, 40])
        assert set(engine.catalog.queries) == {"q", "n"}
        assert engine.catalog.queries["q"].qos.latency_s == 5.0
        only = f"{STREAM}CREATE CONTINUOUS QUERY p AS SELECT id FROM s;"
        assert str(engine.apply(only, prune=True)) == "+ query p\n- sink k\n- query n\n- query q\n- view v"
        other = "CREATE STREAM z (id INT) USING push; CREATE CONTINUOUS QUERY p2 AS SELECT id FROM z;"
        assert str(engine.apply(other, prune=True)) == "+ stream z\n+ query p2\n- query p\n- stream s"
        engine.push("z", [{"id": 5}])
        assert values(engine, "p2") == [5]


def test_plans_and_starts_to_come_are_there_after_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    catalog, _ = run(
        f"{STREAM}CREATE CONTINUOUS QUERY made WITH (latency = '3 s', stop = '1 hour') AS "
        "SELECT concat('it''s \\\\ ', id) AS text FROM s WHERE id > 1;",
        now_s=4e9,
    )
    plan = document.write(catalog.queries["made"])
    with Engine(tmp_path / "state", spark=spark) as engine:
        with pytest.raises(SqlError, match="query 'made': the plan reads stream 's', which there is not"):
            engine.submit(plan)
        engine.execute(STREAM)
        with pytest.raises(PlanFormatError, match="has an unknown field 'stopp_s'"):
            engine.submit(plan.replace('"stop_s"', '"stopp_s"'))
        (answer,) = engine.submit(plan)
        assert answer.text == "query 'made' created"
        assert engine.catalog.queries["made"] == catalog.queries["made"]
        engine.push("s", rows(1, 2))
        assert engine.settle(60)
        engine.execute(
            "CREATE CONTINUOUS QUERY soon WITH (start = '1 s') AS SELECT id FROM s;"
            "CREATE CONTINUOUS QUERY late WITH (start = '2100-01-01 00:00:00') AS SELECT id FROM s;"
        )
        starts = {name: engine.catalog.queries[name].start_s for name in ("soon", "late")}
    with Engine(tmp_path / "state", spark=spark) as engine:
        assert engine.catalog.queries["made"] == catalog.queries["made"]
        assert {name: engine.catalog.queries[name].start_s for name in starts} == starts
        engine.start()
        eventually(lambda: engine.status().queries["soon"].state == "running")
        engine.push("s", rows(3))
        assert (values(engine, "soon"), values(engine, "late")) == ([3], [])
        assert engine.status().queries["late"].state == "scheduled"
        assert engine.settle(60)
        assert engine.results("made")["text"].to_pylist() == ["it's \\ 2", "it's \\ 3"]
        engine.submit(document.read(plan.replace('"made"', '"other"')))
        assert set(engine.catalog.queries) == {"made", "other", "soon", "late"}


def test_the_rate_of_a_feeder_changes_while_rows_flow(spark: SparkSession, tmp_path: Path) -> None:
    sql = """CREATE STREAM made (n BIGINT) USING generator OPTIONS (rate '20/s', columns.n 'sequence');
    CREATE CONTINUOUS QUERY q AS SELECT n FROM made;"""
    with Engine(tmp_path / "state", spark=spark) as engine:
        engine.execute(sql)
        engine.start()
        eventually(lambda: engine.status().rows_in.get("made", 0) >= 5)
        (answer,) = engine.execute("ALTER STREAM made SET (rate = '2000/s');")
        assert answer.text == "stream 'made' altered: rate 20/s -> 2000/s"
        at = engine.status().rows_in["made"]
        eventually(lambda: engine.status().rows_in["made"] > at + 2000)
        engine.apply(sql.replace("20/s", "1/s"))
        position = engine.feeds()["made"].standing.position
    with Engine(tmp_path / "state", spark=spark) as engine:
        assert engine.catalog.streams["made"].options["rate"] == "1/s"
        assert engine.catalog.streams["made"].rate == 1.0
        engine.start()
        eventually(lambda: engine.feeds()["made"].standing.position["rows"] >= position["rows"])
        assert engine.settle(60)
        found = engine.results("q")["n"].to_pylist()
        assert sorted(found) == list(range(len(found)))


def test_a_stream_gets_a_column_while_nothing_reads_it(spark: SparkSession, tmp_path: Path) -> None:
    """Rows that came before have NULL in it: those that wait for the first query, too."""
    with Engine(tmp_path / "state", spark=spark) as engine:
        engine.execute("CREATE STREAM s (n BIGINT) USING push OPTIONS (retention '1 h');")
        engine.execute("CREATE CONTINUOUS QUERY q AS SELECT n FROM s;")
        engine.start()
        engine.push("s", [{"n": 1}])
        assert engine.settle(30)
        with pytest.raises(SqlError, match="drop query 'q' first, or create another stream"):
            engine.execute("ALTER STREAM s ADD COLUMN word STRING;")
        engine.execute("DROP QUERY q;")
        engine.push("s", [{"n": 2}])
        (answer,) = engine.execute("ALTER STREAM s ADD COLUMN word STRING;")
        assert answer.text == "stream 's' altered: added word string"
        engine.push("s", [{"n": 3, "word": "three"}, {"n": 4}])
        engine.execute("CREATE CONTINUOUS QUERY q AS SELECT n, word FROM s;")
        engine.push("s", [{"n": 5, "word": "five"}])
        assert engine.settle(30)
        expected = [(2, None), (3, "three"), (4, None), (5, "five")]
        assert sorted(all_of_q(engine)) == expected
    with Engine(tmp_path / "state", spark=spark) as engine:
        engine.start()
        engine.push("s", [{"n": 6, "word": "six"}])
        assert engine.settle(30)
        assert sorted(all_of_q(engine)) == [*expected, (6, "six")]


def test_a_file_with_a_new_column_is_applied_once_its_queries_are_gone(
    spark: SparkSession, tmp_path: Path
) -> None:
    before = "CREATE STREAM s (n BIGINT) USING push; CREATE CONTINUOUS QUERY q AS SELECT n FROM s;"
    after = (
        "CREATE STREAM s (n BIGINT, word STRING, m INT) USING push;"
        "CREATE CONTINUOUS QUERY q AS SELECT n, word, m FROM s;"
    )
    widen = "ALTER STREAM s ADD COLUMNS (word STRING, m INT);"
    with Engine(tmp_path / "state", spark=spark) as engine:
        engine.apply(before)
        engine.start()
        engine.push("s", [{"n": 1}])
        with pytest.raises(SqlError, match="query 'q'"):
            engine.apply(after, dry_run=True)
        engine.push("s", [{"n": 2}])
        with pytest.raises(QueryError, match="drop it by itself, and add columns when that is done"):
            engine.execute(f"DROP QUERY q; {widen} CREATE CONTINUOUS QUERY other AS SELECT m FROM s;")
        engine.execute("DROP QUERY q;")
        engine.execute(f"{widen} CREATE CONTINUOUS QUERY q AS SELECT n, word, m FROM s;")
        engine.push("s", [{"n": 3, "word": "three", "m": 7}])
        assert engine.settle(30)
        assert all_of_q(engine) == [(3, "three", 7)]
        assert not engine.apply(after)


def all_of_q(engine: Engine) -> list[tuple[object, ...]]:
    return [tuple(one.values()) for one in engine.results("q").to_pylist()]
