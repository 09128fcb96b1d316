"""The types of `+ - * / % div`, of numbers, dates and intervals; and whether they can raise."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.sql.typing.casts import cast_raises
from penstock.sql.typing.types import (
    BIGINT,
    CALENDAR,
    DATE,
    DAY_TIME,
    DOUBLE,
    FRACTIONS,
    INTEGRALS,
    STRING,
    TIMESTAMP,
    TIMESTAMPS,
    VOID,
    YEAR_MONTH,
    Atomic,
    Decimal,
    Type,
    adjusted,
    as_decimal,
    common,
    is_day_time,
    is_integral,
    is_interval,
    is_numeric,
    is_year_month,
    with_string,
)

_DAY = Atomic("interval day")


@dataclass(frozen=True, slots=True)
class Operand:
    """One side: its type, and the digits it has if it is a whole number written in the text."""

    type: Type
    digits: int | None = None

    def as_decimal(self) -> Decimal:
        """A written number takes only as many digits as it has, next to a decimal."""
        return Decimal(self.digits, 0) if self.digits else as_decimal(self.type)


def arithmetic(sign: str, left: Operand, right: Operand) -> Type | None:
    """The type of `left sign right`; None if there is no such arithmetic."""
    return _of_times(sign, left.type, right.type) or _of_numbers(sign, left, right)


def arithmetic_raises(sign: str, left: Type, right: Type) -> bool:
    """Overflow, division by zero, or a string that is no number. A time plus a duration is taken as safe."""
    if sign in ("/", "%", "div"):
        return True
    times = (DATE, *TIMESTAMPS)
    if left in times or right in times:
        return STRING in (left, right) or is_integral(left) or is_integral(right)
    wide = common(left, right)
    return wide not in FRACTIONS or cast_raises(left, DOUBLE) or cast_raises(right, DOUBLE)


def _of_numbers(sign: str, left: Operand, right: Operand) -> Type | None:
    one, two = left.type, right.type
    if STRING in (one, two):
        wide = with_string(one, two)
        if wide is None or not is_numeric(wide) or (sign == "div" and wide == DOUBLE):
            return None
        return _plain(sign, wide)
    if not all(is_numeric(type_) or type_ == VOID for type_ in (one, two)):
        return None
    if one == VOID and sign == "/":
        return DOUBLE
    if one == VOID or two == VOID:
        known = left if two == VOID else right
        left = right = known
        one = two = known.type if known.type != VOID else DOUBLE
        if one == DOUBLE and known.type == VOID:
            return BIGINT if sign == "div" else DOUBLE
        if known.digits and not isinstance(one, Decimal):
            left = right = Operand(one)
    if sign == "div" and (one in FRACTIONS or two in FRACTIONS):
        return None
    if isinstance(one, Decimal) or isinstance(two, Decimal):
        if one in FRACTIONS or two in FRACTIONS:
            return DOUBLE
        return _of_decimals(sign, left.as_decimal(), right.as_decimal())
    wide = common(one, two)
    return _plain(sign, wide) if wide is not None else None


def _plain(sign: str, wide: Type) -> Type:
    if sign == "/":
        return DOUBLE
    return BIGINT if sign == "div" else wide


def _of_decimals(sign: str, one: Decimal, two: Decimal) -> Type:
    whole, scale = max(one.precision - one.scale, two.precision - two.scale), max(one.scale, two.scale)
    match sign:
        case "+" | "-":
            return adjusted(whole + scale + 1, scale)
        case "*":
            return adjusted(one.precision + two.precision + 1, one.scale + two.scale)
        case "/":
            digits = max(6, one.scale + two.precision + 1)
            return adjusted(one.precision - one.scale + two.scale + digits, digits)
        case "%":
            return adjusted(min(one.precision - one.scale, two.precision - two.scale) + scale, scale)
        case _:
            return BIGINT


def _of_times(sign: str, left: Type, right: Type) -> Type | None:
    if sign == "+":
        return _moved(left, right) or _moved(right, left) or _sum_of_intervals(left, right)
    if sign == "-":
        return _difference(left, right)
    if sign in ("*", "/"):
        return _scaled(left, right) or (_scaled(right, left) if sign == "*" else None)
    if sign == "div" and (is_interval(left) or is_interval(right)):
        return BIGINT if VOID in (left, right) or common(left, right) is not None else None
    return None


def _moved(time: Type, by: Type) -> Type | None:
    """A date or timestamp, later by that much."""
    if time == DATE:
        if by in INTEGRALS and by != BIGINT:
            return DATE
        if is_year_month(by) or by == _DAY:
            return DATE
        return TIMESTAMP if is_day_time(by) or by in (CALENDAR, VOID) else None
    if time in TIMESTAMPS:
        return time if is_interval(by) or by in (CALENDAR, VOID) else None
    return STRING if time == STRING and (is_day_time(by) or by == CALENDAR) else None


def _sum_of_intervals(left: Type, right: Type) -> Type | None:
    if CALENDAR in (left, right):
        return CALENDAR if left in (CALENDAR, VOID) and right in (CALENDAR, VOID) else None
    if not (is_interval(left) or is_interval(right)) or STRING in (left, right):
        return None
    return common(left, right)


def _difference(left: Type, right: Type) -> Type | None:
    times = (DATE, *TIMESTAMPS)
    if left in times and (is_interval(right) or right == CALENDAR or (left == DATE and is_integral(right))):
        return _moved(left, right)
    if left in times or right in times:
        if not all(type_ in (*times, STRING, VOID) for type_ in (left, right)):
            return None
        return _DAY if not any(type_ in TIMESTAMPS for type_ in (left, right)) else DAY_TIME
    if left == STRING:
        return STRING if is_day_time(right) or right == CALENDAR else None
    return _sum_of_intervals(left, right)


def _scaled(interval: Type, by: Type) -> Type | None:
    if not (is_numeric(by) or by in (STRING, VOID)):
        return None
    if is_day_time(interval):
        return DAY_TIME
    if is_year_month(interval):
        return YEAR_MONTH
    return CALENDAR if interval == CALENDAR else None
