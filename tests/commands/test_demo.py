"""The demonstration: its statements, what its report makes of looks at an engine, and a short day of it."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from rich.console import Console

from penstock.commands import demo
from penstock.commands.demo import Day, part, picture, report, report_json, smoothed, stale_s, statements
from penstock.engines.spark.results.measures import Latencies
from penstock.engines.spark.runtime.coordinator import Totals
from penstock.engines.spark.status.status import QueryStatus, Status
from penstock.model.qos import QoS
from penstock.sql.session import run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

POLICIES = ("round-robin", "fcfs")


def look(at_s: float, latencies_s: list[float], stale: float, waiting: float, policy: str = "fcfs") -> Status:
    """The engine at a moment: one query that wants 1 s, with all latencies so far."""
    latencies = Latencies()
    latencies.add(np.array(latencies_s))
    query = QueryStatus(
        name="fire",
        qos=QoS(latency_s=1.0),
        rows=len(latencies_s),
        latencies=latencies,
        staleness=0.0,
        stale_s=stale,
        queue_bytes=waiting,
        late_rows=0,
        bad_rows=0,
        failure=None,
    )
    totals = Totals(steps=len(latencies_s))
    return Status(at_s, {"fire": query}, {"temps": round(100 * at_s)}, waiting, 10, totals, policy)


LOOKS = [
    look(10.0, [], 0.0, 100.0),
    look(11.0, [2.0], 0.5, 700.0),
    look(12.0, [2.0, 4.0], 1.5, 200.0),
    look(13.0, [2.0, 4.0, 0.5], 1.75, 50.0),
]
DAY = Day(2.0, POLICIES, LOOKS, 2, stopped=False)


def text(day: Day) -> str:
    console = Console(file=StringIO(), width=150)
    console.print(report(day))
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_its_statements_are_twenty_queries_with_wishes() -> None:
    catalog, _ = run(statements(60.0, 5.0))
    assert len(catalog.queries) == 20
    assert set(catalog.streams) == set(demo.RATES)
    assert all(query.qos != QoS() for query in catalog.queries.values())
    assert catalog.streams["doors"].options["start"] == "2026-03-01 22:00:00"  # 5 s of 60 are two hours


@pytest.mark.parametrize("seconds_s", [8.0, 60.0, 600.0])
def test_a_day_brings_as_many_rows_in_each_half_however_long_it_is(seconds_s: float) -> None:
    catalog, _ = run(statements(seconds_s, 0.0))
    rows = {name: int(stream.options["rows"]) for name, stream in catalog.streams.items()}
    assert rows["motion"] == pytest.approx(135 * seconds_s)
    phases = catalog.streams["motion"].options["schedule"].split(", ")
    assert phases[1:4] == phases[4:7]


def test_each_part_counts_what_came_in_it() -> None:
    before, after = DAY.parts()
    assert [one.policy for one in (before, after)] == list(POLICIES)
    assert (before.mean_latency_s, after.mean_latency_s) == (3.0, 0.5)
    assert (before.wishes, after.wishes) == ((0, 1), (1, 1))
    assert (before.most_queued_bytes, after.most_queued_bytes) == (700.0, 200.0)
    assert (before.queries["fire"].rows, after.queries["fire"].rows) == (2, 1)
    assert before.staleness == pytest.approx(0.75)


def test_a_stale_span_is_put_back_to_where_it_was() -> None:
    looks = [look(0.0, [], 0.0, 0), look(1.0, [], 0.0, 0), look(2.0, [], 0.25, 0), look(3.0, [], 2.25, 0)]
    assert stale_s(looks, "fire") == pytest.approx([0.25, 1.0, 1.0])


def test_what_was_stale_is_never_longer_than_the_time_there_was() -> None:
    looks = [look(0.0, [], 0.0, 0), look(1.0, [], 5.0, 0)]
    assert stale_s(looks, "fire") == pytest.approx([1.0])
    assert part(looks, 0, 1, "fcfs").staleness == pytest.approx(1.0)


def test_time_without_rows_makes_nothing_look_fresher_and_late_results_count() -> None:
    looks = [
        look(0.0, [], 0, 0),
        look(1.0, [1.0], 0.5, 0),
        look(2.0, [1.0], 1.5, 0),
        look(9.0, [1.0, 7.0], 1.5, 0),
    ]
    _, after = Day(2.0, POLICIES, looks, 1, stopped=False).parts()
    assert after.staleness == pytest.approx(1.0)
    assert after.mean_latency_s == 7.0


def test_the_report_has_both_policies_beside_each_other() -> None:
    said = text(DAY)
    assert "300 rows in, 1 queries" in said
    assert "3.0 s → 500 ms" in said
    assert "violated → spare" in said
    assert "round-robin: mean latency 3.0 s" in said


def test_a_day_that_was_stopped_before_noon_has_one_part(tmp_path: Path) -> None:
    day = Day(60.0, POLICIES, LOOKS[:2], None, stopped=True)
    assert [one.policy for one in day.parts()] == ["round-robin"]
    assert "→" not in text(day)
    assert picture(day, tmp_path).stat().st_size > 10_000
    said = report_json(day, tmp_path / "demo.png")
    assert said["stopped"]
    assert said["policies"][0]["queries"]["fire"]["verdict_in_life"] == "violated"


def test_a_day_without_any_result_can_be_drawn(tmp_path: Path) -> None:
    day = Day(60.0, POLICIES, [look(0.0, [], 0.0, 0), look(0.5, [], 0.0, 0)], None, stopped=True)
    assert picture(day, tmp_path).exists()
    assert "mean latency unknown" in text(day)


def test_smoothing_takes_the_mean_of_the_last_seconds() -> None:
    times_s = np.array([0.0, 1.0, 2.0, 3.0])
    assert smoothed(np.array([4.0, 0.0, 2.0, 2.0]), times_s, 1.0) == pytest.approx([4.0, 2.0, 1.0, 2.0])


@pytest.mark.slow
def test_a_short_day_runs_with_two_policies(spark: SparkSession, tmp_path: Path) -> None:
    day = demo.play(8.0, ("fcfs", "fas-mcq"), Console(file=StringIO()), live=False)
    assert spark.range(2).count() == 2
    assert not day.stopped
    assert [one.policy for one in day.parts()] == ["fcfs", "fas-mcq"]
    assert all(query.failure is None for query in day.looks[-1].queries.values())
    # How far it comes is the machine's affair; on a slow one something may still wait.
    assert sum(query.rows > 0 for query in day.looks[-1].queries.values()) >= 10
    assert picture(day, tmp_path).exists()
