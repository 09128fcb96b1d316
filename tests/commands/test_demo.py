"""The demonstration: its statements, what its report makes of looks at an engine, and a short day of it."""

from __future__ import annotations

import json
import re
import threading
from contextlib import suppress
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

from penstock.cli import app
from penstock.commands.demo.day import Day, alike, part, stale_s
from penstock.commands.demo.picture import picture, smoothed
from penstock.commands.demo.report import report, report_json
from penstock.commands.demo.statements import RATES, going_on, statements
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
    assert set(catalog.streams) == set(RATES)
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


def test_with_the_page_streams_pause_after_the_day_and_go_on_when_told() -> None:
    for pauses in (False, True):
        catalog, _ = run(statements(60.0, 5.0, pauses=pauses))
        assert all(("rows" not in stream.options) == pauses for stream in catalog.streams.values())
    changed = "ALTER STREAM power SET (schedule = NULL, rate = '3000/s');"
    of_doors = ("night_doors", "draught", "activity", "doors_by_floor")
    gone = "".join(f"DROP QUERY {name}; " for name in of_doors) + "DROP STREAM doors;"
    catalog, _ = run(f"{statements(60.0, 5.0, pauses=True)}\n{changed}\n{gone}")
    said = going_on(catalog.streams)
    assert said == (
        "ALTER STREAM motion SET (schedule = NULL, rate = '100/s');\n"
        "ALTER STREAM temperature SET (schedule = NULL, rate = '200/s');"
    )
    catalog, _ = run(said, catalog)
    assert {name: stream.options.get("rate") for name, stream in catalog.streams.items()} == {
        "motion": "100/s",
        "temperature": "200/s",
        "power": "3000/s",
    }


def test_what_somebody_makes_or_drops_meanwhile_is_in_no_report() -> None:
    other = replace(LOOKS[0].queries["fire"], name="mine")
    looks = [*LOOKS]
    looks[1] = replace(
        looks[1], queries={**looks[1].queries, "mine": other}, rows_in={"temps": 1, "clicks": 5}
    )
    assert [set(look.queries) | set(look.rows_in) for look in alike(looks)] == [{"fire", "temps"}] * 4
    day = Day.of(2.0, POLICIES, looks, 2, stopped=False)
    assert text(day) == text(DAY)


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> StringIO:
    """What goes to standard error, where there is no terminal."""
    found = StringIO()
    monkeypatch.setattr("penstock.cli.err", Console(file=found, width=200))
    return found


class Looker(threading.Thread):
    """Somebody who looks at the page for as long as it is there."""

    def __init__(self, said: StringIO) -> None:
        super().__init__(daemon=True)
        self._said, self._over = said, threading.Event()
        self.seen: set[tuple[str, int]] = set()

    def run(self) -> None:
        while not self._over.wait(0.3):
            found = re.search(r"http://[\d.]+:\d+", self._said.getvalue())
            for path in ("/", "/ready", "/api/v1/queries/fire/results") if found else ():
                with suppress(httpx.TransportError):
                    answered = httpx.get(f"{found[0]}{path}", timeout=30.0, trust_env=False)  # type: ignore[index]
                    self.seen.add((path, answered.status_code))

    def stop(self) -> None:
        self._over.set()
        self.join()


@pytest.mark.slow
def test_a_short_day_is_played_once_with_two_policies_and_the_page(
    spark: SparkSession, tmp_path: Path, said: StringIO
) -> None:
    looker = Looker(said)
    looker.start()
    asked = ["demo", "--once", "--seconds", "8", "--policy", "fcfs", "--then", "fas-mcq"]
    try:
        ended = CliRunner().invoke(app, [*asked, "--out", str(tmp_path), "--json"])
    finally:
        looker.stop()
    assert ended.exit_code == 0, f"{ended.output}\n{said.getvalue()}"
    assert {("/", 200), ("/ready", 200), ("/api/v1/queries/fire/results", 200)} <= looker.seen
    assert spark.range(2).count() == 2
    told = json.loads(ended.stdout)
    assert not told["stopped"]
    assert [one["policy"] for one in told["policies"]] == ["fcfs", "fas-mcq"]
    queries = [one["queries"] for one in told["policies"]]
    assert not [name for name, one in queries[1].items() if "failure" in one]
    # How far it comes is the machine's affair; on a slow one something may still wait.
    assert sum(queries[0][name]["rows"] + queries[1][name]["rows"] > 0 for name in queries[0]) >= 10
    assert Path(told["picture"]).exists()
    url = re.search(r"http://[\d.]+:\d+", said.getvalue())
    assert url is not None
    with pytest.raises(httpx.TransportError):  # nothing is left of it
        httpx.get(url[0], timeout=5.0, trust_env=False)


@pytest.mark.parametrize("arguments", [["--once"], []])
def test_where_there_is_no_terminal_a_day_is_enough(
    arguments: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, said: StringIO
) -> None:
    given: dict[str, Any] = {}

    def play_with_page(seconds_s: float, policies: tuple[str, str], _: Console, **options: Any) -> None:
        given.update(options, seconds_s=seconds_s, policies=policies)
        options["shown"](DAY)

    monkeypatch.setattr("penstock.commands.demo.serving.play_with_page", play_with_page)
    ended = CliRunner().invoke(app, ["demo", "--out", str(tmp_path), *arguments])
    assert ended.exit_code == 0, f"{ended.output}\n{said.getvalue()}"
    assert (given["seconds_s"], given["policies"], given["once"]) == (60.0, ("round-robin", "direct"), True)
    assert "3.0 s → 500 ms" in ended.stdout
