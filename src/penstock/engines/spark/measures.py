"""What each query gets: rows, latency, staleness, counted as results are committed."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

#: Latencies fall into cells that grow by 10 % each, from 0.1 ms to some hours.
_CELLS = np.power(1.1, np.arange(200)) * 1e-4


@dataclass(slots=True)
class Latencies:
    """How long results took: exact mean, percentiles to within a cell."""

    count: int = 0
    total_s: float = 0.0
    cells: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(len(_CELLS) + 1, dtype=np.int64))

    def add(self, seconds: npt.NDArray[np.float64]) -> None:
        """More of them."""
        self.count += len(seconds)
        self.total_s += float(seconds.sum())
        self.cells += np.bincount(np.searchsorted(_CELLS, seconds), minlength=len(self.cells))

    @property
    def mean_s(self) -> float | None:
        """The mean."""
        return self.total_s / self.count if self.count else None

    def percentile_s(self, share: float) -> float | None:
        """So many of them were not longer than this."""
        if not self.count:
            return None
        cell = int(np.searchsorted(np.cumsum(self.cells), share * self.count))
        return float(_CELLS[min(cell, len(_CELLS) - 1)])

    def since(self, other: Latencies) -> Latencies:
        """Those that came after `other` was taken down."""
        return Latencies(self.count - other.count, self.total_s - other.total_s, self.cells - other.cells)

    def copy(self) -> Latencies:
        """As it is now."""
        return Latencies(self.count, self.total_s, self.cells.copy())


@dataclass(slots=True)
class QueryMeasures:
    """One query's results so far.

    Stale is the time in which a row had come in that was to change the result and the change was not yet
    committed: the union of those spans.
    """

    rows: int = 0
    latencies: Latencies = field(default_factory=Latencies)
    stale_s: float = 0.0
    since_s: float = 0.0
    fresh_to_s: float = 0.0

    def add(self, arrived_us: npt.NDArray[np.int64], now_s: float) -> None:
        """Rows that were committed now, and when what made them had arrived."""
        if not len(arrived_us):
            return
        self.rows += len(arrived_us)
        self.latencies.add(np.maximum(now_s - arrived_us / 1e6, 0.0))
        began = max(float(arrived_us.min()) / 1e6, self.fresh_to_s, self.since_s)
        self.stale_s += max(0.0, now_s - began)
        self.fresh_to_s = max(self.fresh_to_s, now_s)

    def staleness(self, now_s: float) -> float:
        """The share of time in which the result was not up to date."""
        return self.stale_s / max(now_s - self.since_s, 1e-9)
