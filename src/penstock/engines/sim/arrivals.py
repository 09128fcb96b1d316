"""When rows arrive: Poisson, bursty, by a schedule of rates, at a fixed rate, or as a trace says."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from penstock.engines.sim.draws import Floats, Ints
from penstock.errors import ExperimentError


@dataclass(frozen=True, slots=True)
class Arrivals:
    """A stream's log: batch `i` holds rows `[starts[i], starts[i+1])` and arrives at `at_s[i]`.

    `times_s` are the rows' own time stamps. A `blocking` source hands over its next batch only when the step
    that took the last one is done: its thread runs the query itself (direct interoperability).
    """

    at_s: Floats
    starts: Ints
    times_s: Floats
    blocking: bool = False

    @property
    def rows(self) -> int:
        """How many rows the stream has."""
        return int(self.starts[-1])

    def arrival_of_rows(self) -> Floats:
        """When each row arrives."""
        return np.repeat(self.at_s, np.diff(self.starts))


def at_times(times_s: Floats, *, blocking: bool = False) -> Arrivals:
    """One row at each of these times; rows at the very same time arrive as one batch."""
    times_s = np.asarray(times_s, dtype=np.float64)
    if len(times_s) and np.any(np.diff(times_s) < 0):
        raise ExperimentError("arrival times must not run backwards")
    if blocking:
        return Arrivals(times_s, np.arange(len(times_s) + 1), times_s, blocking=True)
    at_s, first = np.unique(times_s, return_index=True)
    return Arrivals(at_s, np.append(first, len(times_s)), times_s)


def fixed_rate(rate: float, rows: int) -> Arrivals:
    """Rows in equal intervals."""
    return at_times(np.arange(rows) / rate)


def poisson(rate: float, rows: int, rng: np.random.Generator) -> Arrivals:
    """Exponential gaps."""
    return at_times(np.cumsum(rng.exponential(1.0 / rate, rows)))


def bursty(rate: float, rows: int, burst: int, rng: np.random.Generator) -> Arrivals:
    """Poisson, but of each run of `burst` consecutive rows all arrive with the first."""
    times = np.cumsum(rng.exponential(1.0 / rate, rows))
    return at_times(np.repeat(times[::burst], burst)[:rows])


def scheduled(rates: Sequence[tuple[float, float]], rows: int, rng: np.random.Generator) -> Arrivals:
    """A Poisson process whose rate changes: pairs of (from this second, rows per second), in order."""
    if not rates or rates[0][0] != 0.0 or any(rate <= 0 for _, rate in rates):
        raise ExperimentError("a schedule of rates begins at second 0 and every rate is above 0")
    starts = np.array([second for second, _ in rates])
    per_s = np.array([rate for _, rate in rates])
    # Unit-rate arrivals are stretched by the inverse of the cumulated rate.
    work = np.concatenate([[0.0], np.cumsum(np.diff(starts) * per_s[:-1])])
    unit = np.cumsum(rng.exponential(1.0, rows))
    piece = np.searchsorted(work, unit, side="right") - 1
    return at_times(starts[piece] + (unit - work[piece]) / per_s[piece])


def from_trace(path: Path, rows: int | None = None) -> Arrivals:
    """Arrival times in seconds, one number per line, gzipped or not."""
    if not path.exists():
        raise ExperimentError(f"no trace at {path}")
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt") as lines:
        times = np.loadtxt(lines, max_rows=rows, ndmin=1)
    return at_times(times - times[0])
