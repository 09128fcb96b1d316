"""How well a query is served, for the eye: a place on a gauge, and whether a wish that is kept is in danger.

The engine judges over the last minute. A wish that it says is kept is at risk if what is measured lies beyond
what was asked and only the tolerance saves it, or if the latest results were beyond even that.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Any, NamedTuple

from penstock.web.live.history import Point

#: The end of a gauge: this many times what was asked for.
END = 1.5
#: How many of the latest points are looked at.
_LATEST = 5
#: As far beyond a wish as is told: a throughput of nothing is any number of times too little.
_MOST = 1e6


class Level(StrEnum):
    """From best to worst."""

    none = "none"  # nothing was asked for
    unknown = "unknown"  # nothing is measured yet
    spare = "spare"
    met = "met"
    risk = "risk"
    violated = "violated"


_ORDER = tuple(Level)
LEVEL_WORDS: Mapping[Level, str] = {
    Level.none: "no wish",
    Level.unknown: "not measured",
    Level.spare: "spare",
    Level.met: "met",
    Level.risk: "at risk",
    Level.violated: "violated",
}


class Gauge(NamedTuple):
    """One wish: asked and measured, the needle's place from 0 to 1, the ends of the tolerance, and why."""

    wish: str
    asked: float
    measured: float | None
    level: Level
    place: float | None
    low: float
    high: float
    cause: str


def gauges(wishes: Iterable[Mapping[str, Any]], tolerance: float, points: Iterable[Point]) -> list[Gauge]:
    """A gauge for each wish of a query. To the left is better, whatever is measured."""
    latest = list(points)[-_LATEST:]
    found = []
    for one in wishes:
        asked, measured = one["asked"], one["measured"]
        ratio = _ratio(one["wish"], asked, measured)
        now = _ratio(one["wish"], asked, _now(one["wish"], latest))
        level = Level(one["verdict"])
        beyond = ratio is not None and ratio > 1.0
        if level in (Level.spare, Level.met) and (beyond or (now is not None and now > 1.0 + tolerance)):
            level = Level.risk
        place = None if ratio is None else min(ratio, END) / END
        low, high = (1.0 - tolerance) / END, (1.0 + tolerance) / END
        found.append(Gauge(one["wish"], asked, measured, level, place, low, high, one.get("cause", "")))
    return found


def shown(found: Iterable[Gauge]) -> list[dict[str, Any]]:
    """Gauges as they are sent to a browser: short, since that is every second."""
    return [
        {
            **gauge._asdict(),
            "level": str(gauge.level),
            "measured": None if gauge.measured is None else float(f"{gauge.measured:.3g}"),
            "place": None if gauge.place is None else round(gauge.place, 2),
        }
        for gauge in found
    ]


def overall(found: Iterable[Gauge]) -> Level:
    """The worst of all; none if nothing was asked for."""
    return max((one.level for one in found), key=_ORDER.index, default=Level.none)


def beyond(found: Iterable[Gauge]) -> float:
    """How many times what was asked for is used up by the worst of all; 1 if none is beyond it."""
    ratios = (_ratio(one.wish, one.asked, one.measured) for one in found)
    return max((min(max(ratio, 1.0), _MOST) for ratio in ratios if ratio is not None), default=1.0)


def _ratio(wish: str, asked: float, measured: float | None) -> float | None:
    """How much of what was asked for is used up: above 1 it is too much."""
    if measured is None:
        return None
    if wish in ("throughput", "freshness"):  # of these more is better
        return asked / measured if measured > 0 else math.inf
    return measured / asked if asked > 0 else math.inf


def _now(wish: str, latest: list[Point]) -> float | None:
    """What the latest looks saw."""
    match wish:
        case "latency":
            values = [one.latency_s for one in latest if one.latency_s is not None]
        case "memory":
            values = [one.memory_bytes for one in latest]
        case "freshness":
            values = [1.0 - one.staleness for one in latest if one.staleness is not None]
        case _:
            values = []
    return sum(values) / len(values) if values else None
