"""Every function of Spark by its name, those we refuse included."""

from __future__ import annotations

from penstock.sql.typing.functions.aggregates import AGGREGATES
from penstock.sql.typing.functions.collections import COLLECTIONS
from penstock.sql.typing.functions.conditions import CONDITIONS
from penstock.sql.typing.functions.dates import DATES
from penstock.sql.typing.functions.formats import FORMATS
from penstock.sql.typing.functions.function import Function
from penstock.sql.typing.functions.numbers import NUMBERS
from penstock.sql.typing.functions.refused import REFUSED
from penstock.sql.typing.functions.sketches import SKETCHES
from penstock.sql.typing.functions.strings import STRINGS

__all__ = ["FUNCTIONS", "Function", "find", "names"]

#: In the order of the tables.
FUNCTIONS: tuple[Function, ...] = (
    *NUMBERS,
    *STRINGS,
    *CONDITIONS,
    *DATES,
    *COLLECTIONS,
    *FORMATS,
    *AGGREGATES,
    *SKETCHES,
    *REFUSED,
)
_BY_NAME = {function.name: function for function in FUNCTIONS}


def find(name: str) -> Function | None:
    """The function of that name, in upper or lower case."""
    return _BY_NAME.get(name.lower())


def names() -> tuple[str, ...]:
    """The functions that can be used."""
    return tuple(function.name for function in FUNCTIONS if function.kind != "refused")
