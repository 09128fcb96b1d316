"""The rows of one file after another, handed out in any number, with a place to go on from after each.

A place is (file, cursor of the chunk, rows of that chunk handed out): going on means to read that one chunk
again and to leave out the rows and bad rows that were handed out before.
"""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa

from penstock.engines.spark.sources.base import BadRow
from penstock.engines.spark.sources.chunks import Chunk, Cursor, Reader

_UNREADABLE = (OSError, EOFError, zlib.error, pa.ArrowException)


class Walk:
    """Walks through files. `peek` looks at rows, `take` moves past them."""

    def __init__(self, reader: Reader, schema: pa.Schema) -> None:
        self._reader = reader
        self._nothing = schema.empty_table()
        self._files: deque[Path] = deque()
        self._cursor: Cursor = (0, 0)
        self._chunk: Chunk | None = None
        self._taken = 0
        self._passed: list[BadRow] = []

    def add(self, files: Iterable[Path]) -> None:
        """More files to walk through after those there are."""
        self._files.extend(files)

    def resume(self, inside: list[int]) -> None:
        """Goes on inside the first file: bytes or rows and lines before the chunk, rows taken of it."""
        offset, line, self._taken = inside
        self._cursor, self._chunk = (offset, line), None

    @property
    def file(self) -> Path | None:
        """The file that the next row comes from, as far as is known."""
        return self._files[0] if self._files else None

    @property
    def inside(self) -> list[int]:
        """Where in that file; what `resume` takes."""
        return [*self._cursor, self._taken]

    def peek(self) -> pa.Table | None:
        """Rows that come next; an empty table if there are only bad ones for now, None at the end."""
        if self._chunk is None and not self._read():
            return None if not self._files and not self._passed else self._nothing
        assert self._chunk is not None
        return self._chunk.table.slice(self._taken)

    def take(self, rows: int) -> tuple[BadRow, ...]:
        """Moves past so many of the rows that `peek` showed; the bad ones that were among them or before."""
        if self._chunk is not None:
            first, self._taken = self._taken, self._taken + rows
            end = self._taken == self._chunk.table.num_rows
            self._passed += [
                bad for before, bad in self._chunk.bad if first <= before and (end or before < self._taken)
            ]
            if end:
                self._cursor, self._taken, self._chunk = self._chunk.after, 0, None
        passed, self._passed = tuple(self._passed), []
        return passed

    def close(self) -> None:
        """Lets go of the file."""
        self._reader.close()

    def _read(self) -> bool:
        """Reads on to the next chunk with rows; False at the end, or if there was only something bad."""
        while self._files:
            path = self._files[0]
            try:
                chunk = self._reader.read(path, self._cursor)
            except _UNREADABLE as problem:
                reason = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
                self._passed.append(BadRow("", f"the file cannot be read on: {reason}", path.name))
                chunk = None
            if chunk is not None and chunk.table.num_rows > self._taken:
                self._chunk = chunk
                return True
            if chunk is not None:
                self._passed += [bad for before, bad in chunk.bad if before >= self._taken]
                self._cursor, self._taken = chunk.after, 0
            else:
                self._next_file()
            if self._passed:
                return False
        return False

    def _next_file(self) -> None:
        self._reader.close()
        self._files.popleft()
        self._cursor, self._taken = (0, 0), 0
