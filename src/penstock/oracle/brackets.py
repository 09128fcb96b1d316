"""Windows in brackets behind a stream, and which rows are in them.

A window with SLIDE is one of `[n·hop, n·hop + width)`, by time or by row number from 0 in the total order.
Without it a join's window slides with each row.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from penstock.sql.text.quantities import seconds

_FORM = re.compile(r"\[\s*(RANGE|ROWS)\s+(.+?)(?:\bSLIDE\b(.+?))?\]", re.IGNORECASE | re.DOTALL)
_COMMENT = re.compile(r"/\*.*?\*/|--[^\n]*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Bracket:
    """`[RANGE width SLIDE hop]` in microseconds, or `[ROWS width SLIDE hop]` in rows."""

    kind: Literal["range", "rows"]
    width: int
    hop: int | None = None

    @property
    def step(self) -> int:
        """From one window's beginning to the next one's."""
        return self.width if self.hop is None else self.hop


def bracket(text: str) -> Bracket:
    """The window of a text in brackets; ValueError if it is none."""
    match = _FORM.fullmatch(_COMMENT.sub(" ", text).strip())
    if match is None:
        raise ValueError(f"'{text}' is no window")
    by_rows = match[1].upper() == "ROWS"
    lengths = [_rows(part) if by_rows else _micros(part) for part in match.groups()[1:] if part is not None]
    if any(length <= 0 for length in lengths):
        raise ValueError(f"'{text}' is no window: its lengths must be more than 0")
    if len(lengths) > 1 and lengths[1] > lengths[0]:
        raise ValueError(f"'{text}' slides by more than it holds")
    return Bracket("rows" if by_rows else "range", *lengths)


def _rows(text: str) -> int:
    if not text.strip().isdigit():
        raise ValueError(f"'{text.strip()}' is no number of rows")
    return int(text)


def _micros(text: str) -> int:
    return round(seconds(re.sub(r"^\s*INTERVAL\b|'", " ", text, flags=re.IGNORECASE)) * 1_000_000)


def numbered(source: str, at: str) -> str:
    """Rows with their number in the total order, from 1, as `__row`."""
    return f"(SELECT *, CAST(row_number() OVER (ORDER BY {at}, __order) AS BIGINT) AS __row FROM {source})"


def in_windows(source: str, at: str, window: Bracket) -> str:
    """Each row once for each window that holds it, with the window's number as `__n`."""
    place, lowest = at, ""
    if window.kind == "rows":
        source, place, lowest = numbered(source, at), "__row - 1", "0, "
    first = f"{_floor(f'{place} - {window.width}', window.step)} + 1"
    first = f"greatest({lowest}{first})" if lowest else first
    last = _floor(place, window.step)
    return f"(SELECT *, explode(sequence({first}, {last})) AS __n FROM {source})"


def _floor(value: str, divisor: int) -> str:
    """Division that rounds down; Spark's `div` rounds towards zero."""
    return f"(({value}) - pmod({value}, {divisor})) div {divisor}"
