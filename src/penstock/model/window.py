"""Windows: MavStream's `[begin, end)` moved on by `hop` until the end of the query, and their kin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Window:
    """The n-th window is `[begin + n·hop, end + n·hop)`, as long as it starts before `end_of_query`.

    By `time` the bounds are seconds of the stream's own time, by `count` they are row numbers. Tumbling
    when `hop` equals the width, hopping when it is less. A join's window without a hop slides with each row.
    A `session` ends when `end` seconds pass without a row. A `given` window was computed below: column `on`
    has it, or a time of it, and rows that have the same belong together.

    `on` is the column that has a row's time; without it, the time the row came with.
    """

    kind: Literal["time", "count", "session", "given"]
    end: float
    begin: float = 0.0
    hop: float | None = None
    end_of_query: float | None = None
    on: str | None = None

    @classmethod
    def seconds(cls, width: float, hop: float | None = None, on: str | None = None) -> Window:
        """A window by time that starts with the stream."""
        return cls("time", end=width, hop=hop, on=on)

    @classmethod
    def rows(cls, width: float, hop: float | None = None) -> Window:
        """A window by row count that starts with the stream."""
        return cls("count", end=width, hop=hop)

    @classmethod
    def session(cls, gap: float, on: str | None = None) -> Window:
        """Rows of a key with no gap of so many seconds between them."""
        return cls("session", end=gap, on=on)

    @classmethod
    def given(cls, on: str) -> Window:
        """Rows that have the same in a column which only grows: a window computed below, or its time."""
        return cls("given", end=0.0, on=on)

    @property
    def width(self) -> float:
        """Seconds or rows that one window holds."""
        return self.end - self.begin

    @property
    def step(self) -> float:
        """Seconds or rows between two windows' beginnings."""
        return self.width if self.hop is None else self.hop

    def bounds(self, n: int) -> tuple[float, float]:
        """Where the n-th window begins and ends."""
        return self.begin + n * self.step, self.end + n * self.step

    def closed_by(self, position: float) -> int:
        """How many windows lie wholly before `position`."""
        if position < self.end:
            return 0
        closed = int((position - self.end) // self.step) + 1
        return closed if self.end_of_query is None else min(closed, self.count_in_query())

    def count_in_query(self) -> int:
        """How many windows begin before the end of the query; only asked when there is one."""
        assert self.end_of_query is not None
        if self.end_of_query <= self.begin:
            return 0
        return int(-(-(self.end_of_query - self.begin) // self.step))
