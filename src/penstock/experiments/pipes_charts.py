"""PIPES' figures as drawings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from penstock.engines.sim.draws import Floats
from penstock.experiments.pipes_stall import Outcome
from penstock.experiments.report import Row

JOIN_COLORS = {"hash": "tab:blue", "nested-loops": "tab:red"}
THREAD_STYLE = {
    "hmts": ("HMTS", "tab:blue", "-"),
    "chain": ("Chain", "tab:red", "--"),
    "fifo": ("FIFO", "tab:gray", "-."),
}
CUT_COLORS = {"stall-avoiding": "tab:blue", "simplified-segment": "tab:green", "chain": "tab:red"}
SMOOTHED_S = 5  # a Poisson process' rate per second is too ragged to read


def input_rates(rates: Mapping[tuple[str, bool], Floats], figure: Figure) -> None:
    """Elements handed over per second: falling in the sources' thread, steady behind a queue."""
    axes = figure.subplots()
    behind_queue = next(per_s for (_, decoupled), per_s in rates.items() if decoupled)
    axes.plot(*_smoothed(behind_queue), "k:", label="behind a queue (either join)")
    for (join, decoupled), per_s in rates.items():
        if not decoupled:
            label = f"{join} join, in the sources’ thread"
            axes.plot(*_smoothed(per_s), label=label, color=JOIN_COLORS[join])
    axes.set(xlabel="time (s)", ylabel="input rate (elements/s per stream)")
    axes.set_title("PIPES, figure 6: the necessity of decoupling")
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.legend()


def _smoothed(per_s: Floats) -> tuple[Floats, Floats]:
    """Seconds, and moving averages."""
    smooth = np.convolve(per_s, np.ones(SMOOTHED_S) / SMOOTHED_S, mode="valid")
    seconds: Floats = np.arange(len(smooth), dtype=np.float64) + SMOOTHED_S / 2
    return seconds, smooth


def memory_and_results(outcomes: Mapping[tuple[str, str], Sequence[Outcome]], figure: Figure) -> None:
    """Queued elements and results over time, means over seeds, for either setting of the costs."""
    settings = list(dict.fromkeys(costs for costs, _ in outcomes))
    panels = figure.subplots(2, len(settings), sharex=True, sharey="row", squeeze=False)
    for column, setting in enumerate(settings):
        above, below = panels[0, column], panels[1, column]
        for (costs, strategy), runs in outcomes.items():
            if costs == setting:
                label, color, line = THREAD_STYLE[strategy]
                queued = _mean_over_seeds([run.queued for run in runs], stays=False)
                results = _mean_over_seeds([run.results_so_far for run in runs], stays=True)
                above.plot(queued, label=label, color=color, linestyle=line)
                below.plot(results, label=label, color=color, linestyle=line)
        above.set_title(f"costs {setting}")
        below.set_xlabel("time (s)")
    for axes in panels.flatten():
        axes.grid(alpha=0.3)
        axes.set_ylim(bottom=0)
    panels[0, 0].set_ylabel("queued elements")
    panels[1, 0].set_ylabel("results so far")
    panels[0, 0].legend()
    figure.suptitle("PIPES, figures 9 and 10: HMTS against GTS")
    figure.set_layout_engine("constrained")


def _mean_over_seeds(series: Sequence[Floats], *, stays: bool) -> Floats:
    """Runs end at different times: then nothing is queued any more, and the results stay."""
    length = max(len(values) for values in series)
    padded = [np.pad(v, (0, length - len(v)), constant_values=v[-1] if stays else 0.0) for v in series]
    mean: Floats = np.mean(padded, axis=0)
    return mean


def capacities(rows: Sequence[Row], figure: Figure) -> None:
    """Mean positive capacity upwards, mean negative downwards, by size and strategy.

    `=` stands below what stall-avoiding placement is level with.
    """
    loads = list(dict.fromkeys(row["load"] for row in rows))
    panels = figure.subplots(len(loads), 1, sharex=True, squeeze=False).flatten()
    sizes = list(dict.fromkeys(row["nodes"] for row in rows))
    places, width = np.arange(len(sizes)), 0.8 / len(CUT_COLORS)
    for axes, load in zip(panels, loads, strict=True):
        for number, (strategy, color) in enumerate(CUT_COLORS.items()):
            mine = [row for row in rows if row["strategy"] == strategy and row["load"] == load]
            at = places + (number - (len(CUT_COLORS) - 1) / 2) * width
            for sign, label in (("positive", strategy), ("negative", None)):
                name = f"mean_{sign}_capacity"
                heights = [row[name] * 1e3 for row in mine]
                spreads = [row[f"{name}_std"] * 1e3 for row in mine]
                axes.bar(at, heights, width, color=color, label=label, alpha=1.0 if label is None else 0.55)
                axes.errorbar(at, heights, spreads, fmt="none", ecolor="0.3", elinewidth=0.8, capsize=2)
            for place, row in zip(at, mine, strict=True):
                if row["stall_avoiding_stalls"] == "level":
                    axes.annotate("=", (place, 0), (0, -1), textcoords="offset points", ha="center", va="top")
        axes.axhline(0.0, color="black", linewidth=0.8)
        axes.set(ylabel="mean capacity (ms)", title=f"load {load:g}")
        axes.grid(alpha=0.3, axis="y")
    panels[-1].set_xticks(places, [str(size) for size in sizes])
    panels[-1].set_xlabel("nodes of the graph")
    figure.suptitle("PIPES, figure 11: positive and negative capacity of units")
    figure.set_layout_engine("constrained")
    handles = panels[0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside right upper", fontsize="small")


def times(rows: Sequence[Row], point: str, title: str, figure: Figure) -> None:
    """Seconds until all elements are done, a panel for each way in which they come."""
    feeds = list(dict.fromkeys(row["elements come"] for row in rows))
    panels = figure.subplots(1, len(feeds), sharey=True, squeeze=False).flatten()
    for axes, feed in zip(panels, feeds, strict=True):
        for number, name in enumerate(dict.fromkeys(row["arrangement"] for row in rows)):
            mine = [row for row in rows if (row["elements come"], row["arrangement"]) == (feed, name)]
            at = [row[point] for row in mine]
            # Some lie upon each other: smaller marks above larger ones show both.
            axes.plot(at, [row["seconds"] for row in mine], "o-", label=name, markersize=9 - 2 * number)
        axes.set(xlabel=point, title=f"elements come {feed if feed[0].isalpha() else 'at ' + feed}")
        axes.set_ylim(bottom=0)
        axes.locator_params(axis="x", nbins=5)
        axes.grid(alpha=0.3)
    panels[0].set_ylabel("seconds until the last is done")
    panels[0].legend()
    figure.suptitle(title)
