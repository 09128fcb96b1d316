"""Hypothesis strategies for whole queries that can run: every operator, every field, odd names included."""

from __future__ import annotations

from typing import Literal

from hypothesis import strategies as st

from penstock.model.estimates import Estimate
from penstock.model.operators import (
    Aggregate,
    Column,
    Join,
    Operator,
    Project,
    Select,
    Sink,
    Source,
    Split,
    Union,
    output_count,
    output_schema,
)
from penstock.model.qos import QoS
from penstock.model.query import PlanNode, Query
from penstock.model.schema import EMPTY, Field, Schema
from penstock.model.window import Window

JoinType = Literal["inner", "left", "right", "full"]

texts = st.text(min_size=1, max_size=8).filter(str.strip)
#: With a sign in it no text is a plain column name.
expressions = texts.map(lambda text: f"{text} + 1")
types = st.sampled_from(["int", "double", "string", "timestamp", "decimal(10,2)"])
shares = st.floats(0, 1, exclude_min=True)
positive = st.floats(0, 1e12, exclude_min=True)
not_negative = st.floats(0, 1e12)

qualities = st.builds(
    QoS,
    latency_s=st.none() | positive,
    memory_bytes=st.none() | positive,
    throughput_per_s=st.none() | positive,
    freshness=st.none() | shares,
    weight=shares,
    tolerance=st.floats(0, 1, exclude_max=True),
)


def column_names(least: int = 1) -> st.SearchStrategy[list[str]]:
    """Names that differ by more than upper and lower case."""
    return st.lists(texts, min_size=least, max_size=3, unique_by=str.lower)


@st.composite
def schemas(draw: st.DrawFn) -> Schema:
    """Between one and three columns."""
    return Schema(tuple(Field(name, draw(types)) for name in draw(column_names())))


@st.composite
def windows(draw: st.DrawFn) -> Window:
    """Windows by time and by count that hold something and move on."""
    kind: Literal["time", "count"] = draw(st.sampled_from(("time", "count")))
    whole = st.integers(0, 1000).map(float)
    begin = draw(whole if kind == "count" else st.floats(-1e6, 1e6))
    width = draw(st.integers(1, 1000))
    return Window(
        kind,
        end=begin + width,
        begin=begin,
        hop=draw(st.none() | st.integers(1, width).map(float)),
        end_of_query=draw(st.none() | st.integers(1, 10**6).map(lambda length: begin + length)),
    )


def estimates(operator: Operator) -> st.SearchStrategy[Estimate]:
    """Any cost and yield, for a split sometimes one per port."""
    ports: st.SearchStrategy[tuple[float, ...]] = st.just(())
    if isinstance(operator, Split):
        ports |= st.tuples(*(not_negative for _ in operator.conditions))
    return st.builds(
        Estimate,
        cost_s=not_negative,
        selectivity=not_negative,
        in_bytes=not_negative,
        out_bytes=not_negative,
        ports=ports,
    )


@st.composite
def columns(draw: st.DrawFn, below: Schema, names: list[str]) -> tuple[Column, ...]:
    """Columns of those names, plain ones and computed ones."""
    plain = st.sampled_from(below.names) if below.fields else st.nothing()
    return tuple(Column(name, draw(plain | expressions), draw(st.none() | types)) for name in names)


@st.composite
def unary(draw: st.DrawFn, below: Schema) -> Operator:
    """An operator with one input of that schema."""
    kind = draw(st.sampled_from(("select", "project", "split", "aggregate", "lookup")))
    if kind == "select":
        return Select(draw(texts))
    if kind == "split":
        return Split(tuple(draw(st.lists(texts, min_size=1, max_size=3))))
    if kind == "lookup":
        type_: Literal["inner", "left"] = draw(st.sampled_from(("inner", "left")))
        known = draw(st.just(EMPTY) | schemas())
        return Join(draw(texts), relation=draw(texts), relation_schema=known, type=type_)
    names = draw(column_names())
    if kind == "project":
        return Project(draw(columns(below, names)))
    keys = [key for key in below.names if draw(st.booleans())]
    names = [name for name in names if name.lower() not in {key.lower() for key in keys}]
    names = names if keys or names else ["all"]
    return Aggregate(tuple(keys), draw(columns(below, names)), draw(windows()))


@st.composite
def binary(draw: st.DrawFn, below: list[Schema]) -> Operator:
    """An operator with two inputs of these schemas."""
    widths = {len(schema.fields) for schema in below if schema.fields}
    if len(widths) < 2 and draw(st.booleans()):
        return Union(ordered=draw(st.booleans()))
    type_: JoinType = draw(st.sampled_from(("inner", "left", "right", "full")))
    return Join(draw(texts), draw(windows()), draw(windows()), type=type_, ordered=draw(st.booleans()))


@st.composite
def plans(draw: st.DrawFn, depth: int) -> tuple[PlanNode, Schema]:
    """A plan of at most that many operators above its streams, and its schema."""
    if depth == 0:
        source = Source(draw(texts), draw(st.just(EMPTY) | schemas()), draw(st.booleans()))
        return PlanNode(source), source.schema
    inputs = [draw(plans(draw(st.integers(0, depth - 1)))) for _ in range(draw(st.integers(1, 2)))]
    below = [schema for _, schema in inputs]
    operator = draw(unary(below[0]) if len(below) == 1 else binary(below))
    children = tuple(node for node, _ in inputs)
    node = PlanNode(
        operator,
        children,
        tuple(draw(st.integers(0, output_count(child.operator) - 1)) for child in children)
        if draw(st.booleans())
        else (),
        draw(st.none() | texts),
        draw(st.none() | estimates(operator)),
    )
    return node, output_schema(operator, tuple(below))


@st.composite
def queries(draw: st.DrawFn, max_depth: int = 4) -> Query:
    """A query that can run."""
    name = draw(texts)
    root, _ = draw(plans(draw(st.integers(0, max_depth))))
    if isinstance(root.operator, Split) or draw(st.booleans()):
        root = PlanNode(Sink(name), (root,))
    return Query(name, root, draw(qualities), draw(st.none() | not_negative))
