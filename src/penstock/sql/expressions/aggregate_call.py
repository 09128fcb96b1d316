"""One call of an aggregate function, taken apart: its arguments, their types, and the clauses around it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sqlglot import exp

from penstock.model.schema import Schema
from penstock.sql.text.dialect import render
from penstock.sql.typing.expression_types import TypeProblem, type_of
from penstock.sql.typing.functions.catalogue import find

Nulls = Literal["", "ignore", "respect"]


@dataclass(frozen=True, slots=True)
class AggregateCall:
    """A call as text. `types` are those of the arguments, `type` that of the result; "" if not known."""

    text: str
    name: str
    arguments: tuple[str, ...]
    types: tuple[str, ...]
    type: str
    distinct: bool = False
    nulls: Nulls = ""
    #: What WITHIN GROUP orders by, as text behind ORDER BY.
    within: str = ""
    #: The condition of FILTER.
    condition: str = ""

    def filtered(self, aggregate: str) -> str:
        """Another aggregate, over the same rows."""
        return f"{aggregate} FILTER (WHERE {self.condition})" if self.condition else aggregate


def is_aggregate_call(tree: exp.Expr) -> bool:
    """Whether this is a call of an aggregate function, with what belongs to it."""
    match tree:
        case exp.Filter() | exp.WithinGroup() | exp.IgnoreNulls() | exp.RespectNulls():
            return is_aggregate_call(tree.this)
        case exp.Anonymous():
            found = find(tree.name)
            return found is not None and found.kind == "aggregate"
    return False


def read_call(tree: exp.Expr, schema: Schema) -> AggregateCall:
    """A call with the clauses around it."""
    node, nulls, within, condition = tree, "", "", ""
    while not isinstance(node, exp.Anonymous):
        match node:
            case exp.Filter():
                condition = render(node.expression.this)
            case exp.IgnoreNulls():
                nulls = "ignore"
            case exp.RespectNulls():
                nulls = "respect"
            case exp.WithinGroup():
                within = ", ".join(render(part) for part in node.expression.expressions)
            case _:
                raise ValueError(f"{render(tree)} is no call of an aggregate function")
        node = node.this
    name, arguments = node.name.lower(), list(node.expressions)
    distinct = len(arguments) == 1 and isinstance(arguments[0], exp.Distinct)
    if distinct:
        arguments = arguments[0].expressions
    if name in _IGNORING and len(arguments) == 2:
        nulls = "ignore" if arguments.pop() == exp.true() else nulls
    return AggregateCall(
        text=render(tree),
        name=_SYNONYMS.get(name, name),
        arguments=tuple(render(argument) for argument in arguments),
        types=tuple(_type(argument, schema) for argument in arguments),
        type=_type(tree, schema),
        distinct=distinct,
        nulls=nulls,  # type: ignore[arg-type]
        within=within,
        condition=condition,
    )


#: Aggregates whose second argument says whether to pass over NULLs.
_IGNORING = ("first", "first_value", "last", "last_value", "any_value")
#: Names of Spark for functions that have another. Any value of a group may as well be its first.
_SYNONYMS = {
    "first_value": "first",
    "any_value": "first",
    "last_value": "last",
    "array_agg": "collect_list",
    "mean": "avg",
    "any": "bool_or",
    "some": "bool_or",
    "every": "bool_and",
    "std": "stddev_samp",
    "stddev": "stddev_samp",
    "variance": "var_samp",
    "string_agg": "listagg",
}


def _type(tree: exp.Expr, schema: Schema) -> str:
    if isinstance(tree, exp.Star):
        return ""
    try:
        return type_of(tree, schema)
    except TypeProblem:
        return ""
