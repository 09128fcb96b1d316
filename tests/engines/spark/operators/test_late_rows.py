"""Late rows are in every window that was open when they came, whatever the trains; as in batch."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from penstock.engines.spark.engine import Engine
from penstock.engines.spark.ingest import feeder as ingest
from penstock.engines.spark.operators.base import LATE
from penstock.engines.spark.operators.grouping import SINCE
from penstock.oracle.translate import translate
from penstock.verify.batch import evaluate, recorded
from penstock.verify.comparison import difference

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

START = datetime(2026, 1, 1, tzinfo=UTC)
STREAMS = """
CREATE STREAM s (t TIMESTAMP, k STRING, v INT, WATERMARK FOR t AS t - INTERVAL 0 SECONDS) USING push
  OPTIONS (endless 'false');
CREATE STREAM a (t TIMESTAMP, k STRING, v INT, WATERMARK FOR t AS t - INTERVAL 2 SECONDS) USING push
  OPTIONS (endless 'false');
"""
UNION = "(SELECT t, k, v FROM s UNION ALL SELECT t, k, v FROM a)"
SELECTS = {
    # The first three have panes in common; a late row finds its pane closed.
    "tumbling": "SELECT k, count(*) AS n, sum(v) AS v, window.end AS e FROM s GROUP BY k, window(t, '10 s')",
    "long": "SELECT k, sum(v) AS v, window.end AS e FROM s GROUP BY k, window(t, '20 s')",
    "hopping": "SELECT k, avg(v) AS v, window.end AS e FROM s GROUP BY k, window(t, '20 s', '10 s')",
    "sliding": "SELECT sum(v) AS v, window.end AS e FROM s WHERE v > 0 GROUP BY window(t, '10 s', '4 s')",
    "rows_kept": "SELECT median(v) AS v, window.end AS e FROM s GROUP BY window(t, '12 s', '3 s')",
    "in_order": "SELECT collect_list(v) AS v, last(v) AS l, window.end AS e FROM s GROUP BY window(t, '9 s')",
    "of_windows": "SELECT sum(n) AS n, window.end AS e FROM (SELECT window, k, count(*) AS n FROM s "
    "GROUP BY k, window(t, '5 s')) GROUP BY window(window, '10 s')",
    "instants": "SELECT t, count(*) AS n FROM s GROUP BY t",
    "united": f"SELECT k, count(*) AS n, max(v) AS m, window.end AS e FROM {UNION} "
    "GROUP BY k, window(t, '10 s')",
    "everything": "SELECT count(*) AS n, sum(v) AS v FROM s",
    "by_key": f"SELECT k, count(*) AS n FROM {UNION} GROUP BY k",
    "once": "SELECT DISTINCT k FROM s [RANGE 10 SECONDS SLIDE 5 SECONDS]",
    "sessions": "SELECT k, sum(v) AS v, session_window.end AS e FROM s GROUP BY k, session_window(t, '3 s')",
    "counted": "SELECT sum(v) AS v, window.start AS b FROM s [ROWS 5]",
    "joined": "SELECT s.v AS x, a.v AS y FROM s [RANGE 4 s] JOIN a [RANGE 4 s] ON s.k = a.k",
    "plain": "SELECT t, v FROM s WHERE v > 2",
    "member_1": "SELECT k, sum(v) AS v, window.end AS e FROM s WHERE v > 1 "
    "GROUP BY k, window(t, '8 s', '2 s')",
    "member_2": "SELECT k, sum(v) AS v, window.end AS e FROM s WHERE v > 2 "
    "GROUP BY k, window(t, '8 s', '2 s')",
}
QUERIES = "".join(f"CREATE CONTINUOUS QUERY {name} AS {select};\n" for name, select in SELECTS.items())
#: Times in the order of arrival: with a watermark of 0 s all but 0, 12 and 25 are late.
TIMES: tuple[float | None, ...] = (0, 12, 7, 11, 25, 24, 13, None, 3)


def row(second: float | None, key: str, value: int) -> dict[str, Any]:
    return {"t": None if second is None else START + timedelta(seconds=second), "k": key, "v": value}


def rows(chance: random.Random, count: int) -> list[dict[str, Any]]:
    """Rows out of order by up to 25 seconds, over two minutes; some without a time."""
    times = [120 * n / count - chance.choice((0, 0, 0, 1, 5, 25)) * chance.random() for n in range(count)]
    return [
        row(None if chance.random() < 0.02 else round(second, 1), chance.choice("xy"), chance.randrange(9))
        for second in times
    ]


def wrong(engine: Engine, spark: SparkSession) -> dict[str, str]:
    """What differs from batch, by query."""
    assert not engine.coordinator.failures
    wanted = evaluate(spark, translate(STREAMS + QUERIES), recorded(engine))
    assert all(table.num_rows for table in wanted.values())
    found = {name: difference(engine.results(name), theirs) for name, theirs in wanted.items()}
    return {name: text for name, text in found.items() if text is not None}


def finish(engine: Engine) -> None:
    for stream in ("s", "a"):
        engine.end(stream)
    engine.run()


def test_a_row_is_in_the_windows_that_were_open(spark: SparkSession) -> None:
    with Engine(spark=spark, train_rows=1, first_batch_rows=1, keep_log=True) as engine:
        engine.execute(STREAMS + QUERIES)
        engine.push("a", [row(3, "x", 7), row(30, "x", 8)], timeout=60)
        engine.push("s", [row(at, "x", 2**n) for n, at in enumerate(TIMES)], timeout=60)
        finish(engine)
        assert by_end(engine.results("tumbling")) == {10: 1, 20: 2 + 8, 30: 16 + 32}
        assert by_end(engine.results("long")) == {20: 1 + 2 + 4 + 8, 40: 16 + 32}
        assert by_end(engine.results("sliding")) == {
            **{2: 1, 6: 1, 10: 1, 14: 2 + 4 + 8, 18: 2 + 8, 22: 2},
            **{26: 16 + 32, 30: 16 + 32, 34: 16 + 32},
        }
        assert by_end(engine.results("sessions")) == {3: 1, 15: 2, 28: 16}
        assert engine.results("everything").to_pylist() == [{"n": 9, "v": 2**9 - 1}]
        status = engine.status()
        assert status.streams["s"].late_rows == 6
        missed = {name: status.queries[name].late_rows for name in ("tumbling", "long", "sliding", "united")}
        assert missed == {"tumbling": 4, "long": 3, "sliding": 4, "united": 4}
        assert [status.queries[name].late_rows for name in ("sessions", "counted", "joined")] == [6, 6, 6]
        assert [status.queries[name].late_rows for name in ("everything", "plain", "by_key")] == [0, 0, 0]
        assert wrong(engine, spark) == {}


def by_end(table: pa.Table) -> dict[int, Any]:
    ends = [round((end - START).total_seconds()) for end in table["e"].to_pylist()]
    return dict(zip(ends, table["v"].to_pylist(), strict=True))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("policy", "train_rows", "first_batch_rows"), [("round-robin", 40, 7), ("direct", 200_000, 50_000)]
)
def test_trains_and_batches_decide_nothing(
    spark: SparkSession, policy: str, train_rows: int, first_batch_rows: int
) -> None:
    settings: dict[str, Any] = {"train_rows": train_rows, "first_batch_rows": first_batch_rows}
    with Engine(spark=spark, policy=policy, keep_log=True, **settings) as engine:
        engine.execute(STREAMS + QUERIES)
        chance = random.Random(5)
        for _ in range(2):
            engine.push("s", rows(chance, 120), timeout=60)
            engine.push("a", rows(chance, 60), timeout=60)
        finish(engine)
        assert wrong(engine, spark) == {}


@pytest.mark.slow
def test_a_state_of_an_earlier_version_goes_on(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its log says no more than that a row was late, and its operators remember no first open window."""
    settings: dict[str, Any] = {"spark": spark, "out": tmp_path / "out", "keep_log": True}
    stamped = ingest.stamped

    def flagged(*given: Any) -> tuple[pa.Array, pa.Array, int]:
        times, late, mark = stamped(*given)
        return times, late.is_valid(), mark

    chance = random.Random(7)
    with monkeypatch.context() as before, Engine(tmp_path / "state", **settings) as engine:
        before.setattr(ingest, "stamped", flagged)
        engine.execute(STREAMS + QUERIES)
        engine.push("s", rows(chance, 60), timeout=60)
        engine.push("a", rows(chance, 30), timeout=60)
        assert engine.settle(60)
        engine.suspend("plain")
        engine.push("s", [row(119, "x", 3), row(0, "x", 4)], timeout=60)
    without_first_windows(tmp_path / "state" / "tables")
    with Engine(tmp_path / "state", **settings) as engine:
        engine.resume("plain")
        engine.push("s", [row(120 + at, "x", 5) for at in (0, 12, 7, 11)], timeout=60)
        finish(engine)
        logged = recorded(engine)["s"]
        assert logged[LATE].null_count < logged.num_rows
        assert wrong(engine, spark) == {}


def without_first_windows(tables: Path) -> None:
    """Takes out of remembered tables what an earlier version did not have."""
    changed = 0
    for path in tables.glob("state-*.parquet"):
        table = pq.read_table(path)
        if SINCE in table.column_names and table[SINCE].null_count == table.num_rows:
            pq.write_table(table.drop_columns([SINCE]), path)
            changed += 1
    assert changed
