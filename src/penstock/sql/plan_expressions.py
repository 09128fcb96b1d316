"""The expressions of a plan that was made elsewhere: each must be one that SQL could have, and nothing else.

What a SELECT says is typed when it is bound. A plan document comes with texts, which Spark would run as they
are: also one that calls Java, or that reads a file by a query inside.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlglot.errors import SqlglotError

from penstock.model.operators import (
    Aggregate,
    Column,
    Join,
    Project,
    Select,
    Sink,
    Split,
    output_schema,
)
from penstock.model.query import PlanNode
from penstock.model.schema import UNTYPED, Field, Schema
from penstock.model.window import Window
from penstock.sql.expressions.texts import plain_column, quoted
from penstock.sql.text.dialect import parse_expression
from penstock.sql.text.places import Problem
from penstock.sql.typing.expression_types import type_of
from penstock.sql.typing.types import parse

#: What an aggregate calls the window itself.
_WINDOW = "window()"


def check_expressions(root: PlanNode) -> None:
    """ValueError says which expression of a valid plan is none, and why."""
    schemas: dict[int, Schema] = {}
    for node in root.post_order():
        below = tuple(schemas[id(child)] for child in node.children)
        schemas[id(node)] = _checked(node, below)


def _checked(node: PlanNode, below: tuple[Schema, ...]) -> Schema:
    """What comes out of an operator, with the types of its expressions."""
    out = output_schema(node.operator, below)
    match node.operator:
        case Select(predicate=predicate):
            _check_condition(predicate, below[0])
        case Split(conditions=conditions):
            for condition in conditions:
                _check_condition(condition, below[0])
        case Join(condition=condition, left=left, right=right):
            _check_condition(condition, out)
            for window, schema in zip((left, right), below, strict=False):
                _check_window(window, schema)
        case Project(columns=columns):
            return Schema(tuple(_fields(columns, below[0])))
        case Sink(columns=columns) if columns:
            return Schema(tuple(_fields(columns, below[0])))
        case Aggregate(keys=keys, aggregates=columns, window=window):
            _check_window(window, below[0])
            for key in keys:
                if below[0].get(key) is None:
                    raise ValueError(f"the plan groups by '{key}', which is no column of what it groups")
            kept = out.fields[: len(keys)]
            return Schema((*kept, *_fields(columns, below[0])))
    return out


def _fields(columns: tuple[Column, ...], schema: Schema) -> Iterator[Field]:
    for column in columns:
        if column.type is not None:
            _check_type(column)
        if column.expression == _WINDOW:
            yield Field(column.name, column.type or UNTYPED)
            continue
        found = _type(column.expression, schema)
        yield Field(column.name, column.type or found)


def _check_type(column: Column) -> None:
    try:
        parse(column.type or "")
    except ValueError:
        raise ValueError(
            f"column '{column.name}' of the plan has the type '{column.type}', which there is not"
        ) from None


def _check_window(window: Window | None, schema: Schema) -> None:
    if window is not None and window.on is not None and schema.get(window.on) is None:
        raise ValueError(f"a window of the plan is over '{window.on}', which is no column there")


def _check_condition(text: str, schema: Schema) -> None:
    found = _type(text, schema)
    if found not in ("boolean", "void"):
        raise ValueError(f"the plan's condition '{text}' is {found}, not boolean")


def _type(text: str, schema: Schema) -> str:
    """The type of an expression, if it is one."""
    try:
        plain = plain_column(text)
        found = type_of(parse_expression(text), schema)
    except Problem as problem:
        raise ValueError(f"the plan's expression '{text}': {problem}") from None
    except RecursionError:
        raise ValueError("an expression of the plan is nested too deeply; write fewer levels") from None
    except (SqlglotError, ValueError, AssertionError):
        raise ValueError(f"the plan has '{text}', which is no expression of SQL") from None
    if plain is not None and text not in (plain, quoted(plain), _in_quotes(plain)):
        raise ValueError(f"the plan has '{text}', which is more than the column '{plain}'; write that")
    return found


def _in_quotes(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
