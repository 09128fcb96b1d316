"""Graphs as the papers draw them: a name for each operator, and what it reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.model.estimates import Estimate, Estimates
from penstock.model.graph import Graph, Node, Port
from penstock.model.operators import Operator, Select, Sink, Source, Union
from penstock.model.unit import Cut


def graph_of(
    reads: Mapping[str, str],
    operators: Mapping[str, Operator] | None = None,
    *,
    delivering: Iterable[str] = (),
) -> Graph:
    """`graph_of({"O1": "s", "O2": "O1"})`: what is not listed is a stream, what nobody reads a result.

    An operator is a select, or a union if it reads several, unless `operators` says otherwise. `split:1` is
    port 1 of a split. Results leave also from those that are `delivering`.
    """
    inputs = {name: tuple(_port(text) for text in below.split()) for name, below in reads.items()}
    read = dict.fromkeys(port.node for ports in inputs.values() for port in ports)
    nodes = {name: Node(name, Source(name)) for name in read if name not in reads}
    for name, ports in inputs.items():
        default = Union() if len(ports) > 1 else Select(f"{name} > 0")
        nodes[name] = Node(name, (operators or {}).get(name, default), ports)
    for name in reads:
        if name not in read or name in delivering:
            nodes[f"{name}.sink"] = Node(f"{name}.sink", Sink(name), (Port(name),))
    return Graph(nodes)


def _port(text: str) -> Port:
    node, _, output = text.partition(":")
    return Port(node, int(output or 0))


def costing(**seconds: float) -> Estimates:
    """Operators that let everything through, for so many seconds each."""
    return Estimates({name: Estimate(cost_s=cost) for name, cost in seconds.items()})


def releasing(graph: Graph, **bytes_per_s: float) -> Estimates:
    """Operators that each free so many bytes per second; a root frees all it gets, only how fast varies."""
    return Estimates(
        {
            name: Estimate(cost_s=1.0, in_bytes=1000.0, out_bytes=1000.0 - rate)
            if graph.edges[name]
            else Estimate(cost_s=1000.0 / rate, in_bytes=1000.0)
            for name, rate in bytes_per_s.items()
        }
    )


def names(cut: Cut) -> list[str]:
    """The units, for people."""
    return ["+".join(unit.operators) for unit in cut]
