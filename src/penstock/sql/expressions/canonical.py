"""One text for expressions that mean the same: commuted, nested in parentheses, or written another way.

`5 < x`, `x > 5` and `(x > 5)` become `x > 5`; `b = a` becomes `a = b`; a BETWEEN becomes two comparisons; the
parts of AND and OR are sorted, unless one of them can raise: then their order decides whether it does.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from sqlglot import exp

from penstock.model.schema import Schema
from penstock.sql.expressions.parentheses import parenthesised, unwrapped
from penstock.sql.expressions.texts import columns, conjunction, conjuncts, plain_column
from penstock.sql.text.dialect import parse_expression, render
from penstock.sql.typing.expression_types import can_raise

_FLIPPED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.GT: exp.LT,
    exp.LT: exp.GT,
    exp.GTE: exp.LTE,
    exp.LTE: exp.GTE,
    exp.EQ: exp.EQ,
    exp.NEQ: exp.NEQ,
    exp.NullSafeEQ: exp.NullSafeEQ,
}
_NEGATED: dict[type[exp.Expr], type[exp.Expr]] = {
    exp.GT: exp.LTE,
    exp.LT: exp.GTE,
    exp.GTE: exp.LT,
    exp.LTE: exp.GT,
    exp.EQ: exp.NEQ,
    exp.NEQ: exp.EQ,
}


def canonical(text: str, schema: Schema) -> str:
    """The text that all expressions of this meaning share, as far as they are recognised."""
    if plain_column(text) is not None:
        return text
    # Only the columns it reads matter, so that one text is worked out once, whatever stands beside them.
    fields = (schema.get(name) for name in columns(text))
    return _canonical(text, Schema(tuple(field for field in fields if field is not None)))


@lru_cache(maxsize=50_000)
def _canonical(text: str, schema: Schema) -> str:
    parts = conjuncts(text)
    if len(parts) > 1:
        return _conjunction([canonical(part, schema) for part in parts], schema)
    return render(parenthesised(_form(unwrapped(parse_expression(text)), schema)))


def _conjunction(parts: list[str], schema: Schema) -> str:
    parts = [part for whole in parts for part in conjuncts(whole)]  # a BETWEEN has become two
    if not any(_can_raise(part, schema) for part in parts):
        parts = sorted(set(parts))
    return conjunction(parts)


def _can_raise(text: str, schema: Schema) -> bool:
    fields = (schema.get(name) for name in columns(text))
    return _can_raise_over(text, Schema(tuple(field for field in fields if field is not None)))


@lru_cache(maxsize=50_000)
def _can_raise_over(text: str, schema: Schema) -> bool:
    return can_raise(parse_expression(text), schema)


def _form(tree: exp.Expr, schema: Schema) -> exp.Expr:
    for child in list(tree.iter_expressions()):
        new = _form(child, schema)
        if new is not child:
            child.replace(new)
    match tree:
        case exp.And() | exp.Or():
            return _sorted_parts(tree, schema)
        case exp.Between():
            low, high = tree.args["low"], tree.args["high"]
            bounds = (
                exp.GTE(this=tree.this.copy(), expression=low),
                exp.LTE(this=tree.this.copy(), expression=high),
            )
            return _sorted_parts(
                exp.And(this=_form(bounds[0], schema), expression=_form(bounds[1], schema)), schema
            )
        case exp.Not() if type(tree.this) in _NEGATED:
            inner = tree.this
            return _form(_NEGATED[type(inner)](this=inner.this, expression=inner.expression), schema)
        case exp.Not() if isinstance(tree.this, exp.Not):
            return tree.this.this  # type: ignore[no-any-return]
        case exp.In() if tree.expressions and all(isinstance(one, exp.Literal) for one in tree.expressions):
            values = {render(one): one for one in tree.expressions}
            if len(values) == 1:
                return _form(exp.EQ(this=tree.this, expression=next(iter(values.values()))), schema)
            return exp.In(this=tree.this, expressions=[values[text] for text in sorted(values)])
        case exp.Add() | exp.Mul() if not any(
            isinstance(one, exp.Interval) for one in (tree.left, tree.right)
        ):
            return _ordered(tree, type(tree))
    if type(tree) in _FLIPPED:
        return _ordered(tree, _FLIPPED[type(tree)])
    return tree


def _ordered(tree: exp.Expr, flipped: type[exp.Expr]) -> exp.Expr:
    """Constants to the right, and columns in the order of their texts."""
    one, other = tree.this, tree.expression
    keys = [(side.find(exp.Column) is None, render(side)) for side in (one, other)]
    return flipped(this=other, expression=one) if keys[1] < keys[0] else tree


def _sorted_parts(tree: exp.Expr, schema: Schema) -> exp.Expr:
    kind = type(tree)
    parts = list(_parts(tree, kind))
    if not any(can_raise(part, schema) for part in parts):
        parts = [found for _, found in sorted({render(parenthesised(p.copy())): p for p in parts}.items())]
    whole = parts[0]
    for part in parts[1:]:
        whole = kind(this=whole, expression=part)
    return whole


def _parts(tree: exp.Expr, kind: type[exp.Expr]) -> Iterator[exp.Expr]:
    if isinstance(tree, kind):
        yield from _parts(tree.this, kind)
        yield from _parts(tree.expression, kind)
    else:
        yield tree
