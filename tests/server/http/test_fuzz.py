"""Any text at all to /sql: an answer, never a defect, and the engine goes on."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.server.http.world import B, World

pytestmark = pytest.mark.jvm

VALID = [
    "SHOW STREAMS;",
    "DESCRIBE prices;",
    "EXPLAIN SELECT id, p * 2 AS d FROM prices WHERE p > 1.5 AND name LIKE 'a%';",
    "EXPLAIN SELECT name, count(*) AS n FROM prices WINDOW ROWS 3 GROUP BY name HAVING count(*) > 1;",
    "CREATE STREAM s (id INT, at TIMESTAMP, WATERMARK FOR at AS at - INTERVAL 5 SECONDS) USING push;",
    "CREATE CONTINUOUS QUERY q WITH (latency = '2s', weight = 0.5) AS SELECT id FROM prices WHERE id > 3;",
    "CREATE VIEW v AS SELECT id, CASE WHEN p > 1 THEN 'x' ELSE NULL END AS c FROM prices;",
    "CREATE SINK k FROM q USING csv OPTIONS (path 'x.csv');",
    "ALTER QUERY q SET (memory = '64MB', freshness = '95%');",
    "SPLIT STREAM prices INTO hot WHERE p > 3, rest OTHERWISE;",
    'SUBMIT PLAN \'{"query": "q", "plan": {}}\';',
    "STOP QUERY q AND DRAIN;",
    "DROP STREAM IF EXISTS s;",
]
ODD = [
    "\x00",
    "\u202e",
    "\ufeff",
    "\U0001f600",
    "\u0130",
    "\ud7ff",
    "'",
    '"',
    "`",
    "\\",
    "--",
    "/*",
    "*/",
    ";",
]
ODD += [
    "(",
    ")",
    "$",
    "{",
    "}",
    "9" * 400,
    "1e999",
    "-",
    ".",
    "..",
    "\r",
    "\t",
    "NULL",
    "SELECT",
    "FROM",
    "%s",
]


@pytest.fixture(scope="module", autouse=True)
def made(world: World) -> None:
    """A stream that texts can name."""
    world.sql("CREATE STREAM prices (id INT, p DOUBLE, name STRING) USING push;")


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A statement with pieces left out, put in, repeated, or taken from another."""
    text = draw(st.sampled_from(VALID))
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = min(len(text), start + draw(st.integers(0, 12)))
        other = draw(st.sampled_from(VALID))
        piece = draw(st.sampled_from([*ODD, "", text[start:end] * 2, other[start:end]]) | st.text(max_size=5))
        text = text[:start] + piece + text[end:]
    return text


def asked(world: World, sql: str) -> None:
    """An answer that is no defect, to both that take SQL; without what was made being in the way."""
    for path, body in (("/sql", {"sql": sql}), ("/apply", {"sql": sql, "dry_run": True})):
        answered = world.ask("POST", path, (B, "operator"), json=body)
        assert answered.status_code in (200, 400, 403, 409, 413, 422), answered.text
    if answered.status_code == 200:
        for drop in ("SINK k", "QUERY q", "VIEW v", "STREAM s", "STREAM hot", "STREAM rest"):
            world.ask("POST", "/sql", (B, "operator"), json={"sql": f"DROP {drop};"})


@settings(max_examples=150)
@given(st.text(max_size=200))
def test_any_text(world: World, sql: str) -> None:
    asked(world, sql)


@settings(max_examples=300)
@given(mutated())
def test_statements_that_were_mutated(world: World, sql: str) -> None:
    asked(world, sql)


DEEP = [
    "EXPLAIN SELECT " + "(" * 5000 + "1" + ")" * 5000 + " AS x FROM prices;",
    "EXPLAIN SELECT " + "-" * 3000 + "1 AS x FROM prices;",
    "EXPLAIN SELECT " + "NOT " * 3000 + "true AS x FROM prices;",
    "EXPLAIN SELECT " + " + ".join(["p"] * 5000) + " AS x FROM prices;",
    "EXPLAIN SELECT " + "abs(" * 2000 + "p" + ")" * 2000 + " AS x FROM prices;",
    "EXPLAIN SELECT " + "CASE WHEN p > 1 THEN " * 1000 + "1" + " END" * 1000 + " AS x FROM prices;",
    "EXPLAIN SELECT id FROM " + "(SELECT id FROM " * 1000 + "prices" + ")" * 1000 + ";",
    "EXPLAIN SELECT id FROM prices WHERE " + " OR ".join(f"id = {n}" for n in range(1000)) + ";",
    "EXPLAIN SELECT id FROM prices WHERE id IN (" + ", ".join(map(str, range(2000))) + ");",
    "CREATE STREAM " + "x" * 100_000 + " (id INT) USING push;",
    "CREATE STREAM `" + "é" * 300 + "` (id INT) USING push;",
    "CREATE STREAM s (" + ", ".join(f"c{n} INT" for n in range(1000)) + ", c0 INT) USING push;",
    "CREATE STREAM s (id " + "ARRAY<" * 1000 + "INT" + ">" * 1000 + ") USING push;",
    "CREATE CONTINUOUS QUERY q AS SELECT id AS " + "y" * 100_000 + " FROM prices WHERE 1 = 0 AND;",
    "SUBMIT PLAN '" + '{"a":' * 5000 + "1" + "}" * 5000 + "';",
    "SHOW STREAMS;" * 500,
    ";" * 10_000,
    "'" * 99_999,
    "/*" * 50_000,
    "SELECT\x00 1;",
    "\ufeffSHOW STREAMS;",
]


@pytest.mark.parametrize("place", range(len(DEEP)))
def test_texts_that_are_deep_or_long(world: World, place: int) -> None:
    asked(world, DEEP[place])


def test_the_engine_goes_on_after_all_that(world: World) -> None:
    world.engine.check()
    world.sql("CREATE CONTINUOUS QUERY still AS SELECT id FROM prices WHERE p > 1;")
    world.push("prices", [{"id": 1, "p": 2.0, "name": "a"}])
    world.settle()
    assert world.ask("GET", "/queries/still/results").json()["rows"] == [{"id": 1}]
