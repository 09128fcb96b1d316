"""`penstock reproduce all`: one that fails leaves the others, and what came of all is on disk."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from matplotlib.figure import Figure
from typer.testing import CliRunner, Result

from penstock.cli import app
from penstock.commands import reproduce
from penstock.errors import EngineError, ExperimentError
from penstock.experiments import catalogue
from penstock.experiments.on_spark.sweeping import Reproduced
from penstock.experiments.report import Claim, Report, Settings
from tests.experiments.on_spark.test_comparing import of_latencies


def nothing(_: Figure) -> None:
    """An empty figure."""


def good(settings: Settings) -> Report:
    settings.progress(1, 1)
    claim = Claim("a < b", "figure 1", "9 % less", "held")
    return Report("good", "Paper 1900", settings.seed, [{"rate": 1.0, "seconds": 2.0}], [claim], nothing)


def broken(_: Settings) -> Report:
    raise RuntimeError("Spark [has] ended")


def lacking(_: Settings) -> Report:
    raise ExperimentError("no trace at data/trace.gz")


def run(
    monkeypatch: pytest.MonkeyPatch, *arguments: str, **experiments: Callable[[Settings], Report]
) -> Result:
    monkeypatch.setattr(catalogue, "EXPERIMENTS", experiments)
    return CliRunner().invoke(app, ["reproduce", *arguments])


def test_one_that_fails_leaves_the_others_and_the_exit_status_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    done = run(monkeypatch, "all", "--quick", "--out", str(tmp_path), broken=broken, good=good)
    assert done.exit_code == 1
    assert "broken failed: RuntimeError: Spark [has] ended" in done.output
    assert "published claims: 1 held, 0 not held; 0 experiments skipped, 1 failed" in done.output
    document = json.loads((tmp_path / "all.json").read_text("utf-8"))
    assert document["failed"] == {"broken": "RuntimeError: Spark [has] ended"}
    assert [one["id"] for one in document["experiments"]] == ["good"]
    assert document["experiments"][0]["seconds"] >= 0
    assert (tmp_path / "good.png").exists()


def test_what_came_so_far_is_on_disk_when_it_is_stopped(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def stopped(_: Settings) -> Report:
        raise KeyboardInterrupt

    done = run(monkeypatch, "all", "--out", str(tmp_path), good=good, stopped=stopped)
    assert done.exit_code != 0
    document = json.loads((tmp_path / "all.json").read_text("utf-8"))
    assert [one["id"] for one in document["experiments"]] == ["good"]


def test_in_virtual_time_one_without_its_data_is_skipped(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    done = run(monkeypatch, "all", "--out", str(tmp_path), lacking=lacking, good=good)
    assert done.exit_code == 0
    assert "lacking skipped: no trace at data/trace.gz" in done.output
    assert json.loads((tmp_path / "all.json").read_text("utf-8"))["skipped"] == {
        "lacking": "no trace at data/trace.gz"
    }


def test_json_on_disk_is_what_is_printed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    done = run(monkeypatch, "good", "--json", "--out", str(tmp_path), good=good)
    assert json.loads(done.stdout) == json.loads((tmp_path / "good.json").read_text("utf-8"))


def test_predictions_of_all_are_told_together_and_drawn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    outcomes = reproduce.Outcomes()
    settings = Settings()
    for name, error in (("one", 1.5), ("other", 1.1)):
        comparison = of_latencies(a=([1.0], [error]))
        outcomes.add(Reproduced(replace(good(settings), id=name), comparison), 1.0, compare=True)
    document = outcomes.document("all", quick=True)
    assert document["comparison"]["median_errors"]["mean_latency_s"] == pytest.approx(0.3)
    assert document["experiments"][0]["comparison"]["median_errors"]["mean_latency_s"] == pytest.approx(0.5)
    reproduce.compare_all(outcomes.compared, tmp_path, as_json=False)
    assert "all of them together: median error of mean latency 30%" in capsys.readouterr().out
    assert (tmp_path / "compared.png").exists()


def test_compare_is_for_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    done = run(monkeypatch, "good", "--compare", good=good)
    assert isinstance(done.exception, ExperimentError)
    assert "write --engine spark with it" in str(done.exception)


def test_a_failure_on_spark_is_never_only_skipped() -> None:
    outcomes = reproduce.Outcomes()
    outcomes.set_aside("slow", ExperimentError("not through with its rows"), reproduce.Where.spark)
    outcomes.set_aside("gone", EngineError("Spark has ended"), reproduce.Where.spark)
    assert outcomes.skipped == {}
    assert outcomes.failed == {"slow": "not through with its rows", "gone": "Spark has ended"}
