"""When the rows of a replayed file or a generator arrive, in nanoseconds after the start.

The time of row n follows from n and the time of the row before it, in whole nanoseconds: so a pace goes on
after a crash as if nothing had happened. Rows that were due while nobody asked come at once.
"""

from __future__ import annotations

import gzip
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np
import pyarrow as pa

from penstock.engines.spark.ingest.sources.options import Options
from penstock.engines.spark.ingest.sources.poisson import Nanos, Poisson, PoissonSchedule


class Pace(Protocol):
    """Says when rows arrive."""

    def times_ns(self, first: int, rows: pa.Table, before_ns: int) -> Nanos:
        """When rows `first`, … arrive; `before_ns` is when the one before did, 0 if there is none."""


@dataclass(frozen=True, slots=True)
class Rate:
    """So many rows per second, evenly."""

    per_s: float

    def times_ns(self, first: int, rows: pa.Table, before_ns: int) -> Nanos:  # noqa: ARG002
        """Row n after n / rate."""
        numbers = np.arange(first, first + rows.num_rows)
        return np.rint(numbers * (1e9 / self.per_s)).astype(np.int64)


@dataclass(frozen=True, slots=True)
class Schedule:
    """Phases of so many seconds at so many rows per second, over and over, or with the last one going on."""

    phases: tuple[tuple[float, float], ...]
    repeat: bool = True

    def times_ns(self, first: int, rows: pa.Table, before_ns: int) -> Nanos:  # noqa: ARG002
        """Row n when the rates, added up over time, have made n rows."""
        lengths, rates = (np.array(column, dtype=np.float64) for column in zip(*self.phases, strict=True))
        begins_s = np.concatenate([[0.0], np.cumsum(lengths)])
        begins_rows = np.concatenate([[0.0], np.cumsum(lengths * rates)])
        numbers = np.arange(first, first + rows.num_rows, dtype=np.float64)
        rounds = np.floor(numbers / begins_rows[-1]) if self.repeat else np.zeros(len(numbers))
        left = numbers - rounds * begins_rows[-1]
        # Phases at 0/s begin with the same row as the next one; from the right, that one is found.
        phase = np.searchsorted(begins_rows[:-1], left, side="right") - 1
        times = rounds * begins_s[-1] + begins_s[phase] + (left - begins_rows[phase]) / rates[phase]
        return np.asarray(np.rint(times * 1e9), dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Trace:
    """Recorded arrival times, the first at 0; when they are used up they begin again, a mean gap later."""

    times: Nanos

    def times_ns(self, first: int, rows: pa.Table, before_ns: int) -> Nanos:  # noqa: ARG002
        """Row n at the n-th time."""
        count, span = len(self.times), int(self.times[-1])
        round_ns = span + max(1, span // max(1, count - 1))
        numbers = np.arange(first, first + rows.num_rows)
        return np.asarray(self.times[numbers % count] + numbers // count * round_ns, dtype=np.int64)


@dataclass(slots=True)
class EventTime:
    """Rows arrive as their own times say, `speedup` times as fast; late ones with the row before."""

    column: str
    speedup: float = 1.0
    #: The first row's time; part of the position, since nothing else recalls it.
    first_us: int | None = field(default=None)

    def times_ns(self, first: int, rows: pa.Table, before_ns: int) -> Nanos:  # noqa: ARG002
        """As long after the first row as their times are; never before the row before."""
        column = rows.column(self.column)
        micros = column.cast(pa.timestamp("us")).cast(pa.int64())
        if self.first_us is None:
            known = micros.drop_null()
            if len(known) == 0:
                return np.full(rows.num_rows, before_ns, dtype=np.int64)
            self.first_us = known[0].as_py()
        valid = np.asarray(micros.is_valid())
        since = np.asarray(micros.fill_null(self.first_us)).astype(np.float64) - self.first_us
        times = np.where(valid, np.rint(since * (1000.0 / self.speedup)), before_ns).astype(np.int64)
        return np.maximum(np.maximum.accumulate(times), before_ns)

    def time_us(self, since_us: int) -> int | None:
        """The time of rows that arrive so long after the first."""
        return None if self.first_us is None else self.first_us + round(since_us * self.speedup)


@dataclass(slots=True)
class Since:
    """A pace that counts from a row and a time on, since another one held before."""

    pace: Pace
    row: int = 0
    ns: int = 0

    def times_ns(self, first: int, rows: pa.Table, before_ns: int) -> Nanos:
        """As the pace says of rows counted from that one; those before it are over."""
        over = min(max(self.row - first, 0), rows.num_rows)
        since_ns = max(before_ns - self.ns, 0)
        times = self.pace.times_ns(first + over - self.row, rows.slice(over), since_ns)
        return np.concatenate([np.zeros(over, np.int64), times]) + self.ns

    def time_us(self, since_us: int) -> int | None:
        """The time of rows that arrive so long after the start, if they arrive by their times."""
        return self.pace.time_us(since_us - self.ns // 1000) if isinstance(self.pace, EventTime) else None


def read_pace(options: Options, time_column: str | None) -> Pace | None:
    """The pace that the options ask for; None: full speed."""
    given = [name for name in ("rate", "schedule", "poisson", "trace", "times") if options.has(name)]
    if given == ["schedule", "poisson"]:
        return _by_chance(options, _schedule(options))
    if len(given) > 1:
        raise options.error(
            given[1], f"there is '{given[0]}' already; a stream has one pace, so leave one out"
        )
    match given:
        case ["rate"]:
            return Rate(options.rate("rate", options.text("rate", "")))
        case ["poisson"] if options.text("poisson", "").lower() in ("true", "false"):
            raise options.error("poisson", "there is no 'schedule' whose rates it could mean; write '1000/s'")
        case ["poisson"]:
            return Poisson(options.rate("poisson", options.text("poisson", "")), options.whole("seed", 0))
        case ["schedule"]:
            return _schedule(options)
        case ["trace"]:
            column = options.text("trace_column", "")
            return Trace(_trace_times(options, options.path("trace", "a file of arrival times"), column))
        case ["times"]:
            options.one_of("times", "event", ("event",))
            if time_column is None:
                raise options.error("times", "the stream has no time; declare WATERMARK FOR its time column")
            return EventTime(time_column, options.number("speedup", 1.0))
    return None


def _schedule(options: Options) -> Schedule:
    phases = []
    for phase in options.text("schedule", "").split(","):
        length, at, rate = phase.partition(" at ")
        if not at:
            raise options.error(
                "schedule", f"'{phase.strip()}' is no phase; write '10s at 500/s, 5s at 5000/s'"
            )
        phases.append((options.seconds("schedule", length), options.rate("schedule", rate, zero=True)))
    repeat = options.flag("repeat", True)
    if not any(length > 0 and rate > 0 for length, rate in phases):
        raise options.error("schedule", "no phase brings a row; one must last and have a rate above 0")
    if not repeat and phases[-1][1] == 0:
        raise options.error("schedule", "its last phase goes on for ever at 0/s; give it a rate, or repeat")
    return Schedule(tuple(phases), repeat)


def _by_chance(options: Options, schedule: Schedule) -> Pace:
    text = options.text("poisson", "").lower()
    if text not in ("true", "false"):
        raise options.error(
            "poisson", f"'{text}' is given beside 'schedule', which has the rates; write 'true'"
        )
    if text == "false":
        return schedule
    return PoissonSchedule(schedule.phases, schedule.repeat, options.whole("seed", 0))


def _trace_times(options: Options, path: Path, column: str) -> Nanos:
    """Arrival times in seconds, one per line, or a column of a CSV with a header."""
    place = 0
    try:
        with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as lines:
            if column:
                header = [name.strip().lower() for name in next(lines, "").split(",")]
                if column.lower() not in header:
                    raise options.error("trace_column", f"{path.name} has no column '{column}'")
                place = header.index(column.lower())
            seconds = np.loadtxt(lines, delimiter=",", usecols=place, ndmin=1, dtype=np.float64)
    except OSError as problem:
        raise options.error("trace", f"{path} cannot be read: {problem.strerror or problem}") from None
    except ValueError as problem:
        raise options.error(
            "trace", f"{path.name} is no list of seconds ({problem}); name the column with 'trace_column'"
        ) from None
    if len(seconds) == 0 or not np.isfinite(seconds).all() or (np.diff(seconds) < 0).any():
        raise options.error("trace", f"{path.name} must hold arrival times in seconds that never decrease")
    return np.asarray(np.rint((seconds - seconds[0]) * 1e9), dtype=np.int64)
