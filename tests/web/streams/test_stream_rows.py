"""Streams as the page lists them."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.server.http.caller import Caller
from penstock.server.security.tokens import ANYONE
from penstock.web.live.history import History
from penstock.web.streams.stream_rows import Pace, StreamFeed, moment, pace_change, pace_of, trouble

CALLER = Caller(ANYONE)


def known(format_: str = "generator", **options: str) -> dict[str, Any]:
    return {"format": format_, "options": options, "columns": [{"name": "n", "type": "int"}], "time": None}


@pytest.mark.parametrize(
    ("stream", "pace"),
    [
        (known(rate="100/s"), Pace("rate", "100/s", 100.0)),
        (known("csv", Rate="60 rows per minute"), Pace("rate", "60 rows per minute", 1.0)),
        (known(poisson="5/s"), Pace("poisson", "5/s", 5.0)),
        (known(schedule="5s at 10/s"), Pace("schedule", "5s at 10/s", None)),
        (known("parquet"), Pace("", "", None)),
        (known("csv", arriving="true"), None),
        (known("push"), None),
        (known("kafka"), None),
    ],
)
def test_the_pace_of_a_stream(stream: dict[str, Any], pace: Pace | None) -> None:
    assert pace_of(stream) == pace


def test_another_rate_takes_the_place_of_whatever_pace_there_is() -> None:
    assert pace_change(Pace("rate", "1/s", 1.0), 2000.0) == {"rate": "2000/s"}
    assert pace_change(Pace("poisson", "1/s", 1.0), 0.5) == {"poisson": "0.5/s"}
    assert pace_change(Pace("schedule", "…", None), 10.0) == {"schedule": None, "rate": "10/s"}
    by_chance = pace_of({"format": "csv", "options": {"schedule": "1s at 2/s", "poisson": "true"}})
    assert pace_change(by_chance, 10.0) == {"schedule": None, "poisson": "10/s"}
    assert pace_change(Pace("", "", None), 1e6) == {"rate": "1000000/s"}


def test_a_moment_that_no_calendar_has() -> None:
    assert moment(0.0) == "1970-01-01 00:00:00"
    assert moment(1e15) == "1e+15 s"
    assert moment(None) == ""


def test_what_is_wrong_with_a_stream() -> None:
    failing = {"reason": "no such directory", "since_s": 0.0, "tries": 2, "next_try_s": 9.0}
    assert trouble({"failing": failing}) == "no such directory (since 1970-01-01 00:00:00 UTC, tried 2 times)"
    assert trouble({"problem": "a file changed"}) == "a file changed"
    assert trouble({}) == ""


def test_only_news_is_told_and_only_of_ones_own_streams() -> None:
    history = History()
    catalog = {
        "streams": {"s": known(rate="5/s"), "other.t": known()},
        "queries": {
            "q": {"reads": ["s"], "stopped": False},
            "done": {"reads": ["s"], "stopped": True},
            "other.x": {"reads": ["s"], "stopped": False},
        },
    }

    def look(at_s: float, rows: int) -> dict[str, Any]:
        stream = {"state": "running", "rows": rows, "rate_per_s": 5.0, "late_rows": 0, "bad_rows": 1}
        status = {
            "at_s": at_s,
            "policy": "fcfs",
            "scheduling": "pool",
            "held_bytes": 0,
            "queries": {},
            "streams": {"s": stream, "other.t": stream},
        }
        history.add(status)
        return status

    feed = StreamFeed(history)
    first = feed.news(CALLER, catalog, look(1.0, 3))
    assert list(first["rows"]) == ["s"]
    assert (first["rows"]["s"]["by"], first["rows"]["s"]["rate"], first["rows"]["s"]["bad"]) == (
        ["q"],
        5.0,
        1,
    )
    assert first["points"] == {"s": [[1.0, 5.0]]}
    again = feed.news(CALLER, catalog, look(2.0, 3))
    assert (again["rows"], again["points"], again["gone"]) == ({}, {"s": [[2.0, 5.0]]}, [])
    assert feed.news(CALLER, {"streams": {}}, look(3.0, 3))["gone"] == ["s"]
