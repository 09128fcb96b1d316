"""How AQSIOS' figures are drawn: a colour per policy, dashes where the setting is fitted."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from penstock.experiments.aqsios_setting import FAS, FCFS, RB, RR, Point
from penstock.experiments.aqsios_sweep import Sweep

_LOOKS = {FAS: ("C0", "o"), RB: ("C1", "s"), RR: ("C2", "^"), FCFS: ("C3", "x")}
_LABELS = {
    "staleness": "mean staleness (share of time)",
    "response_time": "mean response time (s)",
    "utilization": "utilisation",
    "zipf": "Zipf parameter of the selectivities (0: uniform)",
    "bursty_streams": "bursty streams (of 10)",
}
_CAP = 3


def draw_utilization(sweep: Sweep, number: str, figure: Figure) -> None:
    """Figures 3, 4 and 10: a line per policy, for staleness and for response time."""
    for axes, name in zip(figure.subplots(1, 2), ("staleness", "response_time"), strict=True):
        for policy in _LOOKS:
            for fitted in (False, True):
                _line(axes, sweep, sweep.curve(policy, fitted=fitted), "utilization", name)
        _finish(axes, "utilization", name)
    figure.suptitle(f"AQSIOS, {number}: the policies over utilisation")


def draw_tradeoff(sweep: Sweep, betas: Sequence[float], figure: Figure) -> None:
    """Figures 5, 6: a line per β over utilisation; 7: all β at the greatest load, one against the other."""
    response, staleness, both = figure.subplots(1, 3)
    for axes, name in ((response, "response_time"), (staleness, "staleness")):
        _line(axes, sweep, sweep.curve(RB), "utilization", name)
        for place, beta in enumerate(betas):
            points = sweep.curve(FAS, beta)
            if len(points) > 1:
                _line(axes, sweep, points, "utilization", name, f"β = {beta:g}", ("C024689"[place + 1], "o"))
        _finish(axes, "utilization", name)
    for fitted in (False, True):
        best = [p for beta in betas for p in sweep.curve(FAS, beta, fitted=fitted) if p.utilization == 0.95]
        x = [sweep.gain(point, "response_time").mean * 100 for point in best]
        y = [sweep.gain(point).mean * 100 for point in best]
        label = "Zipf 2, fitted" if fitted else "as written"
        both.plot(x, y, "o--" if fitted else "o-", color="C0", label=label)
        for point, *at in zip(best, x, y, strict=True):
            both.annotate(f"{point.beta:g}", at, xytext=(4, 4), textcoords="offset points", fontsize="small")
    both.set_xlabel("response time above RB-MCQ (%)")
    both.set_ylabel("staleness above RB-MCQ (%)")
    both.grid(alpha=0.3)
    both.legend(fontsize="small")
    both.set_title("all β at utilisation 0.95", fontsize="medium")
    figure.suptitle("AQSIOS, figures 5, 6 and 7: response time against staleness")


def draw_skew(sweep: Sweep, figure: Figure) -> None:
    """Figure 8."""
    axes = figure.subplots()
    for policy in _LOOKS:
        points = [point for point in sweep.points if point.policy == policy]
        _line(axes, sweep, points, "zipf", "staleness", policy)
    _finish(axes, "zipf", "staleness")
    figure.suptitle("AQSIOS, figure 8: skew of selectivity, equal costs, utilisation 0.95")


def draw_bursts(sweep: Sweep, figure: Figure) -> None:
    """Figure 9: FAS-MCQ's staleness in proportion to RB-MCQ's."""
    axes = figure.subplots()
    for fitted in (False, True):
        points = sweep.curve(FAS, fitted=fitted)
        gains = [sweep.gain(point) for point in points]
        axes.errorbar(
            [point.bursty_streams for point in points],
            [1.0 + gain.mean for gain in gains],
            [gain.deviation for gain in gains],
            fmt="o--" if fitted else "o-",
            color="C0",
            capsize=_CAP,
            label="Zipf 2, fitted" if fitted else "as written",
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
    fitted = label is None and points[0] in sweep.curve(policy, fitted=True)
    colour, marker = look or _LOOKS[policy]
    axes.errorbar(
        [getattr(point, over) for point in points],
        [sweep.mean(point, name) for point in points],
        [sweep.values(point, name).std() for point in points],
        color=colour,
        marker=marker,
        capsize=_CAP,
        linestyle="--" if fitted else "-",
        label=label or (f"{policy}, Zipf 2 (fitted)" if fitted else policy),
    )


def _finish(axes: Axes, over: str, name: str) -> None:
    axes.set_xlabel(_LABELS[over])
    axes.set_ylabel(_LABELS[name])
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
