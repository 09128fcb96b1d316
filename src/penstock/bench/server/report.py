"""What samples come to: medians and spreads of each side, and the server's over the program's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from statistics import median
from typing import Any

from rich.table import Table

from penstock.bench.server.measuring import Phase, Sample, Settings
from penstock.bench.server.sides import SIDES

#: The engine's processor time may be so many times what it is without a server.
MOST_CPU = 1.25

#: What is told of each side.
_FIGURES: Mapping[str, Callable[[Sample], float | None]] = {
    "pushed_rows_per_s": lambda one: one.capacity.load.rows_per_s,
    "acknowledged_rows_per_s": lambda one: one.capacity.load.rows / one.capacity.load.seconds,
    "half_rows_per_s": lambda one: one.half.load.rows / one.half.load.seconds,
    "p50_s": lambda one: one.half.load.p50_s,
    "p95_s": lambda one: one.half.load.p95_s,
    "cpu_s_per_million": lambda one: one.half.cpu_s_per_million,
    "cpu_s_per_million_unfollowed": lambda one: one.unfollowed.cpu_s_per_million,
    "steps_per_s": lambda one: one.half.load.steps / one.half.load.until_done_s,
    "http_cpu_s_per_million": lambda one: one.half.http_cpu_s_per_million,
    "load_cpu_s_per_million": lambda one: one.half.load_cpu_s / (one.half.load.rows / 1e6),
}


def document(settings: Settings, samples: Sequence[Sample]) -> dict[str, Any]:
    """All of it, as plain data."""
    sides: dict[str, Any] = {side: _side([one for one in samples if one.side == side]) for side in SIDES}
    ratios = _ratios(sides)
    return {
        "bench": "server",
        "settings": asdict(settings),
        "samples": [_sample(one) for one in samples],
        "sides": sides,
        "ratios": ratios,
        "cpu_most": MOST_CPU,
        "cpu_met": ratios["cpu"] is not None and ratios["cpu"] <= MOST_CPU,
    }


def _side(samples: Sequence[Sample]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, figure in _FIGURES.items():
        values = [value for one in samples if (value := figure(one)) is not None]
        found[name] = (
            {"median": median(values), "least": min(values), "most": max(values)} if values else None
        )
    return found


def _sample(one: Sample) -> dict[str, Any]:
    return {
        "side": one.side,
        **{name: figure(one) for name, figure in _FIGURES.items()},
        "capacity": _phase(one.capacity),
        "half": _phase(one.half),
        "unfollowed": _phase(one.unfollowed),
    }


def _phase(one: Phase) -> dict[str, Any]:
    figures = asdict(one)
    return {**figures.pop("load"), **figures}


def _ratios(sides: Mapping[str, Mapping[str, Any]]) -> dict[str, float | None]:
    """The server's medians over the program's.

    `cpu` is what is asked for: everybody follows, on both sides. `cpu_unfollowed` has no subscribers on
    either side: what pushing alone costs. `cpu_strict` is a server with subscribers over a program without.
    """
    server, program = (sides[side] for side in SIDES)

    def ratio(name: str, other: str | None = None) -> float | None:
        ours, theirs = server[name], program[other or name]
        return ours["median"] / theirs["median"] if ours and theirs and theirs["median"] else None

    return {
        "cpu": ratio("cpu_s_per_million"),
        "cpu_unfollowed": ratio("cpu_s_per_million_unfollowed"),
        "cpu_strict": ratio("cpu_s_per_million", "cpu_s_per_million_unfollowed"),
        "p50": ratio("p50_s"),
        "p95": ratio("p95_s"),
        "pushed_rows_per_s": ratio("pushed_rows_per_s"),
    }


_LINES: tuple[tuple[str, str, str, float], ...] = (
    ("pushed at capacity, rows/s until results were there", "pushed_rows_per_s", "{:,.0f}", 1),
    ("acknowledged at capacity, rows/s", "acknowledged_rows_per_s", "{:,.0f}", 1),
    ("pushed at half of the server's, rows/s", "half_rows_per_s", "{:,.0f}", 1),
    ("push to event, p50, ms", "p50_s", "{:,.0f}", 1000),
    ("push to event, p95, ms", "p95_s", "{:,.0f}", 1000),
    ("engine and JVM, CPU s per 10⁶ rows", "cpu_s_per_million", "{:.2f}", 1),
    ("the same, nobody follows", "cpu_s_per_million_unfollowed", "{:.2f}", 1),
    ("steps per second, at half", "steps_per_s", "{:.1f}", 1),
    ("HTTP process, CPU s per 10⁶ rows", "http_cpu_s_per_million", "{:.2f}", 1),
    ("load, CPU s per 10⁶ rows (not counted)", "load_cpu_s_per_million", "{:.2f}", 1),
)


def table(found: Mapping[str, Any]) -> Table:
    """The medians of both sides, with what lies between the least and the most."""
    size = found["settings"]["size"]
    title = "{queries:,} queries, {subscribers:,} subscribers, {clients:,} clients that push".format(**size)
    shown = Table("", *SIDES, title=title)
    for label, name, form, factor in _LINES:
        shown.add_row(label, *(_spread(found["sides"][side][name], form, factor) for side in SIDES))
    return shown


def _spread(values: Mapping[str, float] | None, form: str, factor: float) -> str:
    if values is None:
        return "–"
    middle, least, most = (form.format(values[name] * factor) for name in ("median", "least", "most"))
    return middle if least == most else f"{middle} ({least} to {most})"


def verdict(found: Mapping[str, Any]) -> list[str]:
    """Sentences on what was asked for."""
    ratios = found["ratios"]
    met = "met" if found["cpu_met"] else "missed"
    return [
        f"engine and JVM with a server: {_times(ratios['cpu'])} the CPU of the same in a program "
        f"(at most {MOST_CPU}× is asked for: {met})",
        f"with nobody following on either side: {_times(ratios['cpu_unfollowed'])}; a server with "
        f"subscribers over a program without: {_times(ratios['cpu_strict'])}",
        f"push to event: p50 {_times(ratios['p50'])}, p95 {_times(ratios['p95'])}; "
        f"capacity {_times(ratios['pushed_rows_per_s'])}",
    ]


def _times(ratio: float | None) -> str:
    return "–" if ratio is None else f"{ratio:.2f}×"
