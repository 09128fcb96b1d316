"""What we say of an expression's type, Spark's analyzer says too; and what we call safe does not raise."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from penstock.model.schema import Schema
from penstock.sql.text.dialect import parse_expression, render
from penstock.sql.typing.expression_types import TypeProblem, can_raise, is_aggregate, type_of
from penstock.sql.typing.functions.catalogue import FUNCTIONS, names
from tests.sql.typing.function_examples import AGGREGATES, SCALARS, SCHEMA, WINDOW_TIME

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: Listed by Spark as functions, but written with a syntax of their own.
SYNTAX = frozenset(
    """! != % & * + - / < << <= <=> <> = == > >= >> >>> ^ | || ~
    between case cast extract if in not when""".split()  # noqa: SIM905 (the list would be longer)
)
BASIC = ("ti", "si", "i", "bi", "f", "d", "dc", "dl", "s", "b", "dt", "ts", "bn")
TYPES = tuple(field.type for field in SCHEMA.fields if field.name in BASIC)
REFUSED = "refused"

#: For each type values at its edges; every list has as many, and NULL stands in all.
_EDGES = {
    "tinyint": "-128, 127, 0, NULL, 1",
    "smallint": "-32768, 32767, 0, NULL, 1",
    "int": "-2147483648, 2147483647, 0, NULL, 1",
    "bigint": "-9223372036854775808, 9223372036854775807, 0, NULL, 1",
    "float": "float('NaN'), float('Infinity'), 0, NULL, float('-Infinity')",
    "double": "double('NaN'), double('Infinity'), -0.0, NULL, 1e308",
    "decimal(10,2)": "99999999.99, -99999999.99, 0, NULL, 0.01",
    "decimal(38,18)": "99999999999999999999.99, -99999999999999999999.99, 0, NULL, 1e-18",
    "string": "'', 'ß€\\u0000😀', '[', NULL, '99999999999999999999999'",
    "boolean": "true, false, NULL, NULL, true",
    "date": "'0001-01-01', '9999-12-31', '1970-01-01', NULL, '2024-02-29'",
    "timestamp": "'0001-01-01', '9999-12-31 23:59:59.999999', '1970-01-01', NULL, '2024-02-29 12:00:00'",
    "timestamp_ntz": "'0001-01-01', '9999-12-31 23:59:59', '1970-01-01', NULL, '2024-02-29 12:00:00'",
    "binary": "X'', X'FF00', X'C328', NULL, X'00'",
    "array<int>": "array(), array(NULL), array(1, NULL, 2147483647), NULL, array(-2147483648)",
    "array<string>": "array(), array(NULL), array('', 'x'), NULL, array('ß')",
    "array<float>": "array(), array(NULL), array(float('NaN'), 0F), NULL, array(1F)",
    "array<array<int>>": "array(), array(array()), array(array(1), array(2)), NULL, array(NULL, array(NULL))",
    "map<string,int>": "map(), map('', NULL), map('x', 1, 'y', 2), NULL, map('ß', -1)",
    "map<int,double>": "map(), map(1, NULL), map(2, double('NaN')), NULL, map(-1, 0D)",
}


@pytest.fixture(scope="module")
def columns(spark: SparkSession) -> Iterator[SparkSession]:
    """A Spark with the columns of `SCHEMA` as empty table `v`, and as `edges` with awkward values."""
    nothing = ", ".join(f"{_value(field.type, 0)} AS {field.name}" for field in SCHEMA.fields)
    spark.createDataFrame([], spark.sql(f"SELECT {nothing}").schema).createOrReplaceTempView("v")
    rows = []
    for row in range(5):
        picked = ", ".join(f"{_value(field.type, row)} AS {field.name}" for field in SCHEMA.fields)
        rows.append(f"SELECT {picked}")
    spark.sql(" UNION ALL ".join(rows)).createOrReplaceTempView("edges")
    yield spark
    spark.catalog.dropTempView("v")
    spark.catalog.dropTempView("edges")


def _value(type_: str, row: int) -> str:
    if type_ == "void":
        return "NULL"
    if type_ == "variant":
        return "parse_json('{\"a\": 1}')"
    values = f"CAST(array({_EDGES[type_]}) AS array<{type_}>)[{row}]" if type_ in _EDGES else "NULL"
    return f"CAST({values} AS {type_})"


def _ours(text: str, schema: Schema = SCHEMA) -> str:
    try:
        return type_of(parse_expression(text), schema)
    except TypeProblem:
        return REFUSED


def _one_of_spark(spark: SparkSession, text: str) -> str:
    try:
        return spark.sql(f"SELECT {text} AS x FROM v").schema[0].dataType.simpleString()
    except Exception:
        return REFUSED


def _differences(spark: SparkSession, texts: Iterable[str]) -> list[str]:
    """Where Spark and we do not agree; what we accept is asked together, what we refuse one by one."""
    ours = {text: _ours(text) for text in texts}
    accepted = [text for text, type_ in ours.items() if type_ != REFUSED]
    aggregates = [text for text in accepted if is_aggregate(parse_expression(text))]
    theirs = _together(spark, aggregates)
    theirs |= _together(spark, [text for text in accepted if text not in aggregates])
    theirs |= {text: _one_of_spark(spark, text) for text in ours if text not in theirs}
    return [f"{text}: {theirs[text]}, not {type_}" for text, type_ in ours.items() if theirs[text] != type_]


def _together(spark: SparkSession, texts: list[str]) -> dict[str, str]:
    """Spark's types, asked with one query; none if it refuses one of them, which is then found one by one."""
    picked = ", ".join(f"{render(parse_expression(text))} AS x{place}" for place, text in enumerate(texts))
    try:
        schema = spark.sql(f"SELECT {picked} FROM v").schema
    except Exception:
        return {}
    return {text: field.dataType.simpleString() for text, field in zip(texts, schema, strict=True)}


def test_the_catalogue_has_sparks_functions_and_no_others(spark: SparkSession) -> None:
    listed = {row[0] for row in spark.sql("SHOW SYSTEM FUNCTIONS").collect()} - SYNTAX
    known = {function.name for function in FUNCTIONS}
    assert sorted(listed - known) == []
    # Spark's grammar knows these two without listing them.
    assert sorted(known - listed) == ["timestampadd", "timestampdiff"]


def test_every_usable_function_has_an_example() -> None:
    called = "; ".join((*SCALARS, *AGGREGATES, WINDOW_TIME)).lower()
    assert [name for name in names() if f"{name}(" not in called] == []


@pytest.mark.parametrize("calls", [SCALARS, AGGREGATES], ids=["scalar", "aggregate"])
def test_calls_have_the_types_spark_gives_them(columns: SparkSession, calls: tuple[str, ...]) -> None:
    assert _differences(columns, calls) == []
    assert [call for call in calls if _ours(call) == REFUSED] == []


def test_window_time_is_a_timestamp(columns: SparkSession) -> None:
    grouped = columns.sql(
        f"SELECT {WINDOW_TIME} FROM (SELECT window FROM v GROUP BY window(ts, '5 seconds'))"
    )
    schema = Schema.of(window="struct<start:timestamp,end:timestamp>")
    assert grouped.schema[0].dataType.simpleString() == _ours(WINDOW_TIME, schema)


@pytest.mark.parametrize("sign", ["+", "-", "*", "/", "%", "div", "&", "=", "<", "||"])
def test_operators_take_and_give_what_sparks_do(columns: SparkSession, sign: str) -> None:
    assert (
        _differences(columns, [f"{left} {sign} {right}" for left, right in itertools.product(BASIC, BASIC)])
        == []
    )


def test_values_of_two_types_become_what_they_become_in_spark(columns: SparkSession) -> None:
    pairs = list(itertools.product(BASIC, BASIC))
    assert _differences(columns, [f"CASE WHEN b THEN {one} ELSE {two} END" for one, two in pairs]) == []
    assert _differences(columns, [f"array({one}, {two})" for one, two in pairs]) == []


def test_casts_exist_that_exist_in_spark(columns: SparkSession) -> None:
    targets = (*TYPES, "timestamp_ntz", "interval day to second", "variant")
    casts = [f"CAST({name} AS {target})" for name, target in itertools.product(BASIC, targets)]
    assert _differences(columns, casts) == []


@pytest.mark.parametrize(
    "shape",
    [
        "-{}",
        "~{}",
        "NOT {}",
        "{} AND b",
        "{} IS TRUE",
        "{} IS NULL",
        "{} LIKE 'x'",
        "if({}, 1, 2)",
        "{} + 1",
        "{} * 2.5",
        "{} BETWEEN 1 AND 2",
        "{} IN ('a', i)",
        "{} << 1",
        "{} + INTERVAL '1' DAY",
        "{} + INTERVAL '1' HOUR",
        "{} - INTERVAL '1' MONTH",
        "INTERVAL '1' DAY * {}",
        "{}[0]",
        "{}['a']",
        "{}.a",
    ],
)
def test_shapes_take_the_columns_spark_takes(columns: SparkSession, shape: str) -> None:
    every = [field.name for field in SCHEMA.fields if field.name not in ("top", "va")]
    assert _differences(columns, [shape.format(name) for name in every]) == []


def test_literals_and_odd_expressions_have_sparks_types(columns: SparkSession) -> None:
    texts = """1; 2147483648; -2147483648; -2147483649; 99999999999999999999; 1.50; 0.01; 00.5; 1e3; 1L
        1Y; 1.5D; INTERVAL '5' SECONDS; INTERVAL '1 hour 3 minutes'; INTERVAL '1' WEEK
        INTERVAL '1-2' YEAR TO MONTH; INTERVAL '1 week 3 seconds'; INTERVAL '1 month 1 day'
        INTERVAL '1.5' DAYS; INTERVAL '1.5' SECONDS; DATE '2020-01-01'
        TIMESTAMP '2020-01-01 00:00:00'; TIMESTAMP_NTZ '2020-01-01'; X'1F'; NULL; TRUE; r'a'
        dc + 1; dc * 10; 1 - dc; dc / 3; dc % 2; -1 + dc; 1.5 + 1; nl + 1; nl / dc; ast.a
        ast[0].b; (i, s); m[1]; (i, s) IN ((1, 'a')); i IN (NULL); CASE i WHEN 's' THEN 1 END
        CASE WHEN s THEN 1 END; struct(1).col1; sum(i) FILTER (WHERE s); sum(sum(i))
        count(*) / sum(d); max(s) IGNORE NULLS; first(s) IGNORE NULLS
        percentile_cont(0.5) WITHIN GROUP (ORDER BY s)
        percentile_cont(d) WITHIN GROUP (ORDER BY i); count(); round(d, i)
        aggregate(ai, 0, (acc, x) -> acc + 0.5); exists(ai, (x, y) -> TRUE); filter(ai, x -> x)
        transform(ai, x -> x.f); transform(ast, x -> x.a)
        transform(aa, x -> transform(x, y -> y + x[0])); extract(foo FROM ts); upper(s, s)
        iv = 's'; b = 1; b = 'true'; ts - '2020-01-01'; dt + '1'
        ts BETWEEN '2020-01-01' AND current_timestamp(); a.b; st.c; rank(i); nosuch(i); upper(m)
        array(1, 'a'); map(m, 1); sum(b); ai + 1; i AND b; concat(); s <=> i"""
    assert (
        _differences(columns, [text.strip() for line in texts.splitlines() for text in line.split(";")]) == []
    )


def _groups(calls: list[str]) -> list[list[str]]:
    """Together what goes together: Spark 4.3 fails to plan DISTINCT beside WITHIN GROUP."""
    alone = [call for call in calls if "DISTINCT" in call or "WITHIN" in call]
    return [[call for call in calls if call not in alone], *([call] for call in alone)]


@contextmanager
def _settings(spark: SparkSession, settings: dict[str, str]) -> Iterator[None]:
    for name, value in settings.items():
        spark.conf.set(name, value)
    yield
    for name in settings:
        spark.conf.unset(name)


@pytest.mark.parametrize("calls", [SCALARS, AGGREGATES], ids=["scalar", "aggregate"])
def test_what_cannot_raise_does_not(columns: SparkSession, calls: tuple[str, ...]) -> None:
    safe = [call for call in calls if not can_raise(parse_expression(call), SCHEMA)]
    assert len(safe) > 60
    # Interpreted, because compiling each expression takes longer than computing it.
    with _settings(
        columns, {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
    ):
        for group in _groups(safe):
            picked = ", ".join(f"{call} AS x{place}" for place, call in enumerate(group))
            columns.sql(f"SELECT {picked} FROM edges").write.format("noop").mode("overwrite").save()


def test_what_is_safe_is_called_so() -> None:
    safe = {function.name for function in FUNCTIONS if not function.raises and function.kind != "refused"}
    shown = "; ".join(
        call for call in (*SCALARS, *AGGREGATES) if not can_raise(parse_expression(call), SCHEMA)
    ).lower()
    assert sorted(name for name in safe if f"{name}(" not in shown) == ["window_time"]
