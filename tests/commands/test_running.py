"""What `penstock run` says and does besides running: stopping, streams without end, its tables."""

from __future__ import annotations

import os
import signal
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from penstock.commands.run import (
    Ran,
    Stop,
    View,
    asked_for,
    interruptible,
    never_ends,
    run_files,
    summary,
    summary_json,
)
from penstock.engines.spark.failing import Failing
from penstock.engines.spark.results.measures import Latencies
from penstock.engines.spark.runtime.coordinator import Totals
from penstock.engines.spark.status.query_states import PartState, QueryState
from penstock.engines.spark.status.status import PartStatus, QueryStatus, Status, StreamStatus
from penstock.errors import EngineError, PolicyError
from penstock.model.qos import Judgement, QoS, Verdict
from penstock.sql import session as statements


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_request_to_end_is_as_good_as_ctrl_c(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    with pytest.raises(Stop), interruptible(Console(file=StringIO())):
        os.kill(os.getpid(), number)
    assert signal.getsignal(number) is before


STREAMS = """\
CREATE STREAM files (v INT) USING csv OPTIONS (path 'x.csv');
CREATE STREAM arriving (v INT) USING json OPTIONS (path 'x', arriving 'true');
CREATE STREAM ended (v INT) USING json OPTIONS (path 'x', arriving 'true', end '_over');
CREATE STREAM made (v INT) USING generator OPTIONS (rows '9');
CREATE STREAM made_up (v INT) USING generator;
CREATE STREAM pushed (v INT) USING push;
CREATE STREAM brokers (v INT) USING kafka;
"""


def test_streams_that_never_end() -> None:
    catalog, _ = statements.run(STREAMS)
    found = {name for name, stream in catalog.streams.items() if never_ends(stream)}
    assert found == {"arriving", "made_up", "pushed", "brokers"}


def run(sql: str, tmp_path: Path, said: StringIO, **more: Any) -> Ran:
    file = tmp_path / "q.sql"
    file.write_text(sql)
    given: dict[str, Any] = {
        "data": None, "policy": None, "until": "drained", "workers": 1, "state": None, "out": None,
        "format": "parquet", "memory": "1MB", "keep_log": False, "prune": False, "live": False, "conf": (),
        "master": None, "steps": None,
    }  # fmt: skip
    return run_files([str(file)], **{**given, **more}, err=Console(file=said, width=200))


def test_a_run_that_nothing_could_ever_come_of_is_refused_before_spark_starts(tmp_path: Path) -> None:
    said = StringIO()
    with pytest.raises(
        EngineError, match="no row can ever come: stream 'pushed' is one that a Python program"
    ):
        run(f"{STREAMS}CREATE CONTINUOUS QUERY q AS SELECT v FROM pushed;", tmp_path, said)
    assert "starting Spark" not in said.getvalue()


def test_a_policy_there_is_not_is_refused_before_spark_starts(tmp_path: Path) -> None:
    said = StringIO()
    sql = f"{STREAMS}CREATE CONTINUOUS QUERY q AS SELECT v FROM made;"
    with pytest.raises(PolicyError, match="no policy 'banana'"):
        run(sql, tmp_path, said, policy="banana")
    assert "starting Spark" not in said.getvalue()


def test_a_run_that_never_ends_says_so_first(tmp_path: Path) -> None:
    said = StringIO()
    sql = f"{STREAMS}CREATE CONTINUOUS QUERY q AS SELECT v FROM made_up;"
    with pytest.raises((EngineError, OSError)):  # nobody needs to wait for it here
        run(sql, tmp_path, said, state=tmp_path / "q.sql" / "no directory")
    assert said.getvalue().startswith("stream 'made_up' never ends, so this runs until Ctrl-C; --until 30s")


def shown(table: Any, width: int = 180) -> str:
    console = Console(file=StringIO(), width=width)
    console.print(table)
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


def test_tables_say_what_fails_what_was_asked_for_and_whose_rows_they_count() -> None:
    qos = QoS(latency_s=2.0, throughput_per_s=50.0, tolerance=0.2)
    query = QueryStatus(
        "q", qos, 5, Latencies(), 0.9, 1.0, 0.0, 0, 0, None, QueryState.held, 7,
        judged=(Judgement("latency", 2.0, 9.0, Verdict.violated, "it is held, and 7 rows wait on stream s"),),
        judged_in_life=(
            Judgement("latency", 2.0, 1.0, Verdict.spare),
            Judgement("throughput", 50.0, 0.5, Verdict.violated, "it is held"),
        ),
    )  # fmt: skip
    failing = Failing("it is a file", 90.0, 3, 104.0)
    streams = {"s": StreamStatus("s", PartState.failing, 30, 1, 2, failing, "two.csv: it cannot be read")}
    last = Status(
        100.0, {"q": query}, {"s": 30}, 0.0, 0, Totals(steps=1), "fcfs", streams,
        sinks={"k": PartStatus("k", PartState.running)},
    )  # fmt: skip
    ran = Ran(last, 2.0, rows_before=20)
    assert asked_for(query) == "≤ 2 s, ≥ 50/s ± 20%"
    for text in (shown(View().table(last)), shown(summary(ran, None))):
        assert "stream s fails: it is a file (for 10 s, tried 3×, again in 4 s)" in text
        assert "stream s: two.csv: it cannot be read" in text
        assert "held" in text
    assert "10 rows in after 20 of earlier runs" in shown(summary(ran, None))
    lately, in_life = shown(View().table(last)), shown(summary(ran, None))
    assert "violated: latency" in lately
    assert "q: latency violated, 9.0 s of 2.0 s: it is held, and 7 rows wait on stream s" in lately
    assert "violated: throughput" in in_life
    assert "q: throughput violated, 0.5/s of 50/s: it is held" in in_life
    assert "fresh 10% (weighted 10%)" in lately
    told = summary_json(ran)
    assert told["freshness"] == told["weighted_freshness"] == pytest.approx(0.1)
    assert told["queries"]["q"]["verdict"] == "violated"
    assert told["queries"]["q"]["wishes"] == [
        {
            "wish": "latency",
            "asked": 2.0,
            "measured": 9.0,
            "verdict": "violated",
            "cause": "it is held, and 7 rows wait on stream s",
        }
    ]
    assert told["queries"]["q"]["wishes_in_life"][0]["verdict"] == "spare"
    assert told["totals"]["rows_in"] == 10
    assert told["queries"]["q"]["state"] == "held"
    assert told["streams"]["s"] == {"state": "failing", "rows": 30, "late": 1, "bad": 2}
    assert told["failing"] == {"stream s": "it is a file"}


def test_a_narrow_table_has_whole_figures_and_no_columns_without_any() -> None:
    lat, qos = Latencies(), QoS(latency_s=2.0, throughput_per_s=50.0)
    lat.add(np.array([1.25]))
    violated = Judgement("latency", 2.0, 9.0, Verdict.violated, "it waits")

    def table(bad_rows: int) -> list[str]:
        queries = {
            name: QueryStatus(
                name, qos, rows, lat, 0.9, 1.0, 0.0, 0, bad_rows, None, QueryState.running,
                judged_in_life=(violated,),
            )
            for name, rows in (("hot_rooms", 1_100_234), ("mean_power_of_each_room", 12))
        }  # fmt: skip
        last = Status(100.0, queries, {"s": 30}, 0.0, 0, Totals(steps=1), "fcfs", {})
        return shown(summary(Ran(last, 2.0), None), 80).splitlines()

    assert next(line.split() for line in table(0) if "state" in line) == [
        "query", "state", "rows", "latency", "p95", "fresh", "asked", "for", "kept",
    ]  # fmt: skip
    assert any("running  1,100,234    1.2 s" in line for line in table(0))
    assert any(" bad " in line for line in table(5_000))
    assert sum("5,000" in line for line in table(5_000)) == 2
