"""What samples come to, and that it can be drawn; and the rows that are measured with."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from rich.console import Console

from penstock.bench.scale import backlog, picture, processes, report, stepping, throughput
from penstock.bench.scale.measure import Samples, Settings
from penstock.errors import ExperimentError

FEW, MANY = 100, 1000
SETTINGS = Settings((FEW, MANY), repeats=3)


def run(side: throughput.Side, rows: int, repeat: int, rows_per_s: float) -> throughput.Sample:
    return throughput.Sample(side, rows, repeat, rows / rows_per_s, rows_per_s, steps=1)


def steps(
    side: stepping.Side, rows: int, repeat: int, step_s: float, megabytes: int, row_bytes: int = 0
) -> stepping.Sample:
    return stepping.Sample(
        side, rows, step_s, step_s, 1, 1, row_bytes, 10**6, (megabytes - 1) * 10**6, repeat=repeat
    )


SAMPLES = Samples(
    (
        *(run("batch", MANY, turn, speed) for turn, speed in enumerate((1000.0, 1000.0, 500.0))),
        *(run("by-size", MANY, turn, speed) for turn, speed in enumerate((900.0, 800.0, 100.0))),
        *(run("in-hand", MANY, turn, speed) for turn, speed in enumerate((400.0, 500.0, 300.0))),
        run("batch", FEW, 0, 1.0),
    ),
    (
        *(steps("one-task", MANY, turn, seconds, 900) for turn, seconds in enumerate((17.0, 18.0, 40.0))),
        *(steps("two-tasks", MANY, turn, seconds, 550) for turn, seconds in enumerate((10.0, 10.0, 11.0))),
        *(steps("two-tasks", FEW, turn, 1.0, size) for turn, size in enumerate((500, 500, 400))),
        steps("in-hand", MANY, 0, 30.0, 800, row_bytes=7_000_000),
    ),
)


def test_ratios_are_of_medians_with_the_most_rows() -> None:
    found = report.document(SETTINGS, SAMPLES)
    assert list(found)[-2:] == ["ratios", "driver_row_bytes"]
    assert found["ratios"] == {
        "throughput_vs_batch": pytest.approx(0.8),
        "two_tasks_vs_one": pytest.approx(1.8),
        "driver_memory_growth": pytest.approx(0.1),
    }
    assert found["beside"] == {
        "throughput_vs_in_hand": pytest.approx(2.0),
        "at_large_vs_in_hand": pytest.approx(3.0),
    }


def test_spreads_are_of_runs_of_the_same_turn() -> None:
    spread = report.document(SETTINGS, SAMPLES)["spread"]
    assert spread["throughput_vs_batch"] == pytest.approx([0.2, 0.9])
    assert spread["two_tasks_vs_one"] == pytest.approx([1.7, 40 / 11])
    assert spread["driver_memory_growth"] == pytest.approx([0.1, 0.375])
    assert spread["at_large_vs_in_hand"] == pytest.approx([3.0, 3.0])


def test_bytes_in_hand_count_for_steps_at_large_alone() -> None:
    assert report.document(SETTINGS, SAMPLES)["driver_row_bytes"] == 0
    seen = Samples((), (*SAMPLES.steps, steps("one-task", FEW, 0, 1.0, 500, row_bytes=3)))
    assert report.document(SETTINGS, seen)["driver_row_bytes"] == 3


def test_what_was_not_measured_is_no_ratio() -> None:
    found = report.document(SETTINGS, Samples(SAMPLES.throughput, ()))
    assert found["ratios"]["throughput_vs_batch"] is not None
    assert found["ratios"]["two_tasks_vs_one"] is None
    assert found["ratios"]["driver_memory_growth"] is None
    assert found["driver_row_bytes"] is None
    assert found["spread"]["two_tasks_vs_one"] is None
    assert any("not measured" in line for line in report.verdict(found))


def test_tables_and_sentences_say_medians() -> None:
    text = io.StringIO()
    console = Console(width=160, file=text)
    for table in report.tables(SETTINGS, SAMPLES):
        console.print(table)
    shown = text.getvalue()
    assert "800 (100 to 900)" in shown
    assert "18.00 (17.00 to 40.00)" in shown
    lines = report.verdict(report.document(SETTINGS, SAMPLES))
    assert "1.80× as fast with two tasks as with one" in lines[1]
    assert "+10%" in lines[2]


@pytest.mark.parametrize("samples", [SAMPLES, Samples(SAMPLES.throughput, ())], ids=["all", "part"])
def test_it_is_drawn(samples: Samples, tmp_path: Path) -> None:
    picture.draw(report.document(SETTINGS, samples), "a backlog", tmp_path / "there" / "scale.png")
    assert (tmp_path / "there" / "scale.png").stat().st_size > 10_000


def test_a_backlog_is_the_same_rows_in_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backlog, "_FILE_ROWS", 400)
    one = backlog.write(tmp_path / "rows", 1000)
    files = sorted(one.root.iterdir())
    assert [pq.read_metadata(file).num_rows for file in files] == [400, 400, 200]
    rows = pa.concat_tables(pq.read_table(file) for file in files)
    assert rows.equals(backlog.readings(0, 1000))
    assert pc.sum(rows["v"]).as_py() == one.total


def test_rows_are_out_of_order_by_less_than_the_watermark_allows() -> None:
    times = backlog.readings(0, 100_000)["t"].cast(pa.int64()).to_numpy()
    latest, worst = times[0], 0
    for time_us in times.tolist():
        worst, latest = max(worst, latest - time_us), max(latest, time_us)
    assert 0 < worst < 1_000_000
    assert pc.count_distinct(backlog.readings(0, 100_000)["k"]).as_py() == backlog.KEYS


def test_a_side_with_one_task_has_one_core_and_all_else_alike() -> None:
    assert stepping.place("one-task", None)[0] == "local[1]"
    assert stepping.place("two-tasks", None)[0] == "local[2]"
    assert stepping.place("one-task", None)[1] == stepping.place("two-tasks", None)[1]
    master, conf = stepping.place("one-task", "spark://localhost:7077")
    assert master == "spark://localhost:7077"
    assert conf["spark.cores.max"] == "1"
    assert stepping.place("two-tasks", master)[1] == {**conf, "spark.cores.max": "2"}


def test_a_process_that_fails_says_what_it_did_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "failing"
    script.write_text("#!/bin/sh\necho '{\"rows\": 7}'\necho half way\nexit 3\n")
    script.chmod(0o700)
    monkeypatch.setattr(sys, "executable", str(script))
    said: list[str] = []
    found = processes.samples_of("stepping", {}, [], said.append)
    assert next(found) == {"rows": 7}
    with pytest.raises(ExperimentError, match="stepping ended with status 3 after: half way"):
        next(found)
    assert said == ["  half way"]
