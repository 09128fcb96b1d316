"""Metrics: what is exported of a status, under which names, and that the dashboard asks for nothing else."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from penstock.engines.spark.status.query_states import QueryState
from penstock.server.metrics import METRICS, QUERY_STATES, collect, exposition

DASHBOARD = Path(__file__).parents[2] / "docs" / "dashboards" / "penstock.json"

STATUS: dict[str, Any] = {
    "at_s": 1000.0,
    "policy": "fcfs",
    "scheduling": "pool",
    "freshness": 0.9,
    "queued_bytes": 64.0,
    "held_bytes": 128,
    "totals": {
        "steps": 7,
        "jobs": 9,
        "failed_steps": 1,
        "large_steps": 1,
        "driver_row_bytes": 1,
        "step_s": 2.5,
        "spark_s": 2.0,
        "profile_s": 0.5,
        "max_queue_bytes": 999.0,
    },
    "queries": {
        "team.hot": {
            "state": "running",
            "rows": 40,
            "latency_sum_s": 8.0,
            "latency_count": 40,
            "p50_latency_s": 0.1,
            "p95_latency_s": 0.4,
            "staleness": 0.25,
            "memory_bytes": 1024.0,
            "wishes": [
                {"wish": "latency", "asked": 2.0, "measured": 0.2, "verdict": "spare"},
                {"wish": "freshness", "asked": 0.95, "measured": 0.5, "verdict": "violated"},
                {"wish": "memory", "asked": 64.0, "measured": None, "verdict": "unknown"},
            ],
            "waiting_rows": 3,
            "late_rows": 2,
            "skipped_rows": 1,
        },
        "new": {"state": "scheduled", "rows": 0, "p50_latency_s": None, "wishes": []},
    },
    "streams": {
        "team.s": {
            "rows": 500,
            "rate_per_s": 12.5,
            "late_rows": 4,
            "bad_rows": 5,
            "watermark_s": 990.0,
            "waited_for": True,
            "failing": {"reason": "gone"},
        },
        "t": {"rows": 1, "rate_per_s": 0.0, "late_rows": 0, "bad_rows": 0, "watermark_s": None},
    },
    "tables": {"rooms": {"state": "running"}},
    "sinks": {"team.files": {"state": "failing", "failing": {"reason": "full"}}},
}
PROCESSES = {
    "http": {"up": True, "restarts": 0, "crash_loop": False},
    "engine": {"up": False, "restarts": 3, "crash_loop": True},
}


def series(families: Any) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """What Prometheus reads: by name and labels."""
    parsed = text_string_to_metric_families(exposition(families).decode())
    samples = [sample for family in parsed for sample in family.samples]
    return {(one.name, frozenset(one.labels.items())): one.value for one in samples}


def key(name: str, /, **labels: str) -> tuple[str, frozenset[tuple[str, str]]]:
    return name, frozenset(labels.items())


HOT = {"query": "hot", "namespace": "team"}
S = {"stream": "s", "namespace": "team"}


@pytest.mark.parametrize(
    ("name", "labels", "value"),
    [
        ("penstock_query_rows_total", HOT, 40),
        ("penstock_query_latency_seconds", {**HOT, "quantile": "0.5"}, 0.1),
        ("penstock_query_latency_seconds", {**HOT, "quantile": "0.95"}, 0.4),
        ("penstock_query_latency_seconds_sum", HOT, 8.0),
        ("penstock_query_latency_seconds_count", HOT, 40),
        ("penstock_query_staleness_ratio", HOT, 0.25),
        ("penstock_query_memory_bytes", HOT, 1024),
        ("penstock_query_state", {**HOT, "state": "running"}, 1),
        ("penstock_query_state", {**HOT, "state": "held"}, 0),
        ("penstock_query_qos_met", {**HOT, "wish": "latency"}, 1),
        ("penstock_query_qos_met", {**HOT, "wish": "freshness"}, 0),
        ("penstock_query_qos_asked", {**HOT, "wish": "memory"}, 64),
        ("penstock_query_qos_measured", {**HOT, "wish": "latency"}, 0.2),
        ("penstock_query_rows_total", {"query": "new", "namespace": "default"}, 0),
        ("penstock_stream_rows_per_second", S, 12.5),
        ("penstock_stream_watermark_lag_seconds", S, 10.0),
        ("penstock_stream_failing", S, 1),
        ("penstock_stream_bad_rows_total", S, 5),
        ("penstock_engine_steps_total", {}, 7),
        ("penstock_engine_queue_bytes", {}, 64),
        ("penstock_engine_spark_seconds_total", {}, 2.0),
        ("penstock_engine_ready", {}, 1),
        ("penstock_part_failing", {"kind": "sink", "name": "files", "namespace": "team"}, 1),
        ("penstock_part_failing", {"kind": "table", "name": "rooms", "namespace": "default"}, 0),
        ("penstock_process_up", {"process": "engine"}, 0),
        ("penstock_process_restarts_total", {"process": "engine"}, 3),
        ("penstock_process_crash_loop", {"process": "engine"}, 1),
    ],
)
def test_a_status_becomes_series(name: str, labels: dict[str, str], value: float) -> None:
    assert series(collect(STATUS, PROCESSES))[key(name, **labels)] == value


def test_what_is_not_known_is_left_out() -> None:
    found = series(collect(STATUS, PROCESSES))
    assert key("penstock_query_qos_met", **HOT, wish="memory") not in found
    assert key("penstock_stream_watermark_lag_seconds", stream="t", namespace="default") not in found
    assert (
        key("penstock_query_latency_seconds", query="new", namespace="default", quantile="0.5") not in found
    )


def test_without_an_engine_only_processes_are_told() -> None:
    found = series(collect(None, PROCESSES))
    assert found[key("penstock_engine_ready")] == 0
    assert {name for name, _ in found} == {
        "penstock_engine_ready",
        "penstock_process_up",
        "penstock_process_restarts_total",
        "penstock_process_crash_loop",
    }


def test_a_namespace_sees_only_its_own() -> None:
    found = series(collect(STATUS, PROCESSES, "default"))
    assert {dict(labels)["namespace"] for _, labels in found if "namespace" in dict(labels)} == {"default"}


def test_every_series_is_listed_and_every_listed_one_exists() -> None:
    assert {name for name, _ in series(collect(STATUS, PROCESSES))} == METRICS


def test_names_follow_the_conventions() -> None:
    for family in collect(STATUS, PROCESSES):
        assert re.fullmatch(r"penstock_(query|stream|engine|process|part)_[a-z_]+[a-z]", family.name)
        assert family.documentation.endswith(".")
        assert not family.name.endswith(("_total", "_sum", "_count"))


def test_the_states_are_those_of_queries() -> None:
    assert {state.value for state in QueryState} == set(QUERY_STATES)


def texts(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case dict():
            for one in value.values():
                yield from texts(one)
        case list():
            for one in value:
                yield from texts(one)


class TestDashboard:
    def test_it_asks_only_for_what_is_exported(self) -> None:
        asked = {name for text in texts(json.loads(DASHBOARD.read_text("utf-8"))) for name in _names(text)}
        assert asked - METRICS == set()
        assert len(asked) > 25

    def test_it_has_a_row_for_each_thing_to_watch_and_no_panel_without_a_question(self) -> None:
        panels = json.loads(DASHBOARD.read_text("utf-8"))["panels"]
        assert [one["title"] for one in panels if one["type"] == "row"] == [
            "Overview",
            "Quality of service per query",
            "Latency",
            "Staleness, memory and rows",
            "Streams",
            "Engine",
        ]
        assert all(target["expr"] for one in panels if one["type"] != "row" for target in one["targets"])
        assert len({one["id"] for one in panels}) == len(panels)


def _names(text: str) -> list[str]:
    return re.findall(r"\bpenstock_[a-z_]+", text)


def test_it_needs_no_spark() -> None:
    code = "import sys, penstock.server.metrics, penstock.server.config; assert 'pyspark' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
