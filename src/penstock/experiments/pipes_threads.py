"""Five selections, called directly, in one thread, or each in its own: PIPES' figures 7 and 8."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from penstock.control.thread_plans import ThreadPlan
from penstock.engines.sim.arrivals import Arrivals, at_times
from penstock.engines.sim.engine import Simulation
from penstock.engines.sim.handing_over import HandingOver
from penstock.engines.sim.workload import Workload
from penstock.experiments.handing_over import costs
from penstock.model.estimates import Estimate
from penstock.model.operators import Select, Source
from penstock.model.query import PlanNode, Query
from penstock.model.scheduling import Scheduling

SELECTIVITIES = (0.998, 0.996, 0.994, 0.992, 0.990)
STREAM = "elements"
PROCESSORS = 2
RATE = 500_000.0
#: A source hands over so often what has come meanwhile: nothing here is measured row by row.
TICK_S = 1e-3
#: Elements that a thread takes at a time: those of a tick at the paper's rate.
TRAIN = 500
#: How elements come: as written, or so fast that nothing but the work on them takes time.
FEEDS: Mapping[str, float] = {"500 000/s": RATE, "all at once": float("inf")}
BUFFER = "locked"


@dataclass(frozen=True, slots=True)
class Arrangement:
    """Who runs what: a policy, how the graph is divided among threads, and what it is called."""

    label: str
    policy: str
    kind: Scheduling

    def plan(self) -> ThreadPlan:
        """One thread has one processor, several have both."""
        return ThreadPlan(self.kind, 1 if self.kind in ("gts", "di") else PROCESSORS)


ARRANGEMENTS: Mapping[str, Arrangement] = {
    "di": Arrangement("DI", f"direct(rows={TRAIN})", "di"),
    "di-each": Arrangement("DI, a thread per query", f"direct(rows={TRAIN})", "ots"),
    "ots": Arrangement("OTS", f"fifo(rows={TRAIN})", "ots"),
    "gts-chain": Arrangement("GTS, Chain", f"segment(cut='operator', rows={TRAIN})", "gts"),
    "gts-fifo": Arrangement("GTS, FIFO", f"fifo(rows={TRAIN})", "gts"),
}


def notes() -> tuple[str, ...]:
    """What the figures' runs assume."""
    known = costs()
    queue = known.buffer(BUFFER)
    return (
        f"A selection costs {known.operator_s('selection') * 1e9:.0f} ns a row, a call of it included; a "
        f"queue that any thread may use {(queue.put_s + queue.take_s) * 1e9:.0f} ns a row, in and out; "
        f"waking one {known.wake_s * 1e6:.1f} µs, going on with another one {known.switch_s(5) * 1e6:.1f} µs "
        f"among 5 and {known.switch_s(1000) * 1e6:.1f} among 1000: medians of `penstock bench transport` "
        f"({known.measured_on}). The paper prints none of them.",
        "Two processors. Queues are before every operator (GTS, OTS) or only behind the source (DI). A "
        f"source hands elements over every {TICK_S * 1e3:g} ms, a thread takes at most {TRAIN} at a time; "
        "the time is until the last is done.",
        "At the paper's rate an element comes every 2 µs. Whoever needs less waits for the source, and its "
        "time is the source's; so the runs are made once more with all elements there from the beginning.",
        "GTS, Chain: the five are one segment of Chain's envelope; with a queue before each of them, as in "
        "the paper, the one that frees most memory per second goes first.",
    )


@dataclass(frozen=True, slots=True)
class Trial:
    """One run: an arrangement, how many queries there are, how many elements each gets, and how fast."""

    arrangement: str
    queries: int
    elements: int
    feed: str
    seed: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """Until the last element was done, processors' work in it, and how often a processor changed threads."""

    seconds: float
    busy_s: float
    switches: float


def query(number: int) -> Query:
    """Five selections over the one stream; those of different queries are different, so none is shared."""
    node = PlanNode(Source(STREAM))
    for place, selectivity in enumerate(SELECTIVITIES):
        estimate = Estimate(costs().operator_s("selection"), selectivity, in_bytes=1.0, out_bytes=1.0)
        name = f"selection {number}.{place}"
        node = PlanNode(Select(f"x{number} > {place}"), (node,), name=name, estimate=estimate)
    return Query(f"q{number}", node)


def run(trial: Trial) -> Outcome:
    """One simulation."""
    arrangement = ARRANGEMENTS[trial.arrangement]
    queries = [query(number) for number in range(trial.queries)]
    workload = Workload({STREAM: _arrivals(trial)}, seed=trial.seed, handing_over=_handing_over(trial))
    results = Simulation(queries, workload, arrangement.policy, threads=arrangement.plan()).run()
    return Outcome(results.end_s, results.busy_s, float(results.switches))


def _arrivals(trial: Trial) -> Arrivals:
    due = np.arange(trial.elements) / FEEDS[trial.feed]
    return at_times(np.ceil(due / TICK_S) * TICK_S)


def _handing_over(trial: Trial) -> HandingOver:
    """Queues are synchronised whoever uses them: in PIPES the graph may be divided anew at any time."""
    known = costs()
    way = known.buffer(BUFFER)
    threads = {"ots": len(SELECTIVITIES) * trial.queries, "di-each": trial.queries}.get(trial.arrangement, 1)
    return HandingOver(
        way,
        way,
        ready_s=known.own_ready_s,
        wake_s=known.wake_s,
        switch_s=known.switch_s(threads) if threads > 1 else 0.0,
    )
