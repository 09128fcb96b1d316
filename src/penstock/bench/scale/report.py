"""What samples come to: medians, the ratios that count, and how far repeats lie apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from statistics import median
from typing import Any, Protocol, TypeVar

from rich.table import Table

from penstock.bench.scale import stepping, throughput
from penstock.bench.scale.measure import Samples, Settings

#: Steps at large.
AT_LARGE = ("two-tasks", "one-task")


class _Sample(Protocol):
    """What samples of both kinds have."""

    @property
    def side(self) -> str: ...

    @property
    def rows(self) -> int: ...

    @property
    def repeat(self) -> int: ...


S = TypeVar("S", bound=_Sample)
Figure = Callable[[S], float]


def document(settings: Settings, samples: Samples) -> dict[str, Any]:
    """All of it, as plain data; the ratios are those with the most rows, and come last.

    `driver_memory_growth` is the share by which the peak with the most rows is above that with the fewest.
    `spread` has the least and the most of each ratio among the repeats, each with those of the same turn.
    """
    most = max(settings.rows)
    speed, seconds = _rows_per_s, _step_s
    runs, steps = samples.throughput, samples.steps
    peak = _driver_bytes
    growth = _turns(_of(steps, "two-tasks", most), _of(steps, "two-tasks", min(settings.rows)), peak)
    pairs = {
        "throughput_vs_batch": _turns(_of(runs, "by-size", most), _of(runs, "batch", most), speed),
        "throughput_vs_in_hand": _turns(_of(runs, "by-size", most), _of(runs, "in-hand", most), speed),
        "two_tasks_vs_one": _turns(_of(steps, "one-task", most), _of(steps, "two-tasks", most), seconds),
        "at_large_vs_in_hand": _turns(_of(steps, "in-hand", most), _of(steps, "two-tasks", most), seconds),
        "driver_memory_growth": [one - 1 for one in growth],
    }
    bytes_ = [one.driver_row_bytes for one in steps if one.side in AT_LARGE]
    return {
        "bench": "scale",
        "settings": asdict(settings),
        "throughput": [asdict(one) for one in runs],
        "steps": [asdict(one) | {"driver_bytes": one.driver_bytes} for one in steps],
        "spread": {name: [min(found), max(found)] if found else None for name, found in pairs.items()},
        "beside": {
            "throughput_vs_in_hand": ratio(runs, speed, ("by-size", most), ("in-hand", most)),
            "at_large_vs_in_hand": ratio(steps, seconds, ("in-hand", most), ("two-tasks", most)),
        },
        "ratios": {
            "throughput_vs_batch": ratio(runs, speed, ("by-size", most), ("batch", most)),
            "two_tasks_vs_one": ratio(steps, seconds, ("one-task", most), ("two-tasks", most)),
            "driver_memory_growth": _less_one(
                ratio(steps, peak, ("two-tasks", most), ("two-tasks", min(settings.rows)))
            ),
        },
        "driver_row_bytes": max(bytes_) if bytes_ else None,
    }


def middle(samples: Sequence[S], figure: Figure[S], side: str, rows: int) -> float | None:
    """The median of a figure of a side with so many rows."""
    found = [figure(one) for one in _of(samples, side, rows)]
    return float(median(found)) if found else None


def ratio(
    samples: Sequence[S], figure: Figure[S], over: tuple[str, int], under: tuple[str, int]
) -> float | None:
    """Medians of one side with so many rows over those of another."""
    ours, theirs = middle(samples, figure, *over), middle(samples, figure, *under)
    return ours / theirs if ours is not None and theirs else None


def _of(samples: Sequence[S], side: str, rows: int) -> list[S]:
    return [one for one in samples if one.side == side and one.rows == rows]


def _turns(ours: Sequence[S], theirs: Sequence[S], figure: Figure[S]) -> list[float]:
    """The ratio of each turn."""
    by_turn = {one.repeat: figure(one) for one in theirs}
    return [figure(one) / by_turn[one.repeat] for one in ours if by_turn.get(one.repeat)]


def _less_one(value: float | None) -> float | None:
    return None if value is None else value - 1


def _rows_per_s(one: throughput.Sample) -> float:
    return one.rows_per_s


def _step_s(one: stepping.Sample) -> float:
    return one.step_s


def _driver_bytes(one: stepping.Sample) -> float:
    return one.driver_bytes


def tables(settings: Settings, samples: Samples) -> list[Table]:
    """The medians, with what lies between the least and the most."""
    whole = Table("rows", "side", "rows/s", "steps", "at large", title="a backlog, from files to results")
    for rows in settings.rows:
        for side in throughput.SIDES:
            found = _of(samples.throughput, side, rows)
            if found:
                whole.add_row(
                    f"{rows:,}",
                    side,
                    _spread([one.rows_per_s for one in found], "{:,.0f}"),
                    _spread([one.steps for one in found], "{:,.0f}"),
                    _spread([one.large_steps for one in found], "{:,.0f}"),
                )
    alone = Table(
        "rows", "side", "seconds of steps", "steps", "driver's memory", "rows in the driver's hands",
        title="its steps alone",
    )  # fmt: skip
    for rows in settings.rows:
        for name in stepping.SIDES:
            steps = _of(samples.steps, name, rows)
            if steps:
                alone.add_row(
                    f"{rows:,}",
                    name,
                    _spread([one.step_s for one in steps], "{:.2f}"),
                    _spread([one.steps for one in steps], "{:,.0f}"),
                    _spread([one.driver_bytes / 1e6 for one in steps], "{:,.0f} MB"),
                    _spread([one.driver_row_bytes / 1e6 for one in steps], "{:,.0f} MB"),
                )
    return [whole, alone]


def _spread(values: Sequence[float], form: str) -> str:
    shown, least, most = (form.format(value) for value in (median(values), min(values), max(values)))
    return shown if least == most else f"{shown} ({least} to {most})"


def verdict(found: Mapping[str, Any]) -> list[str]:
    """The ratios in sentences."""
    ratios, beside = found["ratios"], found["beside"]
    growth, bytes_ = ratios["driver_memory_growth"], found["driver_row_bytes"]
    return [
        f"throughput: {_times(ratios['throughput_vs_batch'])} that of plain Spark batch, "
        f"{_times(beside['throughput_vs_in_hand'])} that of steps in hand",
        f"steps at large: {_times(ratios['two_tasks_vs_one'])} as fast with two tasks as with one, "
        f"{_times(beside['at_large_vs_in_hand'])} as fast as in hand",
        "the driver's memory: "
        + ("not measured" if growth is None else f"{growth:+.0%} from the fewest rows to the most"),
        "bytes of rows in the driver's hands for steps at large: "
        + ("not measured" if bytes_ is None else f"{bytes_:,}"),
    ]


def _times(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}×"
