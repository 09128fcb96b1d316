"""Random query graphs, for placements to be tried on (PIPES, 6.7)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from penstock.model.estimates import Estimate, Estimates
from penstock.model.graph import Graph
from penstock.model.operators import Join, Select, Source
from penstock.model.query import PlanNode, Query
from penstock.model.window import Window
from penstock.plan.sharing import initial_estimates, merge

# The paper says "random DAGs of 10 to 1000 nodes" and no more; these are assumed.
SOURCES = 0.1
BINARY = 0.2
SELECTIVITY = (0.2, 1.0)
SOURCE_RATE = (1.0, 100.0)
#: Cost × input rate of an operator, log-uniform: above 1 it cannot keep pace even alone.
UTILISATION = (0.01, 2.0)


@dataclass(slots=True)
class _Growing:
    """A node under construction and the rows per second that it puts out."""

    node: PlanNode
    rate: float


def random_graph(nodes: int, load: float, rng: np.random.Generator) -> tuple[Graph, Estimates]:
    """A graph of so many streams and operators, and what is true of it; `load` multiplies all costs.

    Each operator reads one or two of the nodes made before it, all equally likely, so graphs fork and merge.
    What nobody reads is a query's result.
    """
    streams = max(1, round(SOURCES * nodes))
    rates = {f"s{n}": float(rng.uniform(*SOURCE_RATE)) for n in range(streams)}
    made = [_Growing(PlanNode(Source(stream)), rate) for stream, rate in rates.items()]
    unread: dict[int, PlanNode] = {}
    for number in range(nodes - streams):
        wanted = 2 if rng.random() < BINARY and len(made) > 1 else 1
        read = [made[place] for place in rng.choice(len(made), wanted, replace=False)]
        for below in read:
            unread.pop(id(below.node), None)
        made.append(_operator(number, read, load, rng))
        unread[id(made[-1].node)] = made[-1].node
    graph = merge(Graph(), [Query(f"q{number}", root) for number, root in enumerate(unread.values())])
    return graph, Estimates(initial_estimates(graph), rates)


def _operator(number: int, read: list[_Growing], load: float, rng: np.random.Generator) -> _Growing:
    arriving = sum(below.rate for below in read)
    low, high = np.log(UTILISATION)
    cost_s = load * float(np.exp(rng.uniform(low, high))) / arriving
    selectivity = float(rng.uniform(*SELECTIVITY))
    operator = Select(f"x > {number}") if len(read) == 1 else _join(number)
    children = tuple(below.node for below in read)
    node = PlanNode(operator, children, name=f"o{number}", estimate=Estimate(cost_s, selectivity))
    return _Growing(node, arriving * selectivity)


def _join(number: int) -> Join:
    """No two alike, or they would be shared and the graph smaller."""
    return Join(f"x = right_x + {number}", Window.rows(1), Window.rows(1))
