"""Queries that come and go while rows flow: each result is that of batch over the rows the query saw."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest

from penstock.engines.spark.engine import Engine
from penstock.oracle.translate import translate
from penstock.verify.batch import evaluate, recorded
from penstock.verify.comparison import difference

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.jvm, pytest.mark.slow]

START = datetime(2026, 1, 1, tzinfo=UTC)
DELAY_S = {"temps": 3, "doors": 2}
STREAMS = """\
CREATE STREAM temps (t TIMESTAMP, room STRING, temp DOUBLE, id INT,
  WATERMARK FOR t AS t - INTERVAL 3 SECONDS) USING push;
CREATE STREAM doors (t TIMESTAMP, room STRING, open BOOLEAN, id INT,
  WATERMARK FOR t AS t - INTERVAL 2 SECONDS) USING push;
"""
SELECTS = {
    "plain": "SELECT t, room, temp * 2 AS twice FROM temps WHERE temp > 5",
    "counted": "SELECT room, count(*) AS n, collect_list(id) AS ids, window.end AS until "
    "FROM temps [RANGE 6 SECONDS SLIDE 3 SECONDS] GROUP BY room",
    "numbered": "SELECT room, sum(id) AS ids, last(id) AS l, window FROM temps [ROWS 30 SLIDE 15] "
    "GROUP BY room",
    "sessions": "SELECT room, count(*) AS n, session_window.end AS until FROM temps "
    "GROUP BY room, session_window(t, '1 second')",
    "joined": "SELECT x.room, x.id AS a, d.id AS b FROM temps [RANGE 3 SECONDS] AS x "
    "JOIN doors [RANGE 2 SECONDS] AS d ON x.room = d.room",
    "matched": "SELECT x.room, x.id AS a, d.id AS b FROM temps [RANGE 2 SECONDS] AS x "
    "LEFT JOIN doors [RANGE 2 SECONDS] AS d ON x.room = d.room",
    "last_door": "SELECT x.room, x.id AS a, d.id AS b FROM temps [ROWS 5] AS x "
    "JOIN doors [ROWS 3] AS d ON x.room = d.room",
    "both": "SELECT u.room, first(u.id) AS f, count(*) AS n FROM (SELECT t, room, id FROM temps "
    "UNION ALL SELECT t, room, id FROM temps WHERE temp > 10 UNION ALL SELECT t, room, id FROM doors) AS u "
    "GROUP BY u.room, window(u.t, '5 seconds')",
}


def query(name: str, select: str) -> str:
    return f"CREATE CONTINUOUS QUERY {name} AS {SELECTS[select]};\n"


class Feed:
    """Pushes random rows, a few seconds of both streams at a time."""

    def __init__(self, engine: Engine, seed: int) -> None:
        self._engine, self._chance, self._second = engine, random.Random(seed), 0

    def push(self, seconds: int = 6, rows: int = 40) -> None:
        begin, self._second = self._second, self._second + seconds
        self._push("temps", begin, seconds, rows)
        self._push("doors", begin, seconds, round(rows * 0.4))

    def push_only(self, stream: str, seconds: int = 6, rows: int = 40) -> None:
        begin, self._second = self._second, self._second + seconds
        self._push(stream, begin, seconds, rows)

    def _push(self, stream: str, begin: int, seconds: int, rows: int) -> None:
        made = [self._row(stream, begin, seconds) for _ in range(rows)]
        self._engine.push(stream, [row for _, row in sorted(made, key=lambda one: one[0])], timeout=60)

    def _row(self, stream: str, begin: int, seconds: int) -> tuple[float, dict[str, Any]]:
        """A row and when it comes: sometimes too late."""
        at = begin + self._chance.randrange(4 * seconds) / 4
        comes = at + self._chance.uniform(0, DELAY_S[stream] * 1.3)
        row: dict[str, Any] = {
            "t": START + timedelta(seconds=at),
            "room": self._chance.choice(("hall", "attic", None)),
            "id": self._chance.randrange(100),
        }
        row |= {"temp": self._chance.randrange(40) / 2} if stream == "temps" else {"open": at % 2 < 1}
        return comes, row

    def end(self) -> None:
        for stream in DELAY_S:
            self._engine.end(stream)


def seen(tables: Mapping[str, pa.Table], life: Mapping[str, Any]) -> dict[str, pa.Table]:
    """The rows that a query saw."""
    found = {}
    for name, table in tables.items():
        first, last = life["from"].get(name, 0), life.get("to", {}).get(name, table.num_rows)
        offsets = table["__offset"]
        found[name] = table.filter(pc.and_(pc.greater_equal(offsets, first), pc.less(offsets, last)))
    return found


def check(engine: Engine, spark: SparkSession, queries: Mapping[str, str]) -> dict[str, pa.Table]:
    """Holds every query against batch over what it saw; the rows that each saw of `temps`."""
    tables = recorded(engine)
    assert not engine.coordinator.failures
    views = {}
    for name, select in queries.items():
        life = engine.coordinator.results.lives[name]
        views[name] = seen(tables, life)
        expected = evaluate(spark, translate(STREAMS + query(name, select)), views[name])[name]
        if "until" in expected.column_names and life.get("discards"):
            expected = expected.filter(pc.less_equal(expected["until"], life["discards"]))
        found = difference(engine.results(name), expected)
        assert found is None, f"{name}: {SELECTS[select]}\n{life}\n{found}"
        assert expected.num_rows, f"{name} has no results, so nothing was compared"
    return {name: view["temps"] for name, view in views.items()}


def eventually(condition: Callable[[], object]) -> None:
    until_s = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < until_s
        time.sleep(0.02)


def watermark(engine: Engine, stream: str, offset: int) -> datetime:
    """The watermark of the rows before an offset."""
    times = recorded(engine)[stream]["t"].slice(0, offset)
    return pc.max(times).as_py() - timedelta(seconds=DELAY_S[stream])


@pytest.fixture
def engine(spark: SparkSession, tmp_path: Path) -> Engine:
    return Engine(
        tmp_path / "state",
        out=tmp_path / "out",
        spark=spark,
        keep_log=True,
        first_batch_rows=15,
        train_rows=40,
    )


def test_queries_that_start_while_rows_flow(engine: Engine, spark: SparkSession) -> None:
    with engine:
        engine.execute(STREAMS + query("plain", "plain") + query("joined", "joined"))
        engine.start()
        feed = Feed(engine, 1)
        queries = {"plain": "plain", "joined": "joined"}
        for number, select in enumerate(SELECTS):
            feed.push()
            queries[f"later_{select}"] = select
            engine.execute(query(f"later_{select}", select))
            eventually(
                lambda name=f"later_{select}": "from" in engine.coordinator.results.lives.get(name, {})
            )
            if number % 3 == 1:
                engine.use_policy(("chain", "round-robin", "direct")[number // 3])
        feed.push(12, 80)
        feed.end()
        engine.run("drained")
        rows = check(engine, spark, queries)
        counts = [table.num_rows for table in rows.values()]
        assert len(set(counts)) > 3  # they did begin at different rows


BESIDE_AN_END = {  # of doors
    "left": (
        "SELECT x.id, d.id AS door FROM temps [RANGE 2 SECONDS] AS x "
        "LEFT JOIN doors [RANGE 2 SECONDS] AS d ON x.room = d.room AND d.id > {0}"
    ),
    "full": (
        "SELECT x.id, d.id AS door FROM temps [RANGE 2 SECONDS] AS x FULL JOIN "
        "(SELECT t, id, room FROM doors WHERE id > {0}) [RANGE 2 SECONDS] AS d ON x.room = d.room"
    ),
    "counted": (
        "SELECT room, count(*) AS n FROM (SELECT t, room FROM temps WHERE id > {0} "
        "UNION ALL SELECT t, room FROM doors) GROUP BY room, window(t, '3 seconds')"
    ),
}


@pytest.mark.parametrize("policy", ["fcfs", "round-robin"])
def test_queries_that_start_after_one_of_their_streams_has_ended(
    engine: Engine, spark: SparkSession, policy: str
) -> None:
    """Alone, and as members."""
    with engine:
        engine.execute(
            STREAMS + query("plain", "plain") + "CREATE CONTINUOUS QUERY d AS SELECT id FROM doors;"
        )
        engine.use_policy(policy)
        engine.start()
        feed = Feed(engine, 1)
        feed.push()
        engine.end("doors")
        assert engine.settle(120)
        selects = {f"{n}_{i}": s.format(i) for n, s in BESIDE_AN_END.items() for i in range(2)}
        selects["alone"] = BESIDE_AN_END["left"].replace("AND d.id > {0}", "")
        engine.execute("".join(f"CREATE CONTINUOUS QUERY {n} AS {s};" for n, s in selects.items()))
        eventually(lambda: all("from" in engine.coordinator.results.lives.get(n, {}) for n in selects))
        feed.push_only("temps")
        engine.end("temps")
        engine.run("drained")
        tables = recorded(engine)
        for name, select in selects.items():
            sql = f"{STREAMS}CREATE CONTINUOUS QUERY {name} AS {select};"
            life = engine.coordinator.results.lives[name]
            expected = evaluate(spark, translate(sql), seen(tables, life))[name]
            assert expected.num_rows
            assert difference(engine.results(name), expected) is None, name


def test_queries_that_are_stopped_and_drained(engine: Engine, spark: SparkSession) -> None:
    with engine:
        queries = {select: select for select in SELECTS}
        engine.execute(STREAMS + "".join(query(name, select) for name, select in queries.items()))
        engine.start()
        feed = Feed(engine, 2)
        feed.push(10, 80)
        for number, name in enumerate(queries):
            feed.push(3, 20)
            if number % 2:
                eventually(lambda name=name: engine.results(name).num_rows)
                engine.execute(f"STOP QUERY {name} AND DRAIN;")
            if name == "counted":  # the others end whenever they can, with rows arriving meanwhile
                eventually(lambda: "to" in engine.coordinator.results.lives["counted"])
            if number == 4:
                engine.use_policy("segment")
        feed.push()
        feed.end()
        engine.run("drained")
        rows = check(engine, spark, queries)
        assert rows["counted"].num_rows < rows["sessions"].num_rows < rows["plain"].num_rows


def test_queries_that_are_stopped_discard_open_windows(engine: Engine, spark: SparkSession) -> None:
    with engine:
        queries = {"plain": "plain", "counted": "counted", "sessions": "sessions", "joined": "joined"}
        queries["on"] = "counted"
        engine.execute(STREAMS + "".join(query(name, select) for name, select in queries.items()))
        engine.start()
        feed = Feed(engine, 3)
        feed.push(20, 160)
        for name in ("counted", "joined", "plain", "sessions"):
            feed.push(4, 30)
            eventually(lambda name=name: engine.results(name).num_rows)
            engine.execute(f"STOP QUERY {name};")
            eventually(lambda name=name: "to" in engine.coordinator.results.lives[name])
        feed.push()
        feed.end()
        engine.run("drained")
        for name in ("counted", "sessions"):
            life = engine.coordinator.results.lives[name]
            life["discards"] = watermark(engine, "temps", life["to"]["temps"])
        # A row at the very end of a session would be part of it, so that one is open still.
        engine.coordinator.results.lives["sessions"]["discards"] -= timedelta(microseconds=1)
        check(engine, spark, queries)
        assert engine.results("counted").num_rows < engine.results("on").num_rows


@pytest.mark.parametrize("seed", [1, 2])
def test_queries_that_look_back(spark: SparkSession, tmp_path: Path, seed: int) -> None:
    """At random moments to random moments, through a restart, under one policy and then another."""
    chance = random.Random(seed)
    options = "USING push OPTIONS (retention '1 h');"
    world, queries, moments = STREAMS.replace("USING push;", options), dict[str, str](), list[datetime]()

    def opened() -> Engine:
        return Engine(
            tmp_path / "state",
            out=tmp_path / "out",
            spark=spark,
            keep_log=True,
            first_batch_rows=15,
            train_rows=40,
        )

    with opened() as engine:
        engine.execute(world + query("plain", "plain") + query("joined", "joined"))
        queries |= {"plain": "plain", "joined": "joined"}
        engine.start()
        feed = Feed(engine, seed)
        for number, select in enumerate(chance.sample(list(SELECTS), 4)):
            feed.push()
            moments.append(datetime.now(UTC))
            name, since = f"back_{select}", chance.choice(moments)
            queries[name] = select
            engine.execute(query(name, select).replace(" AS ", f" WITH (start = '{since}') AS ", 1))
            if number % 2:
                engine.use_policy(chance.choice(("chain", "memory-chart", "round-robin")))
    with opened() as engine:  # whatever waited, or had yet to begin
        engine.start()
        feed._engine = engine
        for select in [one for one in SELECTS if f"back_{one}" not in queries]:
            feed.push()
            name, since = f"back_{select}", chance.choice(moments)
            queries[name] = select
            engine.execute(query(name, select).replace(" AS ", f" WITH (start = '{since}') AS ", 1))
        feed.push(12, 80)
        feed.end()
        engine.run("drained")
        before = len(engine.catalog.queries)
        engine.execute(query("in_the_end", "matched").replace(" AS ", " WITH (start = '-1 h') AS ", 1))
        engine.run("drained")
        assert len(engine.catalog.queries) == before + 1
        rows = check(engine, spark, queries | {"in_the_end": "matched"})
        assert rows["in_the_end"].num_rows == rows["plain"].num_rows
        starts = {name: engine.coordinator.results.lives[name]["from"]["temps"] for name in queries}
        assert 0 < len([one for one in starts.values() if one > 0]) < len(starts)
