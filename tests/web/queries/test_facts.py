"""What a query is, in words; what it asks for, as one writes it; and which of that is to be another."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.web.queries.facts import asked, changes, life, limits, mistaken

QOS = {
    "latency_s": 0.5,
    "memory_bytes": 64e6,
    "throughput_per_s": None,
    "freshness": 0.95,
    "weight": 0.8,
    "tolerance": 0.1,
}


def query(**given: Any) -> dict[str, Any]:
    return {"state": "running", "reads": ["temperature"], "rows": 14068, **given}


def test_a_life_is_told_by_what_there_is_to_say() -> None:
    assert life(query()) == {
        "State": "runs",
        "Kind": "continuous",
        "If a row fails": "the query waits, nothing is left out",
        "Reads": "temperature",
        "Rows out": "14,068",
        "Rows that wait": "0",
        "Rows left out": "none",
    }


def test_times_sharing_and_rows_left_out_are_told_where_they_are() -> None:
    found = life(
        query(
            start_s=0.0,
            stop_s=1772413200.0,
            since_s=1772409600.0,
            late_rows=80,
            skipped_rows=2,
            one_time=True,
        ),
        together=3,
    )
    assert found["To stop"] == "2026-03-02 01:00:00 UTC"
    assert found["Began"] == "2026-03-02 00:00:00 UTC"
    assert found["Runs"] == "as one operator network with 2 others"
    assert found["Rows left out"] == "80 late, 2 skipped"
    assert found["Kind"] == "one-time: it ends by itself"


def test_wishes_are_as_one_writes_them() -> None:
    wanted = {
        "latency": "500ms",
        "memory": "64MB",
        "freshness": "95%",
        "throughput": "",
        "tolerance": "10%",
        "weight": "0.8",
    }
    assert asked(QOS) == wanted


@pytest.mark.parametrize(
    ("size", "written"), [(1e9, "1GB"), (1500.0, "1.5kB"), (1234567.0, "1234567"), (12.0, "12")]
)
def test_sizes_are_written_exactly(size: float, written: str) -> None:
    assert asked({"memory_bytes": size})["memory"] == written


def test_only_what_is_another_is_changed_and_what_is_emptied_is_taken_back() -> None:
    before = asked(QOS)
    now = {**before, "latency": " 2s ", "freshness": "", "memory": " 64MB"}
    assert changes(before, now) == {"latency": "2s", "freshness": None}


def test_charts_show_staleness_where_freshness_is_asked_for() -> None:
    found = limits(QOS)
    assert found["share"] == pytest.approx(0.05)
    assert (found["latency"], found["memory"], found["rate"]) == (0.5, 64e6, None)


def test_a_refused_wish_is_told_at_its_field() -> None:
    detail = "line 4, column 40: latency: 'fast' is no duration\n  SET (latency = 'fast')\n"
    assert mistaken(detail, ["memory", "latency"]) == ("latency", "latency: 'fast' is no duration")
    assert mistaken("line 1, column 3: there is no column 'x'", ["latency"]) is None
