"""Stream Mill's cut for latency: forks are cut where a branch puts out too slowly."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.model.estimates import Estimates
from penstock.model.graph import Graph
from penstock.model.unit import Cut
from penstock.policies.cuts.base import components, direct_edges, in_graph_order, operator_edges, unit_of
from penstock.policies.cuts.charts import Stretch, prepend, side_by_side


@dataclass(frozen=True, slots=True)
class LatencyChartCut:
    """Latency chart: a branch of a fork leaves the unit if it puts out more slowly than the rest of it.

    The output completion chart of a tree is partitioned bottom-up over its forks. A path is never cut,
    unless results leave half-way, which makes a fork with a sink for a branch. Whatever a join or a union
    connects is not cut at all.

    Paper:      Stream Mill 2008, 4 (chart partitioning for latency minimization) and 4.1
    Equation:   seconds (Π σ upstream)·τ, results (Π σ upstream)·σ at a sink; the steepest slope first
    Reads:      cost, selectivity
    Use when:   latency matters and queries share operators
    Avoid when: memory is scarce, or costs are guesses: a branch cut off in error waits for all others
    Cost:       O(n·depth + n log n)
    """

    def cut(self, graph: Graph, estimates: Estimates) -> Cut:
        """The partitions of every tree's chart, and the rest fused."""
        uncut = _around_merges(graph)
        charts: dict[str, list[Stretch]] = {}
        for name in reversed(graph.operators):
            if name in uncut:
                continue
            estimate = estimates.of(name)
            outputs = sum(estimate.yield_of(edge.port.output) for edge in graph.sinks[name])
            branches = (
                stretch.scaled(estimate.yield_of(edge.port.output))
                for edge in graph.edges[name]
                for stretch in charts.pop(edge.reader)
            )
            charts[name] = prepend(Stretch.of((name,), estimate.cost_s, outputs), side_by_side(branches))
        units = [unit_of(graph, stretch.operators) for chart in charts.values() for stretch in chart]
        fused = [unit for unit in components(graph, direct_edges(graph)) if unit.operators[0] in uncut]
        return in_graph_order(graph, units + fused)


def _around_merges(graph: Graph) -> set[str]:
    """The operators connected with one that merges streams or waits for time order."""
    return {
        name
        for component in components(graph, operator_edges(graph))
        if any(graph.is_merge(name) or graph.is_ordered(name) for name in component.operators)
        for name in component.operators
    }
