"""The bench as a picture: latency and throughput against the number of queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

_LOOKS = {
    "penstock": ("Penstock", "C0", "o"),
    "queries": ("Structured Streaming, one query each", "C3", "s"),
    "foreachbatch": ("Structured Streaming, one foreachBatch", "C1", "^"),
    "batch": ("one batch job over everything", "0.4", "*"),
}


def draw(samples: Sequence[Mapping[str, Any]], title: str, path: Path) -> None:
    """Two panels over the number of queries, with a cross where a side did not finish; bars if it is one."""
    counts = sorted({one["queries"] for one in samples})
    figure = Figure(figsize=(11, 4.8 if len(counts) > 1 else 2.6), layout="constrained")
    latency, throughput = figure.subplots(1, 2, sharey=len(counts) == 1)
    for axes, field, label in (
        (latency, "mean_latency_s", "mean latency (s)"),
        (throughput, "rows_per_s", "sustained input (rows/s)"),
    ):
        if len(counts) == 1:
            _bars(axes, samples, field, label)
            continue
        for side in _LOOKS:
            _line(axes, [one for one in samples if one["side"] == side], side, field)
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.set_xlabel("queries")
        axes.set_ylabel(label)
        axes.set_xticks(counts, [str(count) for count in counts])
        axes.minorticks_off()
        axes.grid(alpha=0.3)
    if len(counts) > 1:
        throughput.legend(fontsize="small", loc="lower left")
    figure.suptitle(title if len(counts) > 1 else f"{counts[0]} {title}")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)


def _bars(axes: Axes, samples: Sequence[Mapping[str, Any]], field: str, label: str) -> None:
    sides = [side for side in reversed(_LOOKS) if any(one["side"] == side for one in samples)]
    for place, side in enumerate(sides):
        values = [one[field] for one in samples if one["side"] == side and one[field] is not None]
        if values:
            middle = median(values)
            axes.barh(place, middle, color=_LOOKS[side][1])
            axes.annotate(
                f" {middle:,.2f}" if middle < 100 else f" {middle:,.0f}", (middle, place), va="center"
            )
        elif any(one["side"] == side and one.get("failed") for one in samples):
            axes.annotate(" not finished", (0, place), va="center", color=_LOOKS[side][1])
    axes.set_yticks(range(len(sides)), [_LOOKS[side][0] for side in sides])
    axes.margins(x=0.25)
    axes.set_xlim(left=0)
    axes.set_xlabel(label)


def _line(axes: Axes, samples: Sequence[Mapping[str, Any]], side: str, field: str) -> None:
    label, colour, marker = _LOOKS[side]
    by_count: dict[int, list[float]] = {}
    for one in samples:
        if one[field] is not None:
            by_count.setdefault(one["queries"], []).append(one[field])
    counts = sorted(by_count)
    if counts:
        values = [median(by_count[count]) for count in counts]
        axes.plot(counts, values, color=colour, marker=marker, label=label)
    for count in {one["queries"] for one in samples if one.get("failed")} - set(counts):
        edge = 0.97 if field == "mean_latency_s" else 0.03
        axes.plot([count], [edge], color=colour, marker="x", transform=axes.get_xaxis_transform())
        axes.annotate(
            "not finished",
            (count, edge),
            xycoords=axes.get_xaxis_transform(),
            xytext=(-6, 0),
            textcoords="offset points",
            ha="right",
            va="center",
            fontsize="small",
            color=colour,
        )
