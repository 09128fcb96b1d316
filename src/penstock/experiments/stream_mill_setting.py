"""Stream Mill's two settings (section 6 of the paper), and what is measured in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from penstock.control.commands import Command, RunStep
from penstock.control.events import Event
from penstock.engines.sim.arrivals import Arrivals
from penstock.engines.sim.draws import Floats, Normal
from penstock.engines.sim.engine import Simulation
from penstock.engines.sim.tables import Tables
from penstock.engines.sim.workload import Workload
from penstock.model.estimates import Estimate
from penstock.model.operators import Select, Source
from penstock.model.query import PlanNode, Query

ROWS = 300  # that wait at each of A and B, or at O1
SELECTIVITY = 0.95
MS = 1e-3

ROUND_ROBINS = tuple(f"round-robin(rows={rows})" for rows in (30, 60, 90))
#: What a row of the report calls a policy, and the policy. The second of each is the component-based one.
LATENCY_POLICIES = {name: name for name in ("mss", "latency-chart", "greedy", *ROUND_ROBINS)}
MEMORY_POLICIES = {
    "mss": "mss(objective='memory')",
    "chain": "chain",
    "greedy": "greedy(objective='memory')",
} | {name: name for name in ROUND_ROBINS}

_GATE = "gate"


@dataclass(frozen=True, slots=True)
class Task:
    """One simulation."""

    outlier_fraction: float
    policy: str
    seed: int


def waiting(rows: int) -> Arrivals:
    """Rows that all wait at time 0, each a batch of its own."""
    at_s = np.zeros(rows)
    return Arrivals(at_s, np.arange(rows + 1), at_s)


def once_all_wait(queries: Sequence[Query], workload: Workload) -> tuple[list[Query], Workload]:
    """The same, with the first decision made when all rows that arrive at time 0 are there.

    They arrive one after the other, if at the same instant, so that a free worker would take the very first
    before the others are known. A row of no cost that comes before them all keeps it busy until they are.
    """
    keeper = Estimate(cost_s=0.0, selectivity=0.0)
    node = PlanNode(Select(_GATE), (PlanNode(Source(_GATE)),), name="gate keeper", estimate=keeper)
    arrivals = {_GATE: waiting(1), **workload.arrivals}
    return [Query(_GATE, node), *queries], replace(workload, arrivals=arrivals)


def two_operators(outlier_fraction: float, seed: int) -> tuple[list[Query], Workload]:
    """Figure 12: A and B side by side, A five times as fast but for its outliers."""
    costs = {
        "A": Normal(1.0 * MS, 0.2 * MS, outlier_fraction, 6.0 * MS, 1.0 * MS),
        "B": Normal(5.0 * MS, 1.0 * MS),
    }
    queries = []
    for name, cost in costs.items():
        estimate = Estimate(_mean(cost), SELECTIVITY)
        source = PlanNode(Source(f"stream {name}"))
        queries.append(Query(name, PlanNode(Select(name), (source,), name=name, estimate=estimate)))
    return queries, Workload({f"stream {name}": waiting(ROWS) for name in costs}, costs=costs, seed=seed)


def one_path(outlier_fraction: float, seed: int) -> tuple[list[Query], Workload]:
    """Figure 13: O1 halves what it reads, O2 reads what O1 puts out. A row's size is 1 before O1."""
    costs = {
        "O1": Normal(1.0 * MS, 0.2 * MS, outlier_fraction, 10.0 * MS, 1.0 * MS),
        "O2": Normal(5.0 * MS, 1.0 * MS),
    }
    first = Estimate(_mean(costs["O1"]), SELECTIVITY, in_bytes=1.0, out_bytes=0.5)
    second = Estimate(_mean(costs["O2"]), SELECTIVITY, in_bytes=0.5, out_bytes=0.5)
    o1 = PlanNode(Select("O1"), (PlanNode(Source("stream")),), name="O1", estimate=first)
    o2 = PlanNode(Select("O2"), (o1,), name="O2", estimate=second)
    return [Query("path", o2)], Workload({"stream": waiting(ROWS)}, costs=costs, seed=seed)


def _mean(cost: Normal) -> float:
    return (1.0 - cost.outliers) * cost.mean + cost.outliers * cost.outlier_mean


def mean_latency_ms(task: Task) -> dict[str, float]:
    """From time 0 to when each result comes out."""
    queries, workload = once_all_wait(*two_operators(task.outlier_fraction, task.seed))
    results = Simulation(queries, workload, LATENCY_POLICIES[task.policy]).run()
    return {"mean_latency_ms": results.mean_latency_s() / MS}


@dataclass(slots=True)
class Visits:
    """Which rows each step took, and when: a recorder for a simulation."""

    steps: list[tuple[float, int, int, int]] = field(default_factory=list)  # start, unit, rows from, to

    def __call__(self, event: Event, commands: list[Command]) -> None:
        for command in commands:
            if isinstance(command, RunStep):
                batches = command.takes[0].batches
                self.steps.append((event.at_s, command.unit, batches[0].ref[1], batches[-1].ref[2]))


def buffer_every_ms(task: Task) -> Floats:
    """The size of what waits at O1 and O2, sampled every millisecond until all is done.

    A row leaves its buffer when it is done. The engine frees the rows of a step at its end, which would
    charge a visit of 90 rows with up to 89 that are gone; so the moments are taken from the rows' own costs.
    """
    queries, workload = once_all_wait(*one_path(task.outlier_fraction, task.seed))
    visits = Visits()
    simulation = Simulation(queries, workload, MEMORY_POLICIES[task.policy], recorder=visits)
    simulation.run()
    tables = Tables(workload)
    tables.use(simulation.control.graph)
    names = {index: unit.place.unit.operators[0] for index, unit in simulation.control.units.items()}
    fates = {name: tables.fates(name)[0] for name in ("O1", "O2")}
    done_s = {name: np.zeros(len(fate.cost_s) - 1) for name, fate in fates.items()}
    for start_s, unit, lo, hi in visits.steps:
        if names[unit] in fates:
            cost = fates[names[unit]].cost_s
            done_s[names[unit]][lo:hi] = start_s + cost[lo + 1 : hi + 1] - cost[lo]
    at_s = np.arange(0.0, max(done.max() for done in done_s.values()), MS)
    left_o1 = np.searchsorted(done_s["O1"], at_s, side="right")
    left_o2 = np.searchsorted(done_s["O2"], at_s, side="right")
    return ROWS - left_o1 + 0.5 * (fates["O1"].out[0][left_o1] - left_o2)


def total_buffer(task: Task) -> dict[str, float]:
    """The area under the memory chart, in row sizes × ms."""
    return {"total_buffer": float(buffer_every_ms(task).sum())}
