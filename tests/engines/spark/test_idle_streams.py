"""A silent stream makes others wait until it is known how far its time has come; then they go on."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from penstock.engines.spark.engine import Engine
from penstock.errors import EngineError
from penstock.oracle.translate import has_order, translate
from penstock.verify.batch import evaluate, recorded
from penstock.verify.comparison import difference
from penstock.verify.variants import created, script
from tests.engines.spark.ingest.feeding import eventually
from tests.engines.spark.random_sql import SHAPES, Sizes, random_file, write_data

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

START = datetime(2026, 1, 1, tzinfo=UTC)
STREAMS = """
CREATE STREAM temps (t TIMESTAMP, id INT, WATERMARK FOR t) USING push;
CREATE STREAM doors (t TIMESTAMP, id INT, WATERMARK FOR t AS t - INTERVAL 2 SECONDS) USING push;
CREATE VIEW both_streams AS SELECT t, id FROM temps UNION ALL SELECT t, id FROM doors;
"""
#: Everything that waits for the least watermark of two streams.
WAITING = {
    "merged": "SELECT t, id FROM temps UNION ALL SELECT t, id FROM doors ORDER BY t",
    "window_over_union": "SELECT count(*) AS n, window.start AS s FROM both_streams [RANGE 10 SECONDS]",
    "sessions_over_union": "SELECT count(*) AS n, max(id) AS m FROM both_streams "
    "GROUP BY session_window(t, '4 seconds')",
    "union_in_order": "SELECT collect_list(id) AS ids FROM both_streams [ROWS 2]",
    "join": "SELECT a.id AS x, b.id AS y FROM temps [RANGE 2 SECONDS] AS a "
    "LEFT JOIN doors [RANGE 2 SECONDS] AS b ON a.id = b.id",
    "range_join": "SELECT a.id AS x, b.id AS y FROM temps AS a LEFT JOIN doors AS b "
    "ON a.id = b.id AND b.t BETWEEN a.t AND a.t + INTERVAL 3 SECONDS",
    "join_by_rows": "SELECT a.id AS x, b.id AS y FROM temps [ROWS 2] AS a JOIN doors [ROWS 2] AS b "
    "ON a.id <> b.id",
    "windows_joined": "WITH l AS (SELECT window, count(*) AS n FROM temps GROUP BY window(t, '5 seconds')), "
    "r AS (SELECT window, count(*) AS n FROM doors GROUP BY window(t, '5 seconds')) "
    "SELECT l.n, r.n AS m FROM l LEFT JOIN r ON l.window = r.window",
}


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def rows(*seconds: float) -> list[dict[str, Any]]:
    return [{"t": at(s), "id": int(s)} for s in seconds]


def texts(queries: dict[str, str]) -> str:
    return "".join(f"CREATE CONTINUOUS QUERY {name} AS {select};\n" for name, select in queries.items())


def counts(engine: Engine, queries: Iterable[str]) -> dict[str, int]:
    return {name: engine.results(name).num_rows for name in queries}


def differences(engine: Engine, spark: SparkSession, sql: str) -> dict[str, str]:
    """Where the results differ from those of plain Spark batch over the log."""
    wanted = translate(sql)
    found = {
        name: difference(engine.results(name), table, in_order=has_order(wanted[name]))
        for name, table in evaluate(spark, wanted, recorded(engine)).items()
    }
    return {name: text for name, text in found.items() if text is not None}


def test_all_that_waits_goes_on_by_a_heartbeat_also_after_a_restart(
    spark: SparkSession, tmp_path: Path
) -> None:
    sql = STREAMS + texts(WAITING)

    def engine_on() -> Engine:
        return Engine(tmp_path / "state", out=tmp_path / "out", spark=spark, keep_log=True)

    with engine_on() as engine:
        engine.execute(sql)
        engine.start()
        engine.push("doors", rows(2))
        engine.push("temps", rows(1, 5, 9, 13, 30))
        assert engine.settle(60)
        assert set(counts(engine, WAITING).values()) == {0}  # it waits
        status = engine.status()
        assert [name for name, one in status.streams.items() if one.waited_for] == ["doors"]
        assert status.streams["doors"].watermark == at(0)
        assert "waited for" in str(status)

        engine.heartbeat("Doors", at(29))
        assert engine.settle(60)
        went_on = counts(engine, WAITING)
        assert 0 not in went_on.values(), went_on
        assert went_on["window_over_union"] == 2

        engine.push("doors", rows(7, 28))  # late; only a window takes the second, which is still open
        assert engine.settle(60)
        assert counts(engine, WAITING) == went_on
        assert engine.status().streams["doors"].late_rows == 2
        with pytest.raises(EngineError, match="there is no stream 'windows'"):
            engine.heartbeat("windows", at(1))

    with engine_on() as engine:  # the heartbeat is in the log
        engine.start()
        engine.push("doors", rows(8, 29.5))
        engine.push("temps", rows(31))
        assert engine.settle(60)
        assert engine.status().streams["doors"].late_rows == 3
        assert counts(engine, ["window_over_union"]) == {"window_over_union": 2}
        engine.heartbeat("doors", at(45))
        engine.heartbeat("temps", at(45))
        assert engine.settle(60)
        assert counts(engine, ["window_over_union"]) == {"window_over_union": 4}
        for name in ("doors", "temps"):
            engine.end(name)
        engine.run("drained")
        assert differences(engine, spark, sql) == {}


def test_sources_that_know_how_far_time_has_come_are_asked_and_idle_ones_are_passed_over(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Beside them one that neither knows nor may be passed over: its query waits on, and alone."""
    (tmp_path / "replayed.json").write_text(
        '{"t": "2026-01-01 00:00:03", "id": 3}\n{"t": "2026-01-01 05:00:00", "id": 5}\n'
    )
    columns = "(t TIMESTAMP, id INT, WATERMARK FOR t AS t - INTERVAL 2 SECONDS)"
    silent = {
        "idle": "push OPTIONS (idle '1 second')",
        "clock": "generator OPTIONS (rate '1/hour', columns.t 'arrival(3600)')",
        "steps": "generator OPTIONS (rate '1/hour', columns.t 'time(1h)')",
        "replay": "json OPTIONS (path 'replayed.json', rate '1/hour')",
        "wall": "push OPTIONS (clock 'wall')",
        "nobody_knows": "push",
    }
    sql = "CREATE STREAM temps (t TIMESTAMP, id INT, WATERMARK FOR t) USING push;"
    sql += "".join(f"CREATE STREAM {name} {columns} USING {using};" for name, using in silent.items())
    queries = {
        f"with_{name}": "SELECT count(*) AS n, window.start AS s FROM (SELECT t, id FROM temps UNION ALL "
        f"SELECT t, id FROM {name}) [RANGE 10 SECONDS]"
        for name in silent
    }
    queries |= {
        f"merged_with_{name}": f"SELECT t, id FROM temps UNION ALL SELECT t, id FROM {name} ORDER BY t"
        for name in ("clock", "replay")
    }
    sql += texts(queries)
    queries["alone"] = "SELECT count(*) AS n FROM clock [RANGE 10 SECONDS]"
    sql += texts({"alone": queries["alone"]})
    with Engine(tmp_path / "state", spark=spark, keep_log=True, base_dir=tmp_path) as engine:
        engine.execute(sql)
        engine.start()
        engine.push("temps", rows(1, 5, 12, 31))
        closing = [name for name in queries if name != "with_nobody_knows"]
        eventually(lambda: all(counts(engine, closing).values()), 60)
        assert counts(engine, ["with_nobody_knows"]) == {"with_nobody_knows": 0}
        assert engine.status().streams["nobody_knows"].waited_for
        engine.end_all()
        engine.run("drained")
        assert differences(engine, spark, sql) == {}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_random_queries_with_random_heartbeats_are_as_in_batch(
    spark: SparkSession, tmp_path: Path, seed: int
) -> None:
    """Heartbeats come anywhere among the rows: too early, so that rows are late, or too late to matter."""
    chance = random.Random(seed)
    write_data(random.Random(seed), tmp_path, Sizes(300, 200, 150))
    shapes = chance.sample([shape for shape in SHAPES if shape != "stateless"], 6)
    parts = script(random_file(chance, [*shapes, "union_aggregated", "joined"]))
    sql = parts.world + "".join(created(f"q{n}", text) for n, text in enumerate(parts.queries))
    left = {name: _portions(tmp_path / f"{name}.json", chance) for name in parts.streams}
    schedule = random.Random(seed)
    with Engine(
        tmp_path / "state", out=tmp_path / "out", spark=spark, keep_log=True, base_dir=tmp_path
    ) as engine:
        engine.execute(sql)
        engine.start()
        while any(left.values()):
            name = schedule.choice([name for name, portions in left.items() if portions])
            portion = left[name].pop(0)
            engine.push(name, portion)
            if schedule.random() < 0.6:
                reached = max((row["t"] for row in portion if row["t"] is not None), default=START)
                engine.heartbeat(name, reached + timedelta(seconds=schedule.uniform(-5, 8)))
        for name in parts.streams:
            engine.end(name)
        engine.run("drained")
        assert any(one.late_rows for one in engine.status().streams.values())
        wrong = differences(engine, spark, sql)
        assert not wrong, "\n".join([sql, *(f"{name}:\n{text}" for name, text in wrong.items())])


def _portions(path: Path, chance: random.Random) -> list[list[dict[str, Any]]]:
    """The rows of a file, a few at a time."""
    found = [json.loads(line) for line in path.read_text().splitlines()]
    for row in found:
        if row["t"] is not None:
            row["t"] = datetime.strptime(row["t"], "%Y-%m-%d %H:%M:%S.%f").replace(tzinfo=UTC)
        if row.get("price") is not None:
            row["price"] = Decimal(row["price"])
    portions = []
    while found:
        count = chance.randint(5, 60)
        portions.append(found[:count])
        found = found[count:]
    return portions
