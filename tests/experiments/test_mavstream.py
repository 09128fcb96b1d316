"""MavStream's experiments, tiny: the setting is as claimed, and reports have what is asked of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from matplotlib.figure import Figure

from penstock.experiments import mavstream
from penstock.experiments.catalogue import Experiment
from penstock.experiments.mavstream_setting import POLICIES, STREAMS, Outcome, Trial, query, run
from penstock.experiments.report import Report, Settings
from penstock.model.estimates import Estimates
from penstock.model.graph import Graph
from penstock.plan.sharing import initial_estimates, merge
from penstock.policies.cuts.base import operator_paths
from penstock.policies.parsing import parse

TINY = mavstream.Size(seeds=2, rows=300)
FIELDS = {"rate", "policy", "mean_latency_s", "max_memory_bytes", "throughput_std"}
FIELDS |= {f"{name}_std" for name in ("mean_latency_s", "max_memory_bytes", "throughput_std")}
LOADED, IDLE = ((0.0, 900.0),), ((0.0, 100.0),)


@pytest.fixture(autouse=True)
def _in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pool would take longer to start than the simulations take."""
    monkeypatch.setattr("penstock.experiments.parallel.os.cpu_count", lambda: 1)


def check(report: Report, id_: str) -> None:
    assert report.id == id_
    assert report.notes
    assert all(claim.measured and claim.published for claim in report.claims)
    assert not {row["policy"] for row in report.rows} - set(POLICIES)
    figure = Figure()
    report.draw(figure)
    assert all(axes.get_xlabel() or axes.get_ylabel() for axes in figure.axes)


def test_the_query_has_six_operators_on_two_paths_that_meet_at_the_join() -> None:
    graph = merge(Graph(), [query(window=1000)])
    assert graph.sources == STREAMS
    assert len(graph.operators) == 6
    assert operator_paths(graph) == [
        (f"select {stream}", f"project {stream}", "join", "output") for stream in STREAMS
    ]


@pytest.mark.parametrize(
    ("policy", "units"), [("path-capacity", 2), ("simplified-segment", 3), ("segment", 5), ("round-robin", 6)]
)
def test_policies_cut_it_as_the_notes_say(policy: str, units: int) -> None:
    graph = merge(Graph(), [query(window=1000)])
    cut = parse(POLICIES[policy]).cut.cut(graph, Estimates(initial_estimates(graph)))
    assert len(cut) == units


def test_a_root_is_a_segment_of_its_own_where_large_results_count_as_memory() -> None:
    def units(policy: str, result_bytes: float) -> int:
        graph = merge(Graph(), [query(1000, result_bytes=result_bytes)])
        return len(parse(POLICIES[policy]).cut.cut(graph, Estimates(initial_estimates(graph))))

    assert [units(policy, 110.0) for policy in ("segment", "segment, results count")] == [5, 5]
    assert [units(policy, 150.0) for policy in ("segment", "segment, results count")] == [5, 6]


def test_every_policy_meets_the_same_rows_and_puts_out_as_many_results() -> None:
    outcomes = [run(Trial(policy, 3, IDLE, rows=300, window=1000)) for policy in POLICIES]
    assert len({int(outcome.results_per_s.sum()) for outcome in outcomes}) == 1
    assert len({outcome.mean_latency_s for outcome in outcomes}) > 1


def test_an_overloaded_segment_is_silent_while_a_path_is_not() -> None:
    segment, path = (run(Trial(p, 1, LOADED, rows=2000, window=1000)) for p in ("segment", "path-capacity"))
    assert segment.silence_s > 1.0 > path.silence_s


def test_slower_costs_take_longer() -> None:
    trial = Trial("path-capacity", 1, IDLE, rows=200, window=1000)
    assert run(replace(trial, slower=10.0)).mean_latency_s > run(trial).mean_latency_s


@pytest.mark.parametrize(
    ("experiment", "id_", "policies"),
    [
        (mavstream.latency, "mavstream-latency", 5),
        (mavstream.memory, "mavstream-memory", 4),
        (mavstream.throughput, "mavstream-throughput", 4),
    ],
)
def test_a_row_for_every_rate_and_policy(experiment: Experiment, id_: str, policies: int) -> None:
    report = experiment(Settings(quick=True, seed=5), TINY)  # type: ignore[call-arg]
    assert [set(row) for row in report.rows] == [FIELDS] * (policies * len(TINY.rates))
    assert report.seed == 5
    check(report, id_)


def test_bursts_are_told_for_costs_as_read_and_fitted() -> None:
    report = mavstream.burst(Settings(quick=True), TINY)
    extra = {"burst_rate", "costs", "mean_memory_bytes", "mean_memory_bytes_std"}
    assert [set(row) for row in report.rows] == [FIELDS | extra] * 6
    assert {row["costs"] for row in report.rows} == {"as read", "fitted: × 10"}
    assert any("fitted" in note for note in report.notes)
    check(report, "mavstream-burst")


def test_the_same_seed_gives_the_same_report() -> None:
    once, again = (mavstream.memory(Settings(seed=2), TINY).as_json() for _ in range(2))
    assert once == again


def test_a_claim_the_data_contradict_does_not_hold() -> None:
    def outcome(latency_s: float) -> Outcome:
        return Outcome(latency_s, 0.0, 0.0, 0.0, 0.0, np.zeros(1, dtype=np.int64), np.zeros(1))

    seen = {
        (100.0, "segment"): [outcome(1.0), outcome(1.1)],
        (100.0, "path-capacity"): [outcome(2.0), outcome(2.1)],
    }
    claim = mavstream._below(seen, "mean_latency_s", "path-capacity", "segment", "figure 6.1")
    assert claim.state == "not held"
    assert "above at 100" in claim.measured
    assert mavstream._below(seen, "mean_latency_s", "segment", "path-capacity", "figure 6.1").state == "held"
