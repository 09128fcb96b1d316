"""How AQSIOS' figures are drawn: a colour per policy, hollow markers where the setting is fitted.

Dotted are runs over all pending tuples per scheduling point.
"""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from penstock.experiments.aqsios_setting import FAS, FCFS, RB, RR, Point
from penstock.experiments.aqsios_sweep import ALL_PENDING, AS_WRITTEN, FITTED, Sweep

_LOOKS = {FAS: ("C0", "o"), RB: ("C1", "s"), RR: ("C2", "^"), FCFS: ("C3", "D")}
_LABELS = {
    "staleness": "mean staleness (share of time)",
    "response_time": "mean response time (s)",
    "utilization": "utilisation",
    "zipf": "Zipf parameter of the selectivities (0: uniform)",
    "bursty_streams": "bursty streams (of 10)",
}
#: Setting, whether all pending tuples run per scheduling point, and how markers are filled.
_SERIES = ((AS_WRITTEN, False, "C0"), (FITTED, False, "white"), (AS_WRITTEN, True, "C7"))
_CAP = 3


def draw_utilization(sweep: Sweep, number: str, figure: Figure) -> None:
    """Figures 3, 4 and 10: a line per policy, for staleness and for response time."""
    figure.set_size_inches(11, 5)
    staleness, response = figure.subplots(1, 2)
    for axes, name in ((staleness, "staleness"), (response, "response_time")):
        for policy in _LOOKS:
            _line(axes, sweep, sweep.curve(policy), "utilization", name)
        for policy in _LOOKS:
            _line(axes, sweep, sweep.curve(policy, setting=FITTED), "utilization", name)
        for policy in _LOOKS:
            _pending_line(axes, sweep, sweep.curve(policy, all_pending=True), "utilization", name)
        _finish(axes, "utilization", name)
    staleness.legend(fontsize="small")
    figure.suptitle(f"AQSIOS, {number}: the policies over utilisation")


def draw_tradeoff(sweep: Sweep, betas: Sequence[float], load: float, figure: Figure) -> None:
    """Figures 5, 6: a line per β over utilisation; 7: all β at one load, staleness against response time."""
    figure.set_size_inches(14, 5)
    response, staleness, both = figure.subplots(1, 3)
    for axes, name in ((response, "response_time"), (staleness, "staleness")):
        _line(axes, sweep, sweep.curve(RB), "utilization", name)
        for place, beta in enumerate(betas):
            points = sweep.curve(FAS, beta)
            if len(points) > 1:
                _line(axes, sweep, points, "utilization", name, f"fas-mcq, β = {beta:g}", (f"C{place}", "o"))
        _finish(axes, "utilization", name)
        axes.legend(fontsize="small")
    for setting, pending, face in _SERIES:
        curves = [sweep.curve(FAS, beta, setting, all_pending=pending) for beta in betas]
        best = [point for curve in curves for point in curve if point.utilization == load]
        x = [sweep.gain(point, "response_time").mean * 100 for point in best]
        y = [sweep.gain(point).mean * 100 for point in best]
        label = f"{setting}, {ALL_PENDING}" if pending else setting
        line = ":" if pending else "-"
        both.plot(x, y, f"o{line}", color="C0", markerfacecolor=face, label=label)
        for point, *at in zip(best, x, y, strict=True):
            both.annotate(f"{point.beta:g}", at, xytext=(4, 4), textcoords="offset points", fontsize="small")
    both.set_xlabel("response time above RB-MCQ (%)")
    both.set_ylabel("staleness above RB-MCQ (%)")
    both.grid(alpha=0.3)
    both.legend(fontsize="small")
    both.set_title(f"all β at utilisation {load:g}", fontsize="medium")
    figure.suptitle("AQSIOS, figures 5, 6 and 7: response time against staleness")


def draw_skew(sweep: Sweep, figure: Figure) -> None:
    """Figure 8."""
    axes = figure.subplots()
    for policy in _LOOKS:
        points = [point for point in sweep.points if point.policy == policy]
        _line(axes, sweep, [p for p in points if not p.all_pending], "zipf", "staleness", policy)
        _pending_line(axes, sweep, [p for p in points if p.all_pending], "zipf", "staleness")
    _finish(axes, "zipf", "staleness")
    axes.legend()
    figure.suptitle("AQSIOS, figure 8: skew of selectivity, equal costs, utilisation 0.95")


def draw_bursts(sweep: Sweep, figure: Figure) -> None:
    """Figure 9: FAS-MCQ's staleness in proportion to RB-MCQ's."""
    axes = figure.subplots()
    for setting, pending, face in _SERIES:
        points = sweep.curve(FAS, setting=setting, all_pending=pending)
        if not points:
            continue
        gains = [sweep.gain(point) for point in points]
        axes.errorbar(
            [point.bursty_streams for point in points],
            [1.0 + gain.mean for gain in gains],
            [gain.deviation for gain in gains],
            fmt="o:" if pending else "o-",
            color="C0",
            markerfacecolor=face,
            capsize=_CAP,
            label=f"{setting}, {ALL_PENDING}" if pending else setting,
        )
    axes.set_xlabel(_LABELS["bursty_streams"])
    axes.set_ylabel("staleness of FAS-MCQ / staleness of RB-MCQ")
    axes.set_ylim(0, 1.05)
    axes.grid(alpha=0.3)
    axes.legend()
    figure.suptitle("AQSIOS, figure 9: bursts, utilisation 0.95")


def _line(
    axes: Axes,
    sweep: Sweep,
    points: Sequence[Point],
    over: str,
    name: str,
    label: str | None = None,
    look: tuple[str, str] | None = None,
) -> None:
    """One line, with the spread between seeds."""
    if not points:
        return
    policy = points[0].policy
    fitted = label is None and points[0] in sweep.curve(policy, setting=FITTED)
    colour, marker = look or _LOOKS[policy]
    axes.errorbar(
        [getattr(point, over) for point in points],
        [sweep.mean(point, name) for point in points],
        [sweep.values(point, name).std() for point in points],
        color=colour,
        marker=marker,
        capsize=_CAP,
        linestyle="none" if fitted else "-",
        markerfacecolor="white" if fitted else colour,
        label=label or (f"{policy}, fitted" if fitted else policy),
    )


def _pending_line(axes: Axes, sweep: Sweep, points: Sequence[Point], over: str, name: str) -> None:
    """The same with all pending tuples per scheduling point: dotted."""
    if points:
        policy = points[0].policy
        axes.plot(
            [getattr(point, over) for point in points],
            [sweep.mean(point, name) for point in points],
            color=_LOOKS[policy][0],
            linestyle=":",
            marker="x",
            label=f"{policy}, {ALL_PENDING}",
        )


def _finish(axes: Axes, over: str, name: str) -> None:
    axes.set_xlabel(_LABELS[over])
    axes.set_ylabel(_LABELS[name])
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
