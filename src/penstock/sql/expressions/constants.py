"""The constants of an expression, taken out: what is left is what queries that differ in them have in common.

A constant becomes a column with a type of its own. It is taken out only where the type is all that matters:
beside a comparison, in arithmetic, in a list, as a result, given to a function in Python. Elsewhere
(`round(x, 2)`, a pattern, an interval) Spark may want to know it when it plans, so that it stays.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from decimal import Decimal as Number
from functools import lru_cache

from sqlglot import exp

from penstock.model.functions import is_identity
from penstock.model.schema import Field, Schema
from penstock.sql.expressions.texts import column, columns, plain_column
from penstock.sql.text.dialect import parse_expression, render
from penstock.sql.typing.expression_types import TypeProblem, type_of
from penstock.sql.typing.functions.catalogue import find
from penstock.sql.typing.functions.rules import number_type
from penstock.sql.typing.types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    FRACTIONS,
    INT,
    INTEGRALS,
    STRING,
    VOID,
    Decimal,
    Type,
    is_atomic,
    is_integral,
    is_numeric,
    parse,
)

#: What a constant is in Python.
Value = bool | int | float | Number | str | None

_COMPARISONS = (exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.NullSafeEQ)
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod)


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant that was taken out: its column, and its value."""

    name: str
    type: str
    value: Value


@dataclass(frozen=True, slots=True)
class Lifted:
    """An expression over its former columns and one more for each constant, in order."""

    text: str
    constants: tuple[Constant, ...]


def lifted(text: str, schema: Schema) -> Lifted:
    """The expression without its constants, whose columns are called after what is left of it.

    So the same names come of the same expression, whatever the constants and wherever it stands.
    """
    if plain_column(text) is not None:
        return Lifted(text, ())
    # Only the columns it reads matter, so that one text is worked out once, whatever stands beside them.
    fields = (schema.get(name) for name in columns(text))
    return _lifted(text, Schema(tuple(field for field in fields if field is not None)))


@lru_cache(maxsize=20_000)
def _lifted(text: str, schema: Schema) -> Lifted:
    tree = exp.Paren(this=parse_expression(text).copy())
    try:
        type_ = type_of(tree.this, schema)
        found = [(node, _type_of_place(node, schema)) for node in _constants(tree)]
        taken = [(node, place, _value(node, place)) for node, place in found if place is not None]
        left = [node.replace(column(f"__{place}")) for node, place, _ in taken]
        digest = hashlib.blake2b(render(tree).encode(), digest_size=4).hexdigest()
        constants = tuple(
            Constant(f"__c{digest}_{n}", str(place), value) for n, (_, place, value) in enumerate(taken)
        )
        for gap, constant in zip(left, constants, strict=True):
            gap.replace(column(constant.name))
        fields = [Field(constant.name, constant.type) for constant in constants]
        if type_of(tree.this, Schema((*schema.fields, *fields))) != type_:
            return Lifted(text, ())
    except TypeProblem:  # a plan that did not come from SQL
        return Lifted(text, ())
    return Lifted(render(tree.this), constants) if constants else Lifted(text, ())


def _constants(tree: exp.Expr) -> list[exp.Expr]:
    """Literals with their signs, outermost first, as they are written."""
    found: list[exp.Expr] = []
    waiting: list[exp.Expr] = [tree]
    while waiting:
        node = waiting.pop()
        if _is_constant(node):
            found.append(node)
        else:
            waiting.extend(reversed(list(node.iter_expressions())))
    return found


def _is_constant(node: exp.Expr) -> bool:
    if isinstance(node, exp.Neg):
        return isinstance(node.this, exp.Literal) and not node.this.is_string
    return isinstance(node, exp.Literal | exp.Null | exp.Boolean)


def _type_of_place(node: exp.Expr, schema: Schema) -> Type | None:
    """The type that a constant's column must have where it stands; None where it must stay."""
    parent = node.parent
    while isinstance(parent, exp.Paren):
        node, parent = parent, parent.parent
    constant = node
    while isinstance(constant, exp.Paren):
        constant = constant.this
    own = _own_type(constant)
    match parent:
        case None:
            return own if own != VOID else None
        case exp.In() | exp.Between() if node is not parent.this:
            return _beside(constant, own, parse(type_of(parent.this, schema)), compared=True)
        case exp.If() | exp.Case() if node.arg_key in ("true", "default"):
            return own if own != VOID else None
        case exp.Anonymous() if is_identity(parent.name):
            return _beside(constant, own, _parameter(parent, node), compared=True)
        case _ if isinstance(parent, (*_COMPARISONS, *_ARITHMETIC)):
            other = parent.expression if parent.this is node else parent.this
            if other.find(exp.Column) is None:
                return None
            beside = parse(type_of(other, schema))
            return _beside(constant, own, beside, compared=isinstance(parent, _COMPARISONS))
        case _:
            return None


def _parameter(call: exp.Anonymous, argument: exp.Expr) -> Type:
    """The type that a function in Python gives to an argument."""
    function, place = find(call.name), argument.index
    if function is None or place is None or place >= len(function.takes):
        return VOID
    return parse(function.takes[place].word)


def _own_type(node: exp.Expr) -> Type:
    match node:
        case exp.Null():
            return VOID
        case exp.Boolean():
            return BOOLEAN
        case exp.Neg():
            return number_type(node.this.name)
        case _:
            return STRING if node.is_string else number_type(node.name)


def _beside(constant: exp.Expr, own: Type, other: Type, *, compared: bool) -> Type | None:
    """A type with which the result is the same, and which few constants have for themselves."""
    if own == VOID:
        return other if compared and is_atomic(other) and other != VOID else None
    if own in (STRING, BOOLEAN):
        return own if compared and own == other else None
    if not is_numeric(other):
        return None
    if other in FRACTIONS:
        return DOUBLE if other == DOUBLE or isinstance(own, Decimal) else own
    if is_integral(other) and is_integral(own):
        return BIGINT if BIGINT in (own, other) else INT
    if not compared:
        return None  # a literal's digits count for the type of decimal arithmetic
    if isinstance(other, Decimal) and _fits(_value(constant, own), other):
        return other
    return own


def _fits(value: Value, type_: Decimal) -> bool:
    """Whether a decimal of that type is exactly the value."""
    if not isinstance(value, int | Number):
        return False
    scaled = Number(value).scaleb(type_.scale)
    return scaled == scaled.to_integral_value() and abs(scaled) < 10**type_.precision


def _value(node: exp.Expr, type_: Type) -> Value:
    if isinstance(node, exp.Paren):
        return _value(node.this, type_)
    if isinstance(node, exp.Neg):
        found = _value(node.this, type_)
        assert isinstance(found, int | float | Number)
        return -found
    if isinstance(node, exp.Null):
        return None
    if isinstance(node, exp.Boolean):
        return bool(node.this)
    if type_ == STRING:
        return str(node.this)
    if type_ in INTEGRALS:
        return int(node.name)
    return Number(node.name) if isinstance(type_, Decimal) else float(node.name)
