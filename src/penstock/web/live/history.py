"""The last minutes of every query, every stream and the whole, as far as looks at the engine were taken.

A pure record: looks go in, points come out. Latency of a moment is that of the results since the look before;
staleness is the share of the time since then in which the result was out of date.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

#: How many looks are kept, four minutes of them while rows flow, and marks (switches of policy and threads).
KEPT, MARKS = 400, 50

_Kept = TypeVar("_Kept")


class Point(NamedTuple):
    """What was measured between two looks; None where nothing can be said."""

    at_s: float
    latency_s: float | None
    memory_bytes: float
    staleness: float | None
    rows_per_s: float


class Mark(NamedTuple):
    """A moment at which something was set to something else."""

    at_s: float
    text: str


class Seen(NamedTuple):
    """Running sums of one query at a look."""

    latency_sum_s: float
    latency_count: int
    stale_s: float
    rows: int


@dataclass(slots=True)
class History:
    """Points of each query by full name, rows a second of each stream, points of the whole, and marks."""

    kept: int = KEPT
    whole: deque[Point] = field(default_factory=deque)
    marks: deque[Mark] = field(default_factory=lambda: deque(maxlen=MARKS))
    queries: dict[str, deque[Point]] = field(default_factory=dict)
    streams: dict[str, deque[tuple[float, float]]] = field(default_factory=dict)
    #: The state of each query, and since when it has it; None where it had it when it was first seen.
    states: dict[str, tuple[str, float | None]] = field(default_factory=dict)
    _seen: dict[str, Seen] = field(default_factory=dict)
    _at_s: float | None = None
    _rows_in: int = 0
    _how: tuple[str, str] | None = None

    def add(self, status: Mapping[str, Any]) -> None:
        """A look at the engine, as its status says it; one that is not newer than the last is not counted."""
        at_s = status["at_s"]
        if self._at_s is not None and at_s <= self._at_s:
            return
        how = (status["policy"], status["scheduling"])
        if self._how is not None:
            for was, is_now, what in zip(self._how, how, ("policy", "threads"), strict=True):
                if was != is_now:
                    self.marks.append(Mark(at_s, f"{what}: {is_now}"))
        self._how = how
        passed_s = None if self._at_s is None else at_s - self._at_s
        rows_in = sum(one["rows"] for one in status["streams"].values())
        points = []
        for name, one in status["queries"].items():
            now = Seen(one["latency_sum_s"], one["latency_count"], one["stale_s"], one["rows"])
            before = self._seen.get(name)
            self._seen[name] = now
            state = self.states.get(name)
            if state is None or state[0] != one["state"]:
                self.states[name] = (one["state"], None if state is None else at_s)
            if passed_s is None or before is None or now.rows < before.rows:
                continue
            point = _between(at_s, passed_s, before, now, one)
            self._keep(self.queries.setdefault(name, deque()), point)
            if one["state"] == "running":
                points.append(point)
        for gone in self._seen.keys() - status["queries"].keys():
            self._seen.pop(gone)
            self.queries.pop(gone, None)
            self.states.pop(gone, None)
        for name, one in status["streams"].items():
            self._keep(self.streams.setdefault(name, deque()), (at_s, one.get("rate_per_s") or 0.0))
        for gone in self.streams.keys() - status["streams"].keys():
            del self.streams[gone]
        if passed_s is not None:
            held = float(status["held_bytes"])
            self._keep(
                self.whole,
                Point(
                    at_s,
                    _mean([one.latency_s for one in points]),
                    held,
                    _mean([one.staleness for one in points]),
                    max(0, rows_in - self._rows_in) / passed_s,
                ),
            )
        self._at_s, self._rows_in = at_s, rows_in

    def _keep(self, points: deque[_Kept], point: _Kept) -> None:
        points.append(point)
        while len(points) > self.kept:
            points.popleft()


def since(points: Sequence[Point], told_s: float, apart_s: float = 0.0) -> list[list[float | None]]:
    """The points that are newer, short enough to be sent at every look.

    Of those that are nearer to each other than `apart_s` there is one, the last, with the last known latency:
    results are seldom.
    """
    found: list[list[float | None]] = []
    next_s = math.inf
    for one in reversed(points):
        if one.at_s <= told_s:
            break
        if one.at_s <= next_s:
            next_s = one.at_s - apart_s
            found.append([round(one.at_s, 2), *map(_short, one[1:])])
        elif found[-1][1] is None:
            found[-1][1] = _short(one.latency_s)
    found.reverse()
    return found


def _short(value: float | None) -> float | None:
    return None if value is None else float(f"{value:.4g}")


def _between(at_s: float, passed_s: float, before: Seen, now: Seen, one: Mapping[str, Any]) -> Point:
    results = now.latency_count - before.latency_count
    latency_s = (now.latency_sum_s - before.latency_sum_s) / results if results > 0 else None
    stale = (
        min(1.0, max(0.0, (now.stale_s - before.stale_s) / passed_s)) if one["state"] == "running" else None
    )
    return Point(at_s, latency_s, one["memory_bytes"], stale, (now.rows - before.rows) / passed_s)


def _mean(values: list[float | None]) -> float | None:
    known = [one for one in values if one is not None]
    return sum(known) / len(known) if known else None
