"""PIPES' experiments, tiny: the settings are as claimed, and reports have what is asked of them."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np
import pytest
from matplotlib.figure import Figure

from penstock.experiments import pipes, pipes_joins, pipes_placement, pipes_stall
from penstock.experiments.report import Report, Settings

TINY = pipes.Size(seeds=1, watched_s=21.0, graphs=3, nodes=(10, 60), share=0.02)
SETTINGS = Settings(quick=True, seed=4)


@pytest.fixture(autouse=True)
def _in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pool would take longer to start than the simulations take."""
    monkeypatch.setattr("penstock.experiments.parallel.os.cpu_count", lambda: 1)


def check(report: Report, id_: str) -> None:
    assert report.id == id_
    assert report.notes
    assert report.seed == SETTINGS.seed
    assert all(claim.measured and claim.published for claim in report.claims)
    json.dumps(report.as_json(), allow_nan=False)
    figure = Figure()
    report.draw(figure)
    assert figure.axes


# --- decoupling ---


def test_a_join_takes_a_whole_thread_when_its_windows_are_full_as_published() -> None:
    for join, seconds in pipes_joins.COLLAPSE_S.items():
        held = pipes_joins.RATE * seconds
        busy = 2 * pipes_joins.RATE * held * pipes_joins.element_cost_s(join)
        assert busy == pytest.approx(1.0)


def test_an_element_meets_what_the_other_window_held_at_its_time() -> None:
    content = pipes_joins._content(np.array([0.0, 1.0, 59.0]), np.array([0.0, 1.5, 60.0, 61.5]))
    assert content.tolist() == [1.0, 2.0, 2.0, 1.0]


def test_in_the_sources_thread_the_rate_falls_and_behind_a_queue_it_does_not() -> None:
    direct, queued = (
        pipes_joins.run(pipes_joins.Trial("nested-loops", decoupled, seed=1, watched_s=22.0))
        for decoupled in (False, True)
    )
    assert direct.collapse_s == pytest.approx(17.0, abs=1.0)
    assert direct.input_rate[-2:].mean() < 0.9 * pipes_joins.RATE
    assert queued.collapse_s is None
    assert queued.input_rate[-2:].mean() > 0.95 * pipes_joins.RATE
    assert queued.max_queued > direct.max_queued == 0.0


def test_decoupling_reports_input_rates_over_time(monkeypatch: pytest.MonkeyPatch) -> None:
    def quickly(trial: pipes_joins.Trial) -> pipes_joins.Outcome:
        late = None if trial.decoupled else pipes_joins.COLLAPSE_S[trial.join]
        return pipes_joins.Outcome(np.full(int(trial.watched_s), 900.0 if late else 1000.0), late, 5.0)

    monkeypatch.setattr(pipes_joins, "run", quickly)
    report = pipes.decoupling(SETTINGS, TINY)
    names = {"input_rate", "max_queued", "collapse_s"}
    fields = {"join", "threads", "from_s", "to_s"} | names | {f"{name}_std" for name in names}
    assert [set(row) for row in report.rows] == [fields] * 8
    assert Counter(claim.state for claim in report.claims) == {"held": 4, "fitted": 2}
    check(report, "hmts-decoupling")


# --- hybrid against graph ---


def test_bursts_and_slow_stretches_follow_each_other() -> None:
    times = pipes_stall.element_times(np.random.default_rng(1))
    assert len(times) == 70_000
    assert np.all(np.diff(times) > 0)
    assert times[9_999] < 0.1
    assert times[29_999] == pytest.approx(80.0, rel=0.05)
    assert times[49_999] - times[29_999] < 0.1
    assert times[-1] == pytest.approx(160.0, rel=0.05)


def test_fitted_costs_are_as_published_in_all() -> None:
    graph_s = {}
    for costs in pipes_stall.COSTS:
        nodes = {node.name: node for node in pipes_stall.query(costs).root.post_order()}
        graph_s[costs] = sum(nodes[name].estimate.cost_s for name in pipes_stall.CHEAP)  # type: ignore[union-attr]
    assert graph_s == pytest.approx({"printed": 3.23e-6, "fitted": 1.9e-3})


def test_hybrid_report_tells_printed_from_fitted_costs() -> None:
    report = pipes.hybrid_against_graph(SETTINGS, TINY)
    names = {"finish_s", "max_queued", "queued_element_s", "results", "mean_result_s"}
    fields = {"costs", "strategy"} | names | {f"{name}_std" for name in names}
    assert [set(row) for row in report.rows] == [fields] * 6
    assert [(row["costs"], row["strategy"]) for row in report.rows] == [
        (costs, strategy) for costs in ("printed", "fitted") for strategy in ("hmts", "chain", "fifo")
    ]
    assert all(claim.claim.startswith(("costs printed", "costs fitted")) for claim in report.claims)
    check(report, "hmts-vs-gts")


@pytest.mark.parametrize("costs", pipes_stall.COSTS)
def test_a_thread_of_its_own_keeps_the_expensive_selection_from_stalling_the_others(costs: str) -> None:
    hmts, fifo = (pipes_stall.run(pipes_stall.Trial(costs, s, seed=2, share=0.05)) for s in ("hmts", "fifo"))
    assert hmts.results == fifo.results
    assert hmts.queued_element_s < fifo.queued_element_s
    if costs == "fitted":  # the two threads have as much to do as one
        assert hmts.finish_s < 0.8 * fifo.finish_s


# --- placement ---


def test_placement_report_has_a_row_per_size_load_and_strategy() -> None:
    report = pipes.virtual_operators(SETTINGS, TINY)
    names = {"units", "stalling", "mean_negative_capacity", "mean_positive_capacity"}
    fields = (
        {"nodes", "strategy", "load", "stall_avoiding_stalls"} | names | {f"{name}_std" for name in names}
    )
    assert [set(row) for row in report.rows] == [fields] * (2 * 2 * 3)
    assert {row["load"] for row in report.rows} == {1.0, 0.3}
    assert all(row["mean_negative_capacity"] <= 0 <= row["mean_positive_capacity"] for row in report.rows)
    for row in report.rows:
        mine = row["strategy"] == "stall-avoiding"
        assert row["stall_avoiding_stalls"] in ([""] if mine else ["less", "level", "more"])
    check(report, "hmts-vo")


def test_at_low_load_no_unit_of_the_stall_avoiding_placement_stalls() -> None:
    placed = pipes_placement.run(pipes_placement.Trial(nodes=100, load=0.3, seed=1))
    assert placed["stall-avoiding"].stalling == 0
    assert placed["chain"].stalling > 0
