"""`CREATE [AGGREGATE] FUNCTION`: a function in Python, its types and its limits.

Where AS says which function of which module it is, REGISTERED says that a program does (`Engine.register`).
"""

from __future__ import annotations

import re
from typing import Any

from penstock.errors import closest
from penstock.model.functions import PythonFunction
from penstock.model.schema import Field
from penstock.sql.reading.cursor import Cursor
from penstock.sql.reading.definitions import names_in_parentheses, type_written
from penstock.sql.reading.statements import CreateFunction
from penstock.sql.text.places import Span
from penstock.sql.text.quantities import seconds, size_bytes
from penstock.sql.typing.functions.catalogue import find

#: `module:function`, where the module may be within packages.
TARGET = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*")
#: Less would not hold what Python needs for itself; a longer call would hold up whoever shares its worker.
LEAST_BYTES, LONGEST_S, SHORTEST_S = 16_000_000, 60.0, 0.01

_CLAUSES = ("AS", "REGISTERED", "LANGUAGE", "DETERMINISTIC", "NOT", "WITH", "OPTIONS")
_OPTIONS = ("timeout", "memory")


def create_function(at: Cursor, *, aggregate: bool) -> CreateFunction:
    """All behind CREATE FUNCTION."""
    quiet = at.take("IF", "NOT", "EXISTS")
    here = at.here
    name = at.name("the function")
    _check_name(at, name, here)
    parameters = _parameters(at, name)
    at.expect("RETURNS")
    if at.peek() == "TABLE":
        raise at.error(
            "a function that puts out several rows for one is not supported; return an array of structs"
        )
    returns = type_written(at, *_CLAUSES)
    given = _clauses(at, name)
    at.end()
    given = {"target": None, "aggregate": aggregate, **given}
    function = PythonFunction(name, parameters=parameters, returns=returns, **given)
    return CreateFunction(at.subject, function, quiet)


def _check_name(at: Cursor, name: str, here: Span) -> None:
    if not re.fullmatch(r"[^\W\d]\w*", name):
        raise at.error(f"'{name}' cannot be the name of a function; use letters, digits and '_'", here)
    if find(name) is not None:
        raise at.error(f"'{name}' is a function of Spark's; choose another name", here)


def _parameters(at: Cursor, name: str) -> tuple[Field, ...]:
    opening = at.here
    if not at.take("("):
        raise at.error(f"function '{name}' has no parameters; write CREATE FUNCTION {name} (x TYPE, …)")
    found: list[Field] = []
    while at.peek() != ")":
        here = at.here
        parameter = at.name("a parameter")
        if any(parameter.lower() == one.name.lower() for one in found):
            raise at.error(f"there are two parameters named '{parameter}'; rename one", here)
        found.append(Field(parameter, type_written(at, ",")))
        if not at.take(","):
            break
    if not at.take(")"):
        raise at.unexpected("',' or ')'")
    if not found:
        raise at.error(
            f"function '{name}' has no parameters; write out what is the same for all rows", opening
        )
    return tuple(found)


def _clauses(at: Cursor, name: str) -> dict[str, Any]:
    """What stands behind the type, in any order."""
    found: dict[str, Any] = {}
    said: set[str] = set()
    while not at.done:
        here, word = at.here, at.one_of("what follows", _CLAUSES)
        if word in said:
            raise at.error(f"{word} is said twice", here)
        said.add(word)
        match word:
            case "AS":
                found["target"] = _target(at)
            case "LANGUAGE":
                if not at.take("PYTHON"):
                    raise at.error("functions are in Python; write LANGUAGE PYTHON")
            case "NOT":
                raise at.error(
                    "a function must be DETERMINISTIC: results are computed again after a failure, and must "
                    "be the same; give it what it needs as a column of the stream",
                    here,
                )
            case "WITH" | "OPTIONS":
                found |= _limits(at)
    if {"AS", "REGISTERED"} <= said:
        raise at.error("a function is in a module or REGISTERED by a program; leave one out", at.span)
    where = "REGISTERED" if "REGISTERED" in said else "AS"
    for word, what in (
        (where, "where it is: AS 'module:function'"),
        ("LANGUAGE", "LANGUAGE PYTHON"),
        ("DETERMINISTIC", "DETERMINISTIC: the same result for the same arguments, always and everywhere"),
    ):
        if word not in said:
            raise at.error(f"function '{name}' does not say {what}")
    return found


def _target(at: Cursor) -> str:
    here = at.here
    target = at.string("where the function is, as 'module:function',")
    if not TARGET.fullmatch(target):
        raise at.error(f"'{target}' is no place of a function; write 'module:function'", here)
    return target


def _limits(at: Cursor) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for option, here in names_in_parentheses(at, "an option"):
        if option not in _OPTIONS:
            near = closest(option, _OPTIONS)
            raise at.error(f"a function has no option '{option}'; use timeout or memory.{near}", here)
        at.take("=")
        text, place = at.raw(",")
        try:
            found |= read_limit(option, text)
        except ValueError as problem:
            raise at.error(str(problem), place) from None
    return found


def read_limit(option: str, text: str) -> dict[str, float | int]:
    """A limit of a function as it is written; ValueError says what is wrong with it."""
    if option == "timeout":
        timeout_s = seconds(text)
        if not SHORTEST_S <= timeout_s <= LONGEST_S:
            raise ValueError(f"timeout is {text}; it must be between 10 ms and 60 s")
        return {"timeout_s": timeout_s}
    memory = int(size_bytes(text))
    if memory < LEAST_BYTES:
        raise ValueError(f"memory is {text}; it must be at least 16 MB")
    return {"memory_bytes": memory}
