"""Operators for the table: shares of the work, and only what has changed."""

from __future__ import annotations

from typing import Any

from penstock.web.scheduler.operator_rows import OperatorFeed, operator_rows


def operator(name: str, rate: float | None, cost_s: float | None) -> dict[str, Any]:
    return {
        "name": name,
        "kind": "select",
        "text": f"select {name}",
        "queries": ["q"],
        "units": [1],
        "partition": "",
        "state": "ready",
        "waiting_rows": 2,
        "waiting_bytes": 10.4,
        "state_bytes": 5,
        "rate_per_s": rate,
        "cost_s": cost_s,
        "cost_error": None,
        "selectivity": 0.123456,
        "measured": True,
    }


def test_the_share_is_what_rows_cost_in_a_second_of_what_all_cost() -> None:
    rows = operator_rows(
        [operator("a", 100.0, 0.003), operator("b", 10.0, 0.01), operator("c", None, None)],
        {"a": "select mean > 1"},
    )
    assert [one["text"] for one in rows] == ["select mean > 1", "select b", "select c"]
    assert [one["share"] for one in rows] == [0.75, 0.25, 0.0]
    assert (rows[0]["memory"], rows[0]["selectivity"]) == (15, 0.123)


def test_nothing_that_runs_has_no_share() -> None:
    assert operator_rows([operator("a", 0.0, 0.1)], {})[0]["share"] == 0.0


def test_only_what_changed_is_told() -> None:
    feed = OperatorFeed()
    assert len(feed.news([operator("a", 1.0, 1.0), operator("b", 1.0, 1.0)], {})["rows"]) == 2
    news = feed.news([operator("a", 1.0, 1.0001), operator("b", 1.0, 1.0)], {})
    assert news == {"rows": [], "gone": []}
    news = feed.news([operator("b", 1.0, 1.0)], {})
    assert news["gone"] == ["a"]
    assert [one["share"] for one in news["rows"]] == [1.0]
