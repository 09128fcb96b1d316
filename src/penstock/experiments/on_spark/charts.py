"""Figures of experiments on Spark: what was measured as lines, what virtual time says dashed beside them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

from penstock.engines.sim.draws import Floats
from penstock.experiments.on_spark.comparing import Beside, Comparison, overall
from penstock.experiments.on_spark.scenario import COMPARED
from penstock.experiments.on_spark.sweeping import Outcomes
from penstock.experiments.report import Row

#: What measures are called on axes, with units, and the factor from the unit they are measured in.
LABELS = {
    "mean_latency_s": ("mean latency (s)", 1.0),
    "p95_latency_s": ("95 % of latencies below (s)", 1.0),
    "mean_memory_bytes": ("rows that wait, mean (kB)", 1e-3),
    "max_memory_bytes": ("rows that wait, at most (kB)", 1e-3),
    "staleness": ("stale (share of the time)", 1.0),
    "throughput_std": ("deviation of results per second", 1.0),
    "finish_s": ("all done after (s)", 1.0),
}
_MARKS = "osD^vP*X"
#: Few points make bars.
_BARS = 2
#: How far off a prediction may be.
WITHIN = 0.25


def over_points(
    rows: Sequence[Row],
    measures: Sequence[str],
    point: str,
    side: str,
    xlabel: str,
    title: str,
    figure: Figure,
) -> None:
    """A panel for each measure: a line for each side, or bars where there are few points."""
    panels = np.atleast_1d(figure.subplots(1, len(measures)))
    points = list(dict.fromkeys(row[point] for row in rows))
    for axes, measure in zip(panels, measures, strict=True):
        label, factor = LABELS[measure]
        if len(points) <= _BARS:
            _bars(axes, rows, measure, point, side, factor)
        else:
            _lines(axes, rows, measure, point, side, factor)
        axes.set(xlabel=xlabel, ylabel=label)
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
    _legend(figure, panels[0])
    figure.suptitle(title)


def _legend(figure: Figure, axes: Axes) -> None:
    """Beside the panels, where it hides nothing."""
    figure.legend(*axes.get_legend_handles_labels(), loc="outside right upper", fontsize="small")


def _lines(axes: Axes, rows: Sequence[Row], measure: str, point: str, side: str, factor: float) -> None:
    for number, name in enumerate(dict.fromkeys(row[side] for row in rows)):
        mine = [row for row in rows if row[side] == name]
        at = [row[point] for row in mine]
        color = f"C{number}"
        values, errors = ([row[key] * factor for row in mine] for key in (measure, f"{measure}_std"))
        axes.errorbar(
            at, values, errors, label=name, color=color, marker=_MARKS[number % len(_MARKS)], capsize=3
        )
        said = [row.get(f"predicted_{measure}") for row in mine]
        if all(one is not None for one in said):
            axes.plot(at, [one * factor for one in said if one is not None], "--", color=color, alpha=0.6)


def _bars(axes: Axes, rows: Sequence[Row], measure: str, point: str, side: str, factor: float) -> None:
    sides = list(dict.fromkeys(row[side] for row in rows))
    points = list(dict.fromkeys(row[point] for row in rows))
    width = 0.8 / len(sides)
    for number, name in enumerate(sides):
        for place, at in enumerate(points):
            row = next((one for one in rows if one[side] == name and one[point] == at), None)
            if row is None:
                continue
            x = place + (number - (len(sides) - 1) / 2) * width
            axes.bar(
                x,
                row[measure] * factor,
                width * 0.9,
                yerr=row[f"{measure}_std"] * factor,
                color=f"C{number}",
                label=name if place == 0 else None,
                capsize=2,
            )
            said = row.get(f"predicted_{measure}")
            if said is not None:
                axes.plot([x], [said * factor], "_", color="black", markersize=14)
    axes.set_xticks(
        range(len(points)), [f"{one:g}" if isinstance(one, float) else str(one) for one in points]
    )


def over_time(measured: Outcomes, predicted: Outcomes, title: str, figure: Figure) -> None:
    """Two panels: rows that wait, and results so far, second by second; one point's sides."""
    memory, results = figure.subplots(1, 2)
    for number, ((point, side), runs) in enumerate(measured.items()):
        label, said = f"{side}, {point}" if point else side, predicted[point, side]
        _series(memory, [run.memory_bytes / 1e3 for run in runs], label, number)
        _series(memory, [run.memory_bytes / 1e3 for run in said], None, number, dashed=True)
        _series(results, [run.rows_so_far for run in runs], None, number)
        _series(results, [run.rows_so_far for run in said], None, number, dashed=True)
    memory.set(xlabel="seconds", ylabel="rows that wait (kB)")
    results.set(xlabel="seconds", ylabel="results so far")
    for axes in (memory, results):
        axes.set_ylim(bottom=0)
        axes.grid(alpha=0.3)
    _legend(figure, memory)
    figure.suptitle(title)


def _series(
    axes: Axes, runs: Sequence[Floats], label: str | None, number: int, *, dashed: bool = False
) -> None:
    for place, values in enumerate(runs):
        axes.plot(
            np.arange(len(values)),
            values,
            "--" if dashed else "-",
            color=f"C{number}",
            alpha=0.6 if dashed else 0.9,
            label=label if place == 0 else None,
        )


def scatter(found: Mapping[str, Comparison], figure: Figure) -> None:
    """Predicted against measured: a panel for each measure, and each experiment with its median error."""
    panels = figure.subplots(1, len(COMPARED))
    together = overall(found.values())
    for axes, measure in zip(panels, COMPARED, strict=True):
        label, factor = LABELS[measure]
        seen: list[float] = []
        for number, (id_, one) in enumerate(found.items()):
            points = [point for point in one.points if point.measure == measure and _positive(point)]
            at = [(mean(p.measured) * factor, mean(p.predicted) * factor) for p in points]
            if at:
                x, y = zip(*at, strict=True)
                seen.extend((*x, *y))
                named = f"{id_}: {_percent(one.error(measure))}"
                mark = _MARKS[number % len(_MARKS)]
                axes.plot(x, y, mark, color=f"C{number}", label=named, alpha=0.7, markersize=5)
        if seen:
            ends = (min(seen) * 0.8, max(seen) * 1.25)
            axes.plot(ends, ends, color="gray", linewidth=1)
            within = [[(1 + sign * WITHIN) * end for end in ends] for sign in (-1, 1)]
            axes.fill_between(ends, *within, color="gray", alpha=0.15)
            axes.set(xscale="log", yscale="log", xlim=ends, ylim=ends)
            axes.legend(
                fontsize="xx-small",
                title="median error",
                title_fontsize="xx-small",
                labelspacing=0.25,
                loc="upper center",
                bbox_to_anchor=(0.5, -0.18),  # below the panel, where no point is behind it
            )
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.set(xlabel=f"measured: {label}", ylabel="predicted")
        axes.set_title(f"{_percent(together.error(measure))} in the median", fontsize="medium")
        axes.set_box_aspect(1)
    figure.suptitle(f"Predicted in virtual time, measured on Spark; within {WITHIN:.0%} is grey")


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share:.0%}"


def _positive(point: Beside) -> bool:
    return mean(point.predicted) > 0 and mean(point.measured) > 0
