"""What the oracle says of small logs, worked out by hand, and what it refuses."""

from __future__ import annotations

import ast
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from penstock import oracle
from penstock.errors import PenstockError
from penstock.oracle.translate import translate
from penstock.sql.session import run as run_sql
from tests.oracle.views import Log, Row, results
from tests.test_layers import imports

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STREAMS = """
CREATE STREAM s (t TIMESTAMP, k STRING, v INT, WATERMARK FOR t AS t - INTERVAL 5 SECONDS) USING csv;
CREATE STREAM a (t TIMESTAMP, k STRING, v INT, WATERMARK FOR t AS t - INTERVAL 5 SECONDS) USING csv;
CREATE TABLE r (k STRING, name STRING) USING csv;
"""


def at(second: float) -> datetime:
    return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=second)


EPOCH = -round(at(0).timestamp())


def rows(*those: tuple[float, str, int]) -> list[Row]:
    return [(at(second), key, value) for second, key, value in those]


def select(sql: str) -> str:
    return translate(f"{STREAMS}CREATE CONTINUOUS QUERY q AS {sql}")["q"]


def answer(spark: SparkSession, sql: str, log: Log) -> list[Any]:
    """The rows of a query, sorted; values instead of rows if there is one column."""
    found: Counter[Row] = results(spark, select(sql), run_sql(STREAMS)[0], log)
    return sorted((row[0] if len(row) == 1 else row for row in found.elements()), key=str)


#: A watermark that has closed all windows.
END = 1 << 62
LATE = Log(
    {
        "s": rows((0, "x", 1), (9, "x", 2), (1, "x", 4)),
        "a": rows((2, "x", 10), (0, "x", 20)),
        "r": [("x", "ex")],
    },
    late={"s": {2: END}, "a": {1: END}},
)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT v FROM s WHERE v > 1", [2, 4]),
        ("SELECT v FROM s JOIN r USING (k)", [1, 2, 4]),
        ("SELECT v FROM s UNION ALL SELECT v FROM a", [1, 10, 2, 20, 4]),
        ("SELECT sum(v) AS v FROM s [RANGE 10 s]", [3]),
        ("SELECT sum(v) AS v FROM s JOIN r USING (k) GROUP BY window(t, '10 s')", [3]),
        ("SELECT sum(v) AS v FROM s [ROWS 2]", [3]),
        ("SELECT DISTINCT v FROM s [RANGE 10 s]", [1, 2]),
        ("SELECT s.v + a.v AS v FROM s [RANGE 5 s] JOIN a [RANGE 5 s] ON s.k = a.k", [11]),
        ("SELECT s.v + a.v AS v FROM s [ROWS 1] FULL JOIN a [ROWS 2] ON s.k = a.k", [11, 12]),
        ("SELECT v FROM s UNION ALL SELECT sum(v) FROM a [RANGE 10 s]", [1, 10, 2, 4]),
    ],
)
def test_late_rows_are_dropped_by_windows_and_kept_by_others(
    sql: str, expected: list[int], spark: SparkSession
) -> None:
    assert answer(spark, sql, LATE) == expected


def micros(second: float) -> int:
    return round(at(second).timestamp() * 1_000_000)


#: A watermark of 0 s: behind 0, 12 and 25 come 7, 11, 24 and, from a row without time, nothing.
BEHIND = Log(
    {
        "s": rows((0, "x", 1), (12, "x", 2), (7, "x", 4), (11, "x", 8), (25, "x", 16), (24, "x", 32)),
        "a": rows((30, "y", 64), (11, "y", 128)),
        "r": [("x", "ex")],
    },
    late={"s": {2: micros(12), 3: micros(12), 5: micros(25)}, "a": {1: micros(30)}},
)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT window.start AS s, sum(v) AS v FROM s [RANGE 10 s]", [(0, 1), (10, 10), (20, 48)]),
        (
            "SELECT window.start AS s, sum(v) AS v FROM s [RANGE 10 s SLIDE 5 s]",
            [(-5, 1), (0, 1), (5, 14), (10, 10), (20, 48), (25, 16)],
        ),
        (
            "SELECT window.start AS s, sum(v) AS v FROM s JOIN r USING (k) "
            "GROUP BY window(t, '10 s', '10 s', '2 s')",
            [(-8, 1), (12, 2), (22, 48)],
        ),
        ("SELECT t AS s, sum(v) AS v FROM s GROUP BY t", [(0, 1), (12, 2), (25, 16)]),
        ("SELECT timestamp_seconds(0) AS s, sum(v) AS v FROM s", [(EPOCH, 63)]),
        (
            "SELECT session_window.start AS s, sum(v) AS v FROM s GROUP BY session_window(t, '3 s')",
            [(0, 1), (12, 2), (25, 16)],
        ),
        ("SELECT max(t) AS s, sum(v) AS v FROM s [ROWS 9]", [(25, 19)]),
        (
            "SELECT window.start AS s, sum(v) AS v FROM (SELECT t, v FROM s UNION ALL SELECT t, v FROM a) "
            "GROUP BY window(t, '20 s')",
            [(0, 15), (20, 112)],
        ),
    ],
)
def test_a_row_is_in_the_windows_that_were_open(
    sql: str, expected: list[tuple[float, int]], spark: SparkSession
) -> None:
    found = [(round((row[0] - at(0)).total_seconds()), row[1]) for row in answer(spark, sql, BEHIND)]
    assert sorted(found) == expected


VERSIONS = Log(
    {
        "s": rows((0, "x", 1), (5, "x", 2), (20, "x", 3)),
        "a": rows((1, "x", 10)),
        "r": [("x", "old"), ("x", "new")],
    },
    epochs={"s": [0, 1, 3], "a": [1]},
    versions={"r": [(0, 1), (1, 3)]},
)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT v, name FROM s JOIN r USING (k)", [(1, "old"), (2, "new")]),
        ("SELECT v, name FROM r RIGHT JOIN s ON s.k = r.k", [(1, "old"), (2, "new"), (3, None)]),
        (
            "SELECT n, name FROM (SELECT k, count(*) AS n FROM s [RANGE 10 s] GROUP BY k) JOIN r USING (k)",
            [(2, "new")],
        ),
        (
            "SELECT s.v, name FROM s [RANGE 5 s] JOIN a [RANGE 5 s] ON s.k = a.k JOIN r ON r.k = s.k",
            [(1, "new"), (2, "new")],
        ),
        (
            "SELECT s.v, name FROM s JOIN r ON r.k = s.k JOIN a ON a.t BETWEEN s.t AND s.t + INTERVAL 1 s",
            [(1, "old")],
        ),
    ],
)
def test_a_row_meets_the_version_of_a_table_that_was_there(
    sql: str, expected: list[Row], spark: SparkSession
) -> None:
    assert answer(spark, sql, VERSIONS) == expected


TIES = Log(
    {
        "s": rows((3, "x", 1), (1, "x", 2), (3, "y", 3)),
        "a": rows((3, "z", 4), (1, "x", 5), (0, "y", 6)),
    }
)
BOTH = "(SELECT t, k, v FROM a UNION ALL SELECT t, k, v FROM s)"


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        # s was created first, so it comes first at equal times, whatever the order in the query.
        (f"SELECT collect_list(v) AS v FROM {BOTH} [RANGE 10 s]", [(6, 2, 5, 1, 3, 4)]),
        (f"SELECT sum(v) AS v, window.start FROM {BOTH} [ROWS 4 SLIDE 2]", [(13, 2), (14, 0), (4 + 3, 4)]),
        (f"SELECT array(first(v), last(v), any_value(v)) AS v FROM {BOTH} [RANGE 10 s]", [(6, 4, 6)]),
        (f"SELECT collect_set(k) AS k FROM {BOTH} [RANGE 10 s]", [("y", "x", "z")]),
        (f"SELECT listagg(k, '-') AS k FROM {BOTH} [RANGE 10 s]", ["y-x-x-x-y-z"]),
        (f"SELECT string_agg(k, NULL) AS k FROM {BOTH} [RANGE 10 s]", ["yxxxyz"]),
        # Of equal ones the last.
        (f"SELECT max_by(v, k) AS hi, min_by(v, k) AS lo FROM {BOTH} [RANGE 10 s]", [(4, 1)]),
        (
            f"SELECT max_by(v, t) AS hi, min_by(v, k) FILTER (WHERE v > 1) AS lo FROM {BOTH} [RANGE 10 s]",
            [(4, 5)],
        ),
        ("SELECT collect_list(v) AS v FROM (SELECT * FROM s UNION ALL SELECT t, k, -v FROM s) [RANGE 10 s]",
         [(2, -2, 1, -1, 3, -3)]),
        (f"SELECT last(v) FILTER (WHERE v < 4) IGNORE NULLS AS v FROM {BOTH} [RANGE 10 s]", [3]),
    ],
)  # fmt: skip
def test_rows_of_equal_time_are_in_the_order_of_streams_and_offsets(
    sql: str, expected: list[Any], spark: SparkSession
) -> None:
    assert answer(spark, sql, TIES) == expected


PAIRS = Log(
    {
        "s": rows((0, "x", 1), (4, "x", 2), (8, "x", 3)),
        "a": rows((3, "x", 10), (5, "y", 20), (8, "x", 30)),
    }
)


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT s.v, a.v AS w FROM s [RANGE 4 s] JOIN a [RANGE 1 s] ON s.k = a.k", [(1, 10), (3, 30)]),
        # At 8 s comes first, so that a sees it; the window of width 4 s at 8 is (4, 8].
        (
            "SELECT s.v, a.v AS w FROM s [RANGE 5 s] JOIN a [RANGE 2 s] ON s.k = a.k",
            [(1, 10), (2, 10), (2, 30), (3, 30)],
        ),
        ("SELECT s.v, a.v AS w FROM s [ROWS 1] JOIN a [ROWS 1] ON s.k = a.k", [(1, 10), (2, 10), (3, 30)]),
        (
            "SELECT s.v, a.v AS w FROM s [ROWS 1] LEFT JOIN a [RANGE 1 s] ON s.k = a.k",
            [(1, 10), (2, None), (3, 30)],
        ),
        ("SELECT s.v, a.v AS w FROM s [RANGE 4 s SLIDE 2 s] JOIN a [RANGE 4 s SLIDE 2 s] ON s.k = a.k",
         [(1, 10), (2, 10), (3, 30), (3, 30)]),
        ("SELECT s.v, a.v AS w, b.v AS x FROM s [RANGE 9 s] JOIN a [RANGE 9 s] ON s.k = a.k "
         "JOIN a [RANGE 1 s] AS b ON b.k = s.k",
         [(1, 10, 10), (1, 10, 30), (1, 30, 30), (2, 10, 30), (2, 30, 30), (3, 10, 30), (3, 30, 30)]),
        # A row that is not there is in no window that could be missed.
        ("SELECT s.v, a.v AS w, b.v AS x FROM s [RANGE 4 s] LEFT JOIN a [RANGE 1 s] ON s.k = a.k "
         "JOIN s [RANGE 9 s] AS b ON b.v = s.v", [(1, 10, 1), (2, None, 2), (3, 30, 3)]),
    ],
)  # fmt: skip
def test_a_pair_joins_if_the_earlier_row_was_in_its_window(
    sql: str, expected: list[Row], spark: SparkSession
) -> None:
    assert answer(spark, sql, PAIRS) == expected


def test_now_is_when_a_row_was_taken_in(spark: SparkSession) -> None:
    log = Log({"s": rows((0, "x", 1), (1, "x", 2))}, nows={"s": [at(3600), at(90000)]})
    sql = "SELECT v, now() AS n, CURRENT_DATE AS d FROM s WHERE current_timestamp > t + INTERVAL 1 HOUR"
    assert answer(spark, sql, log) == [(2, at(90000), date(2026, 1, 2))]
    assert answer(spark, "SELECT max(now()) AS n FROM s [RANGE 10 s]", log) == [at(90000)]


@pytest.mark.parametrize(
    ("sql", "columns"),
    [
        ("SELECT * FROM s", "`t`, `k`, `v`"),
        ("SELECT *, v + 1, upper(k) AS u FROM s", "`t`, `k`, `v`, `v + 1`, `u`"),
        ("SELECT s.* EXCEPT (t) FROM s", "`k`, `v`"),
        ("SELECT * FROM s JOIN r USING (k)", "`k`, `t`, `v`, `name`"),
        ("SELECT * FROM r JOIN s USING (k)", "`k`, `name`, `t`, `v`"),
        ("SELECT r.*, V FROM s JOIN r ON s.k = r.k", "`k`, `name`, `V`"),
        ("SELECT window(t, '1 s'), window.end, count(*) FROM s GROUP BY 1", "`window`, `end`, `count(*)`"),
        ("SELECT v AS x FROM s UNION ALL SELECT v AS y FROM a", "`x`"),
    ],
)
def test_results_have_the_columns_of_the_query_and_no_hidden_ones(sql: str, columns: str) -> None:
    assert select(sql).splitlines()[-1].startswith(f"SELECT {columns} FROM ")


def test_every_continuous_query_of_a_file_is_translated() -> None:
    found = translate(
        STREAMS
        + """
        CREATE VIEW big AS SELECT * FROM s WHERE v > 3;
        CREATE CONTINUOUS QUERY one WITH (latency = '2s') AS SELECT v FROM big;
        CREATE CONTINUOUS QUERY two AS SELECT k FROM a;
        CREATE CONTINUOUS QUERY three AS SELECT k FROM a;
        CREATE SINK k FROM one USING csv OPTIONS (path 'out');
        SHOW QUERIES;
        DROP QUERY three;
        """
    )
    assert list(found) == ["one", "two"]
    assert "v > 3" in found["one"]
    assert "v > 3" not in found["two"]


def test_nothing_is_shared_with_binder_planner_and_engines() -> None:
    """Only what reads text: a mistake in what it means must not be made twice."""
    reading = {f"penstock.sql.text.{name}" for name in ("dialect", "quantities", "places")}
    reading |= {f"penstock.sql.reading.{name}" for name in ("reader", "statements")}
    for path in sorted(Path(oracle.__file__).parent.glob("*.py")):
        own = {name for name in imports(ast.parse(path.read_text("utf-8"))) if name.startswith("penstock.")}
        others = {name for name in own if not name.startswith(("penstock.oracle", "penstock.errors"))}
        assert others <= reading, path.name


@pytest.mark.parametrize(
    ("sql", "complaint"),
    [
        ("SELECT v FROM s ORDER BY v", "ORDER BY is for the time of rows alone"),
        ("SELECT * FROM (SELECT v FROM s ORDER BY t)", "ORDER is not supported"),
        ("SELECT v FROM s LIMIT 3", "LIMIT is not supported"),
        ("SELECT v FROM s UNION SELECT v FROM a", "UNION without ALL"),
        ("SELECT v FROM s INTERSECT SELECT v FROM a", "INTERSECT is not supported"),
        ("SELECT sum(v) OVER (PARTITION BY k) AS x FROM s", "OVER is not supported"),
        ("SELECT v FROM s WHERE v IN (SELECT v FROM a)", "a subquery in an expression"),
        ("SELECT explode(array(v)) AS v FROM s", "explode makes several rows"),
        ("SELECT rand() AS x FROM s", "rand depends on more than the log"),
        ("SELECT v FROM s TABLESAMPLE (10 PERCENT)", "SAMPLE is not supported"),
        ("SELECT s.v FROM s NATURAL JOIN a", "NATURAL JOIN is not supported"),
        ("SELECT s.v FROM s LEFT SEMI JOIN a ON s.v = a.v", "SEMI JOIN is not supported"),
        ("SELECT name FROM r", "a query reads a stream"),
        ("SELECT v FROM s FULL JOIN r USING (k)", "keep rows of a stored table"),
        ("SELECT count(*) AS n FROM s [ROWS 3] JOIN r USING (k)", "joined with a table"),
        ("SELECT s.v FROM s [RANGE 1 s SLIDE 1 s] JOIN a [RANGE 1 s] ON s.v = a.v", "windows with SLIDE"),
        (
            "SELECT s.v FROM s [ROWS 1] JOIN a [ROWS 1] ON s.v = a.v JOIN s [ROWS 1] AS b ON b.v = s.v",
            "three and more streams",
        ),
        ("SELECT now() AS n FROM s [ROWS 1] JOIN a [ROWS 1] ON s.v = a.v", r"now\(\) is the time a row"),
        ("SELECT current_time() AS n FROM s", "current_time is not supported"),
        ("SELECT mode(v) AS m FROM s [ROWS 2]", "mode takes any"),
        ("SELECT collect_list(DISTINCT v) AS m FROM s [ROWS 2]", "has no order of its own"),
        ("SELECT v FROM s [RANGE 1 s]", "nothing is aggregated"),
        ("SELECT v FROM nowhere", "there is no stream, table or view 'nowhere'"),
        ("SELECT v, v FROM s", "two columns are named 'v'"),
        ("SELECT k, v FROM s GROUP BY ROLLUP (k, v)", "ROLLUP in GROUP BY is not supported"),
    ],
)
def test_what_is_not_supported_is_refused_by_name(sql: str, complaint: str) -> None:
    with pytest.raises(PenstockError, match=complaint):
        select(sql)


def test_a_one_time_query_is_refused() -> None:
    with pytest.raises(PenstockError, match="a one-time query is not supported"):
        translate(f"{STREAMS} CREATE ONE-TIME QUERY q AS SELECT count(*) AS n FROM s [RANGE 1 s]")
