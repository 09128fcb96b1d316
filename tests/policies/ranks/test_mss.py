"""MSS is the optimum under order of arrival: no schedule that keeps each queue's order has less latency."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import TypeAlias

import numpy as np
import pytest

from penstock.engines.sim.arrivals import Arrivals
from penstock.engines.sim.draws import Given
from penstock.engines.sim.engine import Simulation
from penstock.engines.sim.tables import Tables
from penstock.engines.sim.workload import Workload
from penstock.experiments.stream_mill_setting import once_all_wait, waiting
from penstock.model.estimates import Estimate
from penstock.model.operators import Select, Source
from penstock.model.query import PlanNode, Query
from penstock.policies.costs import UnitCost
from penstock.policies.gains import NOTHING, Gains
from penstock.policies.quantum import EVERYTHING
from penstock.policies.ranks.base import Rank, TrueRow
from penstock.policies.ranks.greedy import Greedy
from penstock.policies.ranks.mss import MaximumSlopeSegment

#: Per queue its rows in order: seconds, and results that come out when they have passed.
Queues: TypeAlias = Sequence[Sequence[tuple[float, int]]]

ANY_COST = UnitCost(0.0, 1.0, 1.0, 1.0, 1.0, 0.0)
ROWS = 8
INSTANCES = 4000
SIMULATED = 150


@dataclass
class WaitingUnit:
    """What a rank reads of a unit, for rows that all wait already."""

    rows: Sequence[tuple[float, int]]
    done: int = 0
    cost: UnitCost = ANY_COST
    gains: Gains = NOTHING
    oldest_s: float = 0.0
    place_in_line: int = 0

    @property
    def pending(self) -> int:
        return len(self.rows) - self.done

    def next_turn(self) -> int:
        return 0

    def true_rows(self) -> Iterator[TrueRow]:
        return (TrueRow(seconds, outputs, 0.0) for seconds, outputs in self.rows[self.done :])


def total_latency(rank: Rank, queues: Queues) -> float:
    """The latency of all results if the rank decides which unit runs and how many rows it takes."""
    units = [WaitingUnit(rows) for rows in queues if rows]
    now = total = 0.0
    while ready := [unit for unit in units if unit.pending]:
        unit = max(ready, key=lambda unit: rank.priority(unit, now))
        taken = rank.quantum(unit, EVERYTHING).rows
        assert taken is not None
        for seconds, outputs in unit.rows[unit.done : unit.done + taken]:
            now += seconds
            total += outputs * now
        unit.done += taken
    return total


def least_latency(queues: Queues) -> float:
    """The best of all orders that keep each queue's own. Which rows are done tells how late it is."""

    @cache
    def rest(done: tuple[int, ...]) -> float:
        now = sum(seconds for rows, n in zip(queues, done, strict=True) for seconds, _ in rows[:n])
        found = []
        for queue, place in enumerate(done):
            if place < len(queues[queue]):
                seconds, outputs = queues[queue][place]
                then = (*done[:queue], place + 1, *done[queue + 1 :])
                found.append(outputs * (now + seconds) + rest(then))
        return min(found, default=0.0)

    return rest((0,) * len(queues))


def instance(rng: Random) -> list[list[tuple[float, int]]]:
    """Up to 8 rows over 2 or 3 queues. Whole costs, so that sums are exact and ties occur."""
    queues: list[list[tuple[float, int]]] = [[] for _ in range(rng.choice((2, 3)))]
    costs = rng.choice(((1, 2, 3), (1, 10), tuple(range(1, 50))))
    for _ in range(rng.randint(2, ROWS)):
        rng.choice(queues).append((rng.choice(costs), rng.choice((0, 1, 1, 1, 2))))
    return queues


def test_the_papers_example() -> None:
    queues = [[(10, 1), (1, 1)], [(9, 1)]]
    assert total_latency(Greedy(), queues) == 48
    assert total_latency(MaximumSlopeSegment(), queues) == least_latency(queues) == 41


def test_no_order_has_less_latency_than_the_segments() -> None:
    rng = Random(8)
    beaten = 0
    for _ in range(INSTANCES):
        queues = instance(rng)
        best = least_latency(queues)
        assert total_latency(MaximumSlopeSegment(), queues) == best, queues
        beaten += total_latency(Greedy(), queues) > best
    assert beaten > INSTANCES / 10  # the instances are such that it takes more than greed


@pytest.mark.parametrize("seed", range(SIMULATED))
def test_no_order_has_less_latency_than_a_simulation_under_mss(seed: int) -> None:
    rng = np.random.default_rng(seed)
    sizes = rng.multinomial(int(rng.integers(2, ROWS + 1)), [1 / 3] * 3) if seed % 2 else [4, 4]
    arrivals: dict[str, Arrivals] = {}
    costs: dict[str, Given] = {}
    queries = []
    for number, size in enumerate(sizes):
        name, stream = f"operator {number}", f"stream {number}"
        node = PlanNode(
            Select(name),
            (PlanNode(Source(stream)),),
            name=name,
            estimate=Estimate(1.0, selectivity=float(rng.choice([0.6, 1.0, 1.5]))),
        )
        queries.append(Query(f"query {number}", node))
        arrivals[stream] = waiting(int(size))
        costs[name] = Given({0: rng.choice([0.1, 0.5, 3.0], int(size)) + rng.random(int(size))})
    simulation = Simulation(*once_all_wait(queries, Workload(arrivals, costs=costs, seed=seed)), "mss")
    results = simulation.run()

    tables = Tables(simulation.workload)
    tables.use(simulation.control.graph)
    fates = [tables.fates(name)[0] for name in costs]
    queues = [
        list(zip(np.diff(fate.cost_s).tolist(), np.diff(fate.out[0]).tolist(), strict=True)) for fate in fates
    ]
    assert results.latencies_s().sum() == pytest.approx(least_latency(queues), rel=1e-9)
