"""The least area under a chart that any cut and any order of its units can give, by trying them all.

N rows wait at a stream, N large, and each unit works through all of them before the next begins. So a cut
with an order is a way from 'no operator has run' to 'all have', whose steps are units; the chart falls
evenly during each. Only for trees, where rows reach an operator one way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import combinations

from penstock.errors import CutError
from penstock.model.estimates import Estimates
from penstock.model.graph import Graph
from penstock.policies.cuts.base import unit_of
from penstock.policies.layout import check_connected

Level = Callable[[frozenset[str]], float]


def shares(graph: Graph, estimates: Estimates) -> dict[str, float]:
    """Rows that reach each operator per row of its stream."""
    rows: dict[str, float] = dict.fromkeys(graph.sources, 1.0)
    for name in graph.operators:
        (port,) = graph.nodes[name].inputs
        passed = 1.0 if graph.is_source(port.node) else estimates.of(port.node).yield_of(port.output)
        rows[name] = rows[port.node] * passed
    return rows


def results_owed(graph: Graph, estimates: Estimates) -> Level:
    """The output completion chart: results not yet delivered once these operators have run."""
    rows = shares(graph, estimates)
    results = {
        name: sum(rows[name] * estimates.of(name).yield_of(edge.port.output) for edge in graph.sinks[name])
        for name in graph.operators
    }
    return lambda done: sum(owed for name, owed in results.items() if name not in done)


def bytes_held(graph: Graph, estimates: Estimates) -> Level:
    """The memory reduction chart: bytes in buffers, each shared by all that read it, once these have run."""
    rows = shares(graph, estimates)
    buffers: list[tuple[str, frozenset[str], float]] = []
    for name in (*graph.sources, *graph.operators):
        for port in {edge.port for edge in graph.edges[name]}:
            readers = frozenset(edge.reader for edge in graph.edges[name] if edge.port == port)
            if graph.is_source(name):
                size = max(estimates.of(reader).in_bytes for reader in readers)
            else:
                size = rows[name] * estimates.of(name).yield_of(port.output) * estimates.of(name).out_bytes
            buffers.append((name, readers, size))
    return lambda done: sum(
        size
        for name, readers, size in buffers
        if (graph.is_source(name) or name in done) and not readers <= done
    )


def least_area(
    graph: Graph, estimates: Estimates, level: Level, steps: Iterable[frozenset[str]] | None = None
) -> float:
    """The least area of all cuts in all orders; with `steps` given, of the orders of these units only."""
    rows = shares(graph, estimates)
    if steps is None:
        steps = _connected_sets(graph)
    seconds = {step: sum(rows[name] * estimates.of(name).cost_s for name in step) for step in steps}
    least: dict[frozenset[str], float] = {frozenset(): 0.0}
    # A step adds operators, so by size every way to a set is known before a way from it is tried.
    for size in range(len(graph.operators)):
        for done in [done for done in least if len(done) == size]:
            for step, taken in seconds.items():
                if step & done or not _can_run(graph, step, done):
                    continue
                reached = done | step
                area = least[done] + taken * (level(done) + level(reached)) / 2
                least[reached] = min(area, least.get(reached, area))
    return least[frozenset(graph.operators)]


def _connected_sets(graph: Graph) -> list[frozenset[str]]:
    return [
        frozenset(chosen)
        for size in range(1, len(graph.operators) + 1)
        for chosen in combinations(graph.operators, size)
        if _is_connected(graph, chosen)
    ]


def _is_connected(graph: Graph, chosen: tuple[str, ...]) -> bool:
    try:
        check_connected(graph, unit_of(graph, chosen))
    except CutError:
        return False
    return True


def _can_run(graph: Graph, step: frozenset[str], done: frozenset[str]) -> bool:
    return all(
        graph.is_source(port.node) or port.node in done or port.node in step
        for name in step
        for port in graph.nodes[name].inputs
    )
