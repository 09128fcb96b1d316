"""Steps at large: the same results as in hand, whichever way each step is run, and no row in the driver."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.engines.spark.engine import Engine
from penstock.errors import EngineError
from penstock.verify.schedules import Schedule
from penstock.verify.verifying import verify
from tests.engines.spark.random_sql import Sizes, write_data

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.jvm

#: Every kind of operator that may be run by many tasks.
SQL = """
CREATE STREAM temps (t TIMESTAMP, room STRING, temp DOUBLE, price DECIMAL(8,2), id INT,
  WATERMARK FOR t AS t - INTERVAL 5 SECONDS) USING json OPTIONS (path 'temps.json', endless 'false');
CREATE STREAM doors (t TIMESTAMP, room STRING, open BOOLEAN, id INT,
  WATERMARK FOR t AS t - INTERVAL 0 SECONDS) USING json OPTIONS (path 'doors.json', endless 'false');
CREATE TABLE rooms (room STRING, floor INT, area DOUBLE) USING csv OPTIONS (path 'rooms.csv');
SPLIT STREAM temps INTO hot WHERE temp > 15, rest OTHERWISE;
CREATE CONTINUOUS QUERY filtered AS SELECT t, upper(room) AS room, price FROM temps WHERE temp > 10;
CREATE CONTINUOUS QUERY both AS SELECT t, id FROM hot UNION ALL SELECT t, id FROM doors;
CREATE CONTINUOUS QUERY placed AS SELECT r.floor, x.id FROM temps AS x JOIN rooms AS r ON x.room = r.room;
CREATE CONTINUOUS QUERY windows AS
  SELECT window, room, count(*) AS n, sum(temp) AS total, first(id) AS one
  FROM temps GROUP BY room, window(t, '10 seconds', '5 seconds');
CREATE CONTINUOUS QUERY medians AS
  SELECT window, median(temp) AS m FROM temps GROUP BY window(t, '10 seconds');
CREATE CONTINUOUS QUERY counted AS SELECT count(*) AS n, sum(id) AS total FROM temps [ROWS 20 SLIDE 10];
CREATE CONTINUOUS QUERY sessions AS
  SELECT session_window, room, count(*) AS n FROM doors GROUP BY room, session_window(t, '2 seconds');
CREATE CONTINUOUS QUERY pairs AS
  SELECT x.id, d.open FROM temps [RANGE 3 SECONDS] AS x LEFT JOIN doors [RANGE 2 SECONDS] AS d
  ON x.room = d.room AND d.open;
CREATE CONTINUOUS QUERY last_ones AS
  SELECT x.id AS x, d.id AS d FROM temps [ROWS 5] AS x FULL JOIN doors [ROWS 3] AS d ON x.room = d.room;
CREATE CONTINUOUS QUERY all_of_it AS SELECT count(*) AS n, max(temp) AS most FROM hot;
CREATE CONTINUOUS QUERY nothing AS SELECT count(*) AS n FROM temps WHERE temp > 1000;
"""


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("data")
    write_data(random.Random(5), where, Sizes(600, 300, 0))
    return where


@pytest.mark.slow
@pytest.mark.parametrize(
    "schedule",
    [
        Schedule("fcfs", 200_000, 2, first_batch_rows=200, steps="at-large"),
        Schedule("chain", 150, 2, first_batch_rows=100, steps="alternately"),
    ],
    ids=str,
)
def test_results_are_those_of_batch(spark: SparkSession, data: Path, schedule: Schedule) -> None:
    verdicts = list(verify(SQL, data, spark, [schedule]))
    assert {one.query: one.difference for one in verdicts if one.difference is not None} == {}
    assert sum(one.rows > 0 for one in verdicts) == len(verdicts)


def readings(rows: int, seed: int = 1) -> pa.Table:
    chance = np.random.default_rng(seed)
    at = np.sort(1_700_000_000_000_000 + chance.integers(0, 60_000_000, rows))
    return pa.table(
        {
            "t": pa.array(at, pa.timestamp("us", "UTC")),
            "k": pa.array(chance.integers(0, 50, rows), pa.int32()),
            "v": chance.integers(0, 1000, rows),
        }
    )


READINGS = """
CREATE STREAM s (t TIMESTAMP, k INT, v BIGINT, WATERMARK FOR t AS t - INTERVAL 1 SECOND) USING push;
CREATE CONTINUOUS QUERY sums AS
  SELECT window.start AS w, k, sum(v) AS total FROM s GROUP BY k, window(t, '5 seconds');
CREATE CONTINUOUS QUERY large AS SELECT k, v FROM s WHERE v > 900;
"""


@pytest.fixture(scope="module")
def engine(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    root = tmp_path_factory.mktemp("large")
    with Engine(root / "state", out=root / "out", spark=spark, steps="at-large", base_dir=root) as engine:
        engine.execute(READINGS)
        engine.execute(f"CREATE SINK texts FROM large USING csv OPTIONS (path '{root / 'texts'}');")
        engine.start()
        yield engine


def test_the_driver_has_no_row_of_a_step_at_large(engine: Engine) -> None:
    rows = readings(30_000)
    engine.push("s", rows, timeout=60)
    engine.end("s")
    engine.run("drained")
    totals = engine.status().totals
    assert totals.steps == totals.large_steps > 0
    assert totals.driver_row_bytes == 0
    assert totals.failed_steps == 0
    expected = rows.filter(pa.compute.greater(rows["v"], 900)).select(["k", "v"])
    found = engine.results("large")
    assert sorted(map(str, found.to_pylist())) == sorted(map(str, expected.to_pylist()))
    assert pa.compute.sum(engine.results("sums")["total"]).as_py() == pa.compute.sum(rows["v"]).as_py()
    query = engine.status().queries["large"]
    assert query.rows == expected.num_rows
    assert query.latencies.mean_s is not None


def test_tasks_write_the_files_of_a_sink_one_for_each_commit(engine: Engine) -> None:
    for name, columns in (("large", ["k", "v"]), ("sums", ["w", "k", "total"])):
        files = sorted((engine._out / name).glob("part-*.parquet"))
        assert files
        assert all(pq.read_schema(file).names == columns for file in files)
        assert not list((engine._out / name / ".staging").iterdir())


def test_a_format_that_tasks_do_not_write_is_written_all_the_same(engine: Engine) -> None:
    lines = [
        line
        for file in sorted((engine._root.parent / "texts").glob("*.csv"))
        for line in file.read_text().splitlines()
    ]
    heads = [line for line in lines if line == "k,v"]
    assert len(lines) - len(heads) == engine.results("large").num_rows


def test_tables_that_nobody_needs_are_deleted(engine: Engine) -> None:
    kinds = {path.name.partition("-")[0] for path in (engine._root / "tables").iterdir()}
    assert "result" not in kinds
    assert "queue" not in kinds


def test_a_query_goes_on_in_the_other_way_after_a_restart(spark: SparkSession, tmp_path: Path) -> None:
    rows = readings(4000)
    ways = ("in-hand", "at-large", "in-hand", "at-large")
    for n, way in enumerate(ways):
        with Engine(tmp_path / "state", out=tmp_path / "out", spark=spark, steps=way) as engine:
            if n == 0:
                engine.execute(READINGS)
            engine.start()
            engine.push("s", rows.slice(n * 1000, 1000), timeout=60)
            if n == len(ways) - 1:
                engine.end("s")
                engine.run("drained")
            else:
                engine.settle(60)
            assert (engine.status().totals.large_steps > 0) == (way == "at-large")
            found = engine.results("sums")
    assert pa.compute.sum(found["total"]).as_py() == pa.compute.sum(rows["v"]).as_py()
    assert found.group_by(["w", "k"]).aggregate([]).num_rows == found.num_rows


def test_a_step_at_large_that_fails_is_told_and_holds_its_query(spark: SparkSession, tmp_path: Path) -> None:
    with Engine(tmp_path / "state", spark=spark, steps="at-large") as engine:
        engine.execute(READINGS)
        engine.execute("CREATE CONTINUOUS QUERY bad AS SELECT 1000 DIV (v - 5) AS x FROM s;")
        engine.start()
        engine.push(
            "s", pa.table({"t": readings(1)["t"], "k": pa.array([1], pa.int32()), "v": [5]}), timeout=60
        )
        engine.settle(60)
        states = {name: query.state for name, query in engine.status().queries.items()}
        assert states["bad"] == "failed"
        assert states["large"] == states["sums"] == "running"
        assert "zero" in (engine.status().queries["bad"].failure or "").lower()


def test_a_way_that_there_is_not_is_refused() -> None:
    with pytest.raises(EngineError, match="choose one of 'by-size', 'in-hand', 'at-large'"):
        Engine(steps="sideways")  # type: ignore[arg-type]
