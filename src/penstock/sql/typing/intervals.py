"""The types of INTERVAL literals."""

from __future__ import annotations

import re

from sqlglot import exp

from penstock.sql.typing.types import Type, interval_type

#: What Spark counts a unit as.
_UNITS = {
    "year": "year",
    "month": "month",
    "week": "day",
    "day": "day",
    "hour": "hour",
    "minute": "minute",
    "second": "second",
    "millisecond": "second",
    "microsecond": "second",
}
_ORDER = ("year", "month", "day", "hour", "minute", "second")
_QUANTITY = r"[+-]?\d+(?:\.\d*)?|[+-]?\.\d+"


def interval_of(node: exp.Expr) -> Type:
    """The type of a literal; ValueError with a sentence for the user if it is not a literal Spark takes."""
    value, unit = node.this, node.args.get("unit")
    if not isinstance(value, exp.Literal):
        raise ValueError("INTERVAL needs a number written out; use make_dt_interval for a computed one")
    if isinstance(unit, exp.IntervalSpan):
        return _between(_unit(unit.this.name), _unit(unit.expression.name))
    if unit is not None:
        _check_quantity(value.name, unit.name)
        return _between(_unit(unit.name), _unit(unit.name))
    words = re.findall(rf"({_QUANTITY})\s*([A-Za-z]+)", value.name)
    rest = re.sub(rf"({_QUANTITY})\s*[A-Za-z]+", "", value.name)
    if not words or rest.strip():
        raise ValueError("INTERVAL needs numbers with units, such as INTERVAL '1 hour 3 minutes'")
    for quantity, word in words:
        _check_quantity(quantity, word)
    units = sorted((_unit(word) for _, word in words), key=_ORDER.index)
    return _between(units[0], units[-1])


def _unit(word: str) -> str:
    name = word.lower().removesuffix("s")
    if name not in _UNITS:
        raise ValueError(f"'{word}' is not a unit of an interval; use years, months, weeks, days, … seconds")
    return _UNITS[name]


def _check_quantity(quantity: str, unit: str) -> None:
    pattern = _QUANTITY if _unit(unit) == "second" else r"[+-]?\d+"
    if not re.fullmatch(rf"\s*(?:{pattern})\s*", quantity):
        raise ValueError(f"'{quantity}' is not a number of {unit.lower()}; only seconds may have a fraction")


def _between(first: str, last: str) -> Type:
    try:
        return interval_type(first, last)
    except ValueError:
        raise ValueError(
            "an interval has either years and months, or days to seconds; add one after the other"
        ) from None
