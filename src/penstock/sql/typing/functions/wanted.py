"""What a function wants of an argument, and what Spark turns the argument into to please it.

Written as one word: a type (`string`, `array<int>`), a family of types (`numeric`, `array`), several with a
bar between (`string|binary`), with `!` behind if nothing but NULL is cast, `!!` if not even that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from penstock.sql.typing.casts import castable, implicit
from penstock.sql.typing.types import (
    DATE,
    DAY_TIME,
    DOUBLE,
    INT,
    INTEGRALS,
    STRING,
    SYSTEM_DECIMAL,
    TIMESTAMP,
    TIMESTAMPS,
    VARIANT,
    VOID,
    YEAR_MONTH,
    Array,
    Decimal,
    Map,
    Struct,
    Type,
    as_decimal,
    comparable,
    is_day_time,
    is_integral,
    is_interval,
    is_numeric,
    is_year_month,
    orderable,
    parse,
)


@dataclass(frozen=True, slots=True)
class _Family:
    """Types that are taken as they are; what NULL and a string become."""

    says: str
    takes: Callable[[Type], bool]
    of_null: Type
    of_string: Type | None = None


def _hashable(type_: Type) -> bool:
    match type_:
        case Array(element):
            return _hashable(element)
        case Struct(fields):
            return all(_hashable(inner) for _, inner in fields)
        case _:
            return type_ != VARIANT and not isinstance(type_, Map)


_FAMILIES = {
    "any": _Family("any value", lambda _: True, VOID),
    "numeric": _Family("a number", is_numeric, DOUBLE, DOUBLE),
    "integral": _Family("a whole number", is_integral, INT),
    "decimal": _Family("a decimal", lambda type_: isinstance(type_, Decimal), SYSTEM_DECIMAL, SYSTEM_DECIMAL),
    "timestamps": _Family("a timestamp", lambda type_: type_ in TIMESTAMPS, TIMESTAMP, TIMESTAMP),
    "array": _Family("an array", lambda type_: isinstance(type_, Array), Array(VOID)),
    "map": _Family("a map", lambda type_: isinstance(type_, Map), Map(VOID, VOID)),
    "struct": _Family("a struct", lambda type_: isinstance(type_, Struct), Struct(())),
    "intervals": _Family("an interval", is_interval, DAY_TIME),
    "daytime": _Family("an interval of days to seconds", is_day_time, DAY_TIME),
    "yearmonth": _Family("an interval of years and months", is_year_month, YEAR_MONTH),
    "orderable": _Family("a value that can be ordered", orderable, VOID),
    "comparable": _Family("a value that can be compared", comparable, VOID),
    "hashable": _Family("a value without maps and variants", _hashable, VOID),
    "without_map": _Family("a value without maps", lambda type_: not isinstance(type_, Map), VOID),
    "days": _Family("a number of days", lambda type_: type_ in INTEGRALS[:3], INT, INT),
    "variable": _Family("a value a variant can hold", lambda type_: castable(type_, VARIANT), VOID),
    "geo": _Family("a geometry", lambda type_: str(type_).startswith("geo"), VOID),
}


@dataclass(frozen=True, slots=True)
class Wanted:
    """What one argument may be."""

    word: str

    def accepted(self, given: Type) -> Type | None:
        """The type the argument is cast to, which may be its own; None: it is refused."""
        words, strict = self.word.rstrip("!").split("|"), self.word.endswith("!")
        if any(_takes(word, given) for word in words):
            return given
        if given == VOID and not self.word.endswith("!!"):
            return _of_null(words[0])
        if strict:
            return None
        return next((type_ for word in words if (type_ := _converted(word, given)) is not None), None)

    def __str__(self) -> str:
        return " or ".join(_says(word) for word in self.word.rstrip("!").split("|"))


@lru_cache(maxsize=256)
def wanted(word: str) -> Wanted:
    """The wish that is written so."""
    return Wanted(word)


def _says(word: str) -> str:
    if word in _FAMILIES:
        return _FAMILIES[word].says
    return f"{'an' if word[0] in 'aei' else 'a'} {word}"


def _takes(word: str, given: Type) -> bool:
    return _FAMILIES[word].takes(given) if word in _FAMILIES else parse(word) == given


def _of_null(word: str) -> Type:
    return _FAMILIES[word].of_null if word in _FAMILIES else parse(word)


def _converted(word: str, given: Type) -> Type | None:
    if word in _FAMILIES:
        if given == STRING:
            return _FAMILIES[word].of_string
        if word == "timestamps" and given == DATE:
            return TIMESTAMP
        return as_decimal(given) if word == "decimal" and is_numeric(given) else None
    target = parse(word)
    return target if implicit(given, target) else None
