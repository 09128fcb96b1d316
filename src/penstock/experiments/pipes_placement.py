"""Three ways to place queues on a random graph, and what capacity the units have: PIPES' figure 11."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from penstock.experiments.random_graphs import random_graph
from penstock.model.unit import Cut
from penstock.policies.costs import input_rates, partition_capacity
from penstock.policies.cuts.base import Cutter
from penstock.policies.cuts.chain import ChainCut
from penstock.policies.cuts.simplified_segment import SimplifiedSegmentCut
from penstock.policies.cuts.stall_avoiding import StallAvoidingCut

GAMMA = 0.5
STRATEGIES: Mapping[str, Cutter] = {
    "stall-avoiding": StallAvoidingCut(),
    "simplified-segment": SimplifiedSegmentCut(GAMMA),
    "chain": ChainCut(),
}

NOTES = (
    "The graphs are not published. Read as: 10 % sources of 1 to 100 elements/s; each operator reads one "
    "(80 %) or two (20 %) nodes made before it, any alike; selectivity uniform on [.2, 1], cost × rate "
    f"log-uniform on [.01, 2], all sizes alike; `load` multiplies costs. γ = {GAMMA}.",
    "Capacity is d(P) − c(P) in seconds; the negative mean is over the units that stall, 0 for a graph with "
    "none. No simulation: queues are placed from rates and costs.",
)


@dataclass(frozen=True, slots=True)
class Trial:
    """One random graph."""

    nodes: int
    load: float
    seed: int


@dataclass(frozen=True, slots=True)
class Placement:
    """Of a graph's units: how many there are, how many stall, and capacities in seconds per element.

    The mean negative capacity is over the units that stall, the positive one over the others; 0 if none do.
    """

    units: float
    stalling: float
    mean_negative_capacity: float
    mean_positive_capacity: float


def run(trial: Trial) -> dict[str, Placement]:
    """Places the queues of one graph by each strategy."""
    graph, estimates = random_graph(trial.nodes, trial.load, np.random.default_rng(trial.seed))
    rates = input_rates(graph, estimates)

    def placed(cut: Cut) -> Placement:
        capacity = np.array([partition_capacity(graph, estimates, rates, unit.operators) for unit in cut])
        negative, positive = capacity[capacity < 0], capacity[capacity >= 0]
        return Placement(
            units=float(len(cut)),
            stalling=float(len(negative)),
            mean_negative_capacity=float(negative.mean()) if len(negative) else 0.0,
            mean_positive_capacity=float(positive.mean()) if len(positive) else 0.0,
        )

    return {name: placed(cutter.cut(graph, estimates)) for name, cutter in STRATEGIES.items()}
