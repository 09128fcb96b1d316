"""What a SELECT can read: the columns of something, and the hidden ones that every row carries along.

__time    its time in microseconds, NULL without one; of a joined row the latest, of a window the last
__order   array<struct<stream, offset>>: its place among rows of one time
__epoch   how often stored tables had changed when it, or the last of its rows, came in
__now     what now() is for it; NULL where a row is made of several
__late    the watermark that a row of a stream was behind at ingest, in microseconds, or NULL: windows of time
          that it had closed miss the row; sessions, windows by rows and joins of streams drop it
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from penstock.oracle.definitions import Stream

#: How a column tells a row's time: as it is, or as a window that ends behind it.
TimeKind: TypeAlias = Literal["instant", "window"]

HIDDEN = ("__time", "__order", "__epoch", "__now", "__late")


def quote(name: str) -> str:
    """A name as Spark SQL reads it, whatever it is."""
    return "`" + name.replace("`", "``") + "`"


@dataclass(frozen=True, slots=True)
class Relation:
    """A name in FROM, its columns that are not hidden, and which of them tell the rows' time.

    `ingested` is whether each row is one row of a stream, so that it is known when it came in. A `stored`
    table has none of the hidden columns.
    """

    name: str
    columns: tuple[str, ...]
    times: Mapping[str, TimeKind] = field(default_factory=dict)
    ingested: bool = False
    stored: bool = False

    @property
    def at(self) -> str:
        """The time by which a row falls into a window behind the relation, in microseconds.

        That is the one column with the time, as Penstock has it: the end of a window that was selected as
        such is an instant, and falls into the next window.
        """
        if len(self.times) != 1:
            return "__time"
        ((column, kind),) = self.times.items()
        return micros(quote(column), kind)


def micros(time: str, kind: TimeKind = "instant") -> str:
    """A time, or the last instant of a window, in microseconds."""
    if kind == "window":
        return f"unix_micros(CAST({time}.`end` AS TIMESTAMP)) - 1"
    return f"unix_micros(CAST({time} AS TIMESTAMP))"


def hidden(time: str, order: str, epoch: str, now: str, late: str) -> str:
    """The hidden columns of a SELECT list."""
    values = (time, order, epoch, now, late)
    return ", ".join(f"{value} AS {name}" for value, name in zip(values, HIDDEN, strict=True))


def stream_select(stream: Stream) -> str:
    """The rows of a stream, with all they carry along."""
    at = micros(quote(stream.time)) if stream.time is not None else "CAST(NULL AS BIGINT)"
    order = f"array(named_struct('stream', {stream.number}, 'offset', __offset))"
    carried = hidden(at, order, "__epoch", "__now", "__late")
    return f"SELECT {listed(stream.columns)}, {carried} FROM {quote(stream.name)}"


def listed(columns: Sequence[str]) -> str:
    """Columns as a SELECT list."""
    return ", ".join(quote(column) for column in columns)


def renamed(columns: Sequence[str], names: Sequence[str]) -> str:
    """Columns under other names, as a SELECT list."""
    return ", ".join(f"{quote(old)} AS {quote(new)}" for old, new in zip(columns, names, strict=True))
