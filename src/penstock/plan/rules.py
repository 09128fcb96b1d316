"""What is asked of one operator at its place in a plan: one rule per function.

A rule yields complaints, each the end of a sentence that begins with the operator: `has no columns; …`.
Later rules rely on earlier ones: `RULES` is in order.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from penstock.errors import closest
from penstock.model.operators import (
    Aggregate,
    Column,
    Join,
    Project,
    Select,
    Sink,
    Source,
    Split,
    Union,
    input_count,
    is_blocking,
    output_count,
)
from penstock.model.query import PlanNode
from penstock.model.schema import Schema
from penstock.plan.ranges import check_estimate, check_window

_PLAIN_NAME = re.compile(r"[A-Za-z_]\w*")
#: Words that stand alone in an expression and yet are no columns.
_NOT_COLUMNS = frozenset(
    (
        "true",
        "false",
        "null",
        "current_date",
        "current_time",
        "current_timestamp",
        "current_user",
        "localtimestamp",
        "user",
    )
)


@dataclass(frozen=True, slots=True)
class Place:
    """A node, the schema of each of its inputs, and an endless stream that feeds it (None: it ends)."""

    node: PlanNode
    schemas: tuple[Schema, ...]
    endless: tuple[str | None, ...]


Rule = Callable[[Place], Iterator[str]]


def has_its_inputs(place: Place) -> Iterator[str]:
    """As many inputs as the operator takes, and none of them a sink."""
    node = place.node
    least, greatest = input_count(node.operator)
    if len(node.children) < least or (greatest is not None and len(node.children) > greatest):
        needed = f"{least or 'none'}" if greatest == least else f"{least} or more"
        yield f"has {_count(len(node.children), 'input')}; it takes {needed}"
    for child in node.children:
        if isinstance(child.operator, Sink):
            yield "reads a sink; a sink ends a plan, so put it at the root or leave it out"


def reads_ports_that_exist(place: Place) -> Iterator[str]:
    """One port per input, each an output of what is read there."""
    node = place.node
    if node.ports and len(node.ports) != len(node.children):
        yield (
            f"has {_count(len(node.ports), 'port')} for {_count(len(node.children), 'input')}; "
            "give one per input, or none to read port 0 of each"
        )
        return
    for slot, child in enumerate(node.children):
        outputs = output_count(child.operator)
        if not 0 <= node.port_of(slot) < outputs:
            yield (
                f"reads port {node.port_of(slot)} of the {child.operator.kind}, "
                f"which has {_count(outputs, 'port')}, counted from 0"
            )


def says_what_it_does(place: Place) -> Iterator[str]:
    """No empty name, predicate, condition or list."""
    if place.node.name is not None:
        yield from _filled("name", place.node.name)
    match place.node.operator:
        case Source(stream=stream, schema=schema):
            yield from _filled("stream", stream)
            for place_of, field in enumerate(schema.fields):
                yield from _filled(f"schema.fields[{place_of}].name", field.name)
                yield from _filled(f"schema.fields[{place_of}].type", field.type)
        case Select(predicate=predicate):
            yield from _filled("predicate", predicate)
        case Project(columns=columns):
            if not columns:
                yield "has no columns; name those to keep"
            yield from _filled_columns("columns", columns)
        case Split(conditions=conditions):
            if not conditions:
                yield "has no conditions; give one for each stream it should put out"
            for port, condition in enumerate(conditions):
                yield from _filled(f"conditions[{port}]", condition)
        case Join(condition=condition):
            if not condition.strip():
                yield "has an empty condition; write 'true' to join all pairs"
        case Aggregate(keys=keys, aggregates=aggregates):
            if not keys and not aggregates:
                yield "has neither keys nor aggregates; say what to compute"
            for place_of, key in enumerate(keys):
                yield from _filled(f"keys[{place_of}]", key)
            yield from _filled_columns("aggregates", aggregates)


def names_columns_once(place: Place) -> Iterator[str]:
    """No two columns of one name come out; upper and lower case are the same, as in Spark."""
    match place.node.operator:
        case Source(schema=schema):
            names: Iterable[str] = schema.names
        case Project(columns=columns):
            names = (column.name for column in columns)
        case Aggregate(keys=keys, aggregates=aggregates):
            names = (*keys, *(column.name for column in aggregates))
        case _:
            return
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            yield f"has two columns named '{name}'; rename one"
        seen.add(name.lower())


def reads_columns_that_exist(place: Place) -> Iterator[str]:
    """A plain name is a column of the input, where its schema is known; other expressions are not read."""
    match place.node.operator:
        case Project(columns=columns):
            expressions: Iterable[str] = (column.expression for column in columns)
        case Aggregate(keys=keys, aggregates=aggregates):
            expressions = (*keys, *(column.expression for column in aggregates))
        case _:
            return
    known = place.schemas[0]
    if not known.fields:
        return
    for name in expressions:
        if not _PLAIN_NAME.fullmatch(name) or name.lower() in _NOT_COLUMNS:
            continue
        if known.get(name) is None:
            yield (
                f"reads column '{name}', but its input has only: {', '.join(known.names)}."
                f"{closest(name, known.names)}"
            )


def unites_like_with_like(place: Place) -> Iterator[str]:
    """All inputs of a union have as many columns, where that is known."""
    if not isinstance(place.node.operator, Union):
        return
    widths = [len(schema.fields) for schema in place.schemas if schema.fields]
    if len(set(widths)) > 1:
        counted = " and ".join(str(width) for width in widths)
        yield f"has inputs of {counted} columns; project them to the same columns first"


def joins_one_way(place: Place) -> Iterator[str]:
    """A join is with a stored relation or with a second stream, not half of each."""
    operator = place.node.operator
    if not isinstance(operator, Join):
        return
    if operator.relation is None:
        if operator.relation_schema.fields:
            yield "has a relation_schema but no relation; name the relation, or leave its schema out"
        return
    yield from _filled("relation", operator.relation)
    if operator.left is not None or operator.right is not None:
        yield "has a window and a relation; a join with a stored relation needs no window, leave it out"
    if operator.type in ("right", "full") and place.endless[0] is not None:
        yield (
            f"keeps unmatched rows of the relation '{operator.relation}', but which those are is never known "
            f"on the endless stream '{place.endless[0]}'; make it an inner or a left join"
        )


def has_sound_windows(place: Place) -> Iterator[str]:
    """Windows that hold something and move on."""
    match place.node.operator:
        case Aggregate(window=window) if window is not None:
            yield from check_window("window", window)
        case Join(left=left, right=right):
            if left is not None:
                yield from check_window("left", left)
            if right is not None:
                yield from check_window("right", right)


def does_not_block(place: Place) -> Iterator[str]:
    """A window wherever an endless stream would have to end first."""
    operator = place.node.operator
    if not is_blocking(operator):
        return
    cure = "or read a stream that ends (endless: false)"
    if isinstance(operator, Join):
        for field, window, stream in zip(
            ("left", "right"), (operator.left, operator.right), place.endless, strict=True
        ):
            if window is None and stream is not None:
                yield (
                    f"has no {field} window, but the stream '{stream}' there never ends, so it would keep "
                    f"all rows for ever; give it a {field} window, {cure}"
                )
    elif place.endless[0] is not None:
        yield (
            f"has no window, but the stream '{place.endless[0]}' never ends, so it would never put out "
            f"a row; give it a window, {cure}"
        )


def is_estimated_soundly(place: Place) -> Iterator[str]:
    """Numbers in range, and one selectivity per port of a split."""
    estimate, operator = place.node.estimate, place.node.operator
    if estimate is None:
        return
    yield from check_estimate(estimate)
    if not estimate.ports:
        return
    if not isinstance(operator, Split):
        yield "has estimate.ports, which only a split has; use estimate.selectivity"
    elif len(estimate.ports) != len(operator.conditions):
        yield (
            f"has {len(estimate.ports)} estimate.ports for {_count(len(operator.conditions), 'condition')}; "
            "give one per condition, or none"
        )


RULES: tuple[Rule, ...] = (
    has_its_inputs,
    reads_ports_that_exist,
    says_what_it_does,
    names_columns_once,
    reads_columns_that_exist,
    unites_like_with_like,
    joins_one_way,
    has_sound_windows,
    does_not_block,
    is_estimated_soundly,
)


def endless_output(place: Place) -> str | None:
    """An endless stream that keeps the node putting out rows for ever; None if it ends at some time."""
    match place.node.operator:
        case Source(stream=stream, endless=endless):
            return stream if endless else None
        case Aggregate(window=window) if window is not None and window.end_of_query is not None:
            return None
        case Join(left=left, right=right) if left is not None and right is not None:
            if left.end_of_query is not None and right.end_of_query is not None:
                return None
    return next((stream for stream in place.endless if stream is not None), None)


def _filled(field: str, text: str) -> Iterator[str]:
    if not text.strip():
        yield f"has an empty {field}"


def _filled_columns(field: str, columns: tuple[Column, ...]) -> Iterator[str]:
    for place_of, column in enumerate(columns):
        yield from _filled(f"{field}[{place_of}].name", column.name)
        yield from _filled(f"{field}[{place_of}].expression", column.expression)
        if column.type is not None:
            yield from _filled(f"{field}[{place_of}].type", column.type)


def _count(number: int, thing: str) -> str:
    return f"{number or 'no'} {thing}{'' if number == 1 else 's'}"
