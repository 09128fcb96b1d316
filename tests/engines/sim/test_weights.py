"""Weights of members take effect: under FAS-MCQ those that matter more are less stale."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from penstock.control.events import MembersChanged
from penstock.engines.sim.arrivals import poisson
from penstock.engines.sim.engine import Simulation
from penstock.engines.sim.results import Delivered
from penstock.engines.sim.workload import Workload
from penstock.model.estimates import Estimate
from penstock.model.operators import Select, Sink, Source
from penstock.model.query import PlanNode, Query
from penstock.policies.apart import MemberFacts

MEMBERS = 20
WEIGHTS = {"urgent": 1.0, "idle": 0.05}


def crowd(shape: str) -> tuple[MemberFacts, ...]:
    return tuple(MemberFacts(f"{shape}{n}", weight=WEIGHTS[shape], share=1 / MEMBERS) for n in range(MEMBERS))


def staleness(rows: Delivered, own: np.ndarray, end_s: float) -> float:
    """The share of time in which one member's result was out of date."""
    arrived, delivered = rows.arrived_s[own], rows.delivered_s[own]
    order = np.argsort(arrived, kind="stable")
    until = np.maximum.accumulate(delivered[order])
    since = np.maximum(arrived[order], np.concatenate([[0.0], until[:-1]]))
    return float(np.maximum(until - since, 0.0).sum() / end_s)


def run(policy: str, *, weighted: bool) -> Mapping[str, float]:
    """Two shared queries alike, each over its own stream, at a load of 0.9: how stale their members are."""
    queries, arrivals, rng = [], {}, np.random.default_rng(5)
    for shape in WEIGHTS:
        stream = f"{shape} stream"
        select = PlanNode(Select(shape), (PlanNode(Source(stream)),), estimate=Estimate(0.0045, 0.4))
        queries.append(Query(shape, PlanNode(Sink(shape), (select,), name=shape)))
        arrivals[stream] = poisson(100.0, 4000, rng)
    workload = Workload(arrivals, seed=5)
    told = [MembersChanged(0.0, shape, crowd(shape)) for shape in WEIGHTS] if weighted else []
    results = Simulation(queries, workload, policy, script=told).run()
    found = {}
    for shape in WEIGHTS:
        rows = results.delivered[shape]
        whose = np.random.default_rng(7).integers(MEMBERS, size=4000)[rows.offsets]
        found[shape] = float(np.mean([staleness(rows, whose == n, results.end_s) for n in range(MEMBERS)]))
    return found


def weighted_mean(stale: Mapping[str, float]) -> float:
    return sum(WEIGHTS[shape] * stale[shape] for shape in stale) / sum(WEIGHTS.values())


@pytest.mark.parametrize("policy", ["fas-mcq(rows=10)", "fas-mcq(beta=0.5, rows=10)"])
def test_a_shape_with_weighty_members_is_less_stale_than_without_weights(policy: str) -> None:
    off, on = run(policy, weighted=False), run(policy, weighted=True)
    assert on["urgent"] < 0.8 * off["urgent"]
    assert weighted_mean(on) < 0.85 * weighted_mean(off)


def test_a_policy_that_does_not_look_at_weights_runs_the_same() -> None:
    assert run("rate-based(rows=10)", weighted=True) == run("rate-based(rows=10)", weighted=False)
