"""Expressions that mean the same have the same canonical text, and it means what they mean."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.model.operators import Column, Project, Source
from penstock.model.query import PlanNode
from penstock.model.schema import Schema
from penstock.sql.expressions.canonical import canonical
from penstock.sql.expressions.parentheses import tidied
from penstock.sql.text.dialect import parse_expression, render
from tests.batch import random_tables, run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SCHEMA = Schema.of(a="double", b="double", i="int", s="string", p="boolean", q="boolean")

SAME = [
    ("a > 5", "5 < a", "(a > 5)", "((5)) < (a)", "NOT a <= 5", "NOT (5 >= a)"),
    ("a = b", "b = a"),
    ("a <> b", "b != a", "NOT a = b", "NOT (b == a)"),
    ("a < b", "b > a"),
    ("p AND a > 1 AND s = 'x'", "'x' = s AND (1 < a AND p)", "a > 1 AND p AND s = 'x' AND p"),
    ("p OR q", "q OR p", "q OR (p OR q)"),
    ("a BETWEEN 1 AND 3", "a >= 1 AND a <= 3", "3 >= a AND 1 <= a"),
    ("s IN ('x', 'y')", "s IN ('y', 'x', 'y')"),
    ("s IN ('x')", "s = 'x'"),
    ("a + b > 2", "b + a > 2", "2 < (b + a)"),
    ("a * b", "b * a", "(b) * (a)"),
    ("NOT NOT p", "p"),
    ("upper(s) = 'X'", "'X' = UPPER(s)", "Upper((s)) = 'X'"),
    ("p AND (q OR a > 1)", "(1 < a OR q) AND p"),
]
DIFFERENT = [
    ("a - b", "b - a"),
    ("a > b", "a >= b"),
    ("p AND (q OR a > 1)", "p AND q OR a > 1"),
    ("a * (b + 1)", "a * b + 1"),
    ("a - (b - 1)", "a - b - 1"),
    ("NOT (p AND q)", "NOT p AND q"),
    ("s || 'a' || 'b'", "s || 'b' || 'a'"),
    # These can raise, and in which order they are asked decides whether they do.
    ("i <> 0 AND 10 / i > 2", "10 / i > 2 AND i <> 0"),
    ("p OR CAST(s AS INT) > 2", "CAST(s AS INT) > 2 OR p"),
]


@pytest.mark.parametrize("texts", SAME, ids=lambda texts: texts[0])
def test_what_means_the_same_has_one_text(texts: tuple[str, ...]) -> None:
    assert len({canonical(text, SCHEMA) for text in texts}) == 1


@pytest.mark.parametrize("texts", DIFFERENT, ids=lambda texts: texts[0])
def test_what_differs_has_two(texts: tuple[str, str]) -> None:
    assert canonical(texts[0], SCHEMA) != canonical(texts[1], SCHEMA)


numbers = st.recursive(
    st.sampled_from(["a", "b", "1", "2.5", "-a"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*"]), inner).map(" ".join),
        inner.map(lambda text: f"({text})"),
    ),
    max_leaves=5,
)
conditions = st.recursive(
    st.one_of(
        st.sampled_from(
            ["p", "q", "s = 'a'", "s IN ('b', 'a')", "a IS NULL", "NOT p", "NULL", "s LIKE 'a%'"]
        ),
        st.tuples(numbers, st.sampled_from(["<", ">", "<=", ">=", "=", "<>", "<=>"]), numbers).map(" ".join),
        st.tuples(numbers, numbers, numbers).map(lambda part: f"{part[0]} BETWEEN {part[1]} AND {part[2]}"),
    ),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["AND", "OR"]), inner).map(lambda part: f"({' '.join(part)})"),
        st.tuples(inner, st.sampled_from(["AND", "OR"]), inner).map(" ".join),
        inner.map(lambda text: f"NOT ({text})"),
        st.tuples(inner, numbers, numbers).map(
            lambda part: f"CASE WHEN {part[0]} THEN {part[1]} ELSE {part[2]} END > 0"
        ),
    ),
    max_leaves=6,
)


@given(conditions)
def test_the_canonical_text_is_its_own(text: str) -> None:
    once = canonical(text, SCHEMA)
    assert canonical(once, SCHEMA) == once


@given(conditions)
def test_tidying_changes_parentheses_only(text: str) -> None:
    tidy = render(tidied(parse_expression(text)))
    assert canonical(tidy, SCHEMA) == canonical(text, SCHEMA)
    assert tidy.replace("(", "").replace(")", "") == render(parse_expression(text)).replace("(", "").replace(
        ")", ""
    )


def test_canonical_texts_have_the_values_of_the_originals(spark: SparkSession) -> None:
    texts = _examples(150)
    source = PlanNode(Source("rows", SCHEMA))
    tables = random_tables(random.Random(7), source, most=60)
    for text_of in (
        lambda text: canonical(text, SCHEMA),
        lambda text: render(tidied(parse_expression(text))),
    ):
        columns = tuple(
            column
            for place, text in enumerate(texts)
            for column in (Column(f"o{place}", text), Column(f"c{place}", text_of(text)))
        )
        rows = run(spark, PlanNode(Project(columns), (source,)), tables)
        assert rows
        for row in rows:
            for place, text in enumerate(texts):
                assert row[2 * place] == row[2 * place + 1], (text, text_of(text))


def _examples(number: int) -> list[str]:
    found: list[str] = []

    @given(conditions)
    def collect(text: str) -> None:
        found.append(text)

    collect()
    return sorted(set(found))[:number]
