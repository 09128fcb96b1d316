"""Which columns flow at each port of the graph: the schema's, and the hidden ones something above needs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from penstock.engines.spark.operators.base import RowLayout
from penstock.model.graph import Edge, Graph, Port
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
    is_stateful,
    output_count,
    output_schema,
)
from penstock.model.schema import UNTYPED, Field, Schema
from penstock.plan.alternates.safety import depends_on_order, reads_clock


@dataclass(frozen=True, slots=True)
class Needs:
    """What readers of a port ask for beside its schema."""

    order: bool = False
    late: bool = False
    epoch: bool = False
    now: bool = False

    def __or__(self, other: Needs) -> Needs:
        return Needs(
            self.order or other.order,
            self.late or other.late,
            self.epoch or other.epoch,
            self.now or other.now,
        )


@dataclass(frozen=True, slots=True)
class Layouts:
    """The layout of every port, and that of every input of a stateful operator.

    What a stateful operator is asked for (`asked`) stays as it was when it began, whatever queries come and
    go: what it remembers has those columns. The rows of `logged` nodes are still those of a stream, each with
    its offset: nothing below remembers any.
    """

    ports: Mapping[Port, RowLayout]
    inputs: Mapping[tuple[str, int], RowLayout]
    asked: Mapping[str, Needs]
    logged: frozenset[str]
    needs: Mapping[tuple[str, int], Needs]  # what each operator asks of each of its inputs

    def read_by(self, port: Port, edges: Iterable[Edge]) -> RowLayout:
        """The columns of a port that some of its readers need; what only others need is none of theirs."""
        layout, needs = self.ports[port], Needs()
        for edge in edges:
            needs |= self.needs[edge.reader, edge.slot]
        return replace(
            layout,
            order=layout.order if needs.order else 0,
            late=layout.late and needs.late,
            epoch=layout.epoch and needs.epoch,
            now=layout.now and needs.now,
        )


def layouts(graph: Graph, before: Mapping[str, Needs] | None = None) -> Layouts:
    """The layouts of a graph; `before` is what stateful operators that run already are asked for."""
    needs: dict[str, Needs] = {name: Needs() for name in graph.nodes}
    asked: dict[str, Needs] = {}
    of_inputs: dict[tuple[str, int], Needs] = {}
    logged = _logged(graph)
    for name in reversed(list(graph.nodes)):
        operator = graph.nodes[name].operator
        if is_stateful(operator):
            asked[name] = needs[name] = (before or {}).get(name, needs[name])
        for slot, port in enumerate(graph.nodes[name].inputs):
            exact = isinstance(operator, Join) and operator.roster and port.node in logged
            of_inputs[name, slot] = _asked(operator, needs[name]) | Needs(order=exact)
            needs[port.node] |= of_inputs[name, slot]
    ports: dict[Port, RowLayout] = {}
    inputs: dict[tuple[str, int], RowLayout] = {}
    on_time: set[str] = set()  # nodes whose rows are never late: windows come out complete
    for name, node in graph.nodes.items():
        below = tuple(ports[port] for port in node.inputs)
        if is_stateful(node.operator):
            own = _asked(node.operator, needs[name])
            for slot, layout in enumerate(below):
                order = layout.order if own.order else 0
                late = layout.late and own.late and takes_late_rows(node.operator)
                inputs[name, slot] = RowLayout(layout.schema, order, late, own.epoch, own.now)
            below = tuple(inputs[name, slot] for slot in range(len(below)))
        completes = is_stateful(node.operator) and not _carries_late(node.operator)
        if completes or (node.inputs and all(p.node in on_time for p in node.inputs)):
            on_time.add(name)
        layout = RowLayout(
            _schema(node.operator, tuple(layout.schema for layout in below)),
            order=_arity(node.operator, below) if needs[name].order else 0,
            late=needs[name].late and name not in on_time,
            epoch=needs[name].epoch,
            now=needs[name].now,
        )
        for output in range(output_count(node.operator)):
            ports[Port(name, output)] = layout
    return Layouts(ports, inputs, asked, logged, of_inputs)


def _logged(graph: Graph) -> frozenset[str]:
    found: set[str] = set()
    for name, node in graph.nodes.items():
        if not is_stateful(node.operator) and all(port.node in found for port in node.inputs):
            found.add(name)
    return frozenset(found)


def _asked(operator: Operator, above: Needs) -> Needs:
    """What an operator asks of an input, given what is asked of it."""
    match operator:
        case Aggregate() | Join(relation=None):
            ordered = above.order or depends_on_order(operator)
            return Needs(order=ordered, late=_asks_lateness(operator), epoch=above.epoch)
        case Join():
            now = above.now or _clock((operator.condition,))
            return replace(above, epoch=above.epoch or not operator.roster, now=now)
        case Select(predicate=predicate):
            return replace(above, now=above.now or _clock((predicate,)))
        case Split(conditions=conditions):
            return replace(above, now=above.now or _clock(conditions))
        case Project(columns=columns) | Sink(columns=columns):
            return replace(above, now=above.now or _clock(column.expression for column in columns))
        case Union(ordered=True):
            return replace(above, order=True, late=True)
        case Union() | Source():
            return above


def takes_late_rows(operator: Operator) -> bool:
    """Whether an operator decides by itself which late rows it takes; others take none."""
    return isinstance(operator, Aggregate) and (
        operator.window is None or operator.window.kind in ("time", "given")
    )


def _carries_late(operator: Operator) -> bool:
    return isinstance(operator, Aggregate) and operator.carries_late


def _asks_lateness(operator: Operator) -> bool:
    """Without a window nothing closes before the stream ends, so that all rows are taken."""
    return not isinstance(operator, Aggregate) or operator.window is not None


def _clock(texts: Iterable[str]) -> bool:
    return any(reads_clock(text) for text in texts)


def _arity(operator: Operator, inputs: tuple[RowLayout, ...]) -> int:
    """How many columns tell rows of one instant apart."""
    match operator:
        case Source():
            return 2  # the stream's number, and the offset
        case Union():
            return max(layout.order for layout in inputs) + 1  # and which input it came by
        case Join(relation=None):
            return sum(layout.order for layout in inputs)
        case _:
            return inputs[0].order


def _schema(operator: Operator, inputs: tuple[Schema, ...]) -> Schema:
    """What comes out, the type of a window included."""
    schema = output_schema(operator, inputs)
    if not isinstance(operator, Aggregate) or operator.window is None:
        return schema
    bound = "bigint" if operator.window.kind == "count" else "timestamp"
    windows = {column.name for column in operator.aggregates if is_window(column)}
    return Schema(
        tuple(
            Field(field.name, f"struct<start:{bound},end:{bound}>")
            if field.name in windows and field.type == UNTYPED
            else field
            for field in schema.fields
        )
    )


def is_window(column: Column) -> bool:
    """Whether an aggregate is the window itself."""
    return column.expression == "window()"
