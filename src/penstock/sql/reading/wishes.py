"""What a query's owner may ask for in WITH and ALTER: QoS, and when it starts and stops."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime

from penstock.errors import closest
from penstock.model.query import OnError
from penstock.sql.reading.cursor import Cursor
from penstock.sql.reading.statements import Moment
from penstock.sql.text.places import Span
from penstock.sql.text.quantities import per_second, seconds, share, size_bytes

#: The options of a query: the QoS field each sets, how its text is read, and what it may be.
WISHES: Mapping[str, tuple[str, Callable[[str], float], Callable[[float], bool], str]] = {
    "latency": ("latency_s", seconds, lambda value: value > 0, "more than 0"),
    "tolerance": ("tolerance", share, lambda value: 0 <= value < 1, "at least 0% and less than 100%"),
    "memory": ("memory_bytes", size_bytes, lambda value: value > 0, "more than 0"),
    "throughput": ("throughput_per_s", per_second, lambda value: value > 0, "more than 0"),
    "freshness": ("freshness", share, lambda value: 0 < value <= 1, "more than 0% and at most 100%"),
    "weight": ("weight", share, lambda value: 0 < value <= 1, "more than 0 and at most 1"),
}
MOMENTS = ("start", "stop")
_WINDOWS = re.compile(r"(\d{1,9})\s+windows?", re.IGNORECASE)
#: What a row does that an expression cannot process.
ON_ERROR: tuple[OnError, ...] = ("hold", "skip")


def wish(at: Cursor, option: str, here: Span, known: tuple[str, ...]) -> tuple[str, float | None]:
    if option not in WISHES:
        raise at.error(
            f"a query has no option '{option}'; use {', '.join(known)}.{closest(option, known)}", here
        )
    at.expect("=")
    field, read_value, holds, words = WISHES[option]
    text, span = at.raw(",")
    if not text:
        raise at.unexpected(f"a value for '{option}'")
    if text.upper() in ("NULL", "NONE") and field not in ("weight", "tolerance"):
        return field, None
    try:
        value = read_value(text)
    except ValueError as problem:
        raise at.error(f"{option}: {problem}", span) from None
    if not holds(value):
        raise at.error(f"{option} is {text}; it must be {words}", span)
    return field, value


def moment(at: Cursor, option: str) -> Moment | int:
    """When a query starts or stops; a number is after how many windows it stops."""
    at.expect("=")
    text, span = at.raw(",")
    stripped = text.strip().removeprefix("'").removesuffix("'").strip()
    windows = _WINDOWS.fullmatch(stripped)
    if windows is not None and option == "stop" and int(windows[1]) > 0:
        return int(windows[1])
    sign = -1.0 if stripped.startswith("-") else 1.0
    try:
        return Moment(sign * seconds(stripped.lstrip("+- ").strip()), relative=True)
    except ValueError:
        pass
    try:
        when = datetime.fromisoformat(stripped)
    except ValueError:
        raise at.error(
            f"{option}: '{stripped}' is no time; write one like '-10 min', '5 min' or '2026-11-16 08:00:00'"
            + (", or after how many windows: '5 windows'" if option == "stop" else ""),
            span,
        ) from None
    return Moment((when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp(), relative=False)


def on_error(at: Cursor) -> OnError:
    at.expect("=")
    text, span = at.raw(",")
    said = text.strip().removeprefix("'").removesuffix("'").lower()
    for one in ON_ERROR:
        if said == one:
            return one
    if not text:
        raise at.unexpected("a value for 'on_error'")
    raise at.error(f"on_error is {text}; it must be 'hold' or 'skip'.{closest(said, ON_ERROR)}", span)


def check_moments(at: Cursor, moments: Mapping[str, Moment]) -> None:
    start, stop = moments.get("start"), moments.get("stop")
    if stop is not None and stop.relative and stop.seconds <= 0:
        raise at.error(
            "stop lies in the past; write how long the query shall run, such as stop = '1 hour'", at.span
        )
    if start and stop and start.relative == stop.relative and stop.seconds <= start.seconds:
        raise at.error("the query stops before it starts; let stop be later than start", at.span)
