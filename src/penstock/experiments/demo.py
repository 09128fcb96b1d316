"""`penstock demo --sim`: an evening in a smart home, with a burst, under several policies.

Three streams, eight queries that share streams and operators, the same rows for every policy.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from penstock.engines.sim.arrivals import scheduled
from penstock.engines.sim.draws import Floats
from penstock.engines.sim.engine import Simulation
from penstock.engines.sim.workload import Workload
from penstock.experiments.figures import paint
from penstock.experiments.parallel import run_all
from penstock.model.estimates import Estimate
from penstock.model.operators import Aggregate, Column, Join, Project, Select, Source, Union
from penstock.model.qos import QoS
from penstock.model.query import PlanNode, Query
from penstock.model.schema import Schema
from penstock.model.window import Window

POLICIES = (
    "round-robin",
    "fcfs",
    "direct",
    "path-capacity",
    "memory-chart",
    "chain-flush(limit_s=5)",
    "fas-mcq",
)
SECONDS = 60
BURST_S = (15, 20)


@dataclass(frozen=True, slots=True)
class Shown:
    """What one policy made of the evening."""

    policy: str
    mean_latency_s: float
    worst_latency_s: float
    max_memory_bytes: float
    staleness: float
    steps: int
    memory_times_s: Floats
    memory_bytes: Floats
    delivered_s: Floats


def queries() -> tuple[Query, ...]:
    """Filters, a join, a union and windows over motion, temperature and power readings."""
    motion = PlanNode(Source("motion", Schema.of(t="timestamp", room="string", moved="boolean")))
    heat = PlanNode(Source("temperature", Schema.of(t="timestamp", room="string", celsius="double")))
    power = PlanNode(Source("power", Schema.of(t="timestamp", plug="string", watts="double")))
    moved = _select(motion, "moved", 0.4, 0.30, 48)
    warm = _select(heat, "celsius > 24", 0.3, 0.20, 48)
    heavy = _select(power, "watts > 1000", 0.3, 0.15, 48)
    occupied = _project(moved, "room", 0.4, 24)
    both = PlanNode(
        Join("room = right_room", Window.seconds(10), Window.seconds(10)),
        (occupied, warm),
        estimate=Estimate(2.5e-3, 0.8, 36, 96),
    )
    alarms = PlanNode(
        Union(), (_project(heavy, "plug", 0.4, 24), occupied), estimate=Estimate(0.1e-3, 1.0, 24, 24)
    )
    return (
        Query("rooms in use", occupied, QoS(latency_s=1.0)),
        Query("warm and occupied", both, QoS(latency_s=5.0)),
        Query("alarms", alarms, QoS(freshness=0.95)),
        Query("heavy plugs", heavy),
        Query("power per 5 s", _total(power, 5, 1.2)),
        Query("mean heat per 10 s", _total(heat, 10, 0.9)),
        Query("night motion", _select(moved, "hour(t) >= 22", 0.5, 0.5, 48)),
        Query("freezing", _select(heat, "celsius < 3", 0.3, 0.02, 48)),
    )


def _select(below: PlanNode, predicate: str, ms: float, passes: float, size: float) -> PlanNode:
    return PlanNode(Select(predicate), (below,), estimate=Estimate(ms * 1e-3, passes, size, size))


def _project(below: PlanNode, column: str, ms: float, size: float) -> PlanNode:
    return PlanNode(Project((Column(column, column),)), (below,), estimate=Estimate(ms * 1e-3, 1.0, 48, size))


def _total(below: PlanNode, seconds: float, ms: float) -> PlanNode:
    operator = Aggregate((), (Column("rows", "count(*)", "bigint"),), Window.seconds(seconds))
    return PlanNode(operator, (below,), estimate=Estimate(ms * 1e-3, 0.01, 48, 16))


def workload() -> Workload:
    """A minute of readings; for five seconds motion sensors and plugs send six times as much."""
    arrivals = {}
    for number, (stream, rate, factor) in enumerate(
        (("motion", 60, 6), ("temperature", 90, 1), ("power", 90, 6))
    ):
        begin, end = BURST_S
        rates = [(0.0, rate), (float(begin), rate * factor), (float(end), rate)]
        rows = rate * (SECONDS + (factor - 1) * (end - begin))
        arrivals[stream] = scheduled(rates, rows, np.random.default_rng(number + 1))
    return Workload(arrivals, fixed_s=2e-3, seed=1)


def simulate(policy: str) -> Shown:
    """One policy."""
    simulation = Simulation(queries(), workload(), policy, watch_memory=True)
    results = simulation.run()
    latencies = results.latencies_s()
    times, memory = results.memory()
    return Shown(
        policy=policy,
        mean_latency_s=results.mean_latency_s(),
        worst_latency_s=float(latencies.max()),
        max_memory_bytes=results.max_memory_bytes(),
        staleness=results.mean_staleness(),
        steps=results.steps,
        memory_times_s=times,
        memory_bytes=memory,
        delivered_s=np.sort(np.concatenate([d.delivered_s for d in results.delivered.values()])),
    )


def run(progress: Callable[[int, int], None]) -> list[Shown]:
    """All policies."""
    return run_all(simulate, POLICIES, progress)


def picture(shown: Sequence[Shown], folder: Path) -> Path:
    """Memory and results over time, a curve for each policy."""
    return paint(lambda figure: _draw(figure, shown), folder / "demo-sim.png")


def _draw(figure: Figure, shown: Sequence[Shown]) -> None:
    figure.suptitle("The same rows under several policies: a burst in a smart home")
    above, below = figure.subplots(2, 1, sharex=True)
    for one in shown:
        above.step(one.memory_times_s, one.memory_bytes / 1e3, where="post", label=one.policy, linewidth=1.2)
        counts = np.arange(1, len(one.delivered_s) + 1)
        below.plot(one.delivered_s, counts, linewidth=1.2, label=f"{one.policy}: {one.mean_latency_s:.2f} s")
    for axes in (above, below):
        axes.axvspan(*BURST_S, color="0.9", zorder=0)
        axes.grid(alpha=0.3)
    above.set_ylabel("queued (kB)")
    above.annotate("burst", (BURST_S[0] + 0.2, above.get_ylim()[1] * 0.9), color="0.4")
    below.set_ylabel("results delivered")
    below.set_xlim(BURST_S[0] - 3, BURST_S[1] + 15)
    below.set_ylim(1000, 6500)
    below.set_xlabel("time (s)")
    above.legend(fontsize="small", ncols=2)
    below.legend(fontsize="small", title="mean latency", loc="lower right")
