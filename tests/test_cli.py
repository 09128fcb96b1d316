"""The command line as people use it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest


def penstock(*arguments: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", "from penstock.cli import main; main()", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=cwd, check=False)


def test_policies_as_json_have_what_scripts_need() -> None:
    shown = json.loads(penstock("policies", "--json").stdout)
    assert {"name", "paper", "equation", "use_when", "parameters"} <= set(shown[0])
    assert "fas-mcq" in [one["name"] for one in shown]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ("reproduce", "fas-utilisation"),
            "no experiment 'fas-utilisation'. Did you mean 'fas-utilization'?",
        ),
        (("bench", "decisions", "--policy", "chian"), "no policy 'chian'. Did you mean 'chain'?"),
    ],
)
def test_a_mistake_is_one_line_and_no_traceback(arguments: tuple[str, ...], says: str) -> None:
    done = penstock(*arguments)
    assert done.returncode == 2
    assert says in done.stderr
    assert "Traceback" not in done.stderr
    assert done.stdout == ""


def test_reproduce_prints_one_object_and_draws_a_figure(tmp_path: Path) -> None:
    done = penstock("reproduce", "mss-latency", "--quick", "--json", "--out", str(tmp_path))
    report = json.loads(done.stdout)
    assert {"id", "paper", "engine", "seed", "rows", "claims"} <= set(report)
    assert {"claim", "published", "measured", "holds"} == set(report["claims"][0])
    assert (tmp_path / "mss-latency.png").read_bytes().startswith(b"\x89PNG")


def test_a_figure_that_cannot_be_written_is_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = penstock("reproduce", "mss-latency", "--quick", "--out", str(tmp_path / "file"))
    assert done.returncode == 2
    assert "it is not a directory; choose another --out" in done.stderr
    assert "Traceback" not in done.stderr


def test_decisions_are_measured_per_policy_and_number_of_units() -> None:
    done = penstock("bench", "decisions", "--json", "--policy", "fas-mcq", "--units", "10", "--units", "20")
    rows = json.loads(done.stdout)["rows"]
    assert [(row["policy"], row["units"]) for row in rows] == [("fas-mcq", 10), ("fas-mcq", 20)]
    assert all(row["us_per_decision"] > 0 for row in rows)
