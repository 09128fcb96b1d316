"""The bench as a picture: throughput, steps, memory and rows in the driver's hands, against rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

_LOOKS = {
    "batch": ("plain Spark batch", "0.4", "*"),
    "by-size": ("Penstock, steps by size", "C0", "o"),
    "in-hand": ("Penstock, steps in hand", "C1", "^"),
    "two-tasks": ("at large, two tasks", "C0", "o"),
    "one-task": ("at large, one task", "C2", "s"),
}

Plain = Mapping[str, Any]


def draw(found: Plain, title: str, path: Path) -> None:
    """Four panels, with lines through the medians and bars from the least to the most."""
    figure = Figure(figsize=(11, 8), layout="constrained")
    (whole, alone), (memory, hands) = figure.subplots(2, 2)
    _panel(
        whole, found["throughput"], lambda one: one["rows_per_s"] / 1e6, "from files to results (10⁶ rows/s)"
    )
    steps = found["steps"]
    _panel(alone, steps, lambda one: one["rows"] / one["step_s"] / 1e6, "steps alone (10⁶ rows/s)")
    _panel(memory, steps, lambda one: one["driver_bytes"] / 1e6, "the driver's memory at its peak (MB)")
    _panel(hands, steps, lambda one: one["driver_row_bytes"] / 1e6, "rows in the driver's hands (MB)")
    figure.suptitle(title)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)


def _panel(axes: Axes, samples: Sequence[Plain], figure: Callable[[Plain], float], label: str) -> None:
    counts = sorted({one["rows"] for one in samples})
    for side, (name, colour, marker) in _LOOKS.items():
        values = {
            rows: [figure(one) for one in samples if one["side"] == side and one["rows"] == rows]
            for rows in counts
        }
        there = {rows: found for rows, found in values.items() if found}
        if not there:
            continue
        middles = [median(found) for found in there.values()]
        below = [middle - min(found) for middle, found in zip(middles, there.values(), strict=True)]
        above = [max(found) - middle for middle, found in zip(middles, there.values(), strict=True)]
        axes.errorbar(
            list(there), middles, (below, above), color=colour, marker=marker, capsize=3, label=name
        )
    if counts:
        axes.set_xscale("log")
        axes.set_xticks(counts, [f"{rows / 1e6:g} million" for rows in counts])
        axes.minorticks_off()
        axes.legend(fontsize="small")
    axes.set_ylim(bottom=0)
    axes.set_xlabel("rows")
    axes.set_ylabel(label)
    axes.grid(alpha=0.3)
