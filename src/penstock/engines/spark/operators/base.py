"""What every operator of this engine knows: the hidden columns, and how a stateful operator is run.

Rows carry hidden columns beside those of their schema:

- `__time`: the row's time in microseconds, NULL for a stream without one. A row made of others has the latest
  of theirs; a window's has its last microsecond.
- `__late`: the watermark that a row was behind when it was taken in; NULL for most. There until the first
  stateful operator, which leaves such rows out of windows that had closed by then, or altogether.
- `__arrived`: when the last row it was made from came in, in microseconds since 1970; NULL for what a
  watermark set free: the step fills in when that watermark came.
- `__o0`, `__o1`, …: its place among rows of the same time (number of the stream, offset, and so on), compared
  from left to right. Only where an operator above depends on order; how many is fixed for each port.
- `__epoch`: how often stored relations had changed when it came in. Only below joins with relations.
- `__now`: what `now()` is for it. Only where an expression above asks.
- `__row`: its place among the rows that went into a job. Only within that job (see `copied`).

A stateful operator works in two turns. `remember` is SQL that belongs to the job which makes its input and
says what is worth keeping of it. `advance`, between jobs, adds that to the state and decides, by the
watermarks, what can be released; `released` is SQL that makes output of it, and belongs to the next job.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite
from typing import Protocol

from penstock.engines.spark.rows.base import Rows, Stored
from penstock.engines.spark.storage.records import OperatorState
from penstock.engines.spark.storage.store import Ref
from penstock.model.schema import Schema

TIME, LATE, ARRIVED, EPOCH, NOW, ROW = "__time", "__late", "__arrived", "__epoch", "__now", "__row"

#: Watermarks are microseconds: rows yet to come are not older. Nothing is known; no time, so nothing is ever
#: out of order; nothing will come any more.
UNKNOWN, TIMELESS, END = -(1 << 62), (1 << 62) - 1, 1 << 62


@dataclass(frozen=True, slots=True)
class RowLayout:
    """The columns of one port: its schema's, and which hidden ones. `__time` and `__arrived` always are."""

    schema: Schema
    order: int = 0
    late: bool = False
    epoch: bool = False
    now: bool = False
    row: bool = False

    @property
    def order_columns(self) -> tuple[str, ...]:
        """The columns that say a row's place among rows of the same time."""
        return tuple(f"__o{n}" for n in range(self.order))

    @property
    def hidden(self) -> tuple[str, ...]:
        """The hidden columns, all BIGINT but the last."""
        asked = ((LATE, self.late), (EPOCH, self.epoch), (NOW, self.now), (ROW, self.row))
        return (TIME, ARRIVED, *self.order_columns, *(name for name, there in asked if there))

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns."""
        return (*self.schema.names, *self.hidden)


@dataclass(frozen=True, slots=True)
class Release:
    """What can go out now: rows for the inputs of `released(variant)`."""

    variant: str
    tables: Mapping[str, Rows]


@dataclass(frozen=True, slots=True)
class Advance:
    """An operator's state after a turn, what it releases, and the watermark of its output from then on."""

    state: OperatorState
    releases: tuple[Release, ...]
    mark: int


@dataclass(frozen=True, slots=True)
class Released:
    """SQL for a release: a SELECT over inputs (name to columns) with the columns of the output."""

    sql: str
    inputs: Mapping[str, tuple[str, ...]]


class Tools(Protocol):
    """What an operator may do between jobs."""

    def put(self, rows: Rows, *bounded: str) -> Stored | None:
        """Stores rows, with the bounds of those columns; nothing if there are none."""
        ...

    def get(self, ref: Ref) -> Rows:
        """The rows of a stored table."""
        ...

    def run(self, released: Released, inputs: Mapping[str, Rows]) -> Rows:
        """Runs SQL over rows as a Spark job of its own."""
        ...

    def members(self, roster: str | None) -> Rows:
        """The members of a shared query that see their streams end: their numbers and constants.

        Of a query that is not shared, one row that stands for it.
        """
        ...


class StatefulOperator(Protocol):
    """One stateful operator of the graph. It has no state of its own: that goes in and comes out."""

    def remember(self, slot: int, rows: str) -> str | None:
        """A SELECT over `rows` for what is to be kept of that input; None to keep rows as they are.

        Rows kept as they are have been freed of late ones and of the column that says so.
        """
        ...

    def advance(
        self, state: OperatorState, arrived: Mapping[int, Rows], marks: tuple[int, ...], tools: Tools
    ) -> Advance:
        """Takes in what was remembered of each input (nothing for some), and the inputs' watermarks."""
        ...

    def released(self, variant: str) -> Released:
        """How a release becomes output."""
        ...


def micros(seconds: float) -> int:
    """Seconds in whole microseconds; infinitely many are more than any time, either way."""
    return round(seconds * 1_000_000) if isfinite(seconds) else (END if seconds > 0 else UNKNOWN)
