"""The picture of a day: rates, latency, memory and staleness, with the switch marked."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from penstock.commands.demo.day import Day, Floats, stale_s
from penstock.engines.spark.status.status import Status
from penstock.experiments.figures import paint

#: Seconds that one point of a curve is the mean of.
POINT_S = 3.0


def picture(day: Day, folder: Path) -> Path:
    """Latency, memory and staleness over the day, with the switch marked."""
    return paint(lambda figure: _draw(figure, day), folder / "demo.png")


def latencies_s(looks: Sequence[Status]) -> Floats:
    """For each look, the mean latency of each query's results of the last seconds: looks × queries."""
    names = list(looks[-1].queries)
    found = np.full((len(looks), len(names)), np.nan)
    first = 0
    for n, look in enumerate(looks):
        while look.at_s - looks[first].at_s > POINT_S:
            first += 1
        for column, name in enumerate(names):
            recent = look.queries[name].latencies.since(looks[first].queries[name].latencies)
            if recent.mean_s is not None:
                found[n, column] = recent.mean_s
    return found


def _draw(figure: Figure, day: Day) -> None:
    looks, times_s, parts = day.looks, day.times_s(), day.parts()
    names = list(looks[-1].queries)
    figure.set_size_inches(9.0, 7.6)
    figure.suptitle(
        f"A day in a smart home in {day.seconds_s:g} s: {len(names)} continuous queries on local Spark, "
        f"{day.rows():,} rows",
        fontsize=11,
    )
    rates, latency, memory, stale = figure.subplots(4, 1, sharex=True, height_ratios=(0.7, 1.3, 1, 1))

    rows = np.diff([sum(look.rows_in.values()) for look in looks]) / np.maximum(np.diff(times_s), 1e-9)
    rates.fill_between(times_s[1:], smoothed(rows, times_s[1:], 1.0), step="pre", color="0.75")
    rates.set_ylabel("rows/s in")

    each = latencies_s(looks)
    known = ~np.isnan(each).all(axis=1)
    middle, low, high = (np.full(len(looks), np.nan) for _ in range(3))
    if known.any():
        middle[known] = np.nanmean(each[known], axis=1)
        low[known], high[known] = np.nanquantile(each[known], (0.1, 0.9), axis=1)
    latency.fill_between(
        times_s, low, high, color="tab:blue", alpha=0.2, label="8 of 10 queries", linewidth=0
    )
    latency.plot(times_s, middle, color="tab:blue", label="mean of the queries that put something out")
    latency.set_yscale("log")
    latency.set_ylabel("latency (s)")
    latency.yaxis.set_major_formatter("{x:g}")

    memory.plot(
        times_s,
        [look.held_bytes / 1e6 for look in looks],
        color="0.5",
        linestyle="--",
        label="queues and windows",
    )
    memory.plot(times_s, [look.queued_bytes / 1e6 for look in looks], color="tab:orange", label="queues")
    memory.set_ylabel("memory (MB)")

    share = np.mean([stale_s(looks, name) for name in names], axis=0) / np.diff(times_s)
    stale.plot(times_s[1:], 100 * smoothed(share, times_s[1:], POINT_S), color="tab:red")
    stale.set_ylabel("stale results (%)")
    stale.set_ylim(0, 100)
    stale.set_xlabel(
        f"time (s); {day.seconds_s:g} s are a day of 24 hours"
        + ("; grey: no more rows come, what waits is processed" if times_s[-1] > day.seconds_s else "")
    )

    begin_s = 0.0
    for one in parts:
        end_s = begin_s + one.seconds_s
        for axes, level, until_s in (
            (latency, one.mean_latency_s, end_s),
            (stale, 100 * one.staleness, min(end_s, times_s[day.last_rows()])),
        ):
            if level is not None:
                axes.hlines(level, begin_s, until_s, color="black", linewidth=0.8, linestyle=":")
        rates.annotate(
            one.policy, ((begin_s + end_s) / 2, 1.0), (0, 3), xycoords=("data", "axes fraction"),
            textcoords="offset points", ha="center", va="bottom", fontweight="bold",
        )  # fmt: skip
        begin_s = end_s
    for axes in (rates, latency, memory, stale):
        _mark(axes, day, times_s)
    for axes in (rates, memory):
        axes.set_ylim(0, axes.get_ylim()[1] * 1.25)  # room for a legend
    low_s, high_s = latency.get_ylim()
    latency.set_ylim(low_s, high_s * (high_s / low_s) ** 0.3)
    latency.plot([], [], color="black", linewidth=0.8, linestyle=":", label="mean under the policy")
    latency.legend(fontsize="small", loc="upper left", ncols=3)
    memory.legend(fontsize="small", loc="upper left", ncols=2)
    stale.set_xlim(0, times_s[-1])


def _mark(axes: Axes, day: Day, times_s: Floats) -> None:
    axes.grid(alpha=0.3)
    if day.switched is not None:
        axes.axvline(times_s[day.switched], color="black", linewidth=1.2)
    if times_s[-1] > day.seconds_s:
        axes.axvspan(day.seconds_s, times_s[-1], color="0.93", zorder=0)


def smoothed(values: Floats, times_s: Floats, width_s: float) -> Floats:
    """The mean of the last so many seconds, at each time."""
    firsts = np.searchsorted(times_s, times_s - width_s)
    sums = np.concatenate(([0.0], np.cumsum(values)))
    places = np.arange(len(values))
    return np.asarray((sums[places + 1] - sums[firsts]) / (places + 1 - firsts))
