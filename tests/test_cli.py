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
        (
            ("run", "examples/smart-home.sql", "--conf", "spark.executor.memory"),
            "--conf spark.executor.memory: write NAME=VALUE, as --conf spark.executor.memory=2g",
        ),
        (
            ("run", "examples/smart-home.sql", "--master", "spark://127.0.0.1:1"),
            "no Spark master answers at spark://127.0.0.1:1",
        ),
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
    assert {"claim", "published", "measured", "state", "within_noise"} == set(report["claims"][0])
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


STATEMENTS = """\
CREATE STREAM temps (t TIMESTAMP, room STRING, temp DOUBLE, WATERMARK FOR t)
  USING csv OPTIONS (path 'temps.csv');
CREATE CONTINUOUS QUERY hot WITH (latency = '2s') AS SELECT room FROM temps WHERE temp > 30;
CREATE CONTINUOUS QUERY hotter AS SELECT x.room AS place FROM temps x WHERE 30 < x.temp;
"""


def test_explain_shows_plans_sharing_and_units(tmp_path: Path) -> None:
    file = tmp_path / "q.sql"
    file.write_text(STATEMENTS)
    done = penstock("explain", str(file), "--policy", "chain")
    assert done.returncode == 0
    for part in ("── hotter ─", "results within 2 s ± 10%", "└─ source temps", "all of it runs already"):
        assert part in done.stdout
    assert "operators  2, 2 fewer than apart" in done.stdout
    assert "units under chain" in done.stdout


def test_explain_as_json_and_as_a_picture(tmp_path: Path) -> None:
    file, picture = tmp_path / "q.sql", tmp_path / "q.png"
    file.write_text(STATEMENTS)
    done = penstock("explain", str(file), "--json", "--png", str(picture))
    shown = json.loads(done.stdout)
    assert [query["name"] for query in shown["queries"]] == ["hot", "hotter"]
    assert shown["graph"]["sharing"] == {"separate": 4, "merged": 2, "saved": 2}
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_explain_reads_standard_input_and_keeps_sql_in_brackets_whole() -> None:
    wrong = STATEMENTS + "EXPLAIN SELECT tmp FROM temps [range 10 s]\n"
    command = [sys.executable, "-c", "from penstock.cli import main; main()", "explain", "-"]
    done = subprocess.run(command, input=wrong, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr == (
        "error: standard input: line 5, column 16: there is no column 'tmp'; there are t, room, temp. "
        "Did you mean 'temp'?\n"
        "  EXPLAIN SELECT tmp FROM temps [range 10 s]\n"
        "                 ^^^\n"
    )


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("nothing.sql",), "error: nothing.sql: cannot read it: No such file or directory\n"),
        (
            ("q.sql", "--png", "no/q.png"),
            "error: cannot write the picture no/q.png: No such file or directory; choose another --png\n",
        ),
    ],
)
def test_what_explain_cannot_read_or_write_is_one_line(
    tmp_path: Path, arguments: tuple[str, ...], says: str
) -> None:
    (tmp_path / "q.sql").write_text(STATEMENTS)
    done = penstock("explain", *arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", says)


def test_explain_refuses_a_policy_there_is_not(tmp_path: Path) -> None:
    (tmp_path / "q.sql").write_text(STATEMENTS)
    done = penstock("explain", "q.sql", "--policy", "chian", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.startswith("error: no policy 'chian'. Did you mean 'chain'?")


def test_planning_is_measured() -> None:
    shown = json.loads(penstock("bench", "planning", "--queries", "10", "--json").stdout)
    assert shown["bench"] == "planning"
    assert set(shown["planning_ms"]) == {"median", "p95", "max"}
    assert list(shown["merging_ms"]) == ["1", "10"]
    assert set(shown["operators"]) == {"separate", "merged", "saved"}
