"""Stream Mill's cut for memory: branches that share a buffer read it together."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, groupby
from operator import attrgetter

from penstock.model.estimates import Estimates
from penstock.model.graph import Edge, Graph, Port
from penstock.model.unit import Cut
from penstock.policies.costs import memory_estimate
from penstock.policies.cuts.base import pruned
from penstock.policies.cuts.charts import Stretch, prepend, side_by_side


@dataclass(frozen=True, slots=True)
class MemoryChartCut:
    """Memory chart: Chain for forks that share one buffer, whose first operators run together.

    A row in a shared buffer is freed by the last of its readers, so some of them without the others free
    nothing. All together form the fork segment, also where they read a stream. Each port of a split is a
    buffer of its own. The memory reduction chart of a tree is partitioned bottom-up over its forks. Above a
    join or a union the graph is cut as by Chain, each operator path that meets there going on to the next
    fork, and a unit that another equals or contains is dropped.

    Paper:      Stream Mill 2008, 4 (memory minimization on forks)
    Equation:   a fork segment takes Σ τ_b and frees M_in − Σ σ_b·M_b; the steepest slope first
    Reads:      cost, selectivity, sizes
    Use when:   memory is scarce and queries share streams or operators
    Avoid when: latency matters, or a branch is so slow that all others should not wait for it
    Cost:       O(n·depth + n log n), above joins the sum of path lengths
    """

    def cut(self, graph: Graph, estimates: Estimates) -> Cut:
        """The partitions of the charts that begin at streams, forks above merges and ordered merges."""
        merged = _above_merges(graph)
        found: list[Stretch] = []
        after: dict[str, list[Stretch]] = {}
        for name in (*reversed(graph.operators), *graph.sources):
            charts = {
                port: _chart(graph, estimates, port, tuple(edges), after)
                for port, edges in groupby(sorted(graph.edges[name]), key=attrgetter("port"))
            }
            if graph.is_source(name) or (name in merged and graph.is_fork(name)):
                found.extend(chain.from_iterable(charts.values()))
                charts = {}
            after[name] = side_by_side(
                stretch.scaled(estimates.of(name).yield_of(port.output))
                for port, chart in charts.items()
                for stretch in chart
            )
            if graph.is_ordered(name):
                alone = memory_estimate(graph, estimates, name)
                freed = alone.in_bytes - alone.selectivity * alone.out_bytes
                found.extend(prepend(Stretch.of((name,), alone.cost_s, freed), after[name]))
        return pruned(graph, (stretch.operators for stretch in found))


def _above_merges(graph: Graph) -> set[str]:
    """The operators that paths share: from each that merges or orders its inputs to the next fork."""
    merged: set[str] = set()
    for name in graph.operators:
        below = graph.nodes[name].inputs[0].node
        if graph.is_merge(name) or graph.is_ordered(name) or (below in merged and not graph.is_fork(below)):
            merged.add(name)
    return merged


def _chart(
    graph: Graph, estimates: Estimates, port: Port, edges: tuple[Edge, ...], after: dict[str, list[Stretch]]
) -> list[Stretch]:
    """The chart of one row in a port's buffer: its readers, all at once, then what they lead to.

    A reader that takes its inputs in time order reads when it can; until then it holds the row.
    """
    readers = [edge.reader for edge in edges if not graph.is_ordered(edge.reader)]
    if not readers:
        return []
    kept = [memory_estimate(graph, estimates, name) for name in readers]
    freed = _row_bytes(graph, estimates, port, readers) if len(readers) == len(edges) else 0.0
    segment = Stretch.of(
        dict.fromkeys(readers),
        seconds=sum(estimate.cost_s for estimate in kept),
        fall=freed - sum(estimate.selectivity * estimate.out_bytes for estimate in kept),
    )
    return prepend(segment, side_by_side(stretch for name in readers for stretch in after[name]))


def _row_bytes(graph: Graph, estimates: Estimates, port: Port, readers: list[str]) -> float:
    """The size of a row in a port's buffer; a stream's, which nobody produces, is what its readers say."""
    if graph.is_source(port.node):
        return max(estimates.of(name).in_bytes for name in readers)
    return estimates.of(port.node).out_bytes
