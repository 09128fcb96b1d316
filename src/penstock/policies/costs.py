"""The papers' equations: what an operator, a path or a unit costs and yields per row.

Everything is per row that enters, from estimates alone. `F`, the fixed part of a step, is added where a rank
divides by cost: over a train of `n` rows a row costs `F/n + c`; with `F = 0` the papers' formulas are left.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from penstock.model.estimates import Estimate, Estimates
from penstock.model.graph import Edge, Graph, Port
from penstock.model.operators import Sink
from penstock.policies.layout import UnitPlace


@dataclass(frozen=True, slots=True)
class UnitCost:
    """What a step of a unit costs and yields, on average, per row that enters.

    A row that several operators of the unit read from one queue enters once. `selectivity` counts rows that
    leave by any exit, `outputs` those that reach a sink; `out_bytes` goes into queues, `sink_bytes` leaves
    the system and takes no more memory. `kinds` are those of its operators, `leaf` if one reads a stream;
    `by_query` the rows that leave for each query.
    """

    fixed_s: float
    row_s: float
    selectivity: float
    outputs: float
    in_bytes: float
    out_bytes: float
    sink_bytes: float = 0.0
    operators: int = 1
    names: tuple[str, ...] = ()
    kinds: frozenset[str] = frozenset()
    by_query: Mapping[str, float] = field(default_factory=dict)

    def per_row_s(self, rows: int) -> float:
        """Seconds per row of a train of that many rows: `F/n + c`."""
        return self.fixed_s / rows + self.row_s if rows else self.fixed_s + self.row_s


def release_capacity(estimate: Estimate) -> float:
    """Bytes per second one operator frees: `(in_size − out_size · s) / c`."""
    freed = estimate.in_bytes - estimate.out_bytes * estimate.selectivity
    return freed / max(estimate.cost_s, 1e-12)


def memory_estimate(graph: Graph, estimates: Estimates, name: str, *, results: bool = False) -> Estimate:
    """The operator's estimate with, as its selectivity, the rows that stay in memory for other operators.

    A result that leaves takes none, so at a root nothing stays, unless `results` count as well, as in the
    thesis' equation; of a split every port that is read counts.
    """
    estimate = estimates.of(name)
    edges = (*graph.edges[name], *graph.sinks[name]) if results else graph.edges[name]
    kept = sum(estimate.yield_of(port.output) for port in _ports(edges))
    return replace(estimate, selectivity=kept, ports=())


def progress(path: Sequence[Estimate]) -> list[tuple[float, float]]:
    """Chain's progress chart of a path: after each operator, seconds spent and bytes left of one row."""
    points = [(0.0, path[0].in_bytes)]
    seconds, share = 0.0, 1.0
    for estimate in path:
        seconds += share * estimate.cost_s
        share *= estimate.selectivity
        points.append((seconds, share * estimate.out_bytes))
    return points


def input_rates(graph: Graph, estimates: Estimates) -> dict[str, float]:
    """Rows per second that reach each node; a stream of unknown rate counts as 1/s."""
    rates: dict[str, float] = {}
    for name, node in graph.nodes.items():
        if graph.is_source(name):
            rates[name] = estimates.rates.get(name, 1.0)
        else:
            rates[name] = sum(port_rate(graph, estimates, rates, port) for port in node.inputs)
    return rates


def port_rate(graph: Graph, estimates: Estimates, rates: Mapping[str, float], port: Port) -> float:
    """Rows per second out of a port, given the rates into each node."""
    if graph.is_source(port.node):
        return rates[port.node]
    return rates[port.node] * estimates.of(port.node).yield_of(port.output)


def load(estimates: Estimates, rates: Mapping[str, float], names: Iterable[str]) -> float:
    """Seconds of work that arrive for some operators in a second."""
    return sum(rates[name] * estimates.of(name).cost_s for name in names)


def spare_seconds(cost_s: float, rate: float) -> float:
    """Seconds between two rows that the work on one leaves free, `d − c`; without end where none arrives."""
    return (1.0 / rate if rate > 0 else math.inf) - cost_s


def partition_capacity(
    graph: Graph, estimates: Estimates, rates: Mapping[str, float], names: Iterable[str]
) -> float:
    """HMTS's `cap(P) = d(P) − c(P)`, with `c(P) = Σ c(v)` and `d(P) = 1 / Σ (1/d(v))`; negative if it stalls.

    `rates` are those into each node, `1/d(v)`. A stream does no work and counts for nothing.
    """
    operators = [name for name in names if not graph.is_source(name)]
    return spare_seconds(
        sum(estimates.of(name).cost_s for name in operators), sum(rates[name] for name in operators)
    )


def unit_cost(graph: Graph, estimates: Estimates, rates: Mapping[str, float], place: UnitPlace) -> UnitCost:
    """A unit's cost per row that enters it, its entries weighted by how many rows each brings."""
    brought = {edge.port: port_rate(graph, estimates, rates, edge.port) for edge in place.entries}
    total = sum(brought.values()) or 1.0
    flow = dict.fromkeys(place.unit.operators, 0.0)
    sizes: dict[Port, float] = {}
    for edge in place.entries:
        flow[edge.reader] += brought[edge.port] / total
        sizes[edge.port] = brought[edge.port] / total * estimates.of(edge.reader).in_bytes
    row_s = selectivity = outputs = out_bytes = sink_bytes = 0.0
    queued = set(place.exits)
    by_query: dict[str, float] = {}
    for name in place.unit.operators:
        estimate = estimates.of(name)
        row_s += flow[name] * estimate.cost_s
        for edge in graph.sinks[name]:
            outputs += flow[name] * estimate.yield_of(edge.port.output)
            _add(by_query, _sink(graph, edge), flow[name] * estimate.yield_of(edge.port.output))
            sink_bytes += flow[name] * estimate.yield_of(edge.port.output) * estimate.out_bytes
        for edge in graph.edges[name]:
            if edge in place.direct:
                flow[edge.reader] += flow[name] * estimate.yield_of(edge.port.output)
        for port in _ports(graph.edges[name]):
            if port in queued:
                leaving = flow[name] * estimate.yield_of(port.output)
                selectivity += leaving
                out_bytes += leaving * estimate.out_bytes
                for query in _readers(graph, place, port):
                    _add(by_query, query, leaving)
    return UnitCost(
        fixed_s=estimates.fixed_of(place.unit.operators) + estimates.dispatch_s * len(place.unit.operators),
        row_s=max(row_s, 1e-12),
        selectivity=selectivity + outputs,
        outputs=outputs,
        in_bytes=sum(sizes.values()),
        out_bytes=out_bytes,
        sink_bytes=sink_bytes,
        operators=len(place.unit.operators),
        names=place.unit.operators,
        kinds=_kinds(graph, place),
        by_query=by_query,
    )


def _kinds(graph: Graph, place: UnitPlace) -> frozenset[str]:
    kinds: set[str] = {graph.nodes[name].operator.kind for name in place.unit.operators}
    if any(graph.is_source(edge.port.node) for edge in place.entries):
        kinds.add("leaf")
    return frozenset(kinds)


def _add(sums: dict[str, float], name: str, more: float) -> None:
    sums[name] = sums.get(name, 0.0) + more


def _sink(graph: Graph, edge: Edge) -> str:
    """The query whose result goes to a sink."""
    sink = graph.nodes[edge.reader].operator
    assert isinstance(sink, Sink)
    return sink.query


def _readers(graph: Graph, place: UnitPlace, port: Port) -> dict[str, None]:
    """The queries that go on with what leaves a unit by a port."""
    readers = [e.reader for e in graph.edges[port.node] if e.port == port and e not in place.direct]
    return dict.fromkeys(query for reader in readers for query in graph.users[reader])


def _ports(edges: Iterable[Edge]) -> dict[Port, None]:
    return dict.fromkeys(edge.port for edge in edges)
