"""What each query gets: rows, latency, staleness, counted as results are committed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from penstock.adapt.recent import Mark, Marks

#: Latencies fall into cells that grow by 10 % each, from 0.1 ms to some hours.
_CELLS = np.power(1.1, np.arange(200)) * 1e-4
#: Results whose cells are counted together.
_MOST_UNCOUNTED = 50
#: What a query gets lately is over the last minute; marks of what it had got are ten seconds apart.
LATELY_S, _STEP_S = 60.0, 10.0
#: Of less than that nobody can say how many rows come out per second.
_LEAST_S = 1.0


@dataclass(slots=True)
class Latencies:
    """How long results took: exact mean, percentiles to within a cell."""

    count: int = 0
    total_s: float = 0.0
    _cells: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(len(_CELLS) + 1, dtype=np.int64))
    _uncounted: list[npt.NDArray[np.int64]] = field(default_factory=list)
    longest_s: float = 0.0

    def add(self, seconds: npt.NDArray[np.float64]) -> None:
        """More of them."""
        longest_s = float(seconds.max(initial=0.0))
        self.put(len(seconds), float(seconds.sum()), np.searchsorted(_CELLS, seconds), longest_s)

    def put(self, count: int, total_s: float, cells: npt.NDArray[np.int64], longest_s: float) -> None:
        """More of them: how many, how long together, which cell each falls into, and the longest."""
        self.count += count
        self.total_s += total_s
        self.longest_s = max(self.longest_s, longest_s)
        self._uncounted.append(cells)
        if len(self._uncounted) > _MOST_UNCOUNTED:
            self._cells, self._uncounted = self.cells, []

    def put_counted(
        self,
        count: int,
        total_s: float,
        cells: npt.NDArray[np.int64],
        shares: npt.NDArray[np.int64],
        longest_s: float,
    ) -> None:
        """More of them, so many in each of these cells."""
        counted = self.cells.copy()
        np.add.at(counted, cells, shares)
        self._cells, self._uncounted = counted, []
        self.count, self.total_s = self.count + count, self.total_s + total_s
        self.longest_s = max(self.longest_s, longest_s)

    @property
    def cells(self) -> npt.NDArray[np.int64]:
        """How many fell into each cell."""
        if not self._uncounted:
            return self._cells
        return self._cells + np.bincount(np.concatenate(self._uncounted), minlength=len(self._cells))

    @property
    def mean_s(self) -> float | None:
        """The mean."""
        return self.total_s / self.count if self.count else None

    def percentile_s(self, share: float) -> float | None:
        """So many of them were not longer than this."""
        if not self.count:
            return None
        cell = int(np.searchsorted(np.cumsum(self.cells), share * self.count))
        return min(float(_CELLS[min(cell, len(_CELLS) - 1)]), self.longest_s)

    def since(self, other: Latencies) -> Latencies:
        """Those that came after `other` was taken down."""
        cells = self.cells - other.cells
        return Latencies(
            self.count - other.count, self.total_s - other.total_s, cells, longest_s=self.longest_s
        )

    def copy(self) -> Latencies:
        """As it is now; cheap, since neither counted cells nor what is uncounted is ever changed in place."""
        return Latencies(self.count, self.total_s, self._cells, list(self._uncounted), self.longest_s)


@dataclass(frozen=True, slots=True)
class Span:
    """What a query got between two moments: rows, seconds that they took, and for how long it was stale."""

    since_s: float
    until_s: float
    rows: float
    latency_s: float
    stale_s: float

    @property
    def mean_latency_s(self) -> float | None:
        """How long its results took on average."""
        return self.latency_s / self.rows if self.rows else None

    @property
    def rows_per_s(self) -> float | None:
        """Rows put out per second; None if the span is too short to say."""
        passed_s = self.until_s - self.since_s
        return self.rows / passed_s if passed_s >= _LEAST_S else None

    def freshness(self, waiting_s: float) -> float:
        """The share of time in which its result was up to date; it is stale by what waits for `waiting_s`."""
        return 1.0 - min(1.0, (self.stale_s + waiting_s) / max(self.until_s - self.since_s, 1e-9))


@dataclass(slots=True)
class QueryMeasures:
    """One query's results so far.

    Stale is the time in which a row had come in that was to change the result and the change was not yet
    committed: the union of those spans. Here are those that a commit has ended; `waiting` says how long the
    one that goes on has lasted.
    """

    rows: int = 0
    latencies: Latencies = field(default_factory=Latencies)
    stale_s: float = 0.0
    since_s: float = 0.0
    fresh_to_s: float = 0.0
    until_s: float | None = None  # when it ended
    marks: Marks | None = None  # of rows, their latencies and stale seconds; None before the first result
    #: The most that it was seen to hold, waiting and remembered; of queries with a memory wish.
    most_bytes: tuple[float, float] = (0.0, 0.0)
    mark_s: float = 0.0  # when the next mark is due

    def copy(self) -> QueryMeasures:
        """As it is now."""
        return QueryMeasures(
            self.rows,
            self.latencies.copy(),
            self.stale_s,
            self.since_s,
            self.fresh_to_s,
            self.until_s,
            self.marks,
            self.most_bytes,
            self.mark_s,
        )

    def life(self, end_s: float) -> Span:
        """What it got since it began, up to a time or to its end."""
        until_s = end_s if self.until_s is None else self.until_s
        return Span(self.since_s, until_s, self.rows, self.latencies.total_s, self.stale_s)

    def lately(self, now_s: float) -> Span:
        """What it got in the last minute, or since it began if that is less.

        It is up to ten seconds more where results come often. Stale spans end with a result and marks are
        set at results, so that none is cut in two: where no result has come for longer than a minute, time
        counts from the last one on.
        """
        if self.marks is None:
            return self.life(now_s)
        until_s = now_s if self.until_s is None else self.until_s
        start = self.marks.start(until_s, self._mark())
        rows, latency_s, stale_s = start.totals
        return Span(
            start.at_s,
            until_s,
            self.rows - rows,
            self.latencies.total_s - latency_s,
            self.stale_s - stale_s,
        )

    def _mark(self) -> Mark:
        return Mark(self.counted_to_s, (self.rows, self.latencies.total_s, self.stale_s))

    @property
    def counted_to_s(self) -> float:
        """Up to when it is known whether the result was stale."""
        return max(self.fresh_to_s, self.since_s)

    def add(self, arrived_us: npt.NDArray[np.int64], now_s: float) -> None:
        """Rows that were committed now, and when what made them had arrived."""
        add_all([self], [0], arrived_us, now_s)

    def _took(self, rows: int, latency_s: float, first_s: float, now_s: float) -> None:
        """So many rows are committed now, which took so long together; the first of them arrived then."""
        before_s = self.counted_to_s
        stale_s = max(0.0, now_s - max(first_s, before_s))
        self.rows += rows
        self.stale_s += stale_s
        self.fresh_to_s = max(self.fresh_to_s, now_s)
        if now_s >= self.mark_s:
            now = self._mark()
            gone = rows, latency_s, stale_s
            before = Mark(before_s, tuple(a - b for a, b in zip(now.totals, gone, strict=True)))
            marks = self.marks or Marks((Mark(self.since_s, (0.0, 0.0, 0.0)),), LATELY_S, _STEP_S)
            self.marks = marks.grown(before, now)
            self.mark_s = self.marks.due_s

    def staleness(self, now_s: float, waiting_s: float = 0.0) -> float:
        """The share of time in which the result was not up to date; `waiting_s` of it by what waits now."""
        end_s = now_s if self.until_s is None else self.until_s
        return min(1.0, (self.stale_s + waiting_s) / max(end_s - self.since_s, 1e-9))


def add_all(
    measures: Sequence[QueryMeasures | None],
    starts: Sequence[int],
    arrived_us: npt.NDArray[np.int64],
    now_s: float,
) -> None:
    """Results of several queries, one behind the other: where each one's rows start, and when each arrived.

    All in one go: numpy takes as long for one query's few rows as for everybody's.
    """
    if not len(arrived_us):
        return
    places = np.asarray(starts, dtype=np.int64)
    seconds = np.maximum(now_s - arrived_us / 1e6, 0.0)
    cells = np.searchsorted(_CELLS, seconds)
    totals = np.add.reduceat(seconds, places).tolist()
    firsts = (np.minimum.reduceat(arrived_us, places) / 1e6).tolist()
    ends = [*starts[1:], len(arrived_us)]
    for one, start, end, total_s, first_s in zip(measures, starts, ends, totals, firsts, strict=True):
        if one is not None:
            one.latencies.put(end - start, total_s, cells[start:end], max(0.0, now_s - first_s))
            one._took(end - start, total_s, first_s, now_s)


def add_sample(
    measure: QueryMeasures | None, rows: int, arrived_us: npt.NDArray[np.int64], now_s: float
) -> None:
    """So many results of one query, of which some are known to have arrived then: the others did as these."""
    if measure is None or not len(arrived_us):
        return
    seconds = np.maximum(now_s - arrived_us / 1e6, 0.0)
    ends = np.linspace(0, rows, len(seconds) + 1).astype(np.int64)
    shares = ends[1:] - ends[:-1]
    first_s = float(arrived_us.min()) / 1e6
    total_s = float((seconds * shares).sum())
    measure.latencies.put_counted(rows, total_s, np.searchsorted(_CELLS, seconds), shares, now_s - first_s)
    measure._took(rows, total_s, first_s, now_s)
