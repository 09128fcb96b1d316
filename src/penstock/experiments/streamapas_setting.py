"""StreamAPAS' micro-benchmark (section 7): one query, in the configurations of its table 1.

Two generators, of which one is selected from, two windows of 500 rows, a join, and who takes the results.
What engines differ in is handing over: its costs are what `bench transport` measured.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

import numpy as np

from penstock.control.thread_plans import ThreadPlan
from penstock.engines.sim.arrivals import at_times
from penstock.engines.sim.draws import Constant, Distribution, Floats, Given, Ints
from penstock.engines.sim.engine import Simulation
from penstock.engines.sim.handing_over import HandingOver
from penstock.engines.sim.workload import Workload
from penstock.experiments.handing_over import costs
from penstock.model.estimates import Estimate
from penstock.model.operators import Column, Join, Project, Select, Source
from penstock.model.query import PlanNode, Query
from penstock.model.window import Window

GENERATORS = ("gen_1", "gen_2")
ROWS = 1_000  # of each generator
WINDOW_ROWS = 500
VALUES = 100.0  # uniform from 0
SELECTED = 50.0  # below that
#: Round-robin's limit of rows per visit, which the paper leaves open.
VISIT_ROWS = 200
ROW_BYTES = 100.0

Scheduler: TypeAlias = Literal["chain-flush", "round-robin"]
Transport: TypeAlias = Literal["synch", "V1", "V2"]
Engine: TypeAlias = Literal["pool", "owned"]
Buffer: TypeAlias = Literal["locked", "lock-free", "single-producer"]


@dataclass(frozen=True, slots=True)
class Configuration:
    """A line of table 1. `buffer` is what rows of V2 cross threads by; the others have theirs built in."""

    scheduler: Scheduler
    grouped: bool
    transport: Transport
    engine: Engine
    buffer: Buffer = "lock-free"

    @property
    def policy(self) -> str:
        """What `SET policy` is told."""
        if self.scheduler == "round-robin":
            return f"round-robin(rows={VISIT_ROWS}, order=ready)"
        return "composed" if self.grouped else "composed(grouped=False)"

    @property
    def layer(self) -> str:
        """The transport between threads, as `bench transport` calls it."""
        return f"V2, {self.buffer}" if self.transport == "V2" else self.transport

    def handing_over(self, workers: int) -> HandingOver:
        """What it costs.

        In V1 whoever fills a buffer puts the operator into its worker's ready queue, which is locked for
        that; in V2 an instruction asks the worker to.
        """
        known = costs()
        across = known.way(self.layer)
        if self.engine == "pool":
            return HandingOver(
                across, across, pooled=True, ready_s=known.ready_s(workers), wake_s=known.wake_s
            )
        apart = self.transport == "V2"
        ready_s = known.own_ready_s if apart else known.ready_s(1)
        return HandingOver(known.way("local"), across, apart=apart, ready_s=ready_s, wake_s=known.wake_s)


#: Table 1. It has CF5V2 and CF6V2 alike; read as the two lock-free buffers of figure 13.
CONFIGURATIONS: Mapping[str, Configuration] = {
    "CF1": Configuration("chain-flush", False, "synch", "pool"),
    "CF2V1": Configuration("chain-flush", True, "V1", "owned"),
    "CF2V2": Configuration("chain-flush", True, "V2", "owned"),
    "CF3": Configuration("chain-flush", False, "V1", "pool"),
    "CF4V1": Configuration("chain-flush", False, "V1", "owned"),
    "CF5V2": Configuration("chain-flush", False, "V2", "owned"),
    "CF6V2": Configuration("chain-flush", False, "V2", "owned", "single-producer"),
    "RR1": Configuration("round-robin", False, "synch", "pool"),
    "RR2": Configuration("round-robin", False, "V1", "pool"),
}
#: Figure 13 has a third buffer, which table 1 does not.
LOCKED = "CF5V2, locked"


def configuration(name: str) -> Configuration:
    """Of that name."""
    return replace(CONFIGURATIONS["CF5V2"], buffer="locked") if name == LOCKED else CONFIGURATIONS[name]


@dataclass(frozen=True, slots=True)
class Trial:
    """One run: a configuration with so many workers, and rows a minute of each generator."""

    configuration: str
    workers: int
    per_minute: float
    seed: int
    rows: int = ROWS


@dataclass(frozen=True, slots=True)
class Outcome:
    """Of all results, in microseconds; how busy a worker was, and what came of threads and buffers.

    `synchronised` is how many buffers rows of different threads meet in, or are taken for such.
    """

    latency_us: float
    p95_us: float
    load: float
    switches: float
    synchronised: float


@dataclass(frozen=True, slots=True)
class Fates:
    """What becomes of rows, whoever processes them: which are selected, what each meets and matches.

    By input of the join: rows in the other window, and how many of them match.
    """

    selected: Ints
    met: tuple[Ints, ...]
    matched: tuple[Ints, ...]


def fates(first: Floats, second: Floats, first_s: Floats, second_s: Floats) -> Fates:
    """From the values and times of both generators' rows: value1 < value2 over windows of the last 500."""
    windows = (_Latest(), _Latest())
    met: tuple[list[int], list[int]] = ([], [])
    matched: tuple[list[int], list[int]] = ([], [])
    coming = [(at_s, 0, value) for at_s, value in zip(first_s, first, strict=True) if value < SELECTED]
    coming += [(at_s, 1, value) for at_s, value in zip(second_s, second, strict=True)]
    for _, side, value in sorted(coming):
        others = windows[1 - side].values
        met[side].append(len(others))
        matched[side].append(
            len(others) - bisect_right(others, value) if side == 0 else bisect_left(others, value)
        )
        windows[side].add(value)
    return Fates((first < SELECTED).astype(np.int64), _arrays(*met), _arrays(*matched))


def _arrays(*counts: list[int]) -> tuple[Ints, ...]:
    return tuple(np.array(one, dtype=np.int64) for one in counts)


class _Latest:
    """The values of a window's rows, sorted."""

    def __init__(self) -> None:
        self.values: list[float] = []
        self._order: deque[float] = deque()

    def add(self, value: float) -> None:
        insort(self.values, value)
        self._order.append(value)
        if len(self._order) > WINDOW_ROWS:
            self.values.pop(bisect_left(self.values, self._order.popleft()))


def query(trial: Trial, known: Fates) -> tuple[Query, Mapping[str, Distribution]]:
    """The query, and what its operators' rows cost.

    Where operators are not grouped, each window is an operator of its own, with its rows kept there and
    once more in the join. Whoever takes the results is an operator, too.
    """
    found = costs()
    way = found.way(configuration(trial.configuration).layer)
    windowing_s = found.operator_s("window")
    join_s = tuple(
        windowing_s
        + met * found.operator_s("join, per row of the window")
        + matched * found.operator_s("join, per result")
        for met, matched in zip(known.met, known.matched, strict=True)
    )
    results = sum(int(matched.sum()) for matched in known.matched)
    joined = sum(len(matched) for matched in known.matched)
    work: dict[str, Distribution] = {
        "selection": Constant(found.operator_s("selection")),
        "window_1": Constant(windowing_s),
        "window_2": Constant(windowing_s),
        "join": Given(dict(enumerate(join_s))),
        "client": Constant(found.operator_s("call")),
    }
    mean_s = {name: one.value for name, one in work.items() if isinstance(one, Constant)}
    mean_s["join"] = float(sum(side.sum() for side in join_s)) / joined

    def node(
        name: str,
        operator: Select | Project | Join,
        *children: PlanNode,
        yields: float = 1.0,
        sizes: tuple[float, float] = (ROW_BYTES, ROW_BYTES),
    ) -> PlanNode:
        # What a row costs its worker is what it is shared out by, so handing over is in it.
        cost_s = mean_s[name] + way.take_s + yields * way.put_s
        return PlanNode(operator, children, name=name, estimate=Estimate(cost_s, yields, *sizes))

    first, second = (PlanNode(Source(name)) for name in GENERATORS)
    first = node("selection", Select(f"value1 < {SELECTED:g}"), first, yields=SELECTED / VALUES)
    if not configuration(trial.configuration).grouped:
        kept = (Column("value", "value"),)
        first, second = node("window_1", Project(kept), first), node("window_2", Project(kept), second)
    width = Window.rows(WINDOW_ROWS)
    join = Join("value1 < value2", width, width, ordered=True)
    pairs = node("join", join, first, second, yields=results / joined, sizes=(ROW_BYTES, 2 * ROW_BYTES))
    client = node("client", Select("true"), pairs, sizes=(2 * ROW_BYTES, 0.0))
    return Query("matched", client), work


def run(trial: Trial) -> Outcome:
    """One simulation. Seeds draw the values, and how much later the second generator's rows come."""
    rng = np.random.default_rng(trial.seed)
    gap_s = 60.0 / trial.per_minute
    first_s: Floats = np.arange(trial.rows, dtype=np.float64) * gap_s
    second_s: Floats = first_s + float(rng.random()) * gap_s
    first, second = (rng.random(trial.rows) * VALUES for _ in GENERATORS)
    known = fates(first, second, first_s, second_s)
    asked, work = query(trial, known)
    how = configuration(trial.configuration)
    workload = Workload(
        {name: at_times(times) for name, times in zip(GENERATORS, (first_s, second_s), strict=True)},
        costs=work,
        yields={"selection": {0: known.selected}, "join": dict(enumerate(known.matched))},
        handing_over=how.handing_over(trial.workers),
        seed=trial.seed,
    )
    threads = ThreadPlan(how.engine, trial.workers)
    results = Simulation([asked], workload, how.policy, threads=threads).run()
    latencies_us = results.latencies_s() * 1e6
    return Outcome(
        float(latencies_us.mean()),
        float(np.quantile(latencies_us, 0.95)),
        results.load() / trial.workers,
        float(results.switches),
        float(results.synchronised),
    )
