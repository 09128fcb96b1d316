"""What can be taken out of an expression and what stays, and with which type."""

from __future__ import annotations

from decimal import Decimal

import pytest

from penstock.model.schema import Schema
from penstock.sql.expressions.constants import Lifted, lifted

SCHEMA = Schema.of(
    v="double", f="float", n="int", b="bigint", d="decimal(8,2)", s="string", o="boolean", t="timestamp"
)


def taken(text: str) -> list[tuple[str, object]]:
    return [(one.type, one.value) for one in lifted(text, SCHEMA).constants]


@pytest.mark.parametrize(
    ("text", "constants"),
    [
        ("v > 5", [("double", 5.0)]),
        ("v > 5.25", [("double", 5.25)]),
        ("v > -5e3", [("double", -5000.0)]),
        ("v > NULL", [("double", None)]),
        ("n > 5", [("int", 5)]),
        ("n > 3000000000", [("bigint", 3_000_000_000)]),
        ("b > 5", [("bigint", 5)]),
        ("n > 5.5", [("decimal(2,1)", Decimal("5.5"))]),
        ("d > 100", [("decimal(8,2)", Decimal(100))]),
        ("d > 1.125", [("decimal(4,3)", Decimal("1.125"))]),
        ("s = 'hall'", [("string", "hall")]),
        ("o = TRUE", [("boolean", True)]),
        ("v * 2 + 1", [("double", 2.0), ("double", 1.0)]),
        ("n IN (1, 2)", [("int", 1), ("int", 2)]),
        (
            "CASE WHEN v > 3 THEN 'hot' ELSE 'cold' END",
            [("double", 3.0), ("string", "hot"), ("string", "cold")],
        ),
        ("sum(v * 2)", [("double", 2.0)]),
        ("'a'", [("string", "a")]),
    ],
)
def test_constants_have_the_type_of_their_place(text: str, constants: list[tuple[str, object]]) -> None:
    assert taken(text) == constants


@pytest.mark.parametrize(
    "text",
    [
        "round(v, 2)",  # Spark plans by it
        "percentile(v, 0.5)",
        "s LIKE 'a%'",
        "t + INTERVAL 3 SECONDS",
        "d * 2",  # the digits of a literal count for the type of the product
        "t > '2026-01-01'",  # a string that is to be a time
        "2 > 1",  # nothing but constants
        "v",
        "v > n",
    ],
)
def test_what_spark_must_know_when_it_plans_stays(text: str) -> None:
    assert lifted(text, SCHEMA) == Lifted(text, ())


def test_what_is_left_is_the_same_for_all_constants() -> None:
    texts = {lifted(text, SCHEMA).text for text in ("v > 1", "v > 99.5", "v > NULL", "v > 1e9")}
    assert len(texts) == 1
    assert lifted("v > 1", SCHEMA).text != lifted("n > 1", SCHEMA).text
