"""Durations, sizes, shares and rates as people write them: `2s`, `500 ms`, `64MB`, `95%`, `1000/s`."""

from __future__ import annotations

import re

from sqlglot import exp

_PAIR = re.compile(r"\s*([0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?)\s*([A-Za-zµμ]*)\s*")

_SECONDS: dict[str, float] = {}
for _names, _seconds in (
    ("us µs μs usec usecs microsecond microseconds", 1e-6),
    ("ms msec msecs milli millis millisecond milliseconds", 1e-3),
    ("s sec secs second seconds", 1.0),
    ("m min mins minute minutes", 60.0),
    ("h hr hrs hour hours", 3600.0),
    ("d day days", 86400.0),
    ("w week weeks", 604800.0),
):
    _SECONDS |= dict.fromkeys(_names.split(), _seconds)

_BYTES = {"": 1.0, "b": 1.0, "byte": 1.0, "bytes": 1.0}
for _power, _letter in enumerate("kmgt", start=1):
    _BYTES |= {_letter: 1000.0**_power, f"{_letter}b": 1000.0**_power, f"{_letter}ib": 1024.0**_power}

_RATE = re.compile(r"\s*([0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?)\s*(?:rows?\s*)?(?:(?:/|per)\s*([A-Za-z]+))?\s*")


def seconds(text: str) -> float:
    """`2s`, `500 ms`, `1 hour 30 min`; ValueError with what to write instead."""
    total, at = 0.0, 0
    while at < len(text):
        match = _PAIR.match(text, at)
        if match is None:
            raise ValueError(_not_a_duration(text))
        unit = match[2].lower()
        if unit not in _SECONDS:
            raise ValueError(_unit_problem(text, match[2]))
        total += float(match[1]) * _SECONDS[unit]
        at = match.end()
    if not text.strip():
        raise ValueError(_not_a_duration(text))
    return round(total, 9)


def interval_seconds(interval: exp.Interval) -> float:
    """The length of an INTERVAL literal, negative if it is; ValueError if it has no fixed one."""
    unit = interval.args.get("unit")
    text = interval.this.name.strip() if interval.this is not None else ""
    length = seconds(f"{text.removeprefix('-')} {unit.name if unit is not None else ''}")
    return -length if text.startswith("-") else length


def _not_a_duration(text: str) -> str:
    return f"'{text.strip()}' is no duration; write one like '2s', '500 ms' or '1 hour 30 min'"


def _unit_problem(text: str, unit: str) -> str:
    if not unit:
        return f"'{text.strip()}' has no unit; write '{text.strip()} s' or '{text.strip()} ms'"
    if unit.lower().rstrip("s") in ("month", "mon", "year", "quarter", "y"):
        return f"a {unit.lower().rstrip('s')} has no fixed length; write it in days"
    return f"'{unit}' is no unit of time; use us, ms, s, min, h, d or w"


def size_bytes(text: str) -> float:
    """`64MB` (millions), `1.5 GiB` (powers of 1024), `4096`; ValueError with what to write instead."""
    match = _PAIR.fullmatch(text)
    if match is None:
        raise ValueError(f"'{text.strip()}' is no size; write one like '64MB' or '1.5 GiB'")
    if match[2].lower() not in _BYTES:
        raise ValueError(f"'{match[2]}' is no unit of size; use B, kB, MB, GB, TB, KiB, MiB, GiB or TiB")
    return float(match[1]) * _BYTES[match[2].lower()]


def share(text: str) -> float:
    """`95%` or `0.95`; ValueError with what to write instead."""
    stripped = text.strip()
    try:
        return (
            round(float(stripped.removesuffix("%")) / 100, 12) if stripped.endswith("%") else float(stripped)
        )
    except ValueError:
        raise ValueError(f"'{stripped}' is no share; write one like '95%' or 0.95") from None


def per_second(text: str) -> float:
    """`1000`, `1000/s`, `50 rows per minute`; ValueError with what to write instead."""
    match = _RATE.fullmatch(text)
    if match is None or (match[2] and match[2].lower() not in _SECONDS):
        raise ValueError(f"'{text.strip()}' is no rate; write one like '1000/s' or '50 rows per minute'")
    return float(match[1]) / (_SECONDS[match[2].lower()] if match[2] else 1.0)


def shown_bytes(size: float) -> str:
    """A size for people: `64 MB`, `1.5 kB`, `200 B`."""
    if 0 < size < 1:
        return "<1 B"
    for unit in ("B", "kB", "MB", "GB"):
        if size < 999.5:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:,.3g} TB"


def rough_seconds(value: float) -> str:
    """A measured duration for people, to three digits at most: `38 ms`, `5.6 s`, `12 min`."""
    if value < 1:
        return f"{value * 1000:.0f} ms"
    return f"{value:.1f} s" if value < 600 else f"{value / 60:,.0f} min"


def shown_seconds(value: float) -> str:
    """A duration for people: `1.5 s`, `250 ms`, `10 min`."""
    for unit, length in (("d", 86400.0), ("h", 3600.0), ("min", 60.0), ("s", 1.0), ("ms", 1e-3)):
        if value >= length and (value / length).is_integer():
            return f"{value / length:.0f} {unit}"
    return f"{value:.6g} s"
