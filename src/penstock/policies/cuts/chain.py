"""Chain: the lower envelope of each path's progress chart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from penstock.model.estimates import Estimates
from penstock.model.graph import Graph
from penstock.model.unit import Cut
from penstock.policies.costs import memory_estimate, progress
from penstock.policies.cuts.base import operator_paths, pruned
from penstock.policies.cuts.charts import Stretch, partition


@dataclass(frozen=True, slots=True)
class ChainCut:
    """Chain: one unit per stretch of the lower envelope of a path's progress chart.

    Paths share what lies above a join or a union; a unit that another equals or contains is dropped.

    Paper:      Stream Mill 2008, 4; PIPES 2007, 6.7; StreamAPAS 2010; all after Babcock et al. 2003
    Equation:   from each start to the end of greatest (bytes before − bytes after) / seconds
    Reads:      cost, selectivity, sizes
    Use when:   memory is scarce and queries are paths: nothing holds less of a burst
    Avoid when: latency matters, or branches share what they read, which Chain takes for several queues
    Cost:       O(sum of path lengths)
    """

    def cut(self, graph: Graph, estimates: Estimates) -> Cut:
        """The envelopes of all operator paths, pruned like segments."""
        return pruned(
            graph,
            (
                stretch.operators
                for path in operator_paths(graph)
                for stretch in partition(progress_chart(graph, estimates, path))
            ),
        )


def progress_chart(graph: Graph, estimates: Estimates, path: tuple[str, ...]) -> Iterator[Stretch]:
    """A path's progress chart, one stretch per operator."""
    points = progress([memory_estimate(graph, estimates, name) for name in path])
    for name, ((began_s, held), (ended_s, left)) in zip(path, pairwise(points), strict=True):
        yield Stretch.of((name,), ended_s - began_s, held - left)
