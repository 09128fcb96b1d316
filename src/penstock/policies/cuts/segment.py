"""Segments: stretches of a path along which operators free memory ever faster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from penstock.model.estimates import Estimates
from penstock.model.graph import Graph
from penstock.model.unit import Cut
from penstock.policies.costs import memory_estimate, release_capacity
from penstock.policies.cuts.base import operator_paths, pruned


@dataclass(frozen=True, slots=True)
class SegmentCut:
    """Segment: an operator that frees memory faster than the one before it joins that one.

    Paths share what lies above a join or a union; a segment that another equals or contains is dropped. With
    `results`, what a root puts out counts as memory, as in the thesis; else it leaves, and takes none.

    Paper:      MavStream 2004, 4.1.3.1 and 5.1.5
    Equation:   next joins current iff release(next) > release(current), release = (in − out·s) / c
    Reads:      cost, selectivity, sizes
    Use when:   memory is scarce: rows wait where they are smallest
    Avoid when: latency matters: under overload the lower segments take all the time
    Cost:       O(sum of path lengths)
    """

    results: bool = False

    def cut(self, graph: Graph, estimates: Estimates) -> Cut:
        """The segments of all operator paths, pruned."""
        release = {
            name: release_capacity(memory_estimate(graph, estimates, name, results=self.results))
            for name in graph.operators
        }
        return pruned(graph, (part for path in operator_paths(graph) for part in _segments(path, release)))


def _segments(path: tuple[str, ...], release: Mapping[str, float]) -> Iterator[tuple[str, ...]]:
    begin = 0
    for place, (current, above) in enumerate(pairwise(path), start=1):
        if release[above] <= release[current]:
            yield path[begin:place]
            begin = place
    yield path[begin:]
