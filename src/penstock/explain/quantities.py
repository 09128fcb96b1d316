"""Numbers for people, three digits of each: they are estimates."""

from __future__ import annotations


def rate_text(per_s: float) -> str:
    """Rows per second: `12,500`, `3.2`."""
    shown = _digits(per_s)
    return shown.rstrip("0").rstrip(".") if "." in shown else shown


def micros_text(seconds: float) -> str:
    """Microseconds: `0.213`."""
    return _digits(seconds * 1e6)


def millis_text(seconds: float) -> str:
    """Milliseconds: `41.2`."""
    return _digits(seconds * 1e3)


def error_text(error: float | None) -> str:
    """How far a measured number may be off: ` ±8%`; ` (guessed)` of one that nobody measured."""
    if error is None:
        return " (guessed)"
    return " ±<1%" if 0 < error < 0.005 else f" ±{100 * error:.0f}%"


def ratio_text(ratio: float) -> str:
    """Rows out per row in: `33.3%`; `×3.20` where more come out than go in."""
    return f"×{_digits(ratio)}" if ratio > 1.0005 else f"{_digits(100 * ratio)}%"


def cpu_text(cpu_s_per_s: float) -> str:
    """Processor time per second, as a share of one processor: `0.120%`, `×2.50` where one is not enough."""
    return ratio_text(cpu_s_per_s)


def _digits(value: float) -> str:
    """Three digits that count, never an exponent."""
    if value == 0:
        return "0"
    if value >= 99.95:
        return f"{value:,.0f}"
    return f"{value:#.3g}" if value >= 0.001 else "<0.001"
