"""How many rows a predicate lets pass, guessed from its form alone, before anything was measured.

| form                        | passes                |
| --------------------------- | --------------------- |
| `a = b`                     | 0.1                   |
| `<`, `<=`, `>`, `>=`        | 1/3                   |
| `BETWEEN`                   | 1/4                   |
| `IN` of n                   | n · 0.1, at most 0.5  |
| `LIKE`, `RLIKE` and kin     | 0.25                  |
| `IS NULL`                   | 0.05                  |
| `NOT p`, `a <> b`           | 1 − p                 |
| `p AND q`                   | p · q                 |
| `p OR q`                    | p + q − p · q         |
| `TRUE`, `FALSE`             | 1, 0                  |
| anything else               | 1/2                   |
"""

from __future__ import annotations

from functools import lru_cache
from math import prod

from sqlglot import exp

from penstock.plan.conjunctions import conjuncts, is_expression
from penstock.sql.expressions.windowing import read_within
from penstock.sql.text.dialect import parse_expression

EQUALITY = 0.1
#: Of the pairs of two windows: keys that rows are joined by have many values.
PAIR_EQUALITY = 0.001
RANGE = 1 / 3
OTHER = 0.5


@lru_cache(maxsize=20_000)
def selectivity(text: str) -> float:
    """The share of rows that satisfy a predicate."""
    parts = conjuncts(text)
    if len(parts) > 1:
        return prod(selectivity(part) for part in parts)
    return _share(parse_expression(text)) if is_expression(text) else OTHER


def _share(tree: exp.Expr) -> float:
    match tree:
        case exp.Paren():
            return _share(tree.this)
        case exp.And():
            return _share(tree.this) * _share(tree.expression)
        case exp.Or():
            left, right = _share(tree.this), _share(tree.expression)
            return left + right - left * right
        case exp.Not():
            return 1 - _share(tree.this)
        case exp.EQ() | exp.NullSafeEQ():
            return EQUALITY
        case exp.NEQ():
            return 1 - EQUALITY
        case exp.LT() | exp.LTE() | exp.GT() | exp.GTE():
            return RANGE
        case exp.Between():
            return 0.25
        case exp.In():
            return min(0.5, EQUALITY * len(tree.expressions)) if tree.expressions else OTHER
        case exp.Like() | exp.ILike() | exp.RegexpLike() | exp.RegexpILike():
            return 0.25
        case exp.Is():
            return 0.05
        case exp.Boolean():
            return 1.0 if tree.this else 0.0
        case exp.Null():
            return 0.0
        case _:
            return OTHER


@lru_cache(maxsize=20_000)
def pair_selectivity(text: str) -> float:
    """The share of the pairs of two windows that satisfy one conjunct of a join's condition.

    A conjunct that says what a window says keeps them all: the window was counted already.
    """
    if read_within(text) is not None:
        return 1.0
    return PAIR_EQUALITY if is_equality(text) else selectivity(text)


@lru_cache(maxsize=20_000)
def is_equality(text: str) -> bool:
    """Whether a conjunct is an equality, by which a join finds its pairs without trying all."""
    return read_within(text) is None and is_expression(text) and isinstance(parse_expression(text), exp.EQ)


@lru_cache(maxsize=20_000)
def size(text: str) -> int:
    """How many operations, columns and constants an expression has."""
    if read_within(text) is not None or not is_expression(text):
        return 5
    names = (exp.Identifier, exp.Paren, exp.Var, exp.DataType)
    return sum(1 for node in parse_expression(text).walk() if not isinstance(node, names))
