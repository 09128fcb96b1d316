"""What readers of files have in common: they give rows in chunks, each with a cursor to go on from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import pyarrow as pa

from penstock.engines.spark.ingest.sources.base import BadRow
from penstock.errors import SourceError

#: Where a block begins: bytes and lines before it; for Parquet rows and 0.
Cursor = tuple[int, int]


class UnreadableFileError(SourceError):
    """A file cannot be read (on) now: its text says why."""

    def __init__(self, reason: str, gone: bool = False) -> None:
        super().__init__(reason)
        self.gone = gone


class WrongColumnsError(UnreadableFileError):
    """A file has none of the declared columns: each of its rows would be nothing but NULL."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some rows of a file; each bad one with the number of good rows of this chunk that stand before it."""

    table: pa.Table
    bad: tuple[tuple[int, BadRow], ...]
    after: Cursor


class Reader(Protocol):
    """Reads files of one format, chunk by chunk."""

    def read(self, path: Path, at: Cursor) -> Chunk | None:
        """The rows at the cursor; None: the file ends there. Raises what the file system raises."""

    def close(self) -> None:
        """Lets go of the file."""
