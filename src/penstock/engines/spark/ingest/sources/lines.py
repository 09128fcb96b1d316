"""Text files, a block of whole lines at a time, so that memory does not grow with the file."""

from __future__ import annotations

import gzip
from dataclasses import dataclass
from pathlib import Path
from typing import IO, cast

from penstock.engines.spark.ingest.sources.base import BadRow
from penstock.engines.spark.ingest.sources.chunks import Chunk, Cursor
from penstock.engines.spark.ingest.sources.fit import Fitter
from penstock.engines.spark.ingest.sources.sifting import MOST_TEXT, LineFormat, parsed

#: Bytes read at once: some ten thousand short rows.
BLOCK_BYTES = 1 << 20
#: A line longer than this is set aside unread.
MOST_LINE_BYTES = 64 << 20
_BOM = b"\xef\xbb\xbf"


@dataclass(slots=True)
class LineReader:
    """Reads text files line by line; `.gz` files are decompressed."""

    format: LineFormat
    fitter: Fitter
    block_bytes: int = BLOCK_BYTES
    _path: Path | None = None
    _file: IO[bytes] | None = None
    _at: int = -1
    _rest: bytes = b""
    #: A line that is too long and comes next: its head, and how many bytes it has.
    _long: tuple[bytes, int] | None = None

    def read(self, path: Path, at: Cursor) -> Chunk | None:
        """The rows of the next whole lines."""
        offset, line = at
        if path != self._path or offset != self._at:
            self._open(path, offset)
        if offset == 0:
            head = self._take_head()
            if self.format.begin(_line(head)):
                offset, line = len(head), head.count(b"\n")
            else:
                offset = len(_BOM) if head.startswith(_BOM) else 0
                self._seek(offset)
        block, ends, skipped = self._take_block()
        if skipped:
            self._at = offset + skipped
            text = block[: MOST_TEXT * 4].decode("utf-8", "replace")[:MOST_TEXT]
            long = BadRow(
                text, f"the line is longer than {MOST_LINE_BYTES >> 20} MiB", _place(path, line + 1)
            )
            return Chunk(self.fitter.schema.empty_table(), ((0, long),), (self._at, line + 1))
        if not block:
            return None
        self._at = offset + len(block)
        table, bad = parsed(block, ends, self.format, self.fitter)
        placed = tuple(
            (before, BadRow(text, reason, _place(path, line + number)))
            for before, number, text, reason in bad
        )
        lines = block.count(b"\n") + (not block.endswith(b"\n"))
        return Chunk(table, placed, (self._at, line + lines))

    def close(self) -> None:
        """Closes the file."""
        if self._file is not None:
            self._file.close()
        self._path, self._file, self._rest, self._at = None, None, b"", -1
        self._long = None

    def _open(self, path: Path, offset: int) -> None:
        self.close()
        self._file = cast("IO[bytes]", gzip.open(path)) if path.suffix == ".gz" else path.open("rb")  # noqa: SIM115
        if offset > 0:
            self.format.begin(_line(self._take_head()))
        self._path = path
        self._seek(offset)

    def _seek(self, offset: int) -> None:
        assert self._file is not None
        self._file.seek(offset)
        self._at, self._rest, self._long = offset, b"", None

    def _take_head(self) -> bytes:
        """The first row of a file that was just opened; the next read begins behind it."""
        assert self._file is not None
        self._file.seek(0)
        head = self._file.readline(MOST_LINE_BYTES)
        end = len(head)
        bom = len(_BOM) if head.startswith(_BOM) else 0
        while (rows := self.format.rows(head[bom:], complete=False)) is not None and not rows.whole:
            more = self._file.readline(MOST_LINE_BYTES)
            if not more:
                rows = self.format.rows(head[bom:], complete=True)
                break
            head += more
        if rows is not None:
            end = bom + rows.ends[0]
        self._seek(end)
        return head[:end]

    def _take_block(self) -> tuple[bytes, list[int] | None, int]:
        """Whole rows, and where they end if not each line is one.

        Or the head of a line that is too long, and how many bytes that has.
        """
        block, skipped = self._take_lines()
        while not skipped and block:
            rows = self.format.rows(block, complete=False)
            if rows is None:
                break
            if not rows.whole:
                more, long = self._take_lines()
                if long:
                    self._long = more, long
                elif more:
                    block += more
                    continue
                rows = self.format.rows(block, complete=True)
                return block, None if rows is None else rows.ends, 0
            self._rest = block[rows.whole :] + self._rest
            return block[: rows.whole], rows.ends, 0
        return block, None, skipped

    def _take_lines(self) -> tuple[bytes, int]:
        """Whole lines, or the head of a line that is too long and how many bytes that has."""
        if self._long is not None:
            long, self._long = self._long, None
            return long
        assert self._file is not None
        parts, size = [self._rest], len(self._rest)
        end = self._rest.rfind(b"\n")
        while end < 0:
            if size > MOST_LINE_BYTES:
                return parts[0] + parts[1], self._skip_line(size)
            more = self._file.read(self.block_bytes)
            if not more:
                end = len(parts[-1]) - 1
                break
            parts.append(more)
            size += len(more)
            end = more.rfind(b"\n")
        self._rest = parts[-1][end + 1 :]
        parts[-1] = parts[-1][: end + 1]
        block = b"".join(parts)
        # Only the first line can be that long: whatever else is in the block came with one read.
        first = len(block) if size <= MOST_LINE_BYTES else block.find(b"\n") + 1 or len(block)
        if len(block) >= first > MOST_LINE_BYTES:
            self._rest = block[first:] + self._rest
            return block[:first], first
        return block, 0

    def _skip_line(self, size: int) -> int:
        assert self._file is not None
        while more := self._file.read(self.block_bytes):
            end = more.find(b"\n")
            if end >= 0:
                self._rest = more[end + 1 :]
                return size + end + 1
            size += len(more)
        self._rest = b""
        return size


def _line(head: bytes) -> bytes:
    return head.removeprefix(_BOM).rstrip(b"\r\n")


def _place(path: Path, line: int) -> str:
    return f"{path.name}, line {line}"
