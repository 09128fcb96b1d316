"""Stream Mill's figures in small."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.figure import Figure

from penstock.engines.sim.engine import Simulation
from penstock.engines.sim.tables import Tables
from penstock.experiments import stream_mill, stream_mill_setting
from penstock.experiments.report import Settings
from penstock.experiments.stream_mill_setting import (
    LATENCY_POLICIES,
    MEMORY_POLICIES,
    MS,
    ROWS,
    Task,
    Visits,
    buffer_every_ms,
    mean_latency_ms,
    once_all_wait,
    one_path,
    two_operators,
)

FEW = 80  # rows instead of 300


@pytest.fixture
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few simulations, all in this process."""
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    monkeypatch.setattr(stream_mill, "QUICK_FRACTIONS", (0.0, 0.06, 0.15))
    monkeypatch.setattr(stream_mill, "LATENCY_SEEDS", (2, 2))
    monkeypatch.setattr(stream_mill, "MEMORY_SEEDS", (1, 1))
    monkeypatch.setattr(stream_mill_setting, "ROWS", FEW)


def tables_of(simulation: Simulation) -> Tables:
    tables = Tables(simulation.workload)
    tables.use(simulation.control.graph)
    return tables


def test_the_setting_of_figure_12_is_the_papers() -> None:
    costs = {"A": [], "B": []}
    passed = {"A": [], "B": []}
    for seed in range(10):
        simulation = Simulation(*once_all_wait(*two_operators(0.1, seed)), "latency-chart")
        simulation.run()
        for name in costs:
            fate = tables_of(simulation).fates(name)[0]
            costs[name].extend(np.diff(fate.cost_s) / MS)
            passed[name].extend(np.diff(fate.out[0]))
    assert len(costs["A"]) == len(costs["B"]) == 10 * ROWS
    a, b = np.array(costs["A"]), np.array(costs["B"])
    assert np.mean(a > 3.0) == pytest.approx(0.1, abs=0.02)
    assert (a[a < 3.0].mean(), a[a < 3.0].std()) == pytest.approx((1.0, 0.2), rel=0.05)
    assert (a[a > 3.0].mean(), b.mean()) == pytest.approx((6.0, 5.0), rel=0.05)
    assert np.mean(passed["A"]) == pytest.approx(0.95, abs=0.02)


def test_a_simulation_begins_when_all_rows_wait() -> None:
    visits = Visits()
    setting = once_all_wait(*two_operators(0.0, 1))
    simulation = Simulation(*setting, "round-robin(rows=30)", recorder=visits)
    simulation.run()
    names = {index: unit.place.unit.operators for index, unit in simulation.control.units.items()}
    first = [(names[unit][0], lo, hi) for _, unit, lo, hi in visits.steps[1:5]]
    assert visits.steps[1][0] == 0.0
    assert first == [("A", 0, 30), ("B", 0, 30), ("A", 30, 60), ("B", 30, 60)]


@pytest.mark.usefixtures("_small")
@pytest.mark.parametrize("policy", ["mss", "greedy"])
def test_a_buffer_followed_row_by_row_is_the_engines_if_steps_take_one_row(policy: str) -> None:
    setting = once_all_wait(*one_path(0.1, 3))
    watched = Simulation(*setting, MEMORY_POLICIES[policy], watch_memory=True).run()
    followed = buffer_every_ms(Task(0.1, policy, 3))
    assert followed[0] == FEW
    assert np.array_equal(followed, watched.memory_every(MS)[: len(followed)])


def test_the_more_rows_a_visit_takes_the_less_often_round_robin_alternates() -> None:
    latencies = [
        mean_latency_ms(Task(0.0, f"round-robin(rows={rows})", 1))["mean_latency_ms"] for rows in (30, 60, 90)
    ]
    assert latencies == sorted(latencies, reverse=True)


@pytest.mark.usefixtures("_small")
def test_figure_12() -> None:
    calls: list[tuple[int, int]] = []
    settings = Settings(quick=True, progress=lambda done, total: calls.append((done, total)))
    report = stream_mill.latency(settings)
    assert report.id == "mss-latency"
    assert calls[-1] == (36, 36)
    assert [set(row) for row in report.rows] == [
        {"outlier_fraction", "policy", "mean_latency_ms", "mean_latency_ms_std"}
    ] * (3 * len(LATENCY_POLICIES))
    least = {row["outlier_fraction"]: row["mean_latency_ms"] for row in report.rows if row["policy"] == "mss"}
    assert all(row["mean_latency_ms"] >= least[row["outlier_fraction"]] - 1e-9 for row in report.rows)
    assert report.claims[0].state == "held"
    draw(report.draw)


@pytest.mark.usefixtures("_small")
def test_figure_13() -> None:
    report = stream_mill.memory(Settings(quick=True))
    assert report.id == "mss-memory"
    assert {row["policy"] for row in report.rows} == set(MEMORY_POLICIES)
    assert all(
        {"outlier_fraction", "policy", "total_buffer", "total_buffer_std"} == set(r) for r in report.rows
    )
    assert report.claims[0].state == "held"
    draw(report.draw)


def draw(drawing: object) -> None:
    figure = Figure()
    drawing(figure)  # type: ignore[operator]
    (axes,) = figure.axes
    assert axes.get_xlabel()
    assert axes.get_ylabel()
    assert axes.get_legend() is not None
