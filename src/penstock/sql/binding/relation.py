"""The plan so far while a SELECT is bound, and the steps that extend it.

Expressions are already texts over the relation's own columns. What is kept beside the plan is what the next
step must know: which columns the watermark follows, how far apart they can be, and a window that waits for
the join or aggregate it belongs to.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Literal, TypeAlias

from sqlglot import exp

from penstock.model.operators import (
    Aggregate,
    Column,
    Join,
    Operator,
    Project,
    Select,
    Source,
    Union,
    output_schema,
)
from penstock.model.query import PlanNode
from penstock.model.schema import Schema
from penstock.model.window import Window
from penstock.sql.text.dialect import parse_expression

#: Seconds by which the second of two time columns can be later than the first, where that is bounded.
Gaps: TypeAlias = Mapping[tuple[str, str], float]
Dated: TypeAlias = Literal["by row", "by window", "otherwise"]


@dataclass(frozen=True, slots=True)
class Relation:
    """A plan and its columns.

    `times` are the columns whose values the watermark follows: timestamps, or the windows of an aggregate.
    `timed` is whether rows have a time at all. `ingested` is whether each row is one row of a stream, so that
    the time it was taken in is known. `dated` is how `times` say when a row was: they are its time, or the
    window that it ends, or neither, as of a pair, whose time is the later of two. A stored table has no node
    but a name.
    """

    node: PlanNode | None
    schema: Schema
    times: Mapping[str, Literal["instant", "window"]] = field(default_factory=dict)
    gaps: Gaps = field(default_factory=dict)
    timed: bool = False
    ingested: bool = True
    dated: Dated = "by row"
    port: int = 0
    window: Window | None = None
    table: str | None = None

    @classmethod
    def stream(cls, source: Source) -> Relation:
        """The rows of a stream."""
        times: dict[str, Literal["instant", "window"]] = {source.time: "instant"} if source.time else {}
        return cls(PlanNode(source), source.schema, times, timed=source.time is not None)

    @classmethod
    def stored(cls, name: str, schema: Schema) -> Relation:
        """A stored table."""
        return cls(None, schema, table=name)

    @property
    def time_column(self) -> str | None:
        """The one column that is the row's time, if there is just one."""
        return next(iter(self.times)) if len(self.times) == 1 else None

    def above(self, operator: Operator, *others: Relation) -> PlanNode:
        """The operator reading this relation and others."""
        inputs = (self, *others)
        nodes = tuple(one.node for one in inputs if one.node is not None)
        ports = tuple(one.port for one in inputs)
        return PlanNode(operator, nodes, ports if any(ports) else ())

    def windowed(self, window: Window) -> Relation:
        """The relation with a window that the next join or aggregate takes."""
        return replace(self, window=window)

    @property
    def endless(self) -> bool:
        """Whether some stream it is made from never ends."""
        nodes = self.node.post_order() if self.node is not None else ()
        return any(isinstance(node.operator, Source) and node.operator.endless for node in nodes)

    def where(self, predicate: str) -> Relation:
        """The rows that satisfy a predicate."""
        return replace(self, node=self.above(Select(predicate)), port=0)

    def select(self, columns: Sequence[Column]) -> Relation:
        """Columns computed from each row; the relation itself if they are just its own."""
        own = tuple((name, name) for name in self.schema.names)
        if tuple((column.name, _plain(column.expression)) for column in columns) == own:
            return self
        operator = Project(tuple(columns))
        origins = {
            column.name: origin for column in columns if (origin := self.time_origin(column.expression))
        }
        times: dict[str, Literal["instant", "window"]] = {
            name: self.times[origin] if _plain(_expression(columns, name)) == origin else "instant"
            for name, origin in origins.items()
        }
        gaps = {
            (one, other): gap
            for one, other in product(origins, repeat=2)
            if one != other
            for gap in [
                0.0 if origins[one] == origins[other] else self.gaps.get((origins[one], origins[other]))
            ]
            if gap is not None
        }
        return replace(
            self,
            node=self.above(operator),
            schema=output_schema(operator, (self.schema,)),
            times=times,
            gaps=gaps,
            port=0,
        )

    def time_origin(self, expression: str) -> str | None:
        """The time column that an expression has its value from: itself, or the end or time of a window."""
        return time_origin(parse_expression(expression), self.times)

    def union(self, others: Iterable[Relation]) -> Relation:
        """All rows of all; the times are those columns that are times in all."""
        inputs = (self, *others)
        places = [
            {place: one.times[name] for place, name in enumerate(one.schema.names) if name in one.times}
            for one in inputs
        ]
        times = {
            name: places[0][place]
            for place, name in enumerate(self.schema.names)
            if place in places[0] and all(other.get(place) == places[0][place] for other in places)
        }
        return Relation(
            self.above(Union(), *inputs[1:]),
            self.schema,
            times,
            timed=all(one.timed for one in inputs),
            ingested=all(one.ingested for one in inputs),
            dated=self.dated if all(one.dated == self.dated for one in inputs) else "otherwise",
        )

    def in_order(self) -> Relation:
        """The rows in the order of their time, without late ones; branches of a union are merged."""
        operator, node = Union(ordered=True), self.node
        if node is not None and node.operator == Union():
            return replace(self, node=replace(node, operator=operator))
        return replace(self, node=self.above(operator), port=0)

    def aggregate(self, keys: Sequence[str], aggregates: Sequence[Column], window: Window | None) -> Relation:
        """Groups of a window's rows."""
        operator = Aggregate(tuple(keys), tuple(aggregates), window)
        times: dict[str, Literal["instant", "window"]] = {}
        if window is not None and window.kind in ("time", "session"):
            times |= {column.name: "window" for column in aggregates if column.expression == "window()"}
        if window is not None and window.kind == "given":
            times |= {key: self.times[key] for key in keys if key in self.times}
        gaps = {pair: gap for pair, gap in self.gaps.items() if set(pair) <= set(times)}
        schema = output_schema(operator, (self.schema,))
        return Relation(
            self.above(operator),
            schema,
            times,
            gaps,
            timed=self.timed,
            ingested=False,
            dated=self._dated(window),
        )

    def _dated(self, window: Window | None) -> Dated:
        """How groups of a window are."""
        if window is None or window.kind == "count":
            return "otherwise"
        if window.kind != "given":
            return "by window"
        return "by row" if window.on is not None and self.times.get(window.on) == "instant" else "by window"

    def join_table(self, table: Relation, condition: str, type_: Literal["inner", "left"]) -> Relation:
        """Each row with the rows of a stored table that match it."""
        assert table.table is not None
        operator = Join(condition, relation=table.table, relation_schema=table.schema, type=type_)
        schema = output_schema(operator, (self.schema,))
        return replace(self, node=self.above(operator), schema=schema, port=0)


def _plain(expression: str) -> str | None:
    tree = parse_expression(expression)
    return tree.name if isinstance(tree, exp.Column) and len(tree.parts) == 1 else None


def _expression(columns: Sequence[Column], name: str) -> str:
    return next(column.expression for column in columns if column.name == name)


def time_origin(tree: exp.Expr, times: Mapping[str, str]) -> str | None:
    """The time column that an expression has its value from, if it has it from one."""
    match tree:
        case exp.Paren():
            return time_origin(tree.this, times)
        case exp.Column() if len(tree.parts) == 1:
            return tree.name if tree.name in times else None
        case exp.Column() if len(tree.parts) == 2 and tree.name.lower() == "end":
            return tree.table if times.get(tree.table) == "window" else None
        case exp.Dot() if isinstance(tree.this, exp.Column) and tree.expression.name.lower() == "end":
            return tree.this.name if times.get(tree.this.name) == "window" else None
        case exp.Anonymous() if tree.name.lower() == "window_time" and len(tree.expressions) == 1:
            origin = time_origin(tree.expressions[0], times)
            return origin if origin is not None and times[origin] == "window" else None
    return None
