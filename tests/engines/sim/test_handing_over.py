"""What handing rows over costs: exactly what is said, where it is said to be paid."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.control.thread_plans import ThreadPlan
from penstock.engines.sim.arrivals import at_times
from penstock.engines.sim.engine import Simulation
from penstock.engines.sim.handing_over import HandingOver, Way
from penstock.engines.sim.results import Results
from penstock.engines.sim.workload import Workload
from penstock.model.estimates import Estimate
from penstock.model.operators import Join, Select, Source
from penstock.model.query import PlanNode, Query
from penstock.model.window import Window

WORK_S = 1.0
OWN = Way(0.001, 0.002, 0.01, 0.02)
ACROSS = Way(0.1, 0.2, 0.003, 0.004)


def two_selections() -> Query:
    """Two operators, each a unit of its own, that let all rows pass."""
    node = PlanNode(Source("s"))
    for name in ("first", "second"):
        node = PlanNode(Select(f"{name} > 0"), (node,), name=name, estimate=Estimate(WORK_S))
    return Query("q", node)


def run(
    costs: HandingOver | None, plan: ThreadPlan, times: list[float], query: Query | None = None
) -> Results:
    names = ("l", "r") if query else ("s",)
    arrivals = {name: at_times(np.array(times)) for name in names}
    workload = Workload(arrivals, handing_over=costs)
    return Simulation([query or two_selections()], workload, "round-robin", threads=plan).run()


def test_within_a_worker_only_the_stream_crosses_threads() -> None:
    results = run(HandingOver(OWN, ACROSS), ThreadPlan("owned", 1), [0.0])
    into_first = ACROSS.put_s + ACROSS.take_s + ACROSS.available_s + ACROSS.unavailable_s
    between = OWN.put_s + OWN.take_s + OWN.available_s  # that nothing is left is said after the result
    assert results.mean_latency_s() == pytest.approx(2 * WORK_S + into_first + between)


def test_between_workers_every_buffer_is_synchronised() -> None:
    results = run(HandingOver(OWN, ACROSS), ThreadPlan("owned", 2), [0.0])
    into_first = ACROSS.put_s + ACROSS.take_s + ACROSS.available_s + ACROSS.unavailable_s
    between = ACROSS.put_s + ACROSS.take_s + ACROSS.available_s
    assert results.mean_latency_s() == pytest.approx(2 * WORK_S + into_first + between)


def test_in_a_pool_every_buffer_is_synchronised_whoever_takes_the_unit() -> None:
    pooled, owned = (
        run(HandingOver(OWN, ACROSS, pooled=pooled), ThreadPlan(kind, 1), [0.0])
        for pooled, kind in ((True, "pool"), (False, "owned"))
    )
    dearer = ACROSS.put_s + ACROSS.take_s + ACROSS.available_s - OWN.put_s - OWN.take_s - OWN.available_s
    assert pooled.mean_latency_s() - owned.mean_latency_s() == pytest.approx(dearer)


def test_rows_that_wait_already_are_not_signalled() -> None:
    silent = HandingOver(across=Way(available_s=0.0, unavailable_s=0.0))
    signalled = HandingOver(across=Way(available_s=0.5, unavailable_s=0.25))
    plan = ThreadPlan("owned", 1)
    # Three rows at once are one train: the stream is occupied once and empty once.
    more = run(signalled, plan, [0.0] * 3).end_s - run(silent, plan, [0.0] * 3).end_s
    assert more == pytest.approx(0.75)


def test_a_worker_that_goes_on_is_not_woken() -> None:
    costs = HandingOver(ready_s=0.01, wake_s=0.5)
    alone = run(costs, ThreadPlan("owned", 1), [0.0])
    assert alone.mean_latency_s() == pytest.approx(2 * WORK_S + 2 * 0.01 + 0.5)
    both = run(costs, ThreadPlan("owned", 2), [0.0])
    assert both.mean_latency_s() == pytest.approx(2 * WORK_S + 2 * 0.01 + 2 * 0.5)


def test_in_a_pool_a_worker_that_waits_is_given_what_becomes_ready() -> None:
    costs = HandingOver(pooled=True, wake_s=0.5)
    assert run(costs, ThreadPlan("pool", 1), [0.0]).mean_latency_s() == pytest.approx(2 * WORK_S + 0.5)
    assert run(costs, ThreadPlan("pool", 2), [0.0]).mean_latency_s() == pytest.approx(2 * WORK_S + 1.0)


def test_unless_inputs_are_apart_one_that_crosses_makes_all_synchronised() -> None:
    estimate = Estimate(0.0)
    left = PlanNode(Select("x > 0"), (PlanNode(Source("l")),), name="select", estimate=estimate)
    width = Window.rows(10)
    join = PlanNode(
        Join("x = y", width, width), (left, PlanNode(Source("r"))), name="join", estimate=estimate
    )
    plan = ThreadPlan("owned", 1)
    apart, together = (
        run(HandingOver(across=Way(put_s=1.0, take_s=1.0), apart=apart), plan, [0.0], Query("q", join))
        for apart in (True, False)
    )
    # The selection's output is taken for synchronised, too: one more row put and taken.
    assert together.end_s - apart.end_s == pytest.approx(2.0)


def test_what_rows_become_can_be_given() -> None:
    workload = Workload({"s": at_times(np.arange(4.0) * 10)}, yields={"first": {0: np.array([0, 1, 3, 0])}})
    results = Simulation([two_selections()], workload, "round-robin").run()
    (sink,) = results.delivered.values()
    assert sink.offsets.tolist() == [1, 2, 2, 2]
