"""Which class runs which stateful operator."""

from __future__ import annotations

from penstock.engines.spark.operators.base import StatefulOperator, micros
from penstock.engines.spark.operators.count_aggregate import CountAggregate
from penstock.engines.spark.operators.grouping import Grouping
from penstock.engines.spark.operators.join import StreamJoin
from penstock.engines.spark.operators.layouts import Layouts
from penstock.engines.spark.operators.over_nothing import OverNothing, over_nothing
from penstock.engines.spark.operators.session_aggregate import SessionAggregate
from penstock.engines.spark.operators.time_order import TimeOrder
from penstock.engines.spark.operators.window_aggregate import WindowAggregate
from penstock.model.graph import Graph, Port
from penstock.model.operators import Aggregate, Join, Union


def stateful_operators(graph: Graph, layouts: Layouts) -> dict[str, StatefulOperator]:
    """All stateful operators of a graph, by name."""
    found: dict[str, StatefulOperator] = {}
    for name in graph.operators:
        node = graph.nodes[name]
        output = layouts.ports[Port(name)]
        match node.operator:
            case Aggregate() as aggregate:
                grouping = Grouping(aggregate, layouts.inputs[name, 0], output)
                found[name] = _aggregate(grouping, over_nothing(graph, name, grouping))
            case Join(relation=None) as join:
                found[name] = StreamJoin(join, layouts.inputs[name, 0], layouts.inputs[name, 1], output)
            case Union(ordered=True, every_s=every_s):
                below = [layouts.inputs[name, slot] for slot in range(len(node.inputs))]
                found[name] = TimeOrder(below, output, 1 if every_s is None else micros(every_s))
    return found


def _aggregate(grouping: Grouping, nothing: OverNothing | None) -> StatefulOperator:
    aggregate, below, output = grouping.aggregate, grouping.below, grouping.output
    kind = aggregate.window.kind if aggregate.window is not None else "time"
    match kind:
        case "session":
            return SessionAggregate(aggregate, below, output)
        case "count":
            return CountAggregate(aggregate, below, output)
        case _:
            return WindowAggregate(grouping, nothing)
