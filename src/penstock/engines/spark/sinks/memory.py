"""The last rows of a query, kept in memory."""

from __future__ import annotations

import threading
from collections import deque

import pyarrow as pa

#: Rows kept unless told otherwise.
ROWS = 10_000


class MemorySink:
    """Keeps the last rows. Several threads may use it at once."""

    def __init__(self, columns: pa.Schema, rows: int = ROWS) -> None:
        self._columns, self._limit = columns, rows
        self._lock = threading.Lock()
        self._tables: deque[pa.Table] = deque()
        self._held = 0
        self._position = -1

    @property
    def position(self) -> int:
        """The position of the last result; -1 before the first."""
        return self._position

    def deliver(self, table: pa.Table, position: int) -> None:
        """Adds rows at the end, and forgets the oldest; a result it had already changes nothing."""
        with self._lock:
            if position <= self._position:
                return
            self._position = position
            self._tables.append(table.select(self._columns.names).cast(self._columns))
            self._held += table.num_rows
            while self._tables and self._held - self._tables[0].num_rows >= self._limit:
                self._held -= self._tables.popleft().num_rows

    def rows(self) -> pa.Table:
        """The rows kept, oldest first."""
        with self._lock:
            tables, held = list(self._tables), self._held
        kept = pa.concat_tables([self._columns.empty_table(), *tables])
        return kept.slice(max(0, held - self._limit))
