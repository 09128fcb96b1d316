"""What may not be moved: expressions that can fail, and operators to which the order of rows matters.

A predicate that can raise is evaluated on the rows it was written for and on no others, or a query would
fail or not depending on its plan. So nothing overtakes it either: a filter that goes below it would hide
the failures it was to see.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache

from sqlglot import exp

from penstock.model.operators import Aggregate, Column, Join, Operator, Project, Select, Sink, Split, Union
from penstock.model.query import PlanNode
from penstock.model.schema import Schema
from penstock.model.window import Window
from penstock.plan.conjunctions import is_expression
from penstock.sql.expressions.windowing import read_within
from penstock.sql.text.dialect import parse_expression, render
from penstock.sql.typing.expression_types import TypeProblem
from penstock.sql.typing.expression_types import can_raise as tree_can_raise
from penstock.sql.typing.functions.catalogue import find
from penstock.sql.typing.functions.function import Function


@lru_cache(maxsize=20_000)
def can_raise(text: str, schema: Schema) -> bool:
    """Whether evaluating the expression on a row of that schema may fail."""
    if read_within(text) is not None:
        return False  # times of rows, a window's width apart: far from the end of time
    try:
        return tree_can_raise(parse_expression(text), schema)
    except TypeProblem:
        return True  # nobody has typed it, so nobody knows


def any_can_raise(texts: Iterable[str], schema: Schema) -> bool:
    """Whether one of them may fail."""
    return any(can_raise(text, schema) for text in texts)


@lru_cache(maxsize=20_000)
def reads_clock(text: str) -> bool:
    """Whether it asks for the time of day, which is fixed with the batch a row is in."""
    return any(found is not None and found.kind == "clock" for found in _functions(text))


def stays(text: str, schema: Schema) -> bool:
    """Whether a predicate may not be moved through what makes other rows."""
    return can_raise(text, schema) or reads_clock(text)


def free(parts: Sequence[str], schema: Schema) -> int:
    """How many of a conjunction's parts, from the first, may leave it: those before one that stays."""
    return next((place for place, part in enumerate(parts) if stays(part, schema)), len(parts))


def project_can_raise(project: Project, schema: Schema) -> bool:
    """Whether computing the columns may fail."""
    return any_can_raise((column.expression for column in project.columns), schema)


def aggregate_can_raise(aggregate: Aggregate, schema: Schema) -> bool:
    """Whether what is folded may fail to be computed.

    A fold that overflows is not counted: Spark's own optimizer moves filters on keys below it as well.
    """
    return any_can_raise((text for one in aggregate.aggregates for text in arguments(one.expression)), schema)


@lru_cache(maxsize=20_000)
def arguments(text: str) -> tuple[str, ...]:
    """What an aggregate is computed from: the arguments of its functions and their FILTER."""
    return tuple(_arguments(parse_expression(text)))


def _arguments(tree: exp.Expr) -> Iterable[str]:
    match tree:
        case exp.Anonymous():
            for argument in tree.expressions:
                if isinstance(argument, exp.Distinct):
                    yield from (render(part) for part in argument.expressions)
                elif not isinstance(argument, exp.Star):
                    yield render(argument)
        case exp.Filter():
            yield from _arguments(tree.this)
            yield render(tree.expression.this)
        case exp.IgnoreNulls() | exp.Paren():
            yield from _arguments(tree.this)
        case _:
            yield render(tree)


def by_count(window: Window | None) -> bool:
    """Whether the window holds a number of rows, so that a row less lets another one in."""
    return window is not None and window.kind == "count"


def depends_on_order(operator: Operator) -> bool:
    """Whether other rows come out if those of one instant come in another order."""
    match operator:
        case Aggregate(aggregates=aggregates, window=window):
            return by_count(window) or any(not _unordered(column) for column in aggregates)
        case Join(left=left, right=right):
            return by_count(left) or by_count(right)
        case Union(ordered=ordered):
            return ordered
        case _:
            return False


def _unordered(column: Column) -> bool:
    """Of a function that is not known nobody can say."""
    found = _functions(column.expression) if column.expression != "window()" else ()
    return all(one is not None and not one.order_dependent for one in found)


@lru_cache(maxsize=20_000)
def _functions(text: str) -> tuple[Function | None, ...]:
    """The functions that an expression calls."""
    if read_within(text) is not None:
        return ()
    return tuple(find(str(call.this)) for call in parse_expression(text).find_all(exp.Anonymous))


def can_be_read(root: PlanNode) -> bool:
    """Whether all expressions of a plan are ones: a plan that did not come from SQL may have any text."""
    return all(is_expression(text) for node in root.post_order() for text in _texts(node.operator))


def _texts(operator: Operator) -> Iterable[str]:
    match operator:
        case Select(predicate=predicate):
            return (predicate,)
        case Split(conditions=conditions):
            return conditions
        case Join(condition=condition):
            return (condition,)
        case Project(columns=columns) | Aggregate(aggregates=columns) | Sink(columns=columns):
            return tuple(column.expression for column in columns)
        case _:
            return ()


def below_order(root: PlanNode) -> frozenset[int]:
    """The ids of the nodes whose rows' order something above depends on."""
    below: set[int] = set()
    for node in reversed([*root.post_order()]):
        if id(node) in below or depends_on_order(node.operator):
            below.update(id(child) for child in node.children)
    return frozenset(below)
