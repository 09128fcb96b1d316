"""Every function by its name: Spark's, those we refuse included, and those in Python by their identity."""

from __future__ import annotations

from penstock.model.functions import is_identity
from penstock.sql.typing.functions.aggregates import AGGREGATES
from penstock.sql.typing.functions.collections import COLLECTIONS
from penstock.sql.typing.functions.conditions import CONDITIONS
from penstock.sql.typing.functions.dates import DATES
from penstock.sql.typing.functions.formats import FORMATS
from penstock.sql.typing.functions.function import Function
from penstock.sql.typing.functions.numbers import NUMBERS
from penstock.sql.typing.functions.python_functions import python_function
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
    """The function of that name, in upper or lower case; one in Python is called by its identity."""
    return python_function(name.strip('`"')) if is_identity(name) else _BY_NAME.get(name.lower())


def names() -> tuple[str, ...]:
    """The functions that can be used."""
    return tuple(function.name for function in FUNCTIONS if function.kind != "refused")
