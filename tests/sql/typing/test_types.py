"""Types: read and printed, widened, cast."""

from __future__ import annotations

import pytest

from penstock.sql.typing.arithmetic import Operand, arithmetic
from penstock.sql.typing.casts import cast_raises, castable, implicit
from penstock.sql.typing.types import common, common_of, parse, parse_columns, tightest


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("INT", "int"),
        ("Integer", "int"),
        ("long", "bigint"),
        ("decimal", "decimal(10,0)"),
        ("DECIMAL(5)", "decimal(5,0)"),
        ("numeric( 38 , 18 )", "decimal(38,18)"),
        ("varchar(10)", "string"),
        ("timestamp_ltz", "timestamp"),
        ("array<struct<a: INT, b: ARRAY<STRING>>>", "array<struct<a:int,b:array<string>>>"),
        ("map<string, decimal(10,2)>", "map<string,decimal(10,2)>"),
        ("struct<`a b`:int,`c``d`:date>", "struct<a b:int,c`d:date>"),
        ("struct<a:int not null,b:date>", "struct<a:int,b:date>"),
        ("struct<>", "struct<>"),
        ("interval day to second", "interval day to second"),
        ("interval year", "interval year"),
        ("time(3)", "time(3)"),
    ],
)
def test_types_are_printed_as_spark_prints_them(written: str, printed: str) -> None:
    assert str(parse(written)) == printed


@pytest.mark.parametrize(
    "written", ["", "nosuch", "array<>", "map<int>", "int int", "interval second to day"]
)
def test_what_is_no_type_is_refused(written: str) -> None:
    with pytest.raises(ValueError, match=r"type|missing|interval"):
        parse(written)


def test_a_schema_may_be_written_as_columns() -> None:
    assert str(parse_columns("a INT, b ARRAY<STRING>")) == "struct<a:int,b:array<string>>"
    assert str(parse_columns("array<int>")) == "array<int>"


@pytest.mark.parametrize(
    ("left", "right", "wide"),
    [
        ("int", "bigint", "bigint"),
        ("int", "float", "double"),
        ("float", "float", "float"),
        ("int", "decimal(10,2)", "decimal(12,2)"),
        ("double", "decimal(10,2)", "double"),
        ("string", "int", "bigint"),
        ("string", "decimal(10,2)", "double"),
        ("string", "date", "date"),
        ("date", "timestamp", "timestamp"),
        ("date", "timestamp_ntz", "timestamp_ntz"),
        ("void", "map<int,int>", "map<int,int>"),
        ("array<int>", "array<string>", "array<bigint>"),
        ("struct<a:int>", "struct<A:bigint>", "struct<a:bigint>"),
        ("interval day", "interval second", "interval day to second"),
        ("struct<a:int>", "struct<b:int>", None),
        ("boolean", "int", None),
        ("string", "interval day", None),
        ("date", "int", None),
    ],
)
def test_the_common_type(left: str, right: str, wide: str | None) -> None:
    assert common(parse(left), parse(right)) == (parse(wide) if wide else None)


def test_a_string_gives_way_wherever_it_stands() -> None:
    assert str(common_of(parse(type_) for type_ in ("int", "string", "double"))) == "double"
    assert common_of(parse(type_) for type_ in ("int", "string", "date")) is None


def test_elements_are_not_widened_at_a_loss() -> None:
    assert str(tightest(parse("int"), parse("float"))) == "float"
    assert tightest(parse("int"), parse("decimal(10,2)")) is None
    assert tightest(parse("int"), parse("string")) is None


@pytest.mark.parametrize(
    ("left", "sign", "right", "result"),
    [
        ("decimal(10,2)", "+", "decimal(10,2)", "decimal(11,2)"),
        ("decimal(10,2)", "*", "decimal(10,2)", "decimal(21,4)"),
        ("decimal(10,2)", "/", "decimal(10,2)", "decimal(23,13)"),
        ("decimal(10,2)", "%", "int", "decimal(10,2)"),
        ("decimal(38,18)", "*", "decimal(38,18)", "decimal(38,6)"),
        ("int", "/", "int", "double"),
        ("tinyint", "div", "tinyint", "bigint"),
        ("date", "+", "int", "date"),
        ("date", "+", "bigint", None),
        ("timestamp", "-", "timestamp", "interval day to second"),
        ("date", "-", "date", "interval day"),
        ("interval day", "*", "int", "interval day to second"),
        ("string", "+", "string", None),
    ],
)
def test_arithmetic(left: str, sign: str, right: str, result: str | None) -> None:
    assert arithmetic(sign, Operand(parse(left)), Operand(parse(right))) == (
        parse(result) if result else None
    )


def test_a_number_written_next_to_a_decimal_takes_only_its_digits() -> None:
    assert str(arithmetic("*", Operand(parse("decimal(10,2)")), Operand(parse("int"), 2))) == "decimal(13,2)"


@pytest.mark.parametrize(
    ("source", "target", "raises"),
    [
        ("int", "bigint", False),
        ("bigint", "int", True),
        ("int", "double", False),
        ("double", "int", True),
        ("timestamp", "string", False),
        ("string", "int", True),
        ("string", "binary", False),
        ("int", "decimal(10,0)", False),
        ("int", "decimal(10,2)", True),
        ("decimal(10,2)", "decimal(12,4)", False),
        ("decimal(10,2)", "decimal(9,1)", True),  # 99999999.99 rounds up to nine digits
        ("decimal(10,2)", "decimal(10,1)", False),
        ("array<int>", "array<bigint>", False),
        ("array<string>", "array<int>", True),
        ("timestamp", "date", False),
    ],
)
def test_casts_that_can_fail(source: str, target: str, raises: bool) -> None:
    assert castable(parse(source), parse(target))
    assert cast_raises(parse(source), parse(target)) is raises


def test_functions_take_what_can_be_stored() -> None:
    assert implicit(parse("double"), parse("int"))
    assert implicit(parse("int"), parse("string"))
    assert not implicit(parse("boolean"), parse("int"))
    assert not implicit(parse("array<int>"), parse("string"))
