"""The three measurements as pictures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import nan
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

#: What is shown of policies: the measure, how it is called, and by what it is multiplied.
_PANELS = (
    ("mean_latency_s", "mean latency (s)", 1.0),
    ("mean_bytes", "bytes in queues, mean (MB)", 1e-6),
    ("staleness", "stale time per query (s/s)", 1.0),
    ("output_deviation", "deviation of results per second", 1.0),
)


def draw_policies(table: Sequence[Mapping[str, Any]], title: str, path: Path) -> None:
    """A bar for each policy and measure, with its spread over repeats; the least latency on top."""
    lines = [line for line in reversed(table) if line["mean_latency_s"] is not None]
    figure = Figure(figsize=(13, 1.2 + 0.32 * len(lines)), layout="constrained")
    panels = figure.subplots(1, len(_PANELS), sharey=True)
    for axes, (measure, label, factor) in zip(panels, _PANELS, strict=True):
        values = [line[measure] * factor for line in lines]
        errors = [line[f"{measure}_std"] * factor for line in lines]
        least = min(values, default=0.0)
        colours = ["C2" if value <= 1.05 * least else "C0" for value in values]
        axes.barh(range(len(lines)), values, xerr=errors, color=colours, ecolor="0.3")
        axes.set_xlabel(label)
        axes.set_xlim(left=0)
    panels[0].set_yticks(range(len(lines)), [line["policy"] for line in lines])
    figure.suptitle(title)
    _save(figure, path)


def draw_threads(
    table: Sequence[Mapping[str, Any]], throughput: Sequence[Mapping[str, Any]], path: Path
) -> None:
    """Latency of cheap queries alone and beside a dear one, under each thread plan; and throughput."""
    figure = Figure(figsize=(11, 1.4 + 0.4 * max(len(table), len(throughput))), layout="constrained")
    latency, rows = figure.subplots(1, 2)
    for place, line in enumerate(reversed(table)):
        for shift, side, colour in ((0.2, "alone", "0.6"), (-0.2, "beside", "C0")):
            latency.barh(
                place + shift,
                line[f"{side}_s"],
                0.36,
                xerr=line[f"{side}_std"],
                color=colour,
                ecolor="0.3",
                label=f"{side} the expensive one" if side == "beside" else side,
            )
    latency.set_yticks(range(len(table)), [line["plan"] for line in reversed(table)])
    latency.set_xlabel("median latency of five cheap queries (s)")
    handles, labels = latency.get_legend_handles_labels()
    latency.legend(handles[:2], labels[:2], fontsize="small")
    for place, line in enumerate(reversed(throughput)):
        rate, spread = line["rows_per_s"] / 1000, line["rows_per_s_std"] / 1000
        rows.barh(place, rate, xerr=spread, color="C0", ecolor="0.3")
    rows.set_yticks(range(len(throughput)), [line["side"] for line in reversed(throughput)])
    rows.set_xlabel("five selections: thousand rows/s")
    _save(figure, path)


def draw_drift(samples: Sequence[Mapping[str, Any]], path: Path) -> None:
    """Bytes in queues and latency over time, with re-cutting and without; what changed when is marked."""
    figure = Figure(figsize=(12, 3.6), layout="constrained")
    memory, latency = figure.subplots(1, 2)
    for axes, measure, label in ((memory, "bytes", "MB in queues"), (latency, "latency_s", "latency (s)")):
        _lines(axes, samples, measure, 1e-6 if measure == "bytes" else 1.0)
        axes.set_ylabel(label)
        axes.set_xlabel("seconds")
    memory.legend(fontsize="small", loc="upper left")
    _save(figure, path)


def _lines(axes: Axes, samples: Sequence[Mapping[str, Any]], measure: str, factor: float) -> None:
    for sample in samples:
        colour = "C0" if sample["recut"] else "C3"
        first = sample["repeat"] == 0
        label = ("cut anew" if sample["recut"] else "the cut stays") if first else None
        values = [nan if value is None else value * factor for value in sample[measure]]
        axes.plot(sample["at_s"], values, color=colour, label=label, alpha=1.0 if first else 0.35)
        for at_s in sample["recuts_s"] if sample["recut"] else ():
            axes.axvline(at_s, color=colour, linestyle=":", linewidth=1)
    axes.axvline(samples[0]["drift_s"], color="0.4", linestyle="--", linewidth=1)
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)


def _save(figure: Figure, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)
