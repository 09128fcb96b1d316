"""The record of the last minutes: what is between two looks, and what is forgotten."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from penstock.web.live.history import History, Point


def look(
    at_s: float, policy: str = "fcfs", scheduling: str = "pool", **queries: dict[str, Any]
) -> dict[str, Any]:
    """A look at an engine with those queries."""
    bare = {
        "state": "running",
        "latency_sum_s": 0.0,
        "latency_count": 0,
        "stale_s": 0.0,
        "rows": 0,
        "memory_bytes": 0.0,
    }
    return {
        "at_s": at_s,
        "policy": policy,
        "scheduling": scheduling,
        "held_bytes": 5,
        "streams": {"s": {"rows": round(10 * at_s)}},
        "queries": {name: {**bare, **one} for name, one in queries.items()},
    }


def test_a_point_tells_what_happened_since_the_look_before() -> None:
    history = History()
    history.add(look(1.0, q={"latency_sum_s": 3.0, "latency_count": 2, "rows": 7}))
    assert not history.queries
    history.add(
        look(
            3.0, q={"latency_sum_s": 5.0, "latency_count": 6, "rows": 27, "stale_s": 0.5, "memory_bytes": 9.0}
        )
    )
    assert list(history.queries["q"]) == [Point(3.0, 0.5, 9.0, 0.25, 10.0)]
    assert list(history.whole) == [Point(3.0, 0.5, 5.0, 0.25, 10.0)]


def test_without_results_there_is_no_latency() -> None:
    history = History()
    for at_s in (1.0, 2.0):
        history.add(look(at_s, q={}))
    assert history.queries["q"][0].latency_s is None


def test_a_query_that_is_not_running_is_neither_stale_nor_fresh() -> None:
    history = History()
    for at_s in (1.0, 2.0):
        history.add(look(at_s, q={"state": "held", "stale_s": at_s}))
    assert history.queries["q"][0].staleness is None
    assert history.whole[0].staleness is None


def test_switches_are_marked() -> None:
    history = History()
    for at_s, policy, threads in ((1.0, "fcfs", "pool"), (2.0, "chain", "pool"), (3.0, "chain", "gts")):
        history.add(look(at_s, policy, threads))
    assert [tuple(mark) for mark in history.marks] == [(2.0, "policy: chain"), (3.0, "threads: gts")]


def test_a_query_that_is_dropped_and_made_again_begins_anew() -> None:
    history = History()
    history.add(look(1.0, q={"rows": 100}))
    history.add(look(2.0))
    history.add(look(3.0, q={"rows": 1}))
    assert "q" not in history.queries
    history.add(look(4.0, q={"rows": 3}))
    assert history.queries["q"][0].rows_per_s == 2.0


def test_an_engine_that_was_started_again_counts_nothing_backwards() -> None:
    history = History()
    history.add(look(1.0, q={"rows": 100}))
    history.add(look(2.0, q={"rows": 1}))
    assert "q" not in history.queries


@given(st.lists(st.floats(0.0, 1000.0), max_size=40), st.integers(1, 10))
def test_points_are_in_order_and_no_more_than_are_kept(times_s: list[float], kept: int) -> None:
    history = History(kept)
    for at_s in times_s:
        history.add(look(at_s, q={}))
    for points in (history.whole, history.queries.get("q", ())):
        found = [one.at_s for one in points]
        assert found == sorted(set(found))
        assert len(found) <= kept


def test_the_rate_of_a_stream_is_kept_until_it_is_dropped() -> None:
    history = History(kept=2)
    for at_s, rate in ((1.0, 10.0), (2.0, 20.0), (3.0, None)):
        history.add({**look(at_s), "streams": {"s": {"rows": 1, "rate_per_s": rate}}})
    assert list(history.streams["s"]) == [(2.0, 20.0), (3.0, 0.0)]
    history.add({**look(4.0), "streams": {}})
    assert not history.streams


def test_a_state_has_a_beginning_where_it_was_seen_to_change() -> None:
    history = History()
    history.add(look(1.0, q={"state": "running"}))
    assert history.states["q"] == ("running", None)
    history.add(look(2.0, q={"state": "held"}))
    history.add(look(3.0, q={"state": "held"}))
    assert history.states["q"] == ("held", 2.0)
    history.add(look(4.0))
    assert "q" not in history.states
