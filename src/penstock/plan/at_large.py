"""Which operators can be run by many tasks at once, each over a part of the rows, with the same results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from penstock.model.graph import Graph
from penstock.model.operators import (
    Aggregate,
    Join,
    Operator,
    Project,
    Select,
    Sink,
    Source,
    Split,
    Union,
    output_schema,
)
from penstock.model.schema import Schema
from penstock.sql.expressions.row_order import IN_SEQUENCE

#: Types that tasks cannot write to files and read again as they were, by what their names contain.
_NOT_IN_FILES = ("interval", "void", "variant", "collate", "time(", "geo")


def runs_at_large(graph: Graph, operators: Iterable[str]) -> bool:
    """Whether these operators can be one unit of many tasks.

    Not members of a shared query, whose constants the driver prepares; not rows in order; not what leaves out
    rows that fail, which are searched for one by one; not functions in Python.
    """
    names = list(operators)
    if any(graph.queries[query].on_error == "skip" for name in names for query in graph.users[name]):
        return False
    return all(_may_be_divided(graph.nodes[name].operator) for name in names) and not any(
        part in field.type.lower()
        for name in names
        for schema in _schemas(graph, name)
        for field in schema.fields
        for part in _NOT_IN_FILES
    )


def _may_be_divided(operator: Operator) -> bool:
    match operator:
        case Join(roster=True) | Union(ordered=True):
            return False
        case Aggregate() if operator.carries_late:
            return False
    texts = [text.lower() for text in _texts(operator)]
    return not any("@" in text or any(f"{name}(" in text for name in IN_SEQUENCE) for text in texts)


def _texts(operator: Operator) -> Iterator[str]:
    """The expressions of an operator."""
    match operator:
        case Select(predicate=predicate):
            yield predicate
        case Project(columns=columns) | Sink(columns=columns) | Aggregate(aggregates=columns):
            yield from (column.expression for column in columns)
        case Split(conditions=conditions):
            yield from conditions
        case Join(condition=condition):
            yield condition
        case Union() | Source():
            pass


def _schemas(graph: Graph, name: str) -> tuple[Schema, ...]:
    """The columns of what an operator reads, and of what it puts out; windows are structs of timestamps."""
    node = graph.nodes[name]
    inputs = tuple(_output(graph, port.node) for port in node.inputs)
    return (*inputs, _output(graph, name))


def _output(graph: Graph, name: str) -> Schema:
    node = graph.nodes[name]
    inputs = tuple(_output(graph, port.node) for port in node.inputs)
    return output_schema(node.operator, inputs)
