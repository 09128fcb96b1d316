"""`penstock top`: what hurts comes first."""

from __future__ import annotations

import io
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from penstock.client.status import Moment, status_of
from penstock.commands.top import causes, lately, query_line, screen
from tests.client.protocol import QUERIES, STREAMS, wish

NUMBERS = st.floats(0.01, 100.0)
VERDICTS = st.sampled_from(["unknown", "spare", "met", "violated"])
QUERY = st.fixed_dictionaries(
    {
        "state": st.sampled_from(["running", "held", "failed", "draining", "ended", "scheduled"]),
        "rows": st.integers(0, 10**9),
        "waiting_rows": st.integers(0, 1000),
        "mean_latency_s": st.none() | NUMBERS,
        "freshness": st.none() | st.floats(0, 1),
        "verdict": VERDICTS,
        "wishes": st.lists(
            st.builds(
                wish,
                st.sampled_from(["latency", "memory", "throughput", "freshness"]),
                NUMBERS,
                st.none() | st.just(0.0) | NUMBERS,
                VERDICTS,
                st.text(max_size=5),
            ),
            max_size=3,
        ),
    }
)


@given(st.dictionaries(st.text(min_size=1, max_size=6), QUERY, max_size=8))
def test_failed_before_violated_before_held_before_running_before_ended(queries: dict[str, Any]) -> None:
    now = status_of({"queries": queries})
    order = []
    for one in now.urgent_first():
        violated = any(wish.verdict == "violated" for wish in one.wishes)
        states = {"held": 2, "draining": 2, "ended": 4, "scheduled": 4}
        order.append(0 if one.state == "failed" else 1 if violated else states.get(one.state, 3))
    assert order == sorted(order)
    assert len(order) == len(queries)
    Console(file=io.StringIO(), width=200).print(screen(now, streams=True))  # whatever there is can be shown


def test_of_two_violations_the_worse_one_is_first() -> None:
    queries = {
        name: {"state": "running", "wishes": [wish("latency", 1.0, measured, "violated")]}
        for name, measured in (("a", 2.0), ("b", 9.0), ("c", 3.0))
    }
    assert [one.name for one in status_of({"queries": queries}).urgent_first()] == ["b", "c", "a"]


def test_a_rate_is_over_the_last_looks() -> None:
    past = [Moment(float(n), {"q": 10 * n * n}, {}) for n in range(10)]
    assert lately(status_of({}, past), "q") == (810 - 160) / 5
    assert lately(status_of({}, past[:1]), "q") is None
    assert lately(status_of({}, past), "r") is None


def test_causes_are_told() -> None:
    now = status_of({"queries": QUERIES, "streams": STREAMS})
    assert causes(now) == [
        "broken: DIVIDE_BY_ZERO: <b>no</b>",
        "slow: latency violated, 9.0 s of 2.0 s: it waits for 'rooms'",
    ]
    assert query_line(now.queries["hot"], 12.0) == "running, 1,200 rows, 12 rows/s, 1.9 s, 97% fresh, met"
