"""What is measured of handing over, what is concluded, and what simulations read of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from penstock.bench.transport.measures import MEASURES
from penstock.bench.transport.measuring import STEP_S, Settings, concluded, costs, handles
from penstock.cli import app
from penstock.errors import PenstockError
from penstock.experiments import handing_over

MANUAL = Path(__file__).parents[3] / "docs" / "scheduling.md"


@pytest.mark.parametrize("name", [name for name in MEASURES if "1000 in turn" not in name])
def test_each_is_some_time_and_not_much(name: str) -> None:
    assert 0 < MEASURES[name](600) < 0.01


def test_simulations_read_everything_that_is_measured() -> None:
    assert set(handing_over.costs().seconds) == set(MEASURES)


def test_a_step_takes_some_thousand_times_what_handing_its_batch_over_does() -> None:
    known = {name: [seconds * 1e6] for name, seconds in handing_over.costs().seconds.items()}
    lines = handles(known)
    by_hand = sum(
        known[name][0]
        for name in ("layer, V1: with signals", "ready queue, shared: 3 threads", "waking a thread")
    )
    (pooled,) = (line for line in lines if line["way"] == "V1, pool of 3")
    assert pooled["us"] == pytest.approx(by_hand)
    assert all(line["share_of_step"] == pytest.approx(line["us"] * 1e-6 / STEP_S) for line in lines)
    for line in lines:
        assert f"| {line['way']} | {line['us']:.1f} | {line['share_of_step'] * 100:.3f} % |" in (
            MANUAL.read_text("utf-8")
        )


def test_medians_are_what_simulations_get() -> None:
    samples = {name: [3.0, 1.0, 2.0] for name in MEASURES}
    measured = concluded(Settings(repeats=3), samples)
    assert set(costs(measured)["us"].values()) == {2.0}
    assert costs(measured)["measured_on"].endswith("medians of 3")


def test_an_earlier_run_is_shown_and_its_costs_are_written(tmp_path: Path) -> None:
    measured = concluded(Settings(repeats=2), {name: [1.0, 1.25] for name in MEASURES})
    (tmp_path / "earlier.json").write_text(json.dumps(measured), "utf-8")
    asked = ["bench", "transport", "--from", str(tmp_path / "earlier.json"), "--markdown"]
    shown = CliRunner().invoke(app, [*asked, "--costs", str(tmp_path / "costs.json")])
    assert shown.exit_code == 0
    assert "| waking a thread | 1.12 ± 0.18 |" in shown.stdout
    assert json.loads((tmp_path / "costs.json").read_text("utf-8")) == costs(measured)
    refused = CliRunner().invoke(app, [*asked, "--costs", str(tmp_path / "none" / "costs.json")])
    assert isinstance(refused.exception, PenstockError)
    assert "choose another --costs" in str(refused.exception)
