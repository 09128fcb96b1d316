"""Queries that end by windows: the first full ones after their start, and then they are gone."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from penstock.engines.spark.engine import Engine
from penstock.engines.spark.results.full_windows import FullWindows, put_out
from penstock.oracle.translate import translate
from penstock.verify.batch import evaluate, recorded

START = datetime(2026, 1, 1, tzinfo=UTC)
UNKNOWN = -(1 << 62)
STREAMS = """
CREATE STREAM l (t TIMESTAMP, k INT, v INT, WATERMARK FOR t AS t - INTERVAL 2 SECONDS) USING push;
CREATE STREAM r (t TIMESTAMP, k INT, v INT, WATERMARK FOR t AS t - INTERVAL 1 SECOND) USING push;
CREATE CONTINUOUS QUERY every AS SELECT count(*) AS n, window.end AS until FROM l [RANGE 10 SECONDS];
"""
PAIRS = (
    "SELECT a.v AS x, b.v AS y, greatest(a.t, b.t) AS at "
    "FROM l [RANGE 10 SECONDS{}] AS a {} JOIN r [RANGE 10 SECONDS{}] AS b ON a.k = b.k"
)
HOPS = (
    "SELECT k, count(*) AS n, window.end AS until FROM l [RANGE 10 SECONDS SLIDE 5 SECONDS] "
    "GROUP BY k HAVING count(*) > 1"
)
#: What ends by windows, its SELECT in batch, and how many windows of how many seconds it has.
ENDING = {
    "pairs": ("ONE-TIME QUERY pairs", PAIRS.format("", "", ""), PAIRS, 1),
    "matched": ("ONE-TIME QUERY matched", PAIRS.format("", "LEFT", ""), PAIRS, 1),
    "many_pairs": (
        "CONTINUOUS QUERY many_pairs WITH (stop = '2 windows')",
        PAIRS.format("", "", ""),
        PAIRS,
        2,
    ),
    "hops": ("ONE-TIME QUERY hops", HOPS, HOPS, 1),
    "five": ("CONTINUOUS QUERY five WITH (stop = '5 windows')", HOPS, HOPS, 5),
}


def row(at: float, k: int = 0, v: int = 0) -> dict[str, object]:
    return {"t": START + timedelta(seconds=at), "k": k, "v": v}


def test_the_first_full_windows_whole_and_each_once() -> None:
    rows = pa.table({"__time": [9, 9, 19, 29], "n": [1, 2, 3, 4]})

    def taken(
        most: int, after: int, before: tuple[int, int] = (0, UNKNOWN)
    ) -> tuple[list[int], tuple[int, int]]:
        found, so_far = FullWindows(most, 10).taken(rows, after, before)
        return found["n"].to_pylist(), so_far

    assert taken(1, UNKNOWN) == ([1, 2], (1, 0))
    assert taken(1, 3) == ([3], (1, 10))
    assert taken(1, 30) == ([], (0, UNKNOWN))
    assert taken(3, 3) == ([3, 4], (2, 20))
    assert taken(3, UNKNOWN, (2, 0)) == ([3], (3, 10))
    assert taken(3, UNKNOWN, (3, 0)) == ([], (3, 0))


def test_pairs_are_in_the_window_that_has_both() -> None:
    rows = pa.table({"__time": [-1, 0, 7, 12, 19, 20], "n": [1, 2, 3, 4, 5, 6]})
    assert FullWindows(1, 10, of_rows=True).taken(rows, -1, (0, UNKNOWN))[0]["n"].to_pylist() == [2, 3]
    assert FullWindows(1, 10, of_rows=True).taken(rows, 0, (0, UNKNOWN))[0]["n"].to_pylist() == [4, 5]


def test_a_one_time_query_of_an_older_state_was_through_when_it_had_rows() -> None:
    assert put_out({"rows": 3})[0] == 1
    assert put_out({})[0] == 0


@pytest.mark.jvm
def test_each_has_its_full_windows_of_batch_and_ends_while_others_go_on(
    spark: SparkSession, tmp_path: Path
) -> None:
    chance, now = random.Random(7), 0.0

    def push(engine: Engine, seconds: float) -> None:
        nonlocal now
        until = now + seconds
        found: dict[str, list[Any]] = {"l": [], "r": []}
        while now < until:
            now += chance.random() * 0.8
            late = chance.random() * chance.choice((1, 1, 3))
            found[chance.choice("lr")].append(row(now - late, chance.randrange(3), chance.randrange(1000)))
        for stream, rows in found.items():
            engine.push(stream, rows)

    sql = "".join(f"CREATE {created} AS {select};" for created, select, _, _ in ENDING.values())

    def engine_on() -> Engine:
        return Engine(tmp_path, spark=spark, keep_log=True, train_rows=7, policy="round-robin")

    with engine_on() as engine:
        engine.execute(STREAMS)
        engine.start()
        push(engine, 13)
        assert engine.settle(120)
        engine.execute(sql)
        lives = engine.coordinator.results.lives
        after = {name: lives[name]["after_us"] for name in ENDING}
        push(engine, 24)
        assert engine.settle(120)
    with engine_on() as engine:  # how far each has come is in the state
        engine.start()
        push(engine, 50)
        assert engine.settle(120)
        assert list(engine.coordinator.control.graph.queries) == ["every"]
        engine.end_all()
        engine.run("drained")
        batch = {
            name: select.format(" SLIDE 10 SECONDS", "LEFT" if name == "matched" else "", " SLIDE 10 SECONDS")
            if select is PAIRS
            else select
            for name, (_, _, select, _) in ENDING.items()
        }
        queries = "".join(f"CREATE CONTINUOUS QUERY {name} AS {text};" for name, text in batch.items())
        theirs = evaluate(spark, translate(STREAMS + queries), recorded(engine))
        for name, (_, _, select, most) in ENDING.items():
            wanted = whole(theirs[name].to_pylist(), after[name], most, pairs=select is PAIRS)
            ours = engine.results(name).to_pylist()
            assert sorted(map(repr, ours)) == sorted(map(repr, wanted)), name
            assert ours, name


def whole(rows: list[dict[str, Any]], after_us: int, most: int, *, pairs: bool) -> list[dict[str, Any]]:
    """The rows of the first windows that began after that time."""

    def began(one: dict[str, Any]) -> int:
        since_1970 = one["at" if pairs else "until"] - datetime(1970, 1, 1, tzinfo=UTC)
        us: int = round(since_1970.total_seconds() * 1e6)
        return us // 10_000_000 * 10_000_000 if pairs else us - 10_000_000

    starts = sorted({began(one) for one in rows if began(one) > after_us})[:most]
    return [one for one in rows if began(one) in starts]
