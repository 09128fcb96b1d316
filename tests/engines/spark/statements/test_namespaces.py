"""Namespaces of a running engine: work is shared, names are not, and all of it is back after a restart."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from penstock.engines.spark.engine import Engine
from penstock.engines.spark.statements.confinement import Confinement
from penstock.errors import QueryError, SqlError
from penstock.model.quotas import Quotas
from penstock.sql.scoping import Scope
from penstock.sql.session import Answer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STREAM = "CREATE STREAM orders (id INT, {0} INT) USING push;"
QUERY = "CREATE CONTINUOUS QUERY {0} AS SELECT id FROM {1} WHERE id > {2};"
NORTH = Scope("north")
SOUTH = Scope("south", granted=frozenset({"north.orders"}), quotas=Quotas(queries=3))


def engine_on(spark: SparkSession, root: Path) -> Engine:
    rules = Confinement(roots=(root / "data",))
    return Engine(root / "state", out=root / "out", base_dir=root / "data", spark=spark, confinement=rules)


def text_of(answers: Sequence[Answer]) -> str:
    return "\n".join(
        [one.text for one in answers] + [cell for one in answers for row in one.rows for cell in row]
    )


def test_two_teams_share_work_and_see_nothing_of_each_other(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    with engine_on(spark, tmp_path) as engine:
        engine.execute(STREAM.format("northern"), scope=NORTH)
        engine.execute(QUERY.format("secret_n", "orders", 1), scope=NORTH)
        engine.execute(QUERY.format("secret_m", "orders", 2), scope=NORTH)
        engine.execute(STREAM.format("southern"), scope=SOUTH)
        said = engine.execute(QUERY.format("mine", "north.orders", 3), scope=SOUTH)
        assert said[0].text == "query 'mine' created"
        engine.execute(QUERY.format("own", "orders", 0), scope=SOUTH)
        now = engine.status().queries
        assert now["south.mine"].runs_as == now["north.secret_m"].runs_as != "south.mine"
        engine.start()
        engine.push("north.orders", [{"id": n, "northern": n} for n in range(6)])
        engine.push("south.orders", [{"id": 1, "southern": 1}])
        assert engine.settle(60)
        assert sorted(engine.results("south.mine")["id"].to_pylist()) == [4, 5]
        assert sorted(engine.results("north.secret_m")["id"].to_pylist()) == [3, 4, 5]
        status = engine.status()
        charged = {name: one.charged_s for name, one in status.queries.items()}
        assert sum(charged.values()) == pytest.approx(status.totals.spark_s)
        assert sum(engine.charged().values()) == pytest.approx(status.totals.spark_s)
        assert charged["north.secret_m"] > charged["south.mine"] > 0  # three rows and two, of one shared step
        asked = "SHOW QUERIES; SHOW STREAMS; EXPLAIN mine; EXPLAIN own; SHOW PARTITIONS; SHOW POLICIES;"
        seen = text_of(engine.execute(asked, scope=SOUTH))
        assert "runs as one of several queries that differ in constants" in seen
        assert "secret" not in seen
        assert "south." not in seen
        with pytest.raises(
            QueryError, match="namespace 'south' may have at most 3 queries, and these would be 4"
        ):
            engine.execute("".join(QUERY.format(name, "orders", 1) for name in ("x", "y")), scope=SOUTH)
        with pytest.raises(SqlError, match=r"there is no query 'secret_n'\.\n"):
            engine.execute("STOP QUERY secret_n;", scope=SOUTH)
        engine.execute("ALTER QUERY own AS SELECT id FROM orders WHERE id > 0 AND id < 9;", scope=SOUTH)
    with engine_on(spark, tmp_path) as engine:  # the grant is gone, what was made with it goes on
        again = text_of(engine.execute("SHOW QUERIES; SHOW STREAMS;", scope=Scope("south")))
        assert "mine" in again
        assert "north.orders" not in again
        engine.start()
        engine.push("north.orders", [{"id": 7, "northern": 7}])
        assert engine.settle(60)
        assert sorted(engine.results("south.mine")["id"].to_pylist()) == [4, 5, 7]
        engine.execute("DROP QUERY mine;", scope=Scope("south"))
        assert "south.mine" not in engine.catalog.queries


def test_paths_stay_below_the_roots(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "secret.csv").write_text("id\n1\n")
    with engine_on(spark, tmp_path) as engine:
        for options in ("path '../secret.csv'", "path '/etc/passwd'", "path '../state'"):
            with pytest.raises(SqlError, match="is not below the directories that this server allows"):
                engine.execute(f"CREATE TABLE r (id INT) USING csv OPTIONS ({options});", scope=NORTH)
        with pytest.raises(SqlError, match=r"stream 's', option 'trace': '../secret.csv' is not below"):
            engine.execute(
                "CREATE STREAM s (id INT) USING generator OPTIONS (trace '../secret.csv');", scope=NORTH
            )
        engine.execute("CREATE TABLE r (id INT) USING csv OPTIONS (path 'none.csv');", scope=NORTH)
        engine.execute("CREATE STREAM s (id INT) USING push;", scope=NORTH)
        join = "CREATE CONTINUOUS QUERY q AS SELECT s.id FROM s JOIN r ON s.id = r.id;"
        engine.start()
        with pytest.raises(Exception, match=r"there is no none\.csv") as error:
            engine.execute(join, scope=NORTH)
        assert str(tmp_path) not in str(error.value)
        assert "north." not in str(error.value)
