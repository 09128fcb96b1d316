"""AQSIOS' setting (section 6 of the paper): 250 queries over ten synthetic streams or two real traces."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from penstock.engines.sim.arrivals import Arrivals, at_times, bursty, from_trace, poisson
from penstock.engines.sim.engine import Simulation
from penstock.engines.sim.workload import Workload
from penstock.experiments.data import data_file
from penstock.model.estimates import Estimate
from penstock.model.operators import Column, Project, Select, Sink, Source
from penstock.model.qos import QoS
from penstock.model.query import PlanNode, Query

QUERIES = 250
STREAMS = 10
BURST = 10  # consecutive rows of a bursty stream that arrive together
COST_UNIT_S = 1e-3  # the paper's time unit; a synthetic operator costs 1, 2 or 4 of them
COST_CLASSES = 3
#: The paper says "from the range [0.1, 1.0]" and no more. Zipf's rank 1 is the last of these.
SELECTIVITIES = np.linspace(0.1, 1.0, 10)

TRACES = ("BC-pAug89.arrivals_sec.txt.gz", "DEC-PKT-1-UDP.arrivals_sec.txt.gz")
TRACE_ROWS = 20_000  # read of each trace; more than any experiment needs

FAS, RB, RR, FCFS = "fas-mcq", "rate-based", "round-robin(cut='path')", "fcfs"


@dataclass(frozen=True, slots=True)
class Point:
    """One point of a figure: the setting and the policy.

    `weighted` tells the policy how much each query counts; the weights themselves are always drawn. On traces
    `bursty_streams` means nothing: they burst as they do. `beta` belongs to FAS-MCQ. From one scheduling
    point to the next a query runs over one tuple, also of a burst, or over `all_pending`.
    """

    utilization: float
    policy: str
    zipf: float = 0.0
    beta: float = 1.0
    bursty_streams: int = STREAMS // 2
    equal_costs: bool = False
    weighted: bool = False
    all_pending: bool = False
    traces: bool = False

    @property
    def policy_text(self) -> str:
        """The policy with its parameters."""
        name, _, given = self.policy.rstrip(")").partition("(")
        parameters = [given] if given else []
        if self.policy == FAS:
            parameters.append(f"beta={self.beta}")
        if not self.all_pending:
            parameters.append("rows=1")
        return f"{name}({', '.join(parameters)})"

    def under(self, policy: str, beta: float = 1.0) -> Point:
        """The same setting under another policy, which is told no weights."""
        return replace(self, policy=policy, beta=beta, weighted=False)


@dataclass(frozen=True, slots=True)
class Task:
    """One simulation of a point: rows per stream, or on traces the first so many seconds of each."""

    point: Point
    seed: int
    size: int


@dataclass(frozen=True, slots=True)
class Plan:
    """A query before it has a cost in seconds: the cost class and selectivity of its predicates."""

    stream: int
    cost: float
    selectivity: float
    weight: float

    @property
    def expected_cost(self) -> float:
        """`C_avg` of two predicates of the same selectivity and a projection, in units of cost."""
        return self.cost * (1.0 + self.selectivity + self.selectivity**2)


def plans(point: Point, seed: int) -> list[Plan]:
    """The 250 queries, dealt out over the streams. The same draws serve every utilisation and skew."""
    rng = np.random.default_rng([seed, 0])
    streams = len(TRACES) if point.traces else STREAMS
    ranks = np.arange(len(SELECTIVITIES), 0, -1.0)
    chance = ranks**-point.zipf
    selectivity = rng.choice(SELECTIVITIES, QUERIES, p=chance / chance.sum())
    cost = 2.0 ** rng.integers(0, COST_CLASSES, QUERIES)
    if point.equal_costs:
        cost[:] = 1.0
    weight = 1.0 - rng.random(QUERIES)  # in (0, 1]
    return [
        Plan(number % streams, float(cost[number]), float(selectivity[number]), float(weight[number]))
        for number in range(QUERIES)
    ]


def synthetic_arrivals(point: Point, mean_gap_s: float, rows: int, seed: int) -> dict[str, Arrivals]:
    """Ten Poisson streams of the same rate, the first of them bursty."""
    rng = np.random.default_rng([seed, 1])
    rate = 1.0 / mean_gap_s
    return {
        _stream(number): bursty(rate, rows, BURST, rng)
        if number < point.bursty_streams
        else poisson(rate, rows, rng)
        for number in range(STREAMS)
    }


@cache
def trace_arrivals(seconds: int) -> dict[str, Arrivals]:
    """The first seconds of both traces, which begin together."""
    found = {}
    for number, name in enumerate(TRACES):
        times = from_trace(data_file(f"arrivals/{name}"), TRACE_ROWS).times_s
        found[_stream(number)] = at_times(times[times < seconds])
    return found


def setting(task: Task) -> tuple[list[Query], Workload]:
    """The queries and the workload of a simulation, at the utilisation asked for.

    Synthetic streams get the gaps for it (the expected cost of all queries over the utilisation), traces
    have theirs, so that there it is the costs that are scaled.
    """
    point = task.point
    drawn = plans(point, task.seed)
    if point.traces:
        arrivals = trace_arrivals(task.size)
        rates = [stream.rows / task.size for stream in arrivals.values()]
        unit_s = point.utilization / sum(rates[plan.stream] * plan.expected_cost for plan in drawn)
    else:
        unit_s = COST_UNIT_S
        gap_s = unit_s * sum(plan.expected_cost for plan in drawn) / point.utilization
        arrivals = synthetic_arrivals(point, gap_s, task.size, task.seed)
    queries = [
        _query(f"q{number}", plan, unit_s, plan.weight if point.weighted else 1.0)
        for number, plan in enumerate(drawn)
    ]
    return queries, Workload(arrivals, seed=task.seed)


def measure(task: Task) -> dict[str, float]:
    """Runs to the last completion, and measures over all of that time."""
    queries, workload = setting(task)
    results = Simulation(queries, workload, task.point.policy_text).run()
    weights = {f"q{number}": plan.weight for number, plan in enumerate(plans(task.point, task.seed))}
    return {
        "realised_load": results.load(),
        "staleness": results.mean_staleness(),
        "response_time": results.mean_latency_s(),
        "weighted_staleness": results.mean_staleness(weights),
    }


def _stream(number: int) -> str:
    return f"s{number}"


def _query(name: str, plan: Plan, unit_s: float, weight: float) -> Query:
    """Two predicates and a projection, of the query's own: the paper's queries share nothing."""
    cost_s = plan.cost * unit_s
    node = PlanNode(Source(_stream(plan.stream)))
    for predicate in (f"{name} first", f"{name} second"):
        estimate = Estimate(cost_s, plan.selectivity)
        node = PlanNode(Select(predicate), (node,), name=predicate, estimate=estimate)
    columns = (Column("value", "value"),)
    node = PlanNode(Project(columns), (node,), name=f"{name} project", estimate=Estimate(cost_s, 1.0))
    return Query(name, PlanNode(Sink(name), (node,), name=name), QoS(weight=weight))
