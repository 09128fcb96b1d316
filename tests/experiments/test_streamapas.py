"""StreamAPAS' figures 11 to 15, tiny: configurations are those of table 1, and cost what is measured."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from matplotlib.figure import Figure

from penstock.experiments import streamapas
from penstock.experiments import streamapas_setting as setting
from penstock.experiments.handing_over import costs
from penstock.experiments.report import Report, Settings
from penstock.experiments.streamapas_setting import CONFIGURATIONS, LOCKED, Trial, configuration, fates
from penstock.policies.parsing import parse

TINY = streamapas.Size(rates=(1_000, 30_000), rows=60, seeds=2)
SETTINGS = Settings(quick=True, seed=4)
MANUAL = Path(__file__).parents[2] / "docs" / "scheduling.md"
#: Scheduler, grouping, transport, engine, as the paper prints them.
TABLE_1 = {
    "CF1": ("chain-flush", False, "synch", "pool"),
    "CF2V1": ("chain-flush", True, "V1", "owned"),
    "CF2V2": ("chain-flush", True, "V2", "owned"),
    "CF3": ("chain-flush", False, "V1", "pool"),
    "CF4V1": ("chain-flush", False, "V1", "owned"),
    "CF5V2": ("chain-flush", False, "V2", "owned"),
    "CF6V2": ("chain-flush", False, "V2", "owned"),
    "RR1": ("round-robin", False, "synch", "pool"),
    "RR2": ("round-robin", False, "V1", "pool"),
}


@pytest.fixture(autouse=True)
def _in_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pool would take longer to start than the simulations take."""
    monkeypatch.setattr("penstock.experiments.parallel.os.cpu_count", lambda: 1)


def test_the_configurations_are_those_of_table_1() -> None:
    found = {
        name: (one.scheduler, one.grouped, one.transport, one.engine) for name, one in CONFIGURATIONS.items()
    }
    assert found == TABLE_1


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_policy_and_engine_of_each_can_be_set_as_the_manual_says(name: str) -> None:
    one = CONFIGURATIONS[name]
    assert parse(one.policy).text
    line = next(line for line in MANUAL.read_text("utf-8").splitlines() if line.startswith(f"| {name} |"))
    assert f"`{one.policy}`" in line
    assert f"`{one.engine}`" in line
    assert f"| {one.transport} |" in line


def test_what_rows_meet_and_match_is_what_the_query_says() -> None:
    rng = np.random.default_rng(7)
    first, second = rng.random(1_300) * 100, rng.random(1_300) * 100
    first_s = np.arange(1_300.0)
    known = fates(first, second, first_s, first_s + 0.5)
    chosen = first[first < 50]
    assert known.selected.sum() == len(chosen)
    for place in (0, 3, 600, len(chosen) - 1):
        seen = second[: np.flatnonzero(first < 50)[place]][-500:]
        assert known.met[0][place] == len(seen)
        assert known.matched[0][place] == (chosen[place] < seen).sum()
    for place in (0, 3, 600, 1_299):
        seen = first[: place + 1]
        seen = seen[seen < 50][-500:]
        assert known.met[1][place] == len(seen)
        assert known.matched[1][place] == (seen < second[place]).sum()


@pytest.mark.parametrize(
    ("name", "buffers"), [("CF4V1", 2), ("CF2V1", 3), ("CF5V2", 2), ("CF2V2", 2), ("CF1", 6), ("RR2", 6)]
)
def test_with_one_worker_those_buffers_are_synchronised_that_the_paper_counts(
    name: str, buffers: int
) -> None:
    assert setting.run(Trial(name, 1, 1_000, seed=1, rows=20)).synchronised == buffers


def test_one_result_takes_what_its_way_costs() -> None:
    known = costs()
    own, across = known.way("local"), known.way("V2, lock-free")
    # Row 1 of the first generator is selected and waits; that of the second makes the result.
    seed = next(seed for seed in range(50) if _one_result(seed))
    window_s, join_s = (known.operator_s(f"{name}") for name in ("window", "join, per result"))
    into_window_2 = known.wake_s + known.own_ready_s + across.put_s + across.take_s + window_s + own.put_s
    signals = across.unavailable_s + across.available_s + own.available_s
    met_s = known.operator_s("join, per row of the window")
    into_join = known.own_ready_s + own.take_s + window_s + met_s + join_s + own.put_s
    to_client = own.unavailable_s + own.available_s
    client = known.own_ready_s + own.take_s + known.operator_s("call")
    expected_s = into_window_2 + signals + into_join + to_client + client
    found = setting.run(Trial("CF5V2", 1, 1_000, seed, rows=1))
    assert found.latency_us == pytest.approx(expected_s * 1e6, rel=1e-6)


def _one_result(seed: int) -> bool:
    rng = np.random.default_rng(seed)
    rng.random()
    first, second = rng.random(1)[0], rng.random(1)[0]
    return bool(first < 0.5 and first < second)


def test_version_2_is_charged_for_the_buffer_it_crosses_threads_by() -> None:
    free, locked = (setting.run(Trial(name, 3, 1_000, 1, rows=40)) for name in ("CF5V2", LOCKED))
    assert configuration(LOCKED).layer == "V2, locked"
    assert locked.latency_us > free.latency_us
    assert locked.switches == free.switches


@pytest.mark.parametrize(
    ("function", "id_", "sides"),
    [
        (streamapas.workers, "apas-workers", 9),
        (streamapas.scale, "apas-scale", 8),
        (streamapas.buffers, "apas-buffers", 3),
        (streamapas.transport, "apas-transport", 4),
        (streamapas.composed, "apas-composed", 4),
    ],
)
def test_reports_have_a_row_for_each_configuration_and_rate(function: object, id_: str, sides: int) -> None:
    report: Report = function(SETTINGS, TINY)  # type: ignore[operator]
    assert report.id == id_
    measured = {"latency_us", "p95_us", "load", "switches", "synchronised"}
    described = {"configuration", "scheduler", "grouped", "transport", "engine", "workers", "per_minute"}
    fields = described | measured | {f"{name}_std" for name in measured}
    assert [set(row) for row in report.rows] == [fields] * (2 * sides)
    assert all(claim.measured and claim.published for claim in report.claims)
    assert "bench transport" in report.notes[0]
    json.dumps(report.as_json(), allow_nan=False)
    figure = Figure()
    report.draw(figure)
    assert figure.axes


def test_what_one_figure_has_simulated_another_does_not_simulate_again() -> None:
    settings = Settings(quick=True, seed=4, simulated={})
    streamapas.workers(settings, TINY)
    before = len(settings.simulated)
    streamapas.transport(settings, TINY)
    assert len(settings.simulated) == before == 9 * 2 * 2
