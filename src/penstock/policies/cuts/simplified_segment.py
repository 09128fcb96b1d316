"""Simplified segments: at most two per path, so that a row waits at most twice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Annotated

from pydantic import Field
from pydantic.dataclasses import dataclass

from penstock.model.estimates import Estimates
from penstock.model.graph import Graph
from penstock.model.unit import Cut
from penstock.policies.costs import memory_estimate, release_capacity
from penstock.policies.cuts.base import operator_paths, pruned


@dataclass(frozen=True, slots=True)
class SimplifiedSegmentCut:
    """Simplified segment: the lower operators that free memory at a like rate, then all the rest.

    An operator that frees nothing ends the first segment, since a ratio to it means nothing. With `results`,
    what a root puts out counts as memory, as in the thesis; else it leaves, and takes none.

    Paper:      MavStream 2004, 4.1.4.1
    Equation:   the first goes on while release(current) > 0 and release(next) / release(current) > γ
    Reads:      cost, selectivity, sizes
    Use when:   memory matters, but latency too: most of it is freed by the lowest operators anyway
    Avoid when: every byte counts, or latency alone does
    Cost:       O(sum of path lengths)
    """

    gamma: Annotated[float, Field(gt=0, lt=1)] = 0.5
    results: bool = False

    def cut(self, graph: Graph, estimates: Estimates) -> Cut:
        """One or two segments of each operator path, pruned."""
        release = {
            name: release_capacity(memory_estimate(graph, estimates, name, results=self.results))
            for name in graph.operators
        }
        paths = operator_paths(graph)
        return pruned(graph, (part for path in paths for part in self._segments(path, release)))

    def _segments(self, path: tuple[str, ...], release: Mapping[str, float]) -> Iterator[tuple[str, ...]]:
        for place, (current, above) in enumerate(pairwise(path), start=1):
            if release[current] <= 0 or release[above] <= self.gamma * release[current]:
                yield path[:place]
                yield path[place:]
                return
        yield path
