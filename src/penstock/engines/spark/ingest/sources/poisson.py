"""Poisson processes: rows that arrive by chance, at one rate or at a schedule of rates.

Gaps are drawn in numbered blocks, so that row n always has the same; its time follows from that and from the
time of the row before.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Nanos: TypeAlias = npt.NDArray[np.int64]

_BLOCK = 4096
_NEVER_NS = 1 << 62


@dataclass(frozen=True, slots=True)
class Poisson:
    """So many rows per second on average."""

    per_s: float
    seed: int = 0

    def times_ns(self, first: int, rows: pa.Table, before_ns: int) -> Nanos:
        """Exponential gaps."""
        gaps = np.rint(_gaps(self.seed, first, rows.num_rows) * (1e9 / self.per_s))
        return np.asarray(before_ns + np.cumsum(gaps.astype(np.int64)), dtype=np.int64)


@dataclass(frozen=True, slots=True)
class PoissonSchedule:
    """Phases of so many seconds at so many rows per second on average, as of `pace.Schedule`.

    A gap that a phase begins and does not end goes on in the next, faster or slower: of the rows that are to
    come before the next one on average, what has passed is off.
    """

    phases: tuple[tuple[float, float], ...]
    repeat: bool = True
    seed: int = 0

    def times_ns(self, first: int, rows: pa.Table, before_ns: int) -> Nanos:
        """Exponential gaps, a phase at a time."""
        count, rates = rows.num_rows, [rate for _, rate in self.phases]
        lengths_ns = np.rint([length * 1e9 for length, _ in self.phases]).astype(np.int64)
        begins_ns = np.concatenate([[0], np.cumsum(lengths_ns)])
        round_rows = float(lengths_ns @ np.array(rates)) / 1e9
        gaps = _gaps(self.seed, first, count)
        times = np.empty(count, np.int64)
        done, at_ns = 0, before_ns
        while done < count:
            phase, end_ns = self._phase(at_ns, begins_ns)
            rows_per_ns = rates[phase] / 1e9
            to_come = (end_ns - at_ns) * rows_per_ns
            if to_come > 0:
                most = min(count - done, int(1.2 * min(to_come, count)) + 64)
                found = at_ns + np.cumsum(np.rint(gaps[done : done + most] / rows_per_ns).astype(np.int64))
                within = int(np.searchsorted(found, end_ns))
                times[done : done + within] = found[:within]
                done += within
                at_ns = int(found[within - 1]) if within else at_ns
                if within == most:
                    continue
                gaps[done] = max(0.0, gaps[done] - (end_ns - at_ns) * rows_per_ns)
            at_ns = end_ns
            if self.repeat and gaps[done] > round_rows:  # whole rounds without a row
                rounds = int(gaps[done] // round_rows)
                at_ns += rounds * int(begins_ns[-1])
                gaps[done] -= rounds * round_rows
        return times

    def _phase(self, at_ns: int, begins_ns: Nanos) -> tuple[int, int]:
        """The phase of a moment, and when it ends."""
        rounds, left_ns = divmod(at_ns, int(begins_ns[-1])) if self.repeat else (0, at_ns)
        phase = int(np.searchsorted(begins_ns[:-1], left_ns, side="right")) - 1
        if not self.repeat and phase == len(self.phases) - 1:
            return phase, _NEVER_NS
        return phase, rounds * int(begins_ns[-1]) + int(begins_ns[phase + 1])


def _gaps(seed: int, first: int, count: int) -> npt.NDArray[np.float64]:
    """The gaps before rows `first`, …, 1 on average."""
    numbers = range(first // _BLOCK, -(-(first + count) // _BLOCK))
    blocks = [np.random.default_rng([seed, block]).exponential(1.0, _BLOCK) for block in numbers]
    skip = first % _BLOCK
    return np.concatenate([*blocks, np.empty(0)])[skip : skip + count]
