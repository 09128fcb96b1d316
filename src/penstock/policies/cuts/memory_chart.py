"""Stream Mill's cut for memory: branches that share a buffer read it together."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
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
    buffer of its own. The memory reduction chart of a tree is partitioned bottom-up over its forks.

    A join or a union is treated as by Chain. Each operator path that meets there goes on to the next fork,
    and a unit that another equals or contains is dropped. One that reads a fork begins a path of its own;
    since it holds the fork's rows until it reads them, the other branches free nothing and are not cut.

    Paper:      Stream Mill 2008, 4 (memory minimization on forks)
    Equation:   a fork segment takes Σ τ_b and frees M_in − Σ σ_b·M_b; the steepest slope first
    Reads:      cost, selectivity, sizes
    Use when:   memory is scarce and queries share streams or operators
    Avoid when: latency matters, or a branch is so slow that all others should not wait for it
    Cost:       O(n·depth + n log n), above joins the sum of path lengths
    """

    def cut(self, graph: Graph, estimates: Estimates) -> Cut:
        """The partitions of all charts, each from where rows wait whatever the cut."""
        merged = _above_merges(graph)
        found: list[Stretch] = []
        after: dict[str, list[Stretch]] = {}
        for name in (*reversed(graph.operators), *graph.sources):
            branches: list[Stretch] = []
            for port, edges in groupby(sorted(graph.edges[name]), key=attrgetter("port")):
                together, alone = _readers(graph, list(edges))
                for reader in alone:
                    found.extend(_chart(graph, estimates, [reader], estimates.of(reader).in_bytes, after))
                freed = 0.0 if alone else _row_bytes(graph, estimates, port)
                chart = _chart(graph, estimates, together, freed, after)
                if graph.is_source(name) or (name in merged and graph.is_fork(name)):
                    found.extend(chart)
                else:
                    share = estimates.of(name).yield_of(port.output)
                    branches.extend(stretch.scaled(share) for stretch in chart)
            after[name] = side_by_side(branches)
        return pruned(graph, (stretch.operators for stretch in found))


def _above_merges(graph: Graph) -> set[str]:
    """The operators that paths share: from each that merges or orders its inputs to the next fork."""
    merged: set[str] = set()
    for name in graph.operators:
        below = graph.nodes[name].inputs[0].node
        if graph.is_merge(name) or graph.is_ordered(name) or (below in merged and not graph.is_fork(below)):
            merged.add(name)
    return merged


def _readers(graph: Graph, edges: list[Edge]) -> tuple[list[str], list[str]]:
    """Those that read a port's buffer together, and those that each begin a path of their own."""
    together: list[str] = []
    alone: list[str] = []
    for _, reader, _ in edges:
        apart = graph.is_ordered(reader) or (graph.is_merge(reader) and len(edges) > 1)
        (alone if apart else together).append(reader)
    return together, alone


def _chart(
    graph: Graph, estimates: Estimates, readers: list[str], freed: float, after: dict[str, list[Stretch]]
) -> list[Stretch]:
    """The chart of one row in a buffer: these readers, all at once, then what they lead to."""
    if not readers:
        return []
    kept = [memory_estimate(graph, estimates, name) for name in readers]
    segment = Stretch.of(
        readers,
        seconds=sum(estimate.cost_s for estimate in kept),
        fall=freed - sum(estimate.selectivity * estimate.out_bytes for estimate in kept),
    )
    return prepend(segment, side_by_side(stretch for name in readers for stretch in after[name]))


def _row_bytes(graph: Graph, estimates: Estimates, port: Port) -> float:
    """The size of a row in a port's buffer; a stream's, which nobody produces, is what its readers say."""
    if graph.is_source(port.node):
        return max(estimates.of(edge.reader).in_bytes for edge in graph.edges[port.node])
    return estimates.of(port.node).out_bytes
