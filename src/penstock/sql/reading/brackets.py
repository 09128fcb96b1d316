"""Windows in brackets behind a stream: `[RANGE 10 SECONDS SLIDE 5 SECONDS]`, `[ROWS 1000 SLIDE 500]`."""

from __future__ import annotations

import re

from penstock.model.window import Window
from penstock.sql.text.quantities import seconds

_FORM = re.compile(r"\[\s*(RANGE|ROWS)\b(.*?)(?:\bSLIDE\b(.*?))?\]", re.IGNORECASE | re.DOTALL)
_COMMENT = re.compile(r"/\*.*?\*/|--[^\n]*", re.DOTALL)
_EXAMPLE = "write one like [RANGE 10 SECONDS], [RANGE 1 MIN SLIDE 10 S] or [ROWS 1000 SLIDE 500]"


def window_of(text: str, time: str | None) -> Window:
    """The window of a text in brackets, by the time column where it is by time; ValueError if it is none."""
    match = _FORM.fullmatch(_COMMENT.sub(" ", text))
    if match is None:
        raise ValueError(f"'{text}' is no window; {_EXAMPLE}")
    read = _rows if match[1].upper() == "ROWS" else _seconds
    width, hop = read(match[2]), read(match[3]) if match[3] is not None else None
    if width <= 0 or (hop is not None and hop <= 0):
        raise ValueError("a window must be longer than 0, and so must what it slides by")
    if hop is not None and hop > width:
        raise ValueError(
            "the window slides by more than it holds, so rows in between would be lost; let it slide by less"
        )
    if read is _rows:
        return Window.rows(width, hop)
    return Window.seconds(width, hop, on=time)


def _seconds(text: str) -> float:
    return seconds(re.sub(r"^\s*INTERVAL\b|'", " ", text, flags=re.IGNORECASE))


def _rows(text: str) -> float:
    stripped = text.strip()
    if not stripped.isdigit():
        raise ValueError(f"'{stripped}' is no number of rows; {_EXAMPLE}")
    return float(stripped)
