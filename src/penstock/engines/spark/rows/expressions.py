"""Conditions and numbers over the columns of rows, for Arrow in the driver and for Spark's tasks.

All numbers are BIGINT. As in SQL, whatever is computed of NULL is NULL, and a condition that is NULL does not
hold.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, assert_never


def quote(name: str) -> str:
    """A name as Spark SQL reads it, whatever it is."""
    return "`" + name.replace("`", "``") + "`"


class Values(Protocol):
    """The distinct values of a column of some rows, for other rows to be compared with."""

    def query(self) -> str:
        """A SELECT for them."""
        ...


@dataclass(frozen=True, slots=True)
class Column:
    """A column."""

    name: str


@dataclass(frozen=True, slots=True)
class Constant:
    """A number or a truth value; None is a number that is not known."""

    value: int | bool | None


@dataclass(frozen=True, slots=True)
class Instant:
    """The microsecond of a date or timestamp; with `last`, the last one of a window, which has an `end`."""

    column: str
    last: bool = False


Operation: TypeAlias = Literal["+", "-", "<", "<=", ">", ">=", "=", "div"]


@dataclass(frozen=True, slots=True)
class Binary:
    """Two numbers computed or compared; `div` rounds down."""

    operation: Operation
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Logical:
    """All of some conditions, or any of them."""

    how: Literal["and", "or"]
    parts: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """A condition that does not hold."""

    condition: Expression


@dataclass(frozen=True, slots=True)
class IsNull:
    """Whether there is no value."""

    of: Expression


@dataclass(frozen=True, slots=True)
class Extreme:
    """The least or the greatest of some numbers, of which none is NULL."""

    which: Literal["least", "greatest"]
    of: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class If:
    """One thing where a condition holds, and another where it does not."""

    condition: Expression
    then: Expression
    otherwise: Expression


@dataclass(frozen=True, slots=True)
class Among:
    """Whether a column's value is one of those; NULL is not."""

    column: str
    values: Values


Expression: TypeAlias = Column | Constant | Instant | Binary | Logical | Not | IsNull | Extreme | If | Among


def number(value: int | Expression) -> Expression:
    """An expression as it is, or that number."""
    return Constant(value) if isinstance(value, int) else value


def plus(left: Expression, right: int | Expression) -> Expression:
    """The sum."""
    return Binary("+", left, number(right))


def minus(left: Expression, right: int | Expression) -> Expression:
    """The difference."""
    return Binary("-", left, number(right))


def floored(left: Expression, divisor: int) -> Expression:
    """The quotient, rounded down."""
    return left if divisor == 1 else Binary("div", left, Constant(divisor))


def less(left: Expression, right: int | Expression) -> Expression:
    """Whether one is less than the other."""
    return Binary("<", left, number(right))


def at_most(left: Expression, right: int | Expression) -> Expression:
    """Whether one is not greater than the other."""
    return Binary("<=", left, number(right))


def greater(left: Expression, right: int | Expression) -> Expression:
    """Whether one is greater than the other."""
    return Binary(">", left, number(right))


def equal(left: Expression, right: int | Expression) -> Expression:
    """Whether both are the same."""
    return Binary("=", left, number(right))


def between(value: Expression, low: int, high: int) -> Expression:
    """Whether it is neither less than the one nor greater than the other."""
    return every(Binary(">=", value, Constant(low)), at_most(value, high))


def every(*conditions: Expression) -> Expression:
    """Whether all hold."""
    return conditions[0] if len(conditions) == 1 else Logical("and", conditions)


def either(*conditions: Expression) -> Expression:
    """Whether any holds."""
    return conditions[0] if len(conditions) == 1 else Logical("or", conditions)


def least(*of: int | Expression) -> Expression:
    """The least of them."""
    return number(of[0]) if len(of) == 1 else Extreme("least", tuple(map(number, of)))


def greatest(*of: int | Expression) -> Expression:
    """The greatest of them."""
    return number(of[0]) if len(of) == 1 else Extreme("greatest", tuple(map(number, of)))


def or_else(value: Expression, otherwise: int) -> Expression:
    """A value, or that number where there is none."""
    return If(IsNull(value), Constant(otherwise), value)


def sql(expression: Expression) -> str:
    """The expression as Spark SQL."""
    match expression:
        case Column(name):
            return quote(name)
        case Constant(value):
            return _constant(value)
        case Instant(column, last):
            return f"(unix_micros({quote(column)}.`end`) - 1L)" if last else _instant(column)
        case Binary("div", left, right):
            return f"(({sql(left)} - pmod({sql(left)}, {sql(right)})) div {sql(right)})"
        case Binary(operation, left, right):
            return f"({sql(left)} {operation} {sql(right)})"
        case Logical(how, parts):
            return f"({f' {how.upper()} '.join(map(sql, parts))})"
        case Not(condition):
            return f"(NOT {sql(condition)})"
        case IsNull(of):
            return f"({sql(of)} IS NULL)"
        case Extreme(which, parts):
            return f"{which}({_listed(parts)})"
        case If(condition, then, otherwise):
            return f"CASE WHEN {sql(condition)} THEN {sql(then)} ELSE {sql(otherwise)} END"
        case Among(column, values):
            return f"coalesce({quote(column)} IN ({values.query()}), FALSE)"
    assert_never(expression)


def _listed(parts: Sequence[Expression]) -> str:
    return ", ".join(map(sql, parts))


def _instant(column: str) -> str:
    return f"unix_micros(CAST({quote(column)} AS TIMESTAMP))"


def _constant(value: int | bool | None) -> str:
    if value is None:
        return "CAST(NULL AS BIGINT)"
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    return f"{value}L" if value >= 0 else f"({value}L)"
