"""The workload of the benches of scheduling: the same for all, and what it is meant to be."""

from __future__ import annotations

import hashlib

import numpy as np
import pytest

from penstock.bench.scheduling import drift, selections, threads
from penstock.bench.scheduling.workload import BURST_PART, PERIOD_S, QUERIES, ROW_BYTES, Workload, made_rows
from penstock.model.estimates import Estimate, Estimates
from penstock.model.graph import Graph
from penstock.plan.shared.templates import Templates
from penstock.plan.shared.together import Admitted, Running, admitted
from penstock.policies.parsing import parse
from penstock.sql.session import run


def as_they_run(statements: str) -> Admitted:
    catalog, _ = run(statements)
    nothing = Running(Graph(), {}, {}, frozenset(), frozenset())
    return admitted(list(catalog.queries.values()), nothing, Templates(), {}, 0)


def units(graph: Graph, policy: str, estimates: Estimates | None = None) -> int:
    return len(parse(policy).cut.cut(graph, estimates or Estimates()))


@pytest.mark.parametrize("streams", [5, 20])
def test_there_are_twenty_chains_of_three_operators_that_nobody_shares(streams: int) -> None:
    found = as_they_run(Workload(streams).statements())
    assert len(found.alone) == QUERIES
    assert not found.shared
    assert len(found.graph.sources) == streams
    assert units(found.graph, "fcfs") == QUERIES
    assert units(found.graph, "fifo") == 3 * QUERIES


def test_everybody_gets_the_same_rows_at_the_same_times() -> None:
    workload = Workload(5)
    groups = workload.arrivals(20, 1000, seed=3)
    assert groups == Workload(5).arrivals(20, 1000, seed=3)
    assert workload.rows_of(groups, 3) == Workload(5).rows_of(groups, 3)
    assert groups != workload.arrivals(20, 1000, seed=4)


def test_rows_come_at_the_rate_asked_for_and_mostly_in_bursts() -> None:
    groups = Workload(4).arrivals(10 * PERIOD_S, 1000, seed=1)
    assert [group.at_s for group in groups] == sorted(group.at_s for group in groups)
    assert sum(group.rows for group in groups) == pytest.approx(10_000 * PERIOD_S, rel=0.01)
    mine = [group for group in groups if group.stream == "s00"]
    assert [group.first for group in mine] == np.cumsum([0, *(group.rows for group in mine[:-1])]).tolist()
    large = max(group.rows for group in mine)
    in_bursts = sum(group.rows for group in mine if group.rows == large)
    assert in_bursts / sum(group.rows for group in mine) == pytest.approx(BURST_PART, abs=0.02)


def test_a_selection_lets_by_what_it_is_meant_to() -> None:
    chain = Workload().chains()[2]
    codes = made_rows(4000, np.random.default_rng(1))["code"].to_pylist()
    bound = chain.statement().partition("WHERE")[2].split("'")[1]
    passed = [hashlib.sha256((code * chain.hashed[0]).encode()).hexdigest() < bound for code in codes]
    assert np.mean(passed) == pytest.approx(chain.selectivities[0], abs=0.03)


def test_rows_have_the_size_that_estimates_say() -> None:
    rows = made_rows(1000, np.random.default_rng(1))
    assert rows.nbytes / len(rows) == pytest.approx(ROW_BYTES, rel=0.01)


def test_cheap_queries_and_selections_are_cut_as_the_bench_says() -> None:
    found = as_they_run(threads.statements(1000))
    assert len(found.alone) == len(threads.CHEAP) + 1
    five = as_they_run(selections.statements()).graph
    assert [units(five, policy) for policy in ("direct", "composed", "fifo")] == [1, 5, 9]


def test_the_selectivity_that_drifts_changes_the_cut() -> None:
    settings = drift.Settings()
    graph = as_they_run(settings.statements()).graph

    def cut(share: float) -> int:
        known = {}
        for query in graph.queries:
            first, second, third = (name for name in graph.members[query] if name in set(graph.operators))
            costs = [32 * drift.HASHED[0], 32 * drift.HASHED[1], 64 * drift.HASHED[2]]
            known[first] = Estimate(2e-9 * costs[0], share, 360, 360)
            known[second] = Estimate(2e-9 * costs[1], 1.0, 360, 380)
            known[third] = Estimate(2e-9 * costs[2], 0.5, 380, 380)
        return units(graph, "chain", Estimates(known))

    assert {share: cut(share) for share in drift.SHARES} == {0.05: 2 * settings.chains, 0.9: settings.chains}


def test_rows_let_by_change_when_they_are_meant_to() -> None:
    groups = Workload(2).arrivals(20, 1000, seed=1)
    rows = drift.drifting_rows(groups, 10.0, seed=1)
    mine = [group for group in groups if group.stream == "s01"]
    before = sum(group.rows for group in mine if group.at_s < 10)
    let_by = rows["s01"]["v"].to_numpy() < 0.5
    assert len(let_by) == sum(group.rows for group in mine)
    assert let_by[:before].mean() == pytest.approx(0.05, abs=0.02)
    assert let_by[before:].mean() == pytest.approx(0.9, abs=0.02)
