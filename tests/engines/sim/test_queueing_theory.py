"""The engine against what is known about queues."""

from __future__ import annotations

import numpy as np
import pytest

from penstock.control.thread_plans import ThreadPlan
from penstock.engines.sim.arrivals import fixed_rate, poisson
from penstock.engines.sim.draws import Constant, Exponential
from penstock.engines.sim.engine import Simulation
from penstock.engines.sim.workload import Workload
from penstock.model.estimates import Estimate
from penstock.model.operators import Select, Source
from penstock.model.query import PlanNode, Query

SERVER = Query("q", PlanNode(Select("true"), (PlanNode(Source("s")),), name="server", estimate=Estimate(1.0)))


def sojourn_s(load: float, seed: int, rows: int, costs: object) -> float:
    arrivals = poisson(load, rows, np.random.default_rng(seed))
    workload = Workload({"s": arrivals}, costs={"server": costs}, seed=seed)
    results = Simulation([SERVER], workload, "fcfs(rows=1)").run()
    latencies = results.delivered["q.sink"].latency_s()
    assert len(latencies) == rows
    return float(latencies[rows // 10 :].mean())  # the first tenth is warm-up


def confidence(samples: list[float]) -> tuple[float, float]:
    """The mean and the half-width of its 99 % confidence interval (t with 11 degrees of freedom)."""
    assert len(samples) == 12
    return float(np.mean(samples)), 3.106 * float(np.std(samples, ddof=1)) / np.sqrt(len(samples))


@pytest.mark.parametrize("load", [0.3, 0.6, 0.8])
def test_an_mm1_queue_takes_as_long_as_theory_says(load: float) -> None:
    mean, half_width = confidence([sojourn_s(load, seed, 8_000, Exponential(1.0)) for seed in range(12)])
    theory = 1.0 / (1.0 - load)
    assert abs(mean - theory) < half_width
    assert half_width < 0.15 * theory  # or the test could not fail


@pytest.mark.parametrize("load", [0.5, 0.8])
def test_an_md1_queue_takes_as_long_as_pollaczek_and_khinchine_say(load: float) -> None:
    mean, half_width = confidence([sojourn_s(load, seed, 8_000, Constant(1.0)) for seed in range(12)])
    theory = 1.0 + load / (2 * (1.0 - load))
    assert abs(mean - theory) < half_width
    assert half_width < 0.15 * theory


def test_two_workers_of_a_pool_do_twice_the_work_of_one() -> None:
    queries = [
        Query(f"q{n}", PlanNode(Select(f"x > {n}"), (PlanNode(Source("s")),), estimate=Estimate(1.0)))
        for n in range(2)
    ]
    workload = Workload({"s": fixed_rate(10, 20)})
    ends = {
        workers: Simulation(queries, workload, "fcfs", threads=ThreadPlan("pool", workers)).run().end_s
        for workers in (1, 2)
    }
    assert ends[1] == pytest.approx(40.0)
    assert ends[2] == pytest.approx(20.0)
