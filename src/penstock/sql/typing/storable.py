"""Types that the rows of a stream cannot have: between operators, or in a query's result.

Between operators rows stand in files, which hold no intervals of months, no geometries and no times without
a date. A result is also read by others, in CSV, JSON and Parquet: there a column has a type that all of them
know.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from sqlglot import exp

from penstock.sql.text.places import Problem
from penstock.sql.typing.types import (
    DAY_TIME,
    VARIANT,
    VOID,
    Array,
    Map,
    Struct,
    Type,
    is_day_time,
    is_interval,
    parse,
)


def check_between(node: exp.Expr, what: str, type_: str) -> None:
    """A Problem if a value of that type cannot be handed from one operator to the next."""
    found = next(_within(parse(type_), _not_between_operators), None)
    if found is None:
        return
    if is_day_time(found):
        raise Problem(
            node,
            f"{what} is {type_}, which only keeps its units inside one expression; "
            "write CAST(… AS INTERVAL DAY TO SECOND)",
        )
    raise Problem(node, f"{what} is {type_}, which no column can hold; {_cure(found, type_)}")


def check_result(node: exp.Expr, name: str, type_: str) -> None:
    """A Problem if no file that others read could hold a column of that type."""
    found = next(_within(parse(type_), _not_in_results), None)
    if found is not None:
        raise Problem(node, f"column '{name}' is {type_}, which no result can hold; {_cure(found, type_)}")


def unheld(type_: str) -> str | None:
    """The type at fault, it or one inside it, if nothing outside of a query can hold it."""
    found = next(_within(parse(type_), _not_in_results), None)
    return str(found) if found is not None else None


def _not_between_operators(type_: Type) -> bool:
    text = str(type_)
    return (text.startswith("interval") and type_ != DAY_TIME) or text.startswith(("geo", "time("))


def _not_in_results(type_: Type) -> bool:
    return type_ in (VOID, VARIANT, DAY_TIME) or _not_between_operators(type_)


def _within(type_: Type, wrong: Callable[[Type], bool]) -> Iterator[Type]:
    """The types inside a type, itself included, that are wrong."""
    match type_:
        case Array(element):
            yield from _within(element, wrong)
        case Map(key, value):
            yield from _within(key, wrong)
            yield from _within(value, wrong)
        case Struct(fields):
            for _, inner in fields:
                yield from _within(inner, wrong)
        case _ if wrong(type_):
            yield type_


def _cure(type_: Type, whole: str) -> str:
    if is_day_time(type_):
        return "write timestampdiff(MILLISECOND, start, end) for a number, or CAST(… AS STRING)"
    if is_interval(type_) or str(type_).startswith("interval"):
        return "write CAST(… AS STRING)"
    if type_ == VOID:
        return f"give it a type, such as CAST(… AS {whole.replace('void', 'string').upper()})"
    if type_ == VARIANT:
        return "write to_json(…), or take values out with variant_get(…, '$.field', 'string')"
    if str(type_).startswith("geo"):
        return "write st_asbinary(…)"
    return "write CAST(… AS STRING)"
