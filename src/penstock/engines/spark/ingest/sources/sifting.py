"""Rows from a block of lines: the whole block through Arrow, single lines in Python where that fails.

A line becomes the same row, or the same bad row, whatever block it stands in: so a reader can go on
anywhere. A block that does not parse is halved down to some thousand lines, which are then looked at one by
one in Python: calling Arrow's parsers costs too much to do it for each line.
"""

from __future__ import annotations

import io
import re
from dataclasses import dataclass, field
from typing import Protocol

import pyarrow as pa

from penstock.engines.spark.ingest.sources.csv_records import Rows
from penstock.engines.spark.ingest.sources.fit import Fitter

#: Characters of a bad line that are kept.
MOST_TEXT = 10_000
_FEW = 4096
_BLANK = re.compile(rb"\n[ \t\r]*\n")


class LineFormat(Protocol):
    """What makes lines rows."""

    def begin(self, head: bytes) -> bool:
        """Looks at the first line of a file; True if it is a header, not a row."""

    def rows(self, block: bytes, complete: bool) -> Rows | None:
        """Where rows end; None: each line is one. `complete`: nothing comes after these lines."""

    def parse(self, block: bytes, last: bytes) -> pa.Table:
        """All rows of a block, with columns that `Fitter` can fit; raises if any, or the last, is wrong."""

    def check(self, line: bytes) -> str | None:
        """What is wrong with one row; None: nothing that can be seen."""


@dataclass(slots=True)
class _Sifted:
    """The lines of a block that are rows, and the others with what is wrong with them."""

    tables: list[pa.Table] = field(default_factory=list)
    lines: list[tuple[int, bytes]] = field(default_factory=list)
    bad: list[tuple[int, bytes, str]] = field(default_factory=list)


def parsed(
    block: bytes, ends: list[int] | None, format_: LineFormat, fitter: Fitter
) -> tuple[pa.Table, list[tuple[int, int, str, str]]]:
    """The rows of a block, and its bad ones: good rows before, line number from 1, text, reason.

    `ends` is where rows end, if not each line is one.
    """
    if ends is None:
        last = block.rstrip(b"\r\n").rpartition(b"\n")[2]
        table = _whole(block, last, _line_count(block), format_)
    else:
        numbered = _numbered(block, ends)
        table = _whole(block, numbered[-1][1] if numbered else b"", len(numbered), format_)
    if table is not None:
        fitted, reasons = fitter.fit(table)
        if not reasons:
            return fitted, []
    sifted = _Sifted()
    if ends is None:
        numbered = [(number, line) for number, line in enumerate(block.split(b"\n"), 1) if line.strip()]
    if table is not None:
        sifted.tables, sifted.lines = [table], numbered
    else:
        _sift(numbered, format_, sifted)
    fitted, reasons = fitter.fit(pa.concat_tables(sifted.tables)) if sifted.tables else (None, {})
    bad = sifted.bad + [(*sifted.lines[row], reason) for row, reason in reasons.items()]
    bad.sort()
    # The line numbers of all rows, bad ones too: each bad line has its rank less the bad ones before it.
    ranks = {number: rank for rank, (number, _) in enumerate(numbered)}
    placed = [
        (ranks[number] - bads, number, line.rstrip(b"\r").decode("utf-8", "replace")[:MOST_TEXT], reason)
        for bads, (number, line, reason) in enumerate(bad)
    ]
    return fitter.schema.empty_table() if fitted is None else fitted, placed


def _numbered(block: bytes, ends: list[int]) -> list[tuple[int, bytes]]:
    """The rows that are not blank, each with the number of its first line."""
    found, start, line = [], 0, 1
    for end in ends:
        row = block[start:end].removesuffix(b"\n")
        if row.strip():
            found.append((line, row))
        line += row.count(b"\n") + 1
        start = end
    return found


def _line_count(block: bytes) -> int:
    """How many lines are not blank."""
    if _BLANK.search(b"\n" + block) is None:
        return block.count(b"\n") + (not block.endswith(b"\n"))
    return sum(1 for line in io.BytesIO(block) if line.strip())


def _whole(block: bytes, last: bytes, count: int, format_: LineFormat) -> pa.Table | None:
    """All rows of the block; None unless there are exactly so many."""
    if not (block.isascii() or _is_utf8(block)):
        return None
    try:
        table = format_.parse(block, last)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowKeyError, ValueError):
        return None
    return table if table.num_rows == count else None


def _sift(numbered: list[tuple[int, bytes]], format_: LineFormat, into: _Sifted) -> None:
    if not numbered:
        return
    table = _whole(b"\n".join(line for _, line in numbered), numbered[-1][1], len(numbered), format_)
    if table is not None:
        into.tables.append(table)
        into.lines += numbered
        return
    if len(numbered) <= _FEW:
        fine = []
        for number, line in numbered:
            reason = format_.check(line) if _is_utf8(line) else "it is not valid UTF-8"
            if reason is None:
                fine.append((number, line))
            else:
                into.bad.append((number, line, reason))
        if len(fine) < len(numbered):
            _sift(fine, format_, into)
            return
    if len(numbered) == 1:
        number, line = numbered[0]
        into.bad.append((number, line, _complaint(line, format_)))
        return
    half = len(numbered) // 2
    _sift(numbered[:half], format_, into)
    _sift(numbered[half:], format_, into)


def _complaint(line: bytes, format_: LineFormat) -> str:
    """What Arrow says about a line in which nothing else was found."""
    try:
        rows = format_.parse(line, line).num_rows
    except (pa.ArrowException, ValueError) as problem:
        return str(problem).splitlines()[0].removeprefix("JSON parse error: ")
    return f"there are {rows} rows in one line"


def _is_utf8(block: bytes) -> bool:
    try:
        block.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
