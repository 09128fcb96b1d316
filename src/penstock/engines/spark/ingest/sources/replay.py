"""Rows that exist already, from files or a generator, arriving at a pace.

The position holds where the supply stands, how many rows have arrived, when the first was due and when the
last did. After a crash the pace goes on by the first start: rows that were due while nobody ran arrive at
once, at the time of the restart, and the following ones when they would have arrived anyway.

A pace may be changed while rows flow. The new one counts from the first row that had not arrived, and from
when it was changed: this is its origin, which is part of the position, so that after a crash it is the same.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.engines.spark.ingest.sources.base import Arrived, BadRow
from penstock.engines.spark.ingest.sources.pace import EventTime, Pace, Since
from penstock.engines.spark.ingest.sources.types import times_us


class Supply(Protocol):
    """Rows in order, to be looked at and taken."""

    def open(self, place: Any | None, start_us: int) -> None:
        """Goes to the first row, or to where `place` was taken; `start_us`: when the stream first started."""

    def peek(self) -> pa.Table | None:
        """Rows that come next; an empty table if there are only bad ones for now, None: there are no more."""

    def take(self, rows: int) -> tuple[BadRow, ...]:
        """Moves past rows that `peek` showed."""

    @property
    def place(self) -> Any:
        """Where it stands; can be written as JSON."""

    @property
    def problems(self) -> tuple[str, ...]:
        """What is wrong and does not stop it; any thread may look."""

    def time_us(self, column: str, since_us: int) -> int | None:
        """What a column shows so long after the start, if it is a clock."""

    def close(self) -> None:
        """Lets go of what it holds."""


class Replay:
    """A supply at a pace, or at full speed without one; `time` is the column with the rows' times."""

    live = False

    def __init__(
        self,
        supply: Supply,
        schema: pa.Schema,
        pace: Pace | None,
        time: str | None = None,
        paced_us: int | None = None,
    ) -> None:
        """`paced_us` is when the pace was changed, None if it never was."""
        self._supply, self._time, self._paced_us = supply, time, paced_us
        self._pace = pace if pace is None or isinstance(pace, Since) else Since(pace)
        self._nothing = schema.empty_table()
        self.full_speed = pace is None
        self.ended = False
        self._rows = self._before_ns = self._first_us = self._opened_us = 0

    @property
    def problems(self) -> tuple[str, ...]:
        """What the supply says."""
        return self._supply.problems

    def open(self, position: Any | None, start_us: int) -> None:
        """Starts or goes on."""
        self._opened_us = self._first_us = start_us
        if position is not None:
            self._rows, self._before_ns = position["rows"], position["before_ns"]
            self._first_us = position["start_us"]
            self._go_on(position)
        self._supply.open(None if position is None else position["place"], self._first_us)

    def _go_on(self, position: Any) -> None:
        """The pace goes on by its origin, which is here if it was changed since."""
        origin = position.get("origin")
        if self._pace is None:
            return
        if self._paced_us is not None and (origin is None or origin["paced_us"] != self._paced_us):
            self._pace.row = self._rows
            self._pace.ns = max(self._before_ns, (self._paced_us - self._first_us) * 1000)
            return
        if origin is not None:
            self._pace.row, self._pace.ns = origin["row"], origin["ns"]
        if isinstance(self._pace.pace, EventTime):
            self._pace.pace.first_us = position["event_us"]

    def poll(self, now_us: int, most_rows: int) -> Arrived | None:
        """Rows that are due."""
        if self.ended:
            return None
        tables: list[pa.Table] = []
        times: list[npt.NDArray[np.int64]] = []
        bad: list[BadRow] = []
        left = most_rows
        while (table := self._supply.peek()) is not None:
            table = table.slice(0, left)
            due, at_us = self._due(table, now_us)
            if due:
                tables.append(table.slice(0, due))
                times.append(at_us)
            bad += self._supply.take(due)
            self._rows += due
            left -= due
            if left == 0 or due < table.num_rows or bad:
                break
        # Looking ahead may pass bad rows: they belong to this position.
        self._supply.peek()
        bad += self._supply.take(0)
        position = self._position()
        self.ended = self._supply.peek() is None
        if not tables and not bad:
            return None
        whole = pa.concat_tables(tables) if tables else self._nothing
        arrived = np.concatenate(times) if times else np.empty(0, np.int64)
        return Arrived(whole, arrived, position, tuple(bad))

    def next_us(self, now_us: int) -> int:
        """When the next row is due."""
        table = None if self._pace is None or self.ended else self._supply.peek()
        if self._pace is None or table is None or table.num_rows == 0:
            return now_us
        next_ns = int(self._pace.times_ns(self._rows, table.slice(0, 1), self._before_ns)[0])
        return max(now_us, self._first_us + -(-next_ns // 1000))

    def reached_us(self, now_us: int) -> int | None:
        """As far as the clock that rows come by, or else the next row's time: which row that is, is known.

        It is never beyond the next row, so that no row becomes late by it.
        """
        if self._time is None or self.ended:
            return None
        table = self._supply.peek()
        if table is None or table.num_rows == 0:
            return None
        next_us: int | None = times_us(table[self._time].slice(0, 1))[0].as_py()
        since_us = now_us - self._first_us
        if self._pace is not None and isinstance(self._pace.pace, EventTime):
            clock_us = self._pace.time_us(since_us)
        else:
            clock_us = self._supply.time_us(self._time, since_us)
        return next_us if next_us is None or clock_us is None else min(next_us, clock_us)

    def quiet_us(self, now_us: int) -> int | None:
        """The next row is not due."""
        return now_us

    def close(self) -> None:
        """Closes the supply."""
        self._supply.close()

    def _due(self, table: pa.Table, now_us: int) -> tuple[int, npt.NDArray[np.int64]]:
        """How many of the rows have arrived, and when."""
        if self._pace is None or table.num_rows == 0:
            return table.num_rows, np.full(table.num_rows, now_us, np.int64)
        times = self._pace.times_ns(self._rows, table, self._before_ns)
        times = np.maximum(np.maximum.accumulate(times), self._before_ns)
        due = int(np.searchsorted(times, (now_us - self._first_us) * 1000, side="right"))
        if due:
            self._before_ns = int(times[due - 1])
        at_us = self._first_us + -(-times[:due] // 1000)
        return due, np.maximum(at_us, self._opened_us)

    def _position(self) -> dict[str, Any]:
        position = {
            "place": self._supply.place,
            "rows": self._rows,
            "start_us": self._first_us,
            "before_ns": self._before_ns,
        }
        if self._pace is not None and isinstance(self._pace.pace, EventTime):
            position["event_us"] = self._pace.pace.first_us
        if self._paced_us is not None:
            row, ns = (self._rows, 0) if self._pace is None else (self._pace.row, self._pace.ns)
            position["origin"] = {"paced_us": self._paced_us, "row": row, "ns": ns}
        return position
