"""What every cut has in common: its protocol, and walks over the graph."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from penstock.model.estimates import Estimates
from penstock.model.graph import Graph
from penstock.model.unit import Cut, Unit


class Cutter(Protocol):
    """A way to cut: frozen, with its parameters as fields."""

    def cut(self, graph: Graph, estimates: Estimates) -> Cut:
        """Divides the graph into units that cover it."""
        ...


def operator_paths(graph: Graph) -> list[tuple[str, ...]]:
    """The operator paths: from each leaf up to the root of its query, one per leaf.

    A path ends at a fork (each branch begins a path of its own, since a row must pass the shared operators
    once) and before an operator that takes its inputs in time order. So paths meet only above a join or a
    union that takes rows as they come.
    """
    return [_climb(graph, name) for name in graph.operators if _begins_path(graph, name)]


def _begins_path(graph: Graph, name: str) -> bool:
    return graph.is_ordered(name) or any(
        graph.is_source(port.node) or graph.is_fork(port.node) for port in graph.nodes[name].inputs
    )


def _climb(graph: Graph, name: str) -> tuple[str, ...]:
    path = [name]
    while not graph.is_fork(path[-1]) and graph.edges[path[-1]]:
        above = graph.edges[path[-1]][0].reader
        if graph.is_ordered(above):
            break
        path.append(above)
    return tuple(path)


def unit_of(graph: Graph, names: Iterable[str]) -> Unit:
    """A unit of these operators, inputs first."""
    return Unit(tuple(sorted(names, key=graph.position.__getitem__)))


def in_graph_order(graph: Graph, units: Iterable[Unit]) -> Cut:
    """Units by the place of their first operators, so that a cut lists the bottom of the graph first."""
    return tuple(sorted(units, key=lambda unit: [graph.position[name] for name in unit.operators]))
