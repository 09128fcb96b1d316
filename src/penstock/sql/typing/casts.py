"""Casts of ANSI mode: which exist, which happen without being asked, and which can fail."""

from __future__ import annotations

from penstock.sql.typing.types import (
    BIGINT,
    BINARY,
    BOOLEAN,
    CALENDAR,
    DATE,
    FRACTIONS,
    INTEGRALS,
    STRING,
    TIMESTAMP,
    TIMESTAMP_NTZ,
    TIMESTAMPS,
    VARIANT,
    VOID,
    Array,
    Atomic,
    Decimal,
    Map,
    Struct,
    Type,
    as_decimal,
    is_atomic,
    is_day_time,
    is_integral,
    is_interval,
    is_numeric,
    is_year_month,
)

#: Digits every value of an integer type has room for.
_SAFE_DIGITS = {"tinyint": 2, "smallint": 4, "int": 9, "bigint": 18}


def castable(source: Type, target: Type) -> bool:
    """Whether `CAST(source AS target)` is allowed at all."""
    if source in (target, VOID) or target == STRING:
        return True
    match source, target:
        case Array(one), Array(two):
            return castable(one, two)
        case Map(key, value), Map(other_key, other_value):
            return castable(key, other_key) and castable(value, other_value)
        case Struct(ones), Struct(twos):
            return len(ones) == len(twos) and all(
                castable(one, two) for (_, one), (_, two) in zip(ones, twos, strict=True)
            )
        case Array(element), Atomic("variant"):
            return castable(element, VARIANT)
        case (Array() | Map() | Struct(), _) | (_, Array() | Map() | Struct()):
            return source == VARIANT and not isinstance(target, Map | Struct)
        case _:
            return _castable_atoms(source, target)


def _castable_atoms(source: Type, target: Type) -> bool:
    if VARIANT in (source, target):
        return not is_interval(source) and not is_interval(target) and CALENDAR not in (source, target)
    if source == STRING:
        return is_atomic(target) or target == CALENDAR
    if is_numeric(target):
        to_whole = target not in FRACTIONS
        return is_numeric(source) or source in (BOOLEAN, TIMESTAMP) or (is_interval(source) and to_whole)
    if is_interval(target):
        same_family = (is_day_time(source) and is_day_time(target)) or (
            is_year_month(source) and is_year_month(target)
        )
        return same_family or is_integral(source) or isinstance(source, Decimal)
    if target == BOOLEAN:
        return is_numeric(source)
    if target == TIMESTAMP:
        return is_numeric(source) or source in (DATE, TIMESTAMP_NTZ)
    return target in (DATE, TIMESTAMP_NTZ) and source in (DATE, *TIMESTAMPS)


def cast_raises(source: Type, target: Type) -> bool:
    """Whether some value of `source` is an error as `target`.

    Dates so far away that no timestamp reaches them (beyond the year 294000) are not counted.
    """
    if source == target or VOID in (source, target) or target == STRING:
        return False
    match source, target:
        case Array(one), Array(two):
            return cast_raises(one, two)
        case Map(key, value), Map(other_key, other_value):
            return cast_raises(key, other_key) or cast_raises(value, other_value)
        case Struct(ones), Struct(twos):
            return any(cast_raises(one, two) for (_, one), (_, two) in zip(ones, twos, strict=False))
        case _:
            return not _always_fits(source, target)


def _always_fits(source: Type, target: Type) -> bool:
    if target == VARIANT or (source == STRING and target == BINARY):
        return True
    if is_numeric(source) and (target == BOOLEAN or target in FRACTIONS):
        return True
    if source in (DATE, *TIMESTAMPS) and target in (DATE, *TIMESTAMPS):
        return True
    if source == TIMESTAMP and (target == BIGINT or target in FRACTIONS):
        return True
    if source == BOOLEAN:
        return is_numeric(target) and not (isinstance(target, Decimal) and target.precision == target.scale)
    if source in INTEGRALS and target in INTEGRALS:
        return _rank(source) <= _rank(target)
    if source in INTEGRALS and target == TIMESTAMP:
        return source != BIGINT
    if (is_integral(source) or isinstance(source, Decimal)) and isinstance(target, Decimal):
        return _decimal_fits(as_decimal(source), target)
    if isinstance(source, Decimal) and isinstance(target, Atomic) and target in INTEGRALS:
        return source.precision - source.scale <= _SAFE_DIGITS[target.name]
    return False


def _rank(type_: Type) -> int:
    return [str(integral) for integral in INTEGRALS].index(str(type_))


def _decimal_fits(source: Decimal, target: Decimal) -> bool:
    whole, room = source.precision - source.scale, target.precision - target.scale
    # Rounding can carry into a new digit: 9.99 becomes 10.0.
    return room >= whole if target.scale >= source.scale else room > whole


def implicit(source: Type, target: Type) -> bool:
    """Whether a value is cast to what a function wants without being asked."""
    if source in (target, VOID):
        return True
    match source, target:
        case Array(one), Array(two):
            return implicit(one, two)
        case Map(key, value), Map(other_key, other_value):
            return implicit(key, other_key) and implicit(value, other_value)
        case Struct(ones), Struct(twos):
            return len(ones) == len(twos) and all(
                name.lower() == other.lower() and implicit(one, two)
                for (name, one), (other, two) in zip(ones, twos, strict=True)
            )
        case _:
            pass
    if source == STRING or target == STRING:
        return is_atomic(source) and is_atomic(target)
    return (
        (is_numeric(source) and is_numeric(target))
        or (source in (DATE, *TIMESTAMPS) and target in (DATE, *TIMESTAMPS))
        or (is_day_time(source) and is_day_time(target))
        or (is_year_month(source) and is_year_month(target))
    )
