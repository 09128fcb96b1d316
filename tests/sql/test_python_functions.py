"""CREATE FUNCTION, calls, SHOW and DROP: what is refused and why, what plans say."""

from __future__ import annotations

import pytest

from penstock.errors import SqlError
from penstock.model.functions import called
from penstock.plan.shared.shapes import shaped
from penstock.plan.text import plan_text
from penstock.sql.binding.catalog import Catalog
from penstock.sql.difference import difference
from penstock.sql.session import run

PYTHON = "LANGUAGE PYTHON DETERMINISTIC"
STREAM = """
CREATE STREAM s (t TIMESTAMP, id BIGINT, v DOUBLE, country STRING, WATERMARK FOR t AS t - INTERVAL 1 SECOND)
    USING push;
"""
FUNCTIONS = f"""
CREATE FUNCTION score (amount DOUBLE, country STRING) RETURNS DOUBLE AS 'shop.Fraud:Score' {PYTHON}
    OPTIONS (timeout '2s', memory '64MB');
CREATE AGGREGATE FUNCTION spread (x DOUBLE) RETURNS DOUBLE AS 'stats:spread' {PYTHON};
"""
SCORE = "`score@shop.Fraud:Score(double, string) double`"


@pytest.fixture
def catalog() -> Catalog:
    return run(STREAM + FUNCTIONS)[0]


def refused(sql: str, catalog: Catalog) -> str:
    with pytest.raises(SqlError) as raised:
        run(sql, catalog)
    return str(raised.value).partition("\n")[0]


# --- declaring ---


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        (
            "f () RETURNS INT",
            "column 19: function 'f' has no parameters; write out what is the same for all rows",
        ),
        ("f (x INT, X INT) RETURNS INT", "column 27: there are two parameters named 'X'; rename one"),
        ("abs (x INT) RETURNS INT", "column 17: 'abs' is a function of Spark's; choose another name"),
        (
            "f (x INT) RETURNS TABLE (a INT)",
            "column 35: a function that puts out several rows for one is not supported; return an array of "
            "structs",
        ),
        (
            "f (x VARIANT) RETURNS INT",
            "column 22: a function cannot have variant here; take or return a string",
        ),
        ("f (x INT) RETURNS INT AS 'm'", "column 42: 'm' is no place of a function; write 'module:function'"),
        (
            "f (x INT) RETURNS INT AS '../m:f'",
            "column 42: '../m:f' is no place of a function; write 'module:function'",
        ),
        (
            "f (x INT) RETURNS INT AS 'm:f' LANGUAGE JAVA",
            "column 57: functions are in Python; write LANGUAGE PYTHON",
        ),
        (
            f"f (x INT) RETURNS INT {PYTHON}",
            "column 68: function 'f' does not say where it is: AS 'module:function'",
        ),
        (
            "f (x INT) RETURNS INT AS 'm:f' LANGUAGE PYTHON",
            "column 63: function 'f' does not say DETERMINISTIC: the same result for the same arguments, "
            "always and everywhere",
        ),
        (
            "f (x INT) RETURNS INT AS 'm:f' LANGUAGE PYTHON NOT DETERMINISTIC",
            "column 64: a function must be DETERMINISTIC: results are computed again after a failure, and "
            "must be the same; give it what it needs as a column of the stream",
        ),
        (
            f"f (x INT) RETURNS INT AS 'm:f' {PYTHON} OPTIONS (timeout '1h')",
            "column 95: timeout is 1h; it must be between 10 ms and 60 s",
        ),
        (
            f"f (x INT) RETURNS INT AS 'm:f' {PYTHON} OPTIONS (memory '1MB')",
            "column 94: memory is 1MB; it must be at least 16 MB",
        ),
        (
            f"f (x INT) RETURNS INT AS 'm:f' {PYTHON} OPTIONS (timout '1s')",
            "column 87: a function has no option 'timout'; use timeout or memory. Did you mean 'timeout'?",
        ),
    ],
)
def test_a_declaration_that_is_wrong_says_where_and_what_to_do(sql: str, said: str) -> None:
    assert refused(f"CREATE FUNCTION {sql};", Catalog()) == f"line 1, {said}"


def test_names_are_given_once_and_nothing_replaces_them(catalog: Catalog) -> None:
    again = f"FUNCTION Score (x INT) RETURNS INT AS 'm:f' {PYTHON};"
    assert refused(f"CREATE {again}", catalog) == (
        "line 1, column 17: function 'score' exists already; drop it, or choose another name"
    )
    assert refused(f"CREATE OR REPLACE {again}", catalog) == (
        "line 1, column 19: OR REPLACE is for queries, views and sinks; drop it first"
    )
    same, (answer,) = run(f"CREATE {again.replace('FUNCTION', 'FUNCTION IF NOT EXISTS')}", catalog)
    assert same == catalog
    assert answer.text.startswith("function 'score' exists already")


# --- calling ---


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("score(v)", "score takes 2 arguments, not 1"),
        (
            "score(country, country)",
            "argument 1 of score must be a double, not string; cast it or take another",
        ),
        (
            "transform(array(v), x -> score(x, 'a'))",
            "score is a function in Python, which cannot stand in a lambda; let it take the array",
        ),
        ("spread(DISTINCT v)", "spread takes values as they are; leave DISTINCT and * out"),
        ("spread(v, v)", "spread takes 1 argument, not 2"),
        (
            "`score@m:f(double) double`(v)",
            "there is no function 'score@m:f(double) double'; call it by the name it was created with",
        ),
    ],
)
def test_a_call_that_is_wrong_says_why(sql: str, said: str, catalog: Catalog) -> None:
    assert refused(f"EXPLAIN SELECT {sql} AS y FROM s;", catalog).endswith(said)


def test_a_plan_names_the_function_by_its_identity_and_shows_its_name(catalog: Catalog) -> None:
    after, _ = run(
        "CREATE CONTINUOUS QUERY q AS SELECT Score(id, country) AS y FROM s WHERE id > 3;", catalog
    )
    root = after.queries["q"].root
    assert called(root) == {SCORE.strip("`")}
    assert f"{SCORE}(id, country)" in str(root)
    assert "score(id, country) AS y" in plan_text(root)
    assert "@" not in plan_text(root)


def test_an_aggregate_takes_the_rows_of_its_group_and_calls_within_it_are_found(catalog: Catalog) -> None:
    sql = """CREATE CONTINUOUS QUERY q AS
    SELECT country, spread(score(v, 'at')) FILTER (WHERE v > 0) AS y
    FROM s [RANGE 5 SECONDS] GROUP BY country;"""
    after, _ = run(sql, catalog)
    assert len(called(after.queries["q"].root)) == 2
    assert f"collect_list(named_struct('x', {SCORE}(v, 'at'))) FILTER(WHERE v > 0)" in str(
        after.queries["q"].root
    )


# --- dropping and changing ---


def test_what_something_calls_is_not_dropped(catalog: Catalog) -> None:
    after, _ = run("CREATE VIEW w AS SELECT score(v, country) AS p FROM s;", catalog)
    assert refused("DROP FUNCTION score;", after) == (
        "line 1, column 15: function 'score' is used by view 'w'; drop that first"
    )
    gone, _ = run("DROP VIEW w; DROP FUNCTION Score;", after)
    assert [*gone.functions] == ["spread"]
    assert refused("DROP FUNCTION score;", gone) == "line 1, column 15: there is no function 'score'."


def test_a_query_can_be_altered_to_call_another(catalog: Catalog) -> None:
    after, _ = run(
        f"""CREATE FUNCTION other (x DOUBLE, y STRING) RETURNS DOUBLE AS 'm:other' {PYTHON};
        CREATE CONTINUOUS QUERY q AS SELECT score(v, country) AS y FROM s;
        ALTER QUERY q AS SELECT other(v, country) AS y FROM s;
        DROP FUNCTION score;""",
        catalog,
    )
    assert called(after.queries["q"].root) == {"other@m:other(double, string) double"}


def test_functions_come_before_who_calls_them_and_go_after_when_a_file_is_applied(catalog: Catalog) -> None:
    wanted = (
        STREAM
        + f"""
    CREATE FUNCTION other (x DOUBLE) RETURNS DOUBLE AS 'm:other' {PYTHON};
    CREATE CONTINUOUS QUERY q AS SELECT other(v) AS y FROM s;
    """
    )
    changes = difference(catalog, wanted, prune=True)
    assert "DROP FUNCTION" in changes.sql
    after, _ = run(changes.sql, catalog)
    assert [*after.functions] == ["other"]
    other = STREAM + FUNCTIONS.replace("'2s'", "'3s'")
    with pytest.raises(
        SqlError, match="function 'score' cannot be changed: timeout 2 s -> 3 s; drop it first"
    ):
        difference(catalog, other, prune=True)


# --- shapes ---


def test_queries_of_one_shape_differ_in_constants_and_not_in_functions(catalog: Catalog) -> None:
    def digest(sql: str) -> str:
        after, _ = run(
            f"""CREATE FUNCTION other (amount DOUBLE, country STRING) RETURNS DOUBLE AS 'm:o' {PYTHON};
            CREATE CONTINUOUS QUERY q AS SELECT id FROM s WHERE {sql};""",
            catalog,
        )
        found = shaped(after.queries["q"])
        assert found is not None
        return found.shape.digest

    assert digest("score(v, country) > 0.5") == digest("score(v, country) > 0.7")
    assert digest("score(v, 'at') > 0.5") == digest("score(v, 'de') > 0.7")
    assert digest("score(v, country) > 0.5") != digest("other(v, country) > 0.5")


def test_a_call_that_is_the_same_for_all_members_stands_below_the_roster(catalog: Catalog) -> None:
    def shape(where: str) -> str:
        after, _ = run(
            f"CREATE CONTINUOUS QUERY q AS SELECT id, score(v, 'x') AS y FROM s WHERE {where};", catalog
        )
        found = shaped(after.queries["q"])
        assert found is not None
        return plan_text(found.shape.root)

    before = shape("score(v, country) > 0.5 AND score(v, country) < 0.9")
    assert before.index("join") < before.index("score(v, country)")
    assert before.count("score(v, country)") == 1
    # One that is asked only of what a constant before it has let pass may raise for other rows: it stays.
    after = shape("id > 5 AND score(v, country) > 0.5")
    assert "< score(v, country)" in after
