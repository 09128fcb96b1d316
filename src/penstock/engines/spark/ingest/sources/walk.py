"""The rows of files, handed out in any number, with a place to go on from after each.

A place is (file, cursor of the chunk, rows of that chunk handed out): going on means to read that one chunk
again and to leave out the rows and bad rows that were handed out before.
"""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa

from penstock.engines.spark.ingest.sources.base import BadRow
from penstock.engines.spark.ingest.sources.chunks import Chunk, Cursor, Reader, UnreadableFileError

#: What readers raise where a file cannot be read.
UNREADABLE = (OSError, EOFError, zlib.error, pa.ArrowException)
#: Files that could not be read, of which each is told; of more only the number.
MOST_TOLD = 5


class FileWalk:
    """Walks through one file. `peek` looks at rows, `take` moves past them."""

    def __init__(self, reader: Reader, schema: pa.Schema) -> None:
        self._reader = reader
        self._nothing = schema.empty_table()
        self._path: Path | None = None
        self._cursor: Cursor = (0, 0)
        self._chunk: Chunk | None = None
        self._taken = 0
        self._passed: list[BadRow] = []

    def begin(self, path: Path, inside: Iterable[int] = (0, 0, 0)) -> None:
        """Goes to a file: to its beginning, or to where `inside` was taken."""
        self.close()
        offset, line, self._taken = inside
        self._path, self._cursor, self._chunk, self._passed = path, (offset, line), None, []

    @property
    def inside(self) -> list[int]:
        """Where it stands: bytes or rows, and lines, before the chunk; rows taken of the chunk."""
        return [*self._cursor, self._taken]

    def peek(self) -> pa.Table | None:
        """Rows that come next; an empty table if there are only bad ones for now, None at the end.

        Raises UnreadableFileError if the file cannot be read on now; another try goes on here.
        """
        while self._chunk is None:
            if self._passed:
                return self._nothing
            chunk = self._read()
            if chunk is None:
                return None
            if chunk.table.num_rows > self._taken:
                self._chunk = chunk
            elif chunk.table.num_rows < self._taken:
                # Read from its beginning, a chunk may be smaller than it was behind the one before.
                self._cursor, self._taken = chunk.after, self._taken - chunk.table.num_rows
            else:
                self._passed += [bad for before, bad in chunk.bad if before >= self._taken]
                self._cursor, self._taken = chunk.after, 0
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

    def _read(self) -> Chunk | None:
        assert self._path is not None
        try:
            return self._reader.read(self._path, self._cursor)
        except UnreadableFileError:
            self._reader.close()
            raise
        except UNREADABLE as problem:
            self._reader.close()  # what it had read ahead is not where the cursor is
            if isinstance(problem, OSError) and problem.strerror:
                reason = problem.strerror
            else:
                reason = str(problem).splitlines()[0] if str(problem) else type(problem).__name__
            raise UnreadableFileError(reason, gone=isinstance(problem, FileNotFoundError)) from problem


class Walk:
    """Walks through one file after another; one that cannot be read on is a bad row, and the next follows."""

    def __init__(self, reader: Reader, schema: pa.Schema) -> None:
        self._nothing = schema.empty_table()
        self._file = FileWalk(reader, schema)
        self._files: deque[Path] = deque()
        self._unreadable: list[BadRow] = []
        #: What `problems` shows: replaced, never changed, since other threads look at it.
        self.problems: tuple[str, ...] = ()
        self._failed = 0

    def add(self, files: Iterable[Path], inside: Iterable[int] = (0, 0, 0)) -> None:
        """More files to walk through; the walk begins inside the first one, if there was none before."""
        began = bool(self._files)
        self._files.extend(files)
        if self._files and not began:
            self._file.begin(self._files[0], inside)

    @property
    def file(self) -> Path | None:
        """The file that the next row comes from, as far as is known."""
        return self._files[0] if self._files else None

    @property
    def inside(self) -> list[int]:
        """Where in that file; what `add` takes."""
        return self._file.inside if self._files else [0, 0, 0]

    def peek(self) -> pa.Table | None:
        """Rows that come next; an empty table if there are only bad ones for now, None at the end."""
        while self._files and not self._unreadable:
            try:
                table = self._file.peek()
            except UnreadableFileError as problem:
                self._note(BadRow("", f"the file cannot be read on: {problem}", self._files[0].name))
                table = None
            if table is not None:
                return table
            self._files.popleft()
            self._file.close()
            if self._files:
                self._file.begin(self._files[0])
        return self._nothing if self._unreadable else None

    def take(self, rows: int) -> tuple[BadRow, ...]:
        """Moves past so many of the rows that `peek` showed; the bad ones that were among them or before."""
        if self._unreadable:
            unreadable, self._unreadable = tuple(self._unreadable), []
            return unreadable
        return self._file.take(rows) if self._files else ()

    def close(self) -> None:
        """Lets go of the file."""
        self._file.close()

    def _note(self, bad: BadRow) -> None:
        self._unreadable.append(bad)
        self._failed += 1
        told = self.problems[:MOST_TOLD]
        if self._failed <= MOST_TOLD:
            self.problems = (*told, f"{bad.place}: {bad.reason}")
        else:
            self.problems = (*told, f"{self._failed - MOST_TOLD} more files cannot be read on")
