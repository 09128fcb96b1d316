"""Rows and queries, the same for both sides, and which rows each query lets by."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from penstock.bench.many.mixes import setting

STREAM = "readings"
SCHEMA = pa.schema([("id", pa.int64()), ("sent", pa.int64()), ("k", pa.string()), ("v", pa.float64())])
#: Rows of one push.
PUSH_ROWS = 300
_KEYS = np.array([f"k{n}" for n in range(100)])

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Size:
    """How many there are of everything."""

    queries: int = 250
    subscribers: int = 200
    clients: int = 50

    def query_of(self, subscriber: int) -> int:
        """Which query a subscriber follows: they are spread over all."""
        if self.subscribers >= self.queries:
            return subscriber % self.queries
        return subscriber * self.queries // self.subscribers


def statements(queries: int) -> str:
    """The stream and its queries, as SQL."""
    made = [f"CREATE STREAM {STREAM} (id BIGINT, sent BIGINT, k STRING, v DOUBLE) USING push;"]
    for one in setting("filters", queries).questions:
        made.append(f"CREATE CONTINUOUS QUERY {one.name} AS {one.text.format(readings=STREAM)};")
    return "\n".join(made)


def now_us() -> int:
    """Now, on the clock that all processes of a machine share."""
    return time.time_ns() // 1000


def rows(first: int, count: int, sent_us: int) -> pa.Table:
    """Rows with these numbers, sent at that time."""
    numbers = np.arange(first, first + count)
    columns: list[Any] = [
        numbers,
        np.full(count, sent_us),
        pa.array(_KEYS[numbers % len(_KEYS)]),
        _values(numbers),
    ]
    return pa.table([pa.array(column) for column in columns], schema=SCHEMA)


def _values(numbers: npt.NDArray[np.int64]) -> Floats:
    found: Floats = numbers * 7919 % 100_003 / 1000
    return found


@dataclass(frozen=True, slots=True)
class Expected:
    """The rows of a query: how many, and the sum of their numbers, which a lost or repeated row changes."""

    rows: int
    sum: int


def expected(queries: int, count: int) -> list[Expected]:
    """What each query puts out when the rows numbered from 0 on have been pushed."""
    values = _values(np.arange(count))
    order = np.argsort(values, kind="stable")
    ordered, sums = values[order], np.concatenate([[0], np.cumsum(order)])
    found = []
    for low, high in setting("filters", queries).bounds:
        start, end = np.searchsorted(ordered, low), np.searchsorted(ordered, high)
        found.append(Expected(int(end - start), int(sums[end] - sums[start])))
    return found
