"""What a program registers, as SQL declares it: types come from annotations, unless they are given."""

from __future__ import annotations

import datetime
import inspect
import types
from collections.abc import Callable, Mapping
from typing import Any, Union, get_args, get_origin, get_type_hints

from penstock.errors import EngineError
from penstock.sql.builder import literal
from penstock.sql.expressions.texts import quoted

_TYPES: Mapping[object, str] = {
    bool: "boolean",
    int: "bigint",
    float: "double",
    str: "string",
    bytes: "binary",
    datetime.datetime: "timestamp",
    datetime.date: "date",
    datetime.timedelta: "interval day to second",
}


def declaration(
    name: str,
    function: Callable[..., Any],
    takes: Mapping[str, str] | None,
    returns: str | None,
    *,
    aggregate: bool,
    timeout: str | float | None,
    memory: str | int | None,
) -> str:
    """The statement that creates the function; EngineError for what its annotations do not say."""
    hints = _hints(function)
    if takes is None:
        takes = {one: _parameter(name, one, hints, aggregate) for one in _parameters(name, function)}
    if returns is None:
        returns = _type(hints.get("return"))
        if returns is None:
            raise EngineError(f"function '{name}' does not say what it returns; give returns='double'")
    parameters = ", ".join(f"{quoted(one)} {type_}" for one, type_ in takes.items())
    limits = {"timeout": timeout, "memory": memory}
    given = ", ".join(f"{one} = {literal(str(value))}" for one, value in limits.items() if value is not None)
    kind = "AGGREGATE FUNCTION" if aggregate else "FUNCTION"
    options = f" OPTIONS ({given})" if given else ""
    text = f"CREATE {kind} {quoted(name)} ({parameters}) RETURNS {returns}"
    return f"{text} REGISTERED LANGUAGE PYTHON DETERMINISTIC{options};"


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return get_type_hints(function)
    except (NameError, TypeError):  # what cannot be resolved, or has no annotations at all
        return {}


def _parameters(name: str, function: Callable[..., Any]) -> list[str]:
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        found = ()  # type: ignore[assignment]
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if not found or any(one.kind not in positional for one in found):
        raise EngineError(
            f"function '{name}' does not say what it takes; give takes={{'x': 'double'}}, in its order"
        )
    return [one.name for one in found]


def _parameter(name: str, parameter: str, hints: Mapping[str, Any], aggregate: bool) -> str:
    hint = _present(hints.get(parameter))
    if aggregate and get_origin(hint) is list:
        (hint,) = get_args(hint)
    found = _type(hint)
    if found is None:
        raise EngineError(
            f"function '{name}' does not say of which type '{parameter}' is; annotate it with a type such as "
            "float, or give takes={'" + parameter + "': 'double'}"
        )
    return found


def _type(hint: Any) -> str | None:
    """The SQL type of an annotation; None if it has none, or more than one."""
    hint = _present(hint)
    inside = [_type(one) for one in get_args(hint)]
    match get_origin(hint), inside:
        case None, []:
            return _TYPES.get(hint) if isinstance(hint, type) else None
        case found, [str(element)] if found is list:
            return f"array<{element}>"
        case found, [str(key), str(value)] if found is dict:
            return f"map<{key},{value}>"
    return None


def _present(hint: Any) -> Any:
    """Without `| None`: any value can be missing."""
    if get_origin(hint) in (Union, types.UnionType):
        given = [one for one in get_args(hint) if one is not type(None)]
        return given[0] if len(given) == 1 else None
    return hint
