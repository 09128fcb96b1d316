"""One unit per operator path, from leaf to root."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.model.estimates import Estimates
from penstock.model.graph import Graph
from penstock.model.unit import Cut
from penstock.policies.cuts.base import operator_paths, unit_of


@dataclass(frozen=True, slots=True)
class PathCut:
    """Path: from each leaf to the root, with no queue on the way.

    Paper:      MavStream 2004, 4.1.2
    Equation:   one unit per leaf; two paths share the join they meet at and all above it
    Reads:      nothing
    Use when:   latency matters: no row waits half-way
    Avoid when: memory is scarce: all waiting rows wait whole, at the leaves
    Cost:       O(sum of path lengths)
    """

    def cut(self, graph: Graph, estimates: Estimates) -> Cut:  # noqa: ARG002
        """One unit per operator path."""
        return tuple(dict.fromkeys(unit_of(graph, path) for path in operator_paths(graph)))
