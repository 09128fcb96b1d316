"""AQSIOS' figures in small, and the setting they are run in."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from penstock.engines.sim.workload import Workload
from penstock.errors import ExperimentError
from penstock.experiments import aqsios, aqsios_setting
from penstock.experiments.aqsios_claims import close
from penstock.experiments.aqsios_setting import FAS, FCFS, RB, RR, Point, Task, measure, plans, setting
from penstock.experiments.aqsios_sweep import Change, Sweep
from penstock.experiments.data import VARIABLE, data_file
from penstock.experiments.report import Report, Settings
from penstock.model.query import Query

FIELDS = {
    "per_scheduling_point",
    "utilization",
    "realised_load",
    "realised_load_std",
    "beta",
    "zipf",
    "policy",
    "staleness",
    "staleness_std",
    "response_time",
    "response_time_std",
    "weighted_staleness",
    "weighted_staleness_std",
}


@pytest.fixture
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few queries, rows and points, all in this process."""
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    monkeypatch.setattr(aqsios_setting, "QUERIES", 20)
    monkeypatch.setattr(aqsios, "QUICK_ROWS", 20)
    monkeypatch.setattr(aqsios, "QUICK_UTILIZATIONS", (aqsios.LOW, aqsios.HIGH))
    monkeypatch.setattr(aqsios, "TRACE_UTILIZATIONS", (aqsios.LOW, aqsios.HIGH))
    monkeypatch.setattr(aqsios, "ZIPFS", (0.0, 2.0))
    monkeypatch.setattr(aqsios, "BURSTY", (0, 5, 10))


@pytest.fixture
def _traces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two short traces in a directory of their own."""
    rng = np.random.default_rng(1)
    (tmp_path / "arrivals").mkdir()
    for name, rate in zip(aqsios_setting.TRACES, (60.0, 40.0), strict=True):
        np.savetxt(tmp_path / "arrivals" / name, 5.0 + np.cumsum(rng.exponential(1 / rate, 400)))
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    aqsios_setting.trace_arrivals.cache_clear()


def load(queries: list[Query], workload: Workload) -> float:
    """The share of time that the rows' expected work takes, from the plans as they are handed over."""
    seconds = 0.0
    for query in queries:
        source, first, second, project, _ = query.root.post_order()
        a, b, c = first.estimate, second.estimate, project.estimate
        assert a is not None
        assert b is not None
        assert c is not None
        per_row = a.cost_s + a.selectivity * b.cost_s + a.selectivity * b.selectivity * c.cost_s
        seconds += per_row * workload.arrivals[source.operator.stream].rows  # type: ignore[union-attr]
    return seconds / max(float(stream.at_s[-1]) for stream in workload.arrivals.values())


@pytest.mark.parametrize("zipf", [0.0, 2.0])
@pytest.mark.parametrize("utilization", [0.1, 0.95])
def test_the_work_offered_is_the_utilisation(utilization: float, zipf: float) -> None:
    queries, workload = setting(Task(Point(utilization, FAS, zipf), 1, 4000))
    assert len(queries) == 250
    assert len(workload.arrivals) == 10
    assert load(queries, workload) == pytest.approx(utilization, rel=0.05)


def test_queries_are_two_predicates_alike_and_a_projection() -> None:
    queries, _ = setting(Task(Point(0.5, FAS), 1, 10))
    kinds = Counter(tuple(node.operator.kind for node in query.root.post_order()) for query in queries)
    assert kinds == {("source", "select", "select", "project", "sink"): 250}
    costs = Counter()
    for query in queries:
        _, first, second, project, _ = (node.estimate for node in query.root.post_order())
        assert first == second
        assert project.selectivity == 1.0
        assert project.cost_s == first.cost_s
        costs[first.cost_s] += 1
    assert sorted(costs) == pytest.approx([1e-3, 2e-3, 4e-3])
    assert min(costs.values()) > 60


def test_skew_is_toward_queries_that_let_everything_through() -> None:
    shares = {
        zipf: Counter(plan.selectivity for seed in range(8) for plan in plans(Point(0.5, FAS, zipf), seed))
        for zipf in (0.0, 2.0)
    }
    assert len(shares[0.0]) == len(shares[2.0]) == 10
    assert max(shares[0.0].values()) < 1.3 * min(shares[0.0].values())
    assert shares[2.0].most_common(1)[0][0] == 1.0
    assert shares[2.0][1.0] == pytest.approx(4 * shares[2.0][0.9], rel=0.15)


@pytest.mark.parametrize("bursty", [0, 5, 10])
def test_bursty_streams_come_in_tens(bursty: int) -> None:
    _, workload = setting(Task(Point(0.5, FAS, bursty_streams=bursty), 1, 200))
    batches = Counter(len(stream.at_s) for stream in workload.arrivals.values())
    assert batches == Counter({20: bursty, 200: 10 - bursty})


def test_only_a_weighted_point_tells_its_weights() -> None:
    weighted, _ = setting(Task(Point(0.5, FAS, weighted=True), 1, 10))
    plain, _ = setting(Task(Point(0.5, FAS), 1, 10))
    assert {query.qos.weight for query in plain} == {1.0}
    assert len({query.qos.weight for query in weighted}) == 250
    assert all(0 < query.qos.weight <= 1 for query in weighted)


@pytest.mark.usefixtures("_small")
def test_the_measures_tell_the_policies_apart() -> None:
    found = {policy: measure(Task(Point(0.95, policy), 1, 300)) for policy in (FAS, RB, RR, FCFS)}
    stale = {policy: sample["staleness"] for policy, sample in found.items()}
    assert stale[FAS] < stale[RB] < min(stale[RR], stale[FCFS])
    assert found[RB]["response_time"] < found[FAS]["response_time"]
    told = measure(Task(Point(0.95, FAS, weighted=True), 1, 300))
    assert told["weighted_staleness"] < found[FAS]["weighted_staleness"]
    assert told["staleness"] > stale[FAS]


def test_a_scheduling_point_comes_after_each_tuple_unless_all_pending_are_taken() -> None:
    assert Point(0.5, FAS).policy_text == "fas-mcq(beta=1.0, rows=1)"
    assert Point(0.5, FAS).under(RR).policy_text == "round-robin(cut='path', rows=1)"
    assert Point(0.5, FAS, all_pending=True).policy_text == "fas-mcq(beta=1.0)"
    assert Point(0.5, FCFS, all_pending=True).policy_text == "fcfs()"


@pytest.mark.usefixtures("_small")
def test_taking_all_pending_tuples_makes_results_more_stale() -> None:
    one, all_ = (measure(Task(Point(0.95, FAS, all_pending=pending), 1, 300)) for pending in (False, True))
    assert one["staleness"] < all_["staleness"]


@pytest.mark.usefixtures("_small")
@pytest.mark.parametrize("utilization", [0.1, 0.95])
def test_the_load_as_realised_is_that_of_the_rows_that_came(utilization: float) -> None:
    found = measure(Task(Point(utilization, FAS), 1, 300))
    assert found["realised_load"] == pytest.approx(utilization, rel=0.15)


@pytest.mark.usefixtures("_small")
def test_without_beta_freshness_is_rate() -> None:
    assert measure(Task(Point(0.95, FAS, beta=0.0), 1, 100)) == pytest.approx(
        measure(Task(Point(0.95, RB), 1, 100)), rel=0.02
    )


@pytest.mark.usefixtures("_small")
@pytest.mark.parametrize("name", ["utilization", "tradeoff", "skew", "bursts"])
def test_a_figure_reports_what_it_ran(name: str) -> None:
    report: Report = getattr(aqsios, name)(Settings(quick=True, seed=5))
    assert report.id == f"fas-{name}"
    assert report.seed == 5
    assert all(set(row) - {"setting"} == FIELDS | {"bursty_streams"} for row in report.rows)
    assert all((row["beta"] is None) == (not row["policy"].startswith(FAS)) for row in report.rows)
    if name != "skew":  # where skew itself is what varies, nothing is fitted
        assert all((row["setting"] == "as written") == (row["zipf"] == 0.0) for row in report.rows)
        assert {row["zipf"] for row in report.rows} == {0.0, 2.0}
    drawn(report)


@pytest.mark.usefixtures("_small", "_traces")
def test_the_figure_on_traces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aqsios, "QUICK_TRACE_SECONDS", 1)
    report = aqsios.trace(Settings(quick=True))
    assert report.id == "fas-trace"
    assert all(set(row) - {"setting"} == FIELDS for row in report.rows)
    drawn(report)


@pytest.mark.usefixtures("_traces")
def test_on_traces_costs_are_scaled_to_the_utilisation() -> None:
    queries, workload = setting(Task(Point(0.7, FAS, traces=True), 1, 4))
    assert load(queries, workload) == pytest.approx(0.7, rel=0.02)
    streams = Counter(next(query.root.post_order()).operator.stream for query in queries)  # type: ignore[union-attr]
    assert streams == {"s0": 125, "s1": 125}


@pytest.mark.usefixtures("_small")
def test_missing_traces_are_said_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    aqsios_setting.trace_arrivals.cache_clear()
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    with pytest.raises(ExperimentError, match=rf"no data file 'arrivals/.*set {VARIABLE} to the directory"):
        aqsios.trace(Settings(quick=True))


def test_data_is_looked_for_from_the_current_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ExperimentError):
        data_file("arrivals/some.txt")
    (tmp_path / "data" / "arrivals").mkdir(parents=True)
    (tmp_path / "data" / "arrivals" / "some.txt").touch()
    assert data_file("arrivals/some.txt") == Path("data/arrivals/some.txt")


def test_a_published_number_is_met_missed_or_was_fitted() -> None:
    assert close("x", -0.40, Change((-0.35, -0.36, -0.37))).state == "held"
    missed = close("x", -0.40, Change((-0.24, -0.28, -0.32)))
    assert (missed.state, missed.within_noise) == ("not held", False)
    assert (missed.published, missed.measured) == ("-40 %", "-28 ± 4 %")
    better = close("x", -0.40, Change((-0.44, -0.48, -0.52)))
    assert better.state == "not held"  # it is not as published
    assert close("x", -0.40, Change((-0.24, -0.28)), fitted=True).state == "fitted"


def test_a_number_missed_by_less_than_chance_says_so() -> None:
    near = close("x", -0.40, Change((-0.26, -0.34, -0.42)))
    assert (near.state, near.within_noise) == ("not held", True)


@pytest.mark.usefixtures("_small")
def test_policies_are_compared_seed_by_seed() -> None:
    points = [Point(0.5, FAS), Point(0.5, RB)]
    sweep = Sweep(Settings(), points, [1, 2], 40)
    fas, rb = (sweep.values(point) for point in points)
    assert sweep.gain(points[0]).mean == pytest.approx(np.mean(fas / rb - 1))
    assert str(Change((0.5,))) == "+50 %"


def drawn(report: Report) -> None:
    figure = Figure()
    report.draw(figure)
    assert all(axes.get_xlabel() and axes.get_ylabel() for axes in figure.axes)
    assert any(axes.get_legend() for axes in figure.axes)
    assert len(report.claims) >= 3
