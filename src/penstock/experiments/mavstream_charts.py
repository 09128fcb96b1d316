"""MavStream's figures as drawings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from penstock.engines.sim.draws import Floats, Ints
from penstock.experiments.report import Row

STYLE = {
    "round-robin": ("tab:gray", "s"),
    "weighted-round-robin": ("tab:brown", "v"),
    "path-capacity": ("tab:blue", "o"),
    "simplified-segment": ("tab:green", "^"),
    "segment": ("tab:red", "D"),
}
AXES = {
    "mean_latency_s": ("average tuple latency (s)", 1.0, "MavStream, figure 6.1: average tuple latency"),
    "max_memory_bytes": ("maximum memory (kB)", 1e-3, "MavStream, figure 6.2: maximum memory"),
}


def over_rates(rows: Sequence[Row], measure: str, figure: Figure) -> None:
    """One line per policy over the data rate."""
    label, factor, title = AXES[measure]
    axes = figure.subplots()
    for policy in dict.fromkeys(row["policy"] for row in rows):
        mine = [row for row in rows if row["policy"] == policy]
        color, marker = STYLE[policy]
        axes.errorbar(
            [row["rate"] for row in mine],
            [row[measure] * factor for row in mine],
            [row[f"{measure}_std"] * factor for row in mine],
            label=policy,
            color=color,
            marker=marker,
            capsize=3,
        )
    axes.set(xlabel="data rate (rows/s per stream)", ylabel=label, title=title)
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.legend()


def throughput(
    rows: Sequence[Row],
    per_s: Mapping[tuple[float, str], Ints],
    published: Mapping[str, Mapping[float, int]],
    figure: Figure,
) -> None:
    """Output per second at each rate, and its standard deviation beside the published one."""
    rates = sorted({rate for rate, _ in per_s})
    panels = figure.subplots(2, 2).flatten()
    for axes, rate in zip(panels, rates, strict=False):
        for (at, policy), counts in per_s.items():
            if at == rate and policy != "simplified-segment":  # left out, as in the thesis, to be legible
                axes.plot(np.arange(len(counts)), counts, label=policy, color=STYLE[policy][0], linewidth=1.2)
        axes.set(xlabel="time (s)", ylabel="results per second", title=f"{rate:.0f} rows/s per stream")
        axes.grid(alpha=0.3)
    _deviations(rows, rates, published, panels[-1])
    figure.suptitle("MavStream, figures 6.3 to 6.6: output per second")
    figure.set_layout_engine("constrained")
    figure.legend(
        *panels[-1].get_legend_handles_labels(), loc="outside lower center", ncols=5, fontsize="small"
    )


def _deviations(
    rows: Sequence[Row], rates: Sequence[float], published: Mapping[str, Mapping[float, int]], axes: Axes
) -> None:
    width = 0.8 / len(published)
    places = np.arange(len(rates))
    for number, (policy, values) in enumerate(published.items()):
        mine = {row["rate"]: row for row in rows if row["policy"] == policy}
        at = places + (number - (len(published) - 1) / 2) * width
        axes.bar(
            at,
            [mine[rate]["throughput_std"] for rate in rates],
            width,
            yerr=[mine[rate]["throughput_std_std"] for rate in rates],
            color=STYLE[policy][0],
            label=policy,
            capsize=2,
        )
        axes.plot(at, [values.get(rate, np.nan) for rate in rates], "k_", markersize=10)
    axes.plot([], [], "k_", markersize=10, label="published")
    axes.set_xticks(places, [f"{rate:.0f}" for rate in rates])
    axes.set(
        xlabel="data rate (rows/s per stream)", ylabel="standard deviation", title="deviation (figure 6.6)"
    )


def memory_over_time(
    memory: Mapping[tuple[str, str], Floats], rates: Sequence[tuple[float, float]], figure: Figure
) -> None:
    """Memory of each policy over time, one panel per setting of the costs; bursts are shaded."""
    settings = list(dict.fromkeys(costs for costs, _ in memory))
    panels = figure.subplots(len(settings), 1, sharex=True, squeeze=False).flatten()
    bursts = [(begin, end) for (begin, rate), (end, _) in pairwise(rates) if rate > rates[0][1]]
    for axes, costs in zip(panels, settings, strict=True):
        for begin, end in bursts:
            axes.axvspan(begin, end, color="0.9")
        for (setting, policy), values in memory.items():
            if setting == costs:
                color, _ = STYLE[policy]
                axes.plot(np.arange(len(values)), values / 1e3, label=policy, color=color, linewidth=1)
        axes.set(ylabel="memory (kB)", title=f"costs {costs}")
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
    panels[-1].set_xlabel("time (s); shaded: bursts")
    panels[0].legend(fontsize="small")
    figure.suptitle("MavStream, figure 6.7: memory while the rate doubles twice")
    figure.set_layout_engine("constrained")
