"""Graphs as the papers draw them: a name for each operator, and what it reads."""

from __future__ import annotations

from collections.abc import Mapping

from penstock.model.estimates import Estimate, Estimates
from penstock.model.graph import Graph
from penstock.model.operators import Operator, Select, Source, Union
from penstock.model.query import PlanNode, Query
from penstock.model.unit import Cut
from penstock.plan.sharing import merge


def graph_of(reads: Mapping[str, str], operators: Mapping[str, Operator] | None = None) -> Graph:
    """`graph_of({"O1": "s", "O2": "O1"})`: what is read but not listed is a stream, what nobody reads a result.

    Operators are selections, or unions if they read several, unless `operators` says otherwise.
    """
    nodes: dict[str, PlanNode] = {}
    unread: dict[str, None] = {}
    for name, below in reads.items():
        inputs = below.split()
        for child in inputs:
            nodes.setdefault(child, PlanNode(Source(child)))
            unread.pop(child, None)
        default = Union() if len(inputs) > 1 else Select(f"{name} > 0")
        operator = (operators or {}).get(name, default)
        nodes[name] = PlanNode(operator, tuple(nodes[child] for child in inputs), name=name)
        unread[name] = None
    return merge(Graph(), [Query(f"query of {name}", nodes[name]) for name in unread])


def costing(**seconds: float) -> Estimates:
    """Operators that let everything through, for so many seconds each."""
    return Estimates({name: Estimate(cost_s=cost) for name, cost in seconds.items()})


def releasing(**bytes_per_s: float) -> Estimates:
    """Operators that each free so many bytes per second, none of them at a sink."""
    return Estimates(
        {
            name: Estimate(cost_s=1.0, selectivity=1.0, in_bytes=1000.0, out_bytes=1000.0 - rate)
            for name, rate in bytes_per_s.items()
        }
    )


def names(cut: Cut) -> list[str]:
    """The units, for people."""
    return ["+".join(unit.operators) for unit in cut]
