"""Watermarks through a unit: what is known of each operator's inputs, and so of what it puts out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

from penstock.engines.spark.operators.base import UNKNOWN
from penstock.model.graph import Graph, Port
from penstock.model.operators import is_stateful
from penstock.policies.layout import UnitPlace

#: The watermark at each input of each operator: (operator, slot).
Watermarks: TypeAlias = dict[tuple[str, int], int]
#: The watermark at the output of each stateful operator, as it last said.
Outputs: TypeAlias = dict[str, int]


def output_mark(graph: Graph, name: str, marks: Mapping[tuple[str, int], int], outputs: Outputs) -> int:
    """The watermark of what an operator puts out: the least of its inputs', or what a stateful one says."""
    if is_stateful(graph.nodes[name].operator):
        return outputs.get(name, UNKNOWN)
    slots = range(len(graph.nodes[name].inputs))
    return min(marks.get((name, slot), UNKNOWN) for slot in slots)


def spread(graph: Graph, place: UnitPlace, name: str, marks: Watermarks, outputs: Outputs) -> int:
    """Tells the operators that an operator feeds directly how far its time has come."""
    mark = output_mark(graph, name, marks, outputs)
    for edge in graph.edges[name]:
        if edge in place.direct:
            raise_to(marks, (edge.reader, edge.slot), mark)
    return mark


def raise_to(marks: Watermarks, key: tuple[str, int], mark: int) -> None:
    """Watermarks only grow."""
    if mark > marks.get(key, UNKNOWN):
        marks[key] = mark


def exit_marks(graph: Graph, place: UnitPlace, marks: Watermarks, outputs: Outputs) -> dict[Port, int]:
    """The watermark at each port that leaves a unit, after those of its inputs have grown."""
    for name in place.unit.operators:
        spread(graph, place, name, marks, outputs)
    return {port: output_mark(graph, port.node, marks, outputs) for port in place.exits}
