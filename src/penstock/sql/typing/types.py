"""Spark's types: read, printed, compared, widened and cast, by the rules of ANSI mode.

`common` is the type two values are brought to before they are compared or put into one column, `arithmetic`
the type of `+ - * / % div`, `implicit` says what a function's argument is turned into without being asked,
`castable` what CAST may do, and `cast_raises` whether a cast can meet a value it has to refuse.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True, slots=True)
class Atomic:
    """A type that is only a name: `int`, `string`, `interval day to second`, `time(6)`."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Decimal:
    """Numbers of that many digits, so many of them behind the point."""

    precision: int
    scale: int

    def __str__(self) -> str:
        return f"decimal({self.precision},{self.scale})"


@dataclass(frozen=True, slots=True)
class Array:
    """A list of values of one type."""

    element: Type

    def __str__(self) -> str:
        return f"array<{self.element}>"


@dataclass(frozen=True, slots=True)
class Map:
    """Values by key."""

    key: Type
    value: Type

    def __str__(self) -> str:
        return f"map<{self.key},{self.value}>"


@dataclass(frozen=True, slots=True)
class Struct:
    """Named values in order."""

    fields: tuple[tuple[str, Type], ...]

    def __str__(self) -> str:
        return "struct<" + ",".join(f"{name}:{type_}" for name, type_ in self.fields) + ">"

    def get(self, name: str) -> Type | None:
        """The type of that field; upper and lower case are the same."""
        return next((type_ for field, type_ in self.fields if field.lower() == name.lower()), None)


Type = Atomic | Decimal | Array | Map | Struct

VOID, BOOLEAN, STRING, BINARY = Atomic("void"), Atomic("boolean"), Atomic("string"), Atomic("binary")
TINYINT, SMALLINT, INT, BIGINT = Atomic("tinyint"), Atomic("smallint"), Atomic("int"), Atomic("bigint")
FLOAT, DOUBLE, VARIANT = Atomic("float"), Atomic("double"), Atomic("variant")
DATE, TIMESTAMP, TIMESTAMP_NTZ = Atomic("date"), Atomic("timestamp"), Atomic("timestamp_ntz")
CALENDAR, DAY_TIME, YEAR_MONTH = (
    Atomic("interval"),
    Atomic("interval day to second"),
    Atomic("interval year to month"),
)

#: Narrow to wide.
INTEGRALS = (TINYINT, SMALLINT, INT, BIGINT)
FRACTIONS = (FLOAT, DOUBLE)
TIMESTAMPS = (TIMESTAMP, TIMESTAMP_NTZ)
MAX_PRECISION = 38
SYSTEM_DECIMAL = Decimal(MAX_PRECISION, 18)

_ALIASES = {
    "integer": "int",
    "long": "bigint",
    "short": "smallint",
    "byte": "tinyint",
    "real": "float",
    "bool": "boolean",
    "text": "string",
    "timestamp_ltz": "timestamp",
    "time": "time(6)",
    "null": "void",
}
_KNOWN = frozenset(
    [
        "void",
        "boolean",
        "string",
        "binary",
        "tinyint",
        "smallint",
        "int",
        "bigint",
        "float",
        "double",
        "variant",
        "date",
        "timestamp",
        "timestamp_ntz",
        "interval",
    ]
)
_YEAR_MONTH_UNITS = ("year", "month")
_DAY_TIME_UNITS = ("day", "hour", "minute", "second")
_TOKEN = re.compile(r"\s*(`(?:[^`]|``)*`|[<>(),:]|[^\s<>(),:`]+)")


def parse(text: str) -> Type:
    """A type as Spark writes it or as a user does; ValueError if there is no such type."""
    return _parsed(text)


@lru_cache(maxsize=4096)
def _parsed(text: str) -> Type:
    tokens = _TOKEN.findall(text)
    type_, rest = _type(tokens)
    if rest:
        raise ValueError(f"{text!r} is not a type")
    return type_


def parse_columns(text: str) -> Type:
    """The schema argument of `from_json`: a type, or columns as in CREATE TABLE."""
    try:
        return parse(text)
    except ValueError:
        return parse(f"struct<{text}>")


def _type(tokens: list[str]) -> tuple[Type, list[str]]:
    if not tokens:
        raise ValueError("a type is missing")
    name, rest = tokens[0].lower(), tokens[1:]
    name = _ALIASES.get(name, name)
    if name == "array":
        element, rest = _type(_after(rest, "<"))
        return Array(element), _after(rest, ">")
    if name == "map":
        key, rest = _type(_after(rest, "<"))
        value, rest = _type(_after(rest, ","))
        return Map(key, value), _after(rest, ">")
    if name == "struct":
        return _struct(_after(rest, "<"))
    if name in ("decimal", "dec", "numeric"):
        numbers, rest = _numbers(rest)
        precision, scale = (*numbers, *(10, 0)[len(numbers) :]) if len(numbers) < 3 else (0, 0)
        if not 1 <= precision <= 38 or not 0 <= scale <= precision:
            raise ValueError("a decimal has 1 to 38 digits, and at most as many behind the point")
        return Decimal(precision, scale), rest
    if name in ("char", "varchar", "character"):
        return STRING, _numbers(rest)[1]
    if name == "time(6)" or name in ("geometry", "geography"):
        numbers, rest = _numbers(rest)
        return Atomic(f"{name.partition('(')[0]}({numbers[0]})" if numbers else name), rest
    if name == "interval":
        return _interval(rest)
    if name not in _KNOWN:
        raise ValueError(f"{name!r} is not a type")
    return Atomic(name), rest


def _after(tokens: list[str], sign: str) -> list[str]:
    if not tokens or tokens[0] != sign:
        raise ValueError(f"{sign!r} is missing")
    return tokens[1:]


def _numbers(tokens: list[str]) -> tuple[list[int], list[str]]:
    if not tokens or tokens[0] != "(":
        return [], tokens
    end = tokens.index(")")
    return [int(token) for token in tokens[1:end] if token != ","], tokens[end + 1 :]


def _struct(tokens: list[str]) -> tuple[Type, list[str]]:
    fields: list[tuple[str, Type]] = []
    while tokens and tokens[0] != ">":
        name = tokens[0][1:-1].replace("``", "`") if tokens[0].startswith("`") else tokens[0]
        rest = tokens[1:]
        type_, tokens = _type(rest[1:] if rest and rest[0] == ":" else rest)
        if [token.lower() for token in tokens[:2]] == ["not", "null"]:
            tokens = tokens[2:]
        fields.append((name, type_))
        if tokens and tokens[0] == ",":
            tokens = tokens[1:]
    return Struct(tuple(fields)), _after(tokens, ">")


def _interval(tokens: list[str]) -> tuple[Type, list[str]]:
    words = [token.lower() for token in tokens[:3]]
    if not words or words[0] not in _YEAR_MONTH_UNITS + _DAY_TIME_UNITS:
        return CALENDAR, tokens
    if len(words) == 3 and words[1] == "to":
        return interval_type(words[0], words[2]), tokens[3:]
    return interval_type(words[0], words[0]), tokens[1:]


def interval_type(first: str, last: str) -> Type:
    """The interval of those units, `("day", "second")`; ValueError if they do not go together."""
    for units in (_YEAR_MONTH_UNITS, _DAY_TIME_UNITS):
        if first in units and last in units and units.index(first) <= units.index(last):
            return Atomic(f"interval {first}" if first == last else f"interval {first} to {last}")
    raise ValueError(f"there is no interval from {first} to {last}")


def is_integral(type_: Type) -> bool:
    """Whole numbers of two's complement; a decimal without scale is none."""
    return type_ in INTEGRALS


def is_numeric(type_: Type) -> bool:
    """Whether arithmetic works on it without a cast."""
    return type_ in INTEGRALS or type_ in FRACTIONS or isinstance(type_, Decimal)


def is_day_time(type_: Type) -> bool:
    """An interval of days down to seconds."""
    return isinstance(type_, Atomic) and _units(type_)[:1] != () and _units(type_)[0] in _DAY_TIME_UNITS


def is_year_month(type_: Type) -> bool:
    """An interval of years and months."""
    return isinstance(type_, Atomic) and _units(type_)[:1] != () and _units(type_)[0] in _YEAR_MONTH_UNITS


def is_interval(type_: Type) -> bool:
    """Any interval that can be compared: not the calendar's, which mixes months and seconds."""
    return is_day_time(type_) or is_year_month(type_)


def _units(type_: Atomic) -> tuple[str, ...]:
    words = type_.name.split()
    return tuple(word for word in words[1:] if word != "to") if words[0] == "interval" else ()


def is_atomic(type_: Type) -> bool:
    """Not nested, not NULL, and not the calendar's interval: what a string can become."""
    return isinstance(type_, Decimal) or (isinstance(type_, Atomic) and type_ not in (VOID, CALENDAR))


def orderable(type_: Type) -> bool:
    """Whether `<` and ORDER BY work on it."""
    match type_:
        case Array(element):
            return orderable(element)
        case Struct(fields):
            return all(orderable(type_) for _, type_ in fields)
        case Map():
            return False
        case _:
            return type_ not in (VARIANT, CALENDAR) and not str(type_).startswith(("geo",))


def comparable(type_: Type) -> bool:
    """Whether `=`, DISTINCT and GROUP BY work on it."""
    match type_:
        case Array(element):
            return comparable(element)
        case Struct(fields):
            return all(comparable(type_) for _, type_ in fields)
        case _:
            return orderable(type_)


def as_decimal(type_: Type) -> Decimal:
    """The decimal that holds every value of a number type."""
    match type_:
        case Decimal():
            return type_
        case Atomic("tinyint"):
            return Decimal(3, 0)
        case Atomic("smallint"):
            return Decimal(5, 0)
        case Atomic("int"):
            return Decimal(10, 0)
        case Atomic("bigint"):
            return Decimal(20, 0)
        case Atomic("float"):
            return Decimal(14, 7)
        case Atomic("double"):
            return Decimal(30, 15)
        case _:
            return SYSTEM_DECIMAL


def common(left: Type, right: Type) -> Type | None:
    """What two values become in a comparison, CASE, COALESCE or an array; None: they do not go together."""
    return without_strings(left, right) or with_string(left, right) or _nested(left, right)


def without_strings(left: Type, right: Type) -> Type | None:
    """`common`, but a string stays apart, and so do nested types that differ."""
    return _tightest(left, right) or _wider_decimal(left, right)


def common_of(types: Iterable[Type]) -> Type | None:
    """`common` of any number; strings first, because a string goes with more types than others do."""
    result: Type = VOID
    for type_ in sorted(types, key=lambda type_: type_ != STRING):
        wider = common(result, type_)
        if wider is None:
            return None
        result = wider
    return result


def _tightest(left: Type, right: Type) -> Type | None:
    if left == right or right == VOID:
        return left
    if left == VOID:
        return right
    if left in INTEGRALS and right in INTEGRALS:
        return INTEGRALS[max(INTEGRALS.index(left), INTEGRALS.index(right))]
    if left in INTEGRALS + FRACTIONS and right in INTEGRALS + FRACTIONS:
        return DOUBLE
    if left in (DATE, *TIMESTAMPS) and right in (DATE, *TIMESTAMPS):
        return TIMESTAMP if TIMESTAMP in (left, right) else TIMESTAMP_NTZ
    if (is_day_time(left) and is_day_time(right)) or (is_year_month(left) and is_year_month(right)):
        return _merged_interval(left, right)
    return None


def tightest(left: Type, right: Type) -> Type | None:
    """What the functions of arrays and maps bring elements and keys to: nothing may be lost on the way."""
    numbers = INTEGRALS + FRACTIONS
    if left in numbers and right in numbers:
        return numbers[max(numbers.index(left), numbers.index(right))]
    for decimal, other in ((left, right), (right, left)):
        if isinstance(decimal, Decimal) and other in INTEGRALS:
            fits = decimal.precision - decimal.scale >= as_decimal(other).precision
            return decimal if fits else None
    match left, right:
        case Array(one), Array(two):
            element = tightest(one, two)
            return Array(element) if element else None
        case _:
            return _tightest(left, right)


def _merged_interval(left: Type, right: Type) -> Type:
    units = _DAY_TIME_UNITS if is_day_time(left) else _YEAR_MONTH_UNITS
    places = [
        units.index(unit) for type_ in (left, right) if isinstance(type_, Atomic) for unit in _units(type_)
    ]
    return interval_type(units[min(places)], units[max(places)])


def _wider_decimal(left: Type, right: Type) -> Type | None:
    if not (isinstance(left, Decimal) or isinstance(right, Decimal)):
        return None
    if left in FRACTIONS or right in FRACTIONS:
        return DOUBLE
    if not (is_numeric(left) and is_numeric(right)):
        return None
    one, two = as_decimal(left), as_decimal(right)
    scale = max(one.scale, two.scale)
    return _bounded(max(one.precision - one.scale, two.precision - two.scale) + scale, scale)


def _bounded(precision: int, scale: int) -> Decimal:
    return Decimal(min(precision, MAX_PRECISION), min(scale, MAX_PRECISION))


def with_string(left: Type, right: Type) -> Type | None:
    """What a string and another type become: the string gives way."""
    if right == STRING:
        left, right = right, left
    if left != STRING or right in (STRING, VOID) or is_interval(right) or not is_atomic(right):
        return None
    if is_integral(right):
        return BIGINT
    return DOUBLE if is_numeric(right) else right


def _nested(left: Type, right: Type) -> Type | None:
    match left, right:
        case Array(one), Array(two):
            element = common(one, two)
            return Array(element) if element else None
        case Map(key, value), Map(other_key, other_value):
            wide_key, wide_value = common(key, other_key), common(value, other_value)
            return Map(wide_key, wide_value) if wide_key and wide_value else None
        case Struct(ones), Struct(twos) if len(ones) == len(twos):
            fields: list[tuple[str, Type]] = []
            for (name, one), (other, two) in zip(ones, twos, strict=True):
                wide = common(one, two)
                if wide is None or name.lower() != other.lower():
                    return None
                fields.append((name, wide))
            return Struct(tuple(fields))
        case _:
            return None


def adjusted(precision: int, scale: int) -> Decimal:
    """A decimal of at most 38 digits; digits behind the point are given up first, down to six."""
    if precision <= MAX_PRECISION:
        return Decimal(precision, scale)
    whole = precision - scale
    return Decimal(MAX_PRECISION, max(MAX_PRECISION - whole, min(scale, 6)))
