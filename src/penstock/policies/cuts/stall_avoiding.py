"""HMTS's queue placement: operators share a unit as long as it keeps pace with what arrives."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from penstock.model.estimates import Estimates
from penstock.model.graph import Graph
from penstock.model.unit import Cut
from penstock.policies.costs import input_rates, spare_seconds
from penstock.policies.cuts.base import direct_edges, in_graph_order, unit_of


@dataclass(frozen=True, slots=True)
class StallAvoidingCut:
    """Stall-avoiding: an operator joins the units it reads from as long as the whole keeps pace.

    Operators are visited in topological order, and it is the capacity of the whole unit being joined that
    counts, not that of the one operator read. An operator too slow for its own input stands alone, since no
    cut can mend that.

    Paper:      PIPES 2007, 5.1, algorithm 1
    Equation:   cap(P) = d(P) − c(P) ≥ 0, c(P) = Σ c(v), d(P) = 1 / Σ (1/d(v)), by first-fit decreasing
    Reads:      cost, selectivity, rates
    Use when:   units run in threads of their own and an expensive operator must not hold up the others
    Avoid when: one worker runs everything, or rates are not known
    Cost:       O(n log n)
    """

    def cut(self, graph: Graph, estimates: Estimates) -> Cut:
        """As few units as first-fit finds, none of several operators with negative capacity."""
        rates = input_rates(graph, estimates)
        home: dict[str, _Partition] = {}
        read: dict[str, list[str]] = defaultdict(list)
        for edge in direct_edges(graph):
            read[edge.reader].append(edge.port.node)
        for name in graph.operators:
            partition = home[name] = _Partition([name], estimates.of(name).cost_s, rates[name])
            for below in _by_capacity(home[producer] for producer in read[name]):
                if partition.capacity_with(below) >= 0:
                    partition = _merged(home, partition, below)
        partitions = {id(partition): partition for partition in home.values()}
        return in_graph_order(graph, (unit_of(graph, p.operators) for p in partitions.values()))


@dataclass(slots=True)
class _Partition:
    operators: list[str]
    cost_s: float
    rate: float

    @property
    def capacity(self) -> float:
        return spare_seconds(self.cost_s, self.rate)

    def capacity_with(self, other: _Partition) -> float:
        return spare_seconds(self.cost_s + other.cost_s, self.rate + other.rate)


def _by_capacity(partitions: Iterable[_Partition]) -> list[_Partition]:
    """Each once, those of greatest capacity first."""
    distinct = {id(partition): partition for partition in partitions}
    return sorted(distinct.values(), key=lambda partition: partition.capacity, reverse=True)


def _merged(home: dict[str, _Partition], one: _Partition, other: _Partition) -> _Partition:
    """Both as one; the smaller moves into the larger, so that no operator moves more than log n times."""
    small, large = sorted((one, other), key=lambda partition: len(partition.operators))
    large.operators += small.operators
    large.cost_s += small.cost_s
    large.rate += small.rate
    home.update(dict.fromkeys(small.operators, large))
    return large
