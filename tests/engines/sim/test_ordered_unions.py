"""Ordered unions in virtual time: batches of several inputs go through in the order of their time."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.engines.sim.arrivals import poisson
from penstock.engines.sim.engine import Simulation
from penstock.engines.sim.results import Delivered
from penstock.engines.sim.workload import Workload
from penstock.model.estimates import Estimate
from penstock.model.operators import Select, Source, Union
from penstock.model.query import PlanNode, Query


def branch(stream: str, cost_s: float, selectivity: float) -> PlanNode:
    kept = Estimate(cost_s, selectivity)
    return PlanNode(Select("a > 1"), (PlanNode(Source(stream)),), name=f"of_{stream}", estimate=kept)


def merged(policy: str, seed: int, rates: tuple[float, float], *, ordered: bool = True) -> Delivered:
    rng = np.random.default_rng(seed)
    arrivals = {name: poisson(rate, 60, rng) for name, rate in zip(("l", "r"), rates, strict=True)}
    workload = Workload(arrivals, fixed_s=0.002, seed=seed, deliver_at_end=True)
    branches = branch("l", 0.001, 0.7), branch("r", 0.004, 0.9)
    union = PlanNode(Union(ordered=ordered), branches, name="merged", estimate=Estimate(0.0005))
    (found,) = Simulation([Query("q", union)], workload, policy).run().delivered.values()
    return found


def out_of_order(rows: Delivered) -> int:
    """How many rows are delivered after one that entered later."""
    by_delivery = rows.arrived_s[np.argsort(rows.delivered_s, kind="stable")]
    return int((np.diff(by_delivery) < 0).sum())


@pytest.mark.parametrize(
    "policy", ["fcfs(rows=1)", "round-robin(rows=1)", "chain(rows=1)", "fas-mcq(rows=1)"]
)
@settings(max_examples=10)
@given(seed=st.integers(0, 10_000), fast=st.floats(20, 300), slow=st.floats(5, 100))
def test_rows_leave_in_the_order_in_which_they_entered(
    policy: str, seed: int, fast: float, slow: float
) -> None:
    rows = merged(policy, seed, (fast, slow))
    assert out_of_order(rows) == 0
    assert {*rows.leaves} == {"l", "r"}


def test_a_union_that_is_not_ordered_takes_rows_as_they_come() -> None:
    assert sum(out_of_order(merged("fas-mcq(rows=1)", seed, (200, 60), ordered=False)) for seed in range(5))
