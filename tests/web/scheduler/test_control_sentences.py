"""The event log in sentences: what real control writes down can be told, and what is rare is not lost."""

from __future__ import annotations

import json
from typing import Any

from penstock.control.events import PolicyChanged, QueriesSubmitted, StepFailed, StreamEnded
from penstock.control.log import EventLog
from penstock.control.machine import Control
from penstock.control.thread_plans import ThreadPlan
from penstock.model.estimates import Estimates
from penstock.sql.session import run
from penstock.web.scheduler.control_sentences import told


def line(event: dict[str, Any], *commands: dict[str, Any]) -> str:
    return json.dumps({"event": {"at_s": 1.0, **event}, "commands": list(commands)})


def batch(rows: int) -> dict[str, Any]:
    return {"rows": rows, "bytes": 1500.0}


def test_a_step_says_what_it_runs_and_what_it_committed() -> None:
    take = {"edges": [[["s", 0], "select-1", 0]], "batches": [batch(2), batch(3)]}
    lines = [
        '{"penstock_log": 2, "policy": "fcfs"}',
        line(
            {"type": "BatchArrived", "stream": "s", "batch": batch(1)},
            {"type": "RunStep", "step": 7, "unit": 2, "worker": 1, "takes": [take]},
        ),
        line(
            {
                "type": "StepFinished",
                "step": 7,
                "cost_s": 0.04,
                "outputs": [{"port": ["a", 0], "batch": batch(4)}],
            },
            {"type": "Commit", "step": 7, "frontier": {"s": 12345}},
        ),
    ]
    found = told(lines, {"select-1": "select n > 1"})
    assert sorted(one.text for one in found.sentences) == [
        "1 row of s arrived, 1.5 kB",
        "Step 7 began on thread 1: unit 2 (select n > 1) takes 5 rows",
        "Step 7 was done in 40 ms, 4 rows into queues; committed s up to row 12,345",
    ]
    assert (found.counts["steps"], found.counts["rows"], found.since_s) == (2, 1, 1.0)


def test_of_what_comes_by_the_hundred_only_the_newest_are_told() -> None:
    rare = line({"type": "PolicyChanged", "at_s": 0.5, "policy": "chain"})
    often = [
        line({"type": "BatchArrived", "at_s": float(n), "stream": "s", "batch": batch(n)})
        for n in range(1, 50)
    ]
    found = told([rare, *often], {}, most=3)
    assert [one.text for one in found.sentences] == [
        "49 rows of s arrived, 1.5 kB",
        "48 rows of s arrived, 1.5 kB",
        "47 rows of s arrived, 1.5 kB",
        "The policy is chain",
    ]
    assert found.counts["rows"] == 49


def test_who_runs_together_is_said_once_until_it_changes() -> None:
    def members(*names: str) -> str:
        return line(
            {"type": "MembersChanged", "query": "shape", "members": [{"query": name} for name in names]}
        )

    found = told([members("b", "a"), members("a", "b"), members("a", "b", "c"), members()], {})
    assert [one.text for one in found.sentences] == [
        "b, a run as one",
        "a, b, c run as one",
        "shape is no more",
    ]


def test_what_control_itself_writes_is_told() -> None:
    catalog, _ = run(
        "CREATE STREAM s (t TIMESTAMP, n INT) USING push; CREATE CONTINUOUS QUERY q AS SELECT n FROM s;"
    )
    control = Control()
    log = EventLog("fcfs", ThreadPlan(), Estimates({}))
    for event in (
        QueriesSubmitted(1.0, (catalog.queries["q"],)),
        PolicyChanged(2.0, "chain"),
        StreamEnded(3.0, "s"),
    ):
        log(event, control.handle(event))
    log(StepFailed(4.0, 3, "no room"), [])
    found = told(log.lines, {})
    texts = [one.text for one in found.sentences]
    assert "A query was submitted: q" in texts
    assert "The policy is chain" in texts
    assert "Stream s ended" in texts
    assert texts[0] == "Step 3 failed: no room"
    assert any(one.startswith("Query q started") for one in texts)
