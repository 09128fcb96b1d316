"""Typing without Spark: what is said about mistakes, and what can raise."""

from __future__ import annotations

import pytest

from penstock.model.schema import Schema
from penstock.sql.text.dialect import parse_expression, render
from penstock.sql.typing.expression_types import TypeProblem, can_raise, is_aggregate, type_of
from penstock.sql.typing.functions.catalogue import FUNCTIONS, find, names
from tests.sql.typing.function_examples import SCHEMA

PROBLEMS = {
    # names
    "roomm": "there is no column 'roomm'. Did you mean 'room'?",
    "st.c": "struct<a:int,b:string> has no field 'c'.",
    "i.a": "int has no fields, so there is no 'a' in it",
    "localtimestamp": "there is no column 'localtimestamp'. Write localtimestamp().",
    # functions
    "avgg(i)": "there is no function 'avgg'. Did you mean 'avg'?",
    "rand()": "rand draws at random, so that a repeated run would differ; use a column of the stream, "
    "or hash(column) for a choice that looks random",
    "explode(ai)": "explode puts out several rows for one, which is not supported; use functions of arrays, "
    "such as transform",
    "reflect('a', 'b')": "reflect calls Java code, which queries must not; use SQL functions",
    "window(ts, '1 hour')": "window belongs into GROUP BY; group by it and select window.start and "
    "window.end",
    "substring(s)": "substring takes 2 or 3 arguments, not 1",
    "upper()": "upper takes 1 argument, not 0",
    "pi(1)": "pi takes no arguments, not 1",
    "coalesce()": "coalesce takes at least 1 argument, not 0",
    "mask(s, lowerChar => 'x')": "mask takes its arguments by position here; leave out the name",
    "upper(m)": "argument 1 of upper must be a string, not map<string,int>; cast it or take another",
    "sum(b)": "argument 1 of sum must be a number or an interval, not boolean; cast it or take another",
    "round(d, i)": "argument 2 of round must be the same for all rows; write it out",
    "greatest(i, b)": "greatest cannot order its arguments (int, boolean); cast them to one type",
    "coalesce(i, b)": "the arguments of coalesce have no common type (int, boolean); cast them to one type",
    "from_json(s, 'a NOSUCH')": "the schema of from_json cannot be read ('nosuch' is not a type); "
    "write it as 'a INT, b STRING'",
    "dateadd(FORTNIGHT, 1, ts)": "'FORTNIGHT' is not a unit of time.",
    # lambdas
    "transform(ai, 1)": "argument 2 of transform must be a lambda, such as x -> x + 1",
    "upper(x -> x)": "argument 1 of upper cannot be a lambda",
    "exists(ai, (x, y) -> TRUE)": "the lambda of exists has 1 parameters, not 2",
    "aggregate(ai, 0, (acc, x) -> acc + 0.5)": "aggregate starts with int but its lambda makes decimal(12,1) "
    "of it; cast the start",
    "filter(ai, x -> x)": "argument 2 of filter must be a boolean, not int; cast it or take another",
    # aggregates
    "sum(count(i))": "sum cannot contain count, another aggregate function; compute the inner one in a query "
    "of its own",
    "sum(i) FILTER (WHERE s)": "FILTER needs a condition, not string; compare with something",
    "upper(s) FILTER (WHERE b)": "FILTER belongs behind an aggregate function; leave it out",
    "max(s) IGNORE NULLS": "max cannot take IGNORE NULLS; leave it out",
    "sum(i) WITHIN GROUP (ORDER BY i)": "sum cannot take WITHIN GROUP; leave it out",
    "percentile_cont(0.5)": "percentile_cont needs WITHIN GROUP (ORDER BY …) behind it; add the clause",
    "listagg(s) WITHIN GROUP (ORDER BY m)": "listagg cannot order by map<string,int>; "
    "take a value that can be ordered",
    # operators
    "ai + 1": "array<int> + int cannot be computed; cast both to numbers",
    "i AND b": "AND needs a condition, not int; compare with something",
    "NOT i": "NOT needs a condition, not int; compare with something",
    "b = 1": "= cannot compare boolean with int; cast them to one type",
    "m = m": "= cannot compare map<string,int> with map<string,int>; compare what is in it",
    "CASE WHEN i THEN 1 END": "WHEN needs a condition, not int; compare with something",
    "if(b, 1, dt)": "the results of IF have no common type (int, date); cast them to one type",
    "CAST(dt AS int)": "date cannot be cast to int",
    "CAST(s AS time)": "the type TIME is not supported, Spark leaves it switched off; use timestamps",
    "ai[d]": "an array's index is a whole number, not double; cast it to int",
    "i[0]": "int has no elements; […] needs an array, a map or a struct",
    "INTERVAL '1 month 1 day'": "an interval has either years and months, or days to seconds; "
    "add one after the other",
    "INTERVAL '1.5' DAYS": "'1.5' is not a number of days; only seconds may have a fraction",
    "INTERVAL i DAYS": "INTERVAL needs a number written out; use make_dt_interval for a computed one",
    "extract(HOUR FROM i)": "HOUR cannot be extracted from int; take a date, a timestamp or an interval",
    # what is not supported
    "(SELECT 1)": "A query inside an expression is not supported; join with it instead",
    "EXISTS(SELECT 1)": "A query inside an expression is not supported; join with it instead",
    "i IN (SELECT 1)": "IN with a query is not supported; join with it instead",
    "sum(i) OVER ()": "OVER is not supported; use GROUP BY with a window",
    "s COLLATE UTF8_LCASE": "COLLATE is not supported; compare lower(column)",
    "ts AT TIME ZONE 'UTC'": "from_utc_timestamp(ts, 'UTC') is not supported in an expression; "
    "write it with functions",
    "upper(*)": "* is not supported here; name the columns",
}

SCHEMA_WITH_ROOM = Schema((*SCHEMA.fields, *Schema.of(room="string").fields))


@pytest.mark.parametrize("text", PROBLEMS)
def test_a_mistake_is_explained(text: str) -> None:
    with pytest.raises(TypeProblem) as caught:
        type_of(parse_expression(text), SCHEMA_WITH_ROOM)
    assert caught.value.message == PROBLEMS[text]


def test_a_problem_points_at_the_part_at_fault() -> None:
    with pytest.raises(TypeProblem) as caught:
        type_of(parse_expression("i > 1 AND upper(m) = 'x'"), SCHEMA)
    assert render(caught.value.node) == "m"


@pytest.mark.parametrize(
    "text",
    """i = bi; i < 5; s = 'x'; b AND NOT b; s IS NULL; s LIKE 'x%'; i IN (1, 2); d BETWEEN 0 AND 1; d + f
    d * 2; -d; CASE WHEN b THEN i ELSE bi END; CAST(i AS bigint); CAST(i AS double); CAST(ts AS string)
    TRY_CAST(s AS int); ts + INTERVAL '1' HOUR; st.a; m['x']; upper(s); coalesce(i, bi)
    DATE '2024-02-29'; ts > '2024-01-01'; 1Y; -5; ts > TIMESTAMP '2024-01-01 00:00:00'; count(*); max(i)
    try_divide(i, i); transform(sa, x -> upper(x)); s RLIKE 'x'
    max(i) FILTER (WHERE b) IS NULL AND FALSE OR b""".replace("\n", ";").split(";"),
)
def test_what_cannot_raise(text: str) -> None:
    assert not can_raise(parse_expression(text.strip()), SCHEMA)


@pytest.mark.parametrize(
    "text",
    """i + 1; i * i; -i; i / 2; d / 2; i % 2; i div 2; dc + 1; CAST(s AS int); CAST(bi AS int)
    CAST(d AS int); s = i; ai[0]; element_at(ai, 1); s + 1; coalesce(s, i); i IN ('a'); sum(i)
    to_date(s, 'y'); raise_error('x'); s RLIKE s; upper(string(1 / i)); CASE WHEN b THEN 1 / i END
    transform(ai, x -> x + 1); s AND b; dt + i; abs(i); DATE 'x'; year(s); bigint(s); ts > 'soon'
    array_contains(ai, d / 0); 200Y""".replace("\n", ";").split(";"),
)
def test_what_can_raise(text: str) -> None:
    assert can_raise(parse_expression(text.strip()), SCHEMA)


def test_columns_hidden_by_a_lambda() -> None:
    assert type_of(parse_expression("transform(sa, i -> i)"), SCHEMA) == "array<string>"


def test_the_argument_of_a_lambda_is_no_constant() -> None:
    with pytest.raises(TypeProblem, match="argument 2 of round must be the same for all rows"):
        type_of(parse_expression("transform(ai, x -> round(d, x))"), SCHEMA)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("sum(i) + 1", True),
        ("count(*)", True),
        ("upper(max(s))", True),
        ("aggregate(ai, 0, (acc, x) -> acc + x)", False),
        ("upper(s)", False),
    ],
)
def test_aggregates_are_found(text: str, expected: bool) -> None:
    assert is_aggregate(parse_expression(text)) is expected


def test_functions_are_found_in_any_case() -> None:
    upper = find("UPPER")
    assert upper is not None
    assert upper is find("upper")
    assert find("nosuch") is None
    assert "rand" not in names()


def test_a_name_stands_once_in_the_catalogue() -> None:
    assert len({function.name for function in FUNCTIONS}) == len(FUNCTIONS)


def test_only_refused_functions_have_a_reason_and_all_of_them() -> None:
    assert all((function.kind == "refused") == bool(function.why) for function in FUNCTIONS)


def test_what_depends_on_the_order_of_rows_says_so() -> None:
    ordered = {function.name for function in FUNCTIONS if function.order_dependent}
    assert {"first", "last", "any_value", "collect_list", "array_agg", "listagg", "string_agg"} <= ordered
    assert ordered.isdisjoint({"sum", "count", "max"})


def test_clocks() -> None:
    clocks = {function.name for function in FUNCTIONS if function.kind == "clock"}
    assert clocks == {
        "now", "current_timestamp", "current_date", "curdate", "localtimestamp",
    }  # fmt: skip
