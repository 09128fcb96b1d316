"""What subscribers have taken, and how late it came."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from penstock.bench.server.workload import Expected, Size, expected

Whole = npt.NDArray[np.int64]


class Taken:
    """Rows that came, by subscriber. Each subscriber is written by one thread or task only."""

    def __init__(self, size: Size) -> None:
        self._size = size
        self._rows, self._sums = [0] * size.subscribers, [0] * size.subscribers
        self._lock = threading.Lock()
        self._late_us: list[Whole] = []

    def add(self, subscriber: int, numbers: Whole, sent_us: Whole, now_us: int) -> None:
        """Rows that a subscriber has now."""
        self._rows[subscriber] += len(numbers)
        self._sums[subscriber] += int(numbers.sum())
        with self._lock:
            self._late_us.append(now_us - sent_us)

    @property
    def rows(self) -> int:
        """All rows."""
        return sum(self._rows)

    def begin(self) -> None:
        """Latencies are noted anew."""
        with self._lock:
            self._late_us = []

    def latencies_s(self) -> tuple[float | None, float | None]:
        """The median and the 95th percentile over all rows since then."""
        with self._lock:
            late = self._late_us
        if not late:
            return None, None
        p50, p95 = np.percentile(np.concatenate(late), (50, 95)) / 1e6
        return float(p50), float(p95)

    def wanted(self, pushed: int) -> list[Expected]:
        """What each subscriber has when the results of so many rows have come."""
        found = expected(self._size.queries, pushed)
        return [found[self._size.query_of(one)] for one in range(self._size.subscribers)]

    def is_exact(self, wanted: Sequence[Expected]) -> bool:
        """Whether each has every row that it should have, and each once."""
        pairs = zip(self._rows, self._sums, strict=True)
        return [(one.rows, one.sum) for one in wanted] == list(pairs)
