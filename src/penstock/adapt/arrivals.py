"""Arrivals: how many rows per second a stream brings lately, and how many on average."""

from __future__ import annotations

from dataclasses import dataclass

from penstock.adapt.recent import Mark, Marks

#: Lately is the last 10 s.
_SPAN_S, _STEP_S = 10.0, 1.0


@dataclass(frozen=True, slots=True)
class StreamRate:
    """Rows per second: lately, and since the first came; and when the last did."""

    lately_per_s: float
    mean_per_s: float
    last_s: float


@dataclass(slots=True)
class _Stream:
    """How long the first rows took to come is not known, so that they do not count."""

    began_s: float
    last_s: float
    marks: Marks
    rows: int = 0

    def add(self, rows: int, at_s: float) -> None:
        before = Mark(self.last_s, (self.rows,))
        self.rows += rows
        self.last_s = at_s
        if at_s >= self.marks.due_s:
            self.marks = self.marks.grown(before, Mark(at_s, (self.rows,)))

    def rate(self, now_s: float) -> StreamRate:
        start = self.marks.start(now_s, Mark(self.last_s, (self.rows,)))
        grown = self.rows - start.totals[0]
        lately_s, life_s = max(now_s - start.at_s, _STEP_S), max(now_s - self.began_s, _STEP_S)
        return StreamRate(grown / lately_s, self.rows / life_s, self.last_s)


class Arrivals:
    """All streams'."""

    def __init__(self) -> None:
        self._streams: dict[str, _Stream] = {}

    def add(self, stream: str, rows: int, at_s: float) -> None:
        """Rows came."""
        known = self._streams.get(stream)
        if known is None:
            marks = Marks((Mark(at_s, (0,)),), _SPAN_S, _STEP_S)
            self._streams[stream] = _Stream(at_s, at_s, marks)
        else:
            known.add(rows, at_s)

    def forget(self, stream: str) -> None:
        """A stream is no more."""
        self._streams.pop(stream, None)

    def rates(self, now_s: float) -> dict[str, StreamRate]:
        """Of each stream of which rows came."""
        return {name: stream.rate(now_s) for name, stream in self._streams.items()}
