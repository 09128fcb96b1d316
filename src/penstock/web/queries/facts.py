"""What a query is and how it fares, in words: names and texts for people, one below the other."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

STATES = {
    "scheduled": "yet to begin",
    "running": "runs",
    "held": "suspended: its rows wait until it is resumed",
    "failed": "failed: it waits until it is resumed, altered or dropped",
    "draining": "stopping: what is on its way still comes out",
    "ended": "has ended: it puts out nothing more",
}
ON_ERROR = {"hold": "the query waits, nothing is left out", "skip": "the row is left out and kept below"}
#: What can be done to a query in a state.
DOABLE: Mapping[str, tuple[str, ...]] = {
    "scheduled": ("alter", "stop"),
    "running": ("alter", "suspend", "stop"),
    "held": ("alter", "resume", "stop"),
    "failed": ("alter", "resume", "stop"),
    "draining": (),
    "ended": (),
}


def life(query: Mapping[str, Any], together: int = 1, since_s: float | None = None) -> dict[str, str]:
    """How a query of the API lives; `since_s` is since when it has its state, where that was seen."""
    state = query["state"]
    found = {"State": STATES.get(state, state) + (f", since {moment(since_s)}" if since_s else "")}
    if query.get("since_s"):
        found["Began"] = moment(query["since_s"])
    if query.get("start_s"):
        found["To start"] = moment(query["start_s"])
    if query.get("until_s"):
        found["Ended"] = moment(query["until_s"])
    if query.get("stop_s"):
        found["To stop"] = moment(query["stop_s"])
    found["Kind"] = "one-time: it ends by itself" if query.get("one_time") else "continuous"
    on_error = query.get("on_error", "hold")
    found["If a row fails"] = ON_ERROR.get(on_error, on_error)
    found["Reads"] = ", ".join(query["reads"]) or "nothing"
    if together > 1:
        found["Runs"] = f"as one operator network with {together - 1} other{'s' if together > 2 else ''}"
    found["Rows out"] = f"{query['rows']:,}"
    found["Rows that wait"] = f"{query.get('waiting_rows', 0):,}"
    counts = {"late": query.get("late_rows", 0), "bad": query.get("bad_rows", 0)}
    told = [f"{count:,} {what}" for what, count in counts.items() if count]
    found["Rows left out"] = ", ".join([*told, *_skipped(query)]) or "none"
    return found


def _skipped(query: Mapping[str, Any]) -> list[str]:
    count = query.get("skipped_rows", 0)
    return [f"{count:,} skipped"] if count else []


def moment(at_s: float) -> str:
    """A time, to the second."""
    return f"{datetime.fromtimestamp(at_s, UTC):%Y-%m-%d %H:%M:%S} UTC"


#: The wishes, as they are altered: their name in the API and in a query's QoS, and how they are asked for.
WISHES = (
    ("latency", "latency_s", "Latency", "such as 2s or 500 ms"),
    ("memory", "memory_bytes", "Memory", "such as 64MB"),
    ("freshness", "freshness", "Freshness", "such as 95%"),
    ("throughput", "throughput_per_s", "Throughput", "rows a second, such as 1000"),
    ("tolerance", "tolerance", "Tolerance", "such as 10%"),
    ("weight", "weight", "Weight", "from 0 to 1; 1 if nothing is said"),
)


def asked(qos: Mapping[str, float | None]) -> dict[str, str]:
    """What is asked for, as one would write it."""
    found = {}
    for name, key, _, _ in WISHES:
        value = qos.get(key)
        found[name] = "" if value is None else _written(name, value)
    return found


def limits(qos: Mapping[str, float | None]) -> dict[str, float | None]:
    """What is asked for of what charts show, by their units."""
    fresh = qos.get("freshness")
    return {
        "latency": qos.get("latency_s"),
        "memory": qos.get("memory_bytes"),
        "share": None if fresh is None else 1.0 - fresh,
        "rate": qos.get("throughput_per_s"),
    }


def _written(wish: str, value: float) -> str:
    match wish:
        case "latency":
            return f"{value:g}s" if value >= 1 else f"{value * 1000:g}ms"
        case "memory":
            for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
                if value >= size and float(f"{value / size:g}") * size == value:
                    return f"{value / size:g}{unit}"
            return f"{value:.0f}"
        case "freshness" | "tolerance":
            return f"{value * 100:g}%"
    return f"{value:g}"


def mistaken(detail: str, wishes: Iterable[str]) -> tuple[str, str] | None:
    """The wish that a refusal is about, and what is wrong with it, without a place in our own SQL."""
    words = re.sub(r"^line \d+, column \d+: ", "", detail.partition("\n")[0])
    return next(((name, words) for name in wishes if words.startswith(f"{name}: ")), None)


def changes(before: Mapping[str, str], now: Mapping[str, str]) -> dict[str, Any]:
    """The wishes that are others now; None takes one back."""
    return {name: now[name].strip() or None for name in before if now[name].strip() != before[name]}
