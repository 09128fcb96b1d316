"""Functions in Python as the typing of expressions sees them; all that it asks is in a call's name."""

from __future__ import annotations

from functools import lru_cache

from penstock.model.functions import short_name
from penstock.sql.typing.functions.function import Function, fixed
from penstock.sql.typing.functions.wanted import Wanted
from penstock.sql.typing.types import (
    DOUBLE,
    FLOAT,
    INTEGRALS,
    VOID,
    Array,
    Decimal,
    Struct,
    Type,
    is_numeric,
    parse,
)


class Parameter(Wanted):
    """A parameter of a function in Python: its type, and numbers that have no more to say than that can hold.

    No string becomes a number by itself: a value that does not is the function's to refuse.
    """

    __slots__ = ()

    def accepted(self, given: Type) -> Type | None:
        """The type that the function gets; None: it is refused."""
        wanted = parse(self.word)
        return wanted if given in (wanted, VOID) or _widens(given, wanted) else None


def _widens(given: Type, wanted: Type) -> bool:
    match given, wanted:
        case Array(Struct(rows)), Array(Struct(parameters)):  # what an aggregate gets
            pairs = zip(rows, parameters, strict=False)
            same = len(rows) == len(parameters) and all(one == other for (one, _), (other, _) in pairs)
            types = zip((one for _, one in rows), (one for _, one in parameters), strict=False)
            return same and all(one in (other, VOID) or _widens(one, other) for one, other in types)
    if not is_numeric(given):
        return False
    if wanted == DOUBLE:
        return True
    if wanted == FLOAT:
        return given in INTEGRALS[:2]
    if wanted in INTEGRALS:
        return given in INTEGRALS and INTEGRALS.index(given) < INTEGRALS.index(wanted)
    if isinstance(wanted, Decimal):  # a number with too many digits before the point raises when it comes
        return given in INTEGRALS or (isinstance(given, Decimal) and given.scale <= wanted.scale)
    return False


@lru_cache(maxsize=1000)
def python_function(identity: str) -> Function | None:
    """The function of an identity; None if that is none."""
    name = short_name(identity)
    opening, closing = identity.find("("), identity.rfind(") ")
    if opening < 0 or closing < opening:
        return None
    try:
        words = [str(parse(text)) for text in _parted(identity[opening + 1 : closing])]
        result = fixed(identity[closing + 2 :])
    except ValueError:
        return None
    takes = tuple(Parameter(word) for word in words)
    return Function(name, "scalar", len(takes), len(takes), result, takes=takes)


def _parted(text: str) -> list[str]:
    """Types between commas, but for commas inside a type."""
    parts, depth, begun = [], 0, 0
    for place, sign in enumerate(text):
        depth += (sign in "<(") - (sign in ">)")
        if sign == "," and not depth:
            parts.append(text[begun:place])
            begun = place + 1
    return [*parts, text[begun:]]
