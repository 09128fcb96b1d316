"""Where rows of CSV end: at a line break that is not between quotes.

A line with an even number of quotes is a row. One with an odd number leaves a value open: if the lines up to
the next one with an odd number are one well-formed row together, they are a row; else the line stands alone,
and its quote is not closed. So what is a row depends on nothing before it, and a quote that somebody forgot
spoils one line instead of all that follow.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

#: A row of several lines has at most so many bytes.
MOST_ROW_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a block: where each ends, and how many bytes are surely whole rows."""

    ends: list[int]
    whole: int


class RowEnds:
    """Finds the ends of rows whose fields are apart by a delimiter."""

    def __init__(self, delimiter: str) -> None:
        other = rb"[^" + re.escape(delimiter.encode()) + rb"\r\n]*+"
        field = rb'(?:"(?:[^"]++|"")*+"|(?!")' + other + rb")"
        self._row = re.compile(field + rb"(?:" + re.escape(delimiter.encode()) + field + rb")*+\r?\n?")

    def find(self, block: bytes, complete: bool) -> Rows | None:
        """The rows of a block of whole lines; None: each line is one. `complete`: nothing comes after it."""
        if b'"' not in block:
            return None
        data = np.frombuffer(block, np.uint8)
        ends = np.flatnonzero(data == ord("\n")) + 1
        if not block.endswith(b"\n"):
            ends = np.append(ends, len(block))
        quotes = np.searchsorted(np.flatnonzero(data == ord('"')), ends)
        odd = np.flatnonzero(np.diff(quotes, prepend=0) % 2).tolist()
        return self._joined(block, ends.tolist(), odd, complete) if odd else None

    def _joined(self, block: bytes, ends: list[int], odd: list[int], complete: bool) -> Rows:
        """The rows, where the lines of these numbers have an odd number of quotes."""
        found: list[int] = []
        line = place = 0
        while place < len(odd):
            first = odd[place]
            start = ends[first - 1] if first else 0
            last = odd[place + 1] if place + 1 < len(odd) else None
            found += ends[line:first]
            line = first + 1
            if last is not None:
                if ends[last] - start <= MOST_ROW_BYTES and self._row.fullmatch(block, start, ends[last]):
                    first, line = last, last + 1
                    place += 1
            elif not complete and len(block) - start <= MOST_ROW_BYTES:
                return Rows(found, start)
            found.append(ends[first])
            place += 1
        return Rows(found + ends[line:], len(block))
