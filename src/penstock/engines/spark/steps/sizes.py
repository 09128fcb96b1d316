"""How many bytes a row takes as a queue holds it, in Arrow: what is fixed, and SQL for what values decide."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from penstock.engines.spark.rows.expressions import quote
from penstock.model.schema import UNTYPED, Field
from penstock.sql.typing.types import Array, Decimal, Map, Struct, Type, parse

_WIDTHS = {
    "void": 0.0,
    "boolean": 0.125,
    "tinyint": 1.0,
    "smallint": 2.0,
    "int": 4.0,
    "float": 4.0,
    "date": 4.0,
    "interval year to month": 4.0,
    "interval": 16.0,
}
#: Where a text or a list begins.
_OFFSET = 4.0
#: Of a type that nobody knows.
_UNKNOWN = 32.0


def row_bytes(fields: Iterable[Field]) -> tuple[float, str]:
    """The bytes of each row that do not depend on its values, and an expression for the others, or none."""
    fixed, varying = 0.0, []
    for field in fields:
        width, expression = _of(_type(field.type), quote(field.name))
        fixed += width
        if expression:
            varying.append(expression)
    return fixed, " + ".join(varying)


@lru_cache(maxsize=10_000)
def _type(text: str) -> Type | None:
    if text == UNTYPED:
        return None
    try:
        return parse(text)
    except ValueError:
        return None


def _of(type_: Type | None, value: str, depth: int = 0) -> tuple[float, str]:
    """The same for one value."""
    match type_:
        case None:
            return _UNKNOWN, ""
        case Decimal():
            return 16.0, ""
        case Struct(fields=fields):
            found = [_of(one, f"{value}.{quote(name)}", depth) for name, one in fields]
            return sum(width for width, _ in found), " + ".join(text for _, text in found if text)
        case Array(element=element):
            return _OFFSET, _elements(element, value, depth)
        case Map(key=key, value=item):
            keys = _elements(key, f"map_keys({value})", depth)
            return _OFFSET, f"{keys} + {_elements(item, f'map_values({value})', depth)}"
        case _ if type_.name in ("string", "binary", "variant") or type_.name.startswith(("char", "varchar")):
            held = f"CAST({value} AS STRING)" if type_.name == "variant" else value
            return _OFFSET, f"coalesce(octet_length({held}), 0)"
        case _:
            return _WIDTHS.get(type_.name, 8.0), ""


def _elements(element: Type, values: str, depth: int) -> str:
    """The bytes of all elements of a list."""
    name = f"e{depth}"
    width, varying = _of(element, name, depth + 1)
    fixed = f"coalesce(cardinality({values}), 0) * {width}D"
    if not varying:
        return fixed
    summed = f"aggregate({values}, 0D, (s{depth}, {name}) -> s{depth} + {varying})"
    return f"{fixed} + coalesce({summed}, 0D)"
