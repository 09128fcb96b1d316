"""An aggregate of parts is the aggregate of the whole; what Spark says of the whole is the reference."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest

from penstock.engines.spark.operators.partials import Partials, decompose
from penstock.model.operators import Column
from penstock.model.schema import Schema

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

SCHEMA = Schema.of(
    k="int",
    b="boolean",
    ti="tinyint",
    i="int",
    bi="bigint",
    f="float",
    d="double",
    dc="decimal(10,2)",
    dm="decimal(18,4)",
    dl="decimal(38,18)",
    s="string",
    bn="binary",
    dt="date",
    ts="timestamp",
    iv="interval day to second",
    st="struct<a:int,b:string>",
    ai="array<int>",
    m="map<string,int>",
)
ORDER = ("__time", "__o0")

#: Expressions that can be had from parts.
DECOMPOSED = (
    "count(*)",
    "count(i)",
    "count(i, s)",
    "count(*) FILTER (WHERE i > 0)",
    "count(s) FILTER (WHERE false)",
    "count_if(b)",
    "count_if(i > 2) FILTER (WHERE b)",
    "sum(ti)",
    "sum(i)",
    "sum(bi)",
    "sum(f)",
    "sum(d)",
    "sum(dc)",
    "sum(dm)",
    "sum(dl)",
    "sum(dc * i)",
    "sum(iv)",
    "sum(i) FILTER (WHERE b)",
    "sum(i) FILTER (WHERE false)",
    "sum(CASE WHEN b THEN i ELSE 0 END)",
    "try_sum(d)",
    "avg(ti)",
    "avg(bi)",
    "mean(f)",
    "avg(d)",
    "avg(dc)",
    "avg(dm)",
    "avg(iv)",
    "avg(dc) FILTER (WHERE b OR i > 3)",
    "avg(d) FILTER (WHERE false)",
    "try_avg(i)",
    "min(i)",
    "max(d)",
    "min(d)",
    "min(s)",
    "max(bn)",
    "max(dt)",
    "min(ts)",
    "max(iv)",
    "min(dc)",
    "max(st)",
    "min(ai)",
    "max(b)",
    "max(DISTINCT s) FILTER (WHERE i > 0)",
    "bool_and(b)",
    "every(i > -90) FILTER (WHERE s > 'b')",
    "bool_or(b)",
    "any(i > 4)",
    "some(b) FILTER (WHERE false)",
    "bit_and(i)",
    "bit_or(bi)",
    "bit_xor(ti)",
    "first(i)",
    "first(s, true)",
    "first(s) IGNORE NULLS",
    "first(d) FILTER (WHERE i > 0)",
    "first(d) FILTER (WHERE i > 0) IGNORE NULLS",
    "first_value(st)",
    "last(m)",
    "last(dc, true)",
    "last_value(ts) IGNORE NULLS",
    "last(i) FILTER (WHERE false)",
    "any_value(s, true) IS NULL",
    "min_by(s, i)",
    "max_by(s, i)",
    "max_by(m, d)",
    "min_by(i, f) FILTER (WHERE b)",
    "max_by(i, struct(i, s))",
    "max_by(s, 7) FILTER (WHERE b)",
    "min_by(s, 7) FILTER (WHERE false)",
    "collect_list(i)",
    "collect_list(s) FILTER (WHERE b)",
    "array_agg(m)",
    "collect_list(i) RESPECT NULLS",
    "collect_list(d) FILTER (WHERE false)",
    "stddev(d) FILTER (WHERE NOT isnan(d))",
    "stddev_pop(i)",
    "std(dc)",
    "variance(bi) FILTER (WHERE b)",
    "var_pop(i) FILTER (WHERE false)",
    "var_samp(d)",
    # expressions over aggregates
    "sum(i) / count(*)",
    "sum(dc) / count(dc)",
    "sum(dc) + avg(dc)",
    "max(i) - min(i)",
    "-(sum(i) + count(*)) * 2",
    "coalesce(sum(i) FILTER (WHERE s = 'zzz'), 0)",
    "CASE WHEN bool_or(b) THEN first(s) ELSE upper(last(s)) END",
    "first(st).a",
    "(last(st) FILTER (WHERE b)).b",
    "size(collect_list(i)) + k",
    "count(*) > 3 AND max(i) > 1 OR min(i) < 0",
    "CAST(avg(d) AS STRING) IS NULL",
    "max(ts) - min(ts)",
    "transform(collect_list(i), x -> x + 1)",
    "7",
)
#: Sets, whose order Spark leaves open, and what they are to be.
SETS = {
    "collect_set(i)": "array_distinct(collect_list(i))",
    "collect_set(d)": "array_distinct(collect_list(d))",
    "collect_set(s) FILTER (WHERE b)": "array_distinct(collect_list(s) FILTER (WHERE b))",
    "collect_list(DISTINCT st)": "array_distinct(collect_list(st))",
    "collect_set(i) RESPECT NULLS": "array_distinct(collect_list(i) RESPECT NULLS)",
}
#: Expressions whose rows are kept; some with what is to be their meaning in plain Spark.
RAW = {
    "count(DISTINCT s)": "",
    "sum(DISTINCT i)": "",
    "avg(DISTINCT dc)": "",
    "bit_xor(DISTINCT i)": "",
    "avg(dl)": "",
    "try_sum(i)": "",
    "try_avg(dc)": "",
    "percentile(d, 0.5)": "",
    "median(i)": "",
    "percentile_cont(0.5) WITHIN GROUP (ORDER BY i)": "",
    "approx_count_distinct(s)": "",
    "corr(i, bi)": "",
    "skewness(i)": "",
    "regr_count(d, i)": "",
    "mode(s)": "mode(s, true)",
    "mode(i) FILTER (WHERE b)": "mode(i, true) FILTER (WHERE b)",
    "max_by(s, bi, 3)": "",
    "min_by(i, bi, 2)": "",
    "listagg(s)": "",
    "listagg(bn)": "",
    "listagg(s, NULL)": "",
    "listagg(s, ',') FILTER (WHERE b)": "",
    "string_agg(s, ',') WITHIN GROUP (ORDER BY ti DESC)": (
        "listagg(s, ',') WITHIN GROUP (ORDER BY ti DESC, __time, __o0)"
    ),
    "listagg(DISTINCT s, ',')": "array_join(nullif(array_distinct(collect_list(s)), array()), ',')",
    "collect_union(ai)": "sort_array(collect_union(ai))",
    "count(DISTINCT s) + sum(i)": "",
}


def _decomposed(*texts: str, order: tuple[str, ...] = ORDER) -> Partials:
    columns = tuple(Column(f"c{number}", text) for number, text in enumerate(texts))
    return decompose(columns, SCHEMA, order)


@pytest.mark.parametrize("text", [*DECOMPOSED, *SETS])
def test_these_can_be_had_from_parts(text: str) -> None:
    assert not _decomposed(text).raw


@pytest.mark.parametrize("text", RAW)
def test_of_these_rows_are_kept(text: str) -> None:
    found = _decomposed("sum(i)", text)
    assert found.raw
    assert (found.partial, found.merge, found.finish) == ((), (), ())


def test_equal_parts_appear_once() -> None:
    found = _decomposed("sum(i) / count(i)", "count(i)", "sum(i)", "avg(dc)", "sum(dc)", "count(dc) + sum(i)")
    assert found.partial == (
        ("__p0", "sum(i)"),
        ("__p1", "count(i)"),
        ("__p2", "sum(dc)"),
        ("__p3", "count(dc)"),
    )
    assert found.merge == (
        ("__p0", "sum(__p0)"),
        ("__p1", "coalesce(sum(__p1), 0L)"),
        ("__p2", "CAST(sum(__p2) AS DECIMAL(20,2))"),
        ("__p3", "coalesce(sum(__p3), 0L)"),
    )
    finish = dict(found.finish)
    assert (finish["c0"], finish["c1"], finish["c5"]) == ("__p0 / __p1", "__p1", "__p3 + __p0")


def test_an_average_is_a_sum_and_a_count() -> None:
    found = _decomposed("avg(i) FILTER (WHERE b) * 2")
    assert [text for _, text in found.partial] == [
        "sum(CAST(i AS DOUBLE)) FILTER (WHERE b)",
        "count(i) FILTER (WHERE b)",
    ]
    assert found.finish == (("c0", "(__p0 / nullif(__p1, 0)) * 2"),)


def test_values_are_picked_by_place() -> None:
    found = _decomposed("first(s)", "first(i)")
    place = "array(__time, __o0)"
    assert found.partial == (
        ("__p0", f"min({place})"),
        ("__p1", f"min_by(s, {place})"),
        ("__p2", f"min_by(i, {place})"),
    )
    assert found.merge == (
        ("__p0", "min(__p0)"),
        ("__p1", "min_by(__p1, __p0)"),
        ("__p2", "min_by(__p2, __p0)"),
    )
    assert found.finish == (("c0", "__p1"), ("c1", "__p2"))
    assert found.finish_raw == (("c0", f"min_by(s, {place})"), ("c1", f"min_by(i, {place})"))


def test_the_window_is_left_as_a_column() -> None:
    found = _decomposed("window()", "window().end", "count(*)")
    assert found.finish == (("c0", "__window"), ("c1", "__window.end"), ("c2", "__p0"))
    assert found.finish_raw == (("c0", "__window"), ("c1", "__window.end"), ("c2", "count(*)"))


def test_columns_are_those_read_as_the_input_spells_them() -> None:
    assert _decomposed("sum(I) FILTER (WHERE st.a > 0)").columns == ("i", "st")
    assert _decomposed("count(*)").columns == ()
    assert _decomposed("last(s)").columns == ("s", *ORDER)
    assert _decomposed("listagg(s)").columns == ("s", *ORDER)
    assert _decomposed("size(filter(collect_list(i), s -> s > 0))", "window()").columns == ("i", *ORDER)


@pytest.mark.parametrize(
    "text", ["first(i)", "any_value(i)", "max_by(s, i)", "collect_list(i)", "listagg(s)"]
)
def test_what_depends_on_order_needs_one(text: str) -> None:
    with pytest.raises(ValueError, match="depends on the order of rows"):
        _decomposed(text, order=())


def test_names_that_need_quotes_get_them() -> None:
    schema = Schema.of(**{"a b": "int", "select": "string"})
    columns = (Column("x y", "sum(`a b`)"), Column("z", "min_by(`select`, `a b`)"))
    found = decompose(columns, schema, ("__time", "odd name"))
    assert found.partial[0] == ("__p0", "sum(`a b`)")
    assert "coalesce(~`odd name`, " in found.partial[1][1]
    assert found.columns == ("a b", "select", "__time", "odd name")


def test_a_function_over_columns_of_unknown_type_keeps_rows() -> None:
    found = decompose((Column("c", "sum(x)"),), Schema.of(x="unknown"), ORDER)
    assert found.raw
    assert found.finish_raw == (("c", "sum(x)"),)


def _rows(chance: random.Random, number: int) -> list[tuple[Any, ...]]:
    """Few distinct values, so that keys tie; groups of one row and of NULLs only; places in no order."""
    start = datetime(2026, 1, 1, tzinfo=UTC)

    def one(value: Any) -> Any:
        return None if chance.random() < 0.2 else value

    rows = []
    for offset in range(number):
        k = chance.choice((0, 0, 0, 1, 1, 2, 2, 3))
        i = chance.randint(-100, 100)
        s = chance.choice(["", "a", "b", "c", "ß"])
        values = (
            chance.random() < 0.5,
            chance.randint(-3, 3),
            i,
            chance.randint(-(10**14), 10**14),
            chance.choice([0.5, -0.0, 3.25, math.inf]) if k == 1 else chance.choice([0.5, 1.25, -7.0]),
            chance.choice([math.nan, 1e30, -2.5]) if k == 1 else chance.uniform(-100, 100) + 1e6,
            Decimal(chance.randint(-(10**10) + 1, 10**10 - 1)).scaleb(-2),
            Decimal(chance.randint(-(10**18) + 1, 10**18 - 1)).scaleb(-4),
            Decimal(chance.randint(-(10**32), 10**32)).scaleb(-18),
            s,
            s.encode(),
            date(2026, 1, chance.randint(1, 28)),
            start + timedelta(microseconds=chance.randint(0, 10**9)),
            timedelta(microseconds=chance.randint(-(10**9), 10**9)),
            (one(i), one(s)),
            [one(chance.randint(0, 3)) for _ in range(chance.randint(0, 3))],
            {s: i},
        )
        if k == 2:
            values = (None,) * len(values)
        time = one(chance.randint(0, 5))
        rows.append(
            (k, *(one(value) for value in values), time, offset, chance.randrange(5), chance.randrange(3))
        )
    rows.append((9, *rows[0][1:]))
    chance.shuffle(rows)
    return rows


def _table(spark: SparkSession, rows: Sequence[tuple[Any, ...]]) -> DataFrame:
    columns = ", ".join(f"{field.name} {field.type}" for field in SCHEMA.fields)
    hidden = "__time bigint, __o0 bigint, __part int, __half int"
    # One partition in order: there Spark's own first, last, lists and ties are what they should be.
    return spark.createDataFrame(list(rows), f"{columns}, {hidden}").coalesce(1).sortWithinPartitions(*ORDER)


def _select(columns: Sequence[tuple[str, str]], source: str, by: str) -> str:
    shown = ", ".join([*([by] if by else []), *(f"{text} AS {name}" for name, text in columns)])
    return f"SELECT {shown} FROM {source}{f' GROUP BY {by}' if by else ''}"


def _run(spark: SparkSession, text: str) -> Result:
    return Result.of(spark.sql(text))


def _view(spark: SparkSession, frame: DataFrame, name: str) -> str:
    """The rows as the engine keeps them between jobs: as Arrow."""
    spark.createDataFrame(frame.toArrow(), frame.schema).createOrReplaceTempView(name)
    return name


@pytest.fixture
def session(spark: SparkSession) -> Any:
    # So many expressions take long to compile.
    settings = {
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.shuffle.partitions": "1",
    }
    before = {name: spark.conf.get(name) or "" for name in settings}
    try:
        for name, value in settings.items():
            spark.conf.set(name, value)
        yield spark
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)


@dataclass(frozen=True)
class Result:
    """The types and rows of a query, which is run once."""

    types: list[str]
    rows: list[dict[str, Any]]

    @classmethod
    def of(cls, frame: DataFrame) -> Result:
        rows = sorted(frame.toArrow().to_pylist(), key=lambda row: row.get("k") or 0)
        return cls([field.dataType.simpleString() for field in frame.schema], rows)


def _check(direct: Result, found: DataFrame, texts: Sequence[str]) -> None:
    given = Result.of(found)
    names = [*(["k"] if len(direct.types) > len(texts) else []), *texts]
    assert [
        difference
        for difference in zip(names, direct.types, given.types, strict=True)
        if difference[1] != difference[2]
    ] == []
    assert [row.get("k") for row in direct.rows] == [row.get("k") for row in given.rows]
    wrong = [
        f"{text} of {one.get('k')}: {other[f'c{place}']}, not {one[f'c{place}']}"
        for one, other in zip(direct.rows, given.rows, strict=True)
        for place, text in enumerate(texts)
        if not _same(one[f"c{place}"], other[f"c{place}"])
    ]
    assert not wrong, "\n".join(wrong)


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return (math.isnan(one) and math.isnan(other)) or math.isclose(
            one, other, rel_tol=1e-9, abs_tol=1e-12
        )
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return type(one) is type(other) and one == other


@pytest.mark.parametrize("seed", [1, 3])
def test_parts_put_together_are_what_spark_says_of_the_whole(session: SparkSession, seed: int) -> None:
    texts = (*DECOMPOSED, *SETS)
    whole = (*DECOMPOSED, *SETS.values())
    found = _decomposed(*texts)
    _table(session, _rows(random.Random(seed), 40 * seed)).createOrReplaceTempView("rows")
    direct = _run(session, _select([(f"c{n}", text) for n, text in enumerate(whole)], "rows", "k"))
    parts = _view(session, session.sql(_select(found.partial, "rows", "k, __part, __half")), "parts")
    _check(direct, _finished(session, found, parts, ("k",)), texts)
    _check(direct, _finished(session, found, parts, ("k, __part", "k", "k")), texts)
    _check(direct, session.sql(_select(found.finish_raw, "rows", "k")), texts)


def _finished(session: SparkSession, found: Partials, parts: str, turns: Sequence[str]) -> DataFrame:
    for by in turns:
        parts = f"({_select(found.merge, parts, by)})"
    return session.sql(
        f"SELECT k, {', '.join(f'{text} AS {name}' for name, text in found.finish)} FROM {parts}"
    )


def test_nothing_put_together_is_what_spark_says_of_nothing(session: SparkSession) -> None:
    texts = [text for text in DECOMPOSED if "+ k" not in text]
    found = _decomposed(*texts)
    _table(session, []).createOrReplaceTempView("rows")
    direct = _run(session, _select([(f"c{n}", text) for n, text in enumerate(texts)], "rows", ""))
    parts = session.sql(_select(found.partial, "rows", "k"))
    parts.createOrReplaceTempView("parts")
    merged = _select(found.merge, "parts", "")
    finish = ", ".join(f"{text} AS {name}" for name, text in found.finish)
    _check(direct, session.sql(f"SELECT {finish} FROM ({merged})"), texts)


@pytest.mark.parametrize("distinct", [False, True])
def test_kept_rows_give_what_spark_says(session: SparkSession, distinct: bool) -> None:
    meant = {text: meaning or text for text, meaning in RAW.items() if ("DISTINCT" in text) == distinct}
    found = _decomposed(*meant)
    _table(session, _rows(random.Random(5), 60)).createOrReplaceTempView("rows")
    direct = _run(session, _select([(f"c{n}", text) for n, text in enumerate(meant.values())], "rows", "k"))
    kept = session.sql(f"SELECT k, {', '.join(name for name in found.columns if name != 'k')} FROM rows")
    kept.createOrReplaceTempView("kept")
    _check(direct, session.sql(_select(found.finish_raw, "kept", "k")), list(meant))


def test_strings_are_joined_beside_distinct_aggregates(session: SparkSession) -> None:
    """Spark fails to plan WITHIN GROUP there."""
    found = _decomposed(
        "listagg(s, '-')", "count(DISTINCT i)", "count(DISTINCT s)", "listagg(s, '-') FILTER (WHERE false)"
    )
    _table(session, _rows(random.Random(6), 30)).createOrReplaceTempView("rows")
    joined = session.sql("SELECT k, listagg(s, '-') AS c0 FROM rows GROUP BY k").collect()
    given = session.sql(_select(found.finish_raw, "rows", "k")).collect()
    assert {row.k: (row.c0, row.c3) for row in given} == {row.k: (row.c0, None) for row in joined}


def test_an_average_of_decimals_is_rounded_as_sparks(session: SparkSession) -> None:
    """Quotients at and beside the half of the last digit, where rounding twice would show."""
    found = decompose((Column("c", "avg(x)"),), Schema.of(x="decimal(18,4)"), ())
    rows = []
    for k, (total, count) in enumerate(
        [
            (1, 2),
            (-1, 2),
            (1, 3),
            (2, 3),
            (-2, 3),
            (10**14, 7),
            (5, 6),
            (1, 99_999),
            (1, 20_000),
            (-1, 20_000),
        ]
    ):
        rows.append(f"SELECT {k} AS k, CAST({total}e-4BD AS DECIMAL(18,4)) AS x, 0 AS part")
        rows.append(f"SELECT {k}, CAST(0 AS DECIMAL(18,4)), id % 3 FROM range({count - 1})")
    session.sql(" UNION ALL ".join(rows)).createOrReplaceTempView("rows")
    direct = _run(session, _select([("c0", "avg(x)")], "rows", "k"))
    parts = f"({_select(found.partial, 'rows', 'k, part')})"
    merged = f"({_select(found.merge, parts, 'k')})"
    _check(direct, session.sql(f"SELECT k, {found.finish[0][1]} AS c0 FROM {merged}"), ["avg(x)"])
