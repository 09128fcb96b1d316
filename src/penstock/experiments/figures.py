"""Pictures of reports."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from penstock.errors import ExperimentError
from penstock.experiments.report import Report


def save(report: Report, folder: Path) -> Path:
    """Draws a report's figure as `<folder>/<id>.png`."""
    return paint(partial(_draw, report), folder / f"{report.id}.png")


def _draw(report: Report, figure: Figure) -> None:
    """With what came of the claims below it."""
    report.draw(figure)
    noise = report.tally.within_noise
    remark = f" ({noise} within noise)" if noise else ""
    figure.supxlabel(f"claims of the paper: {report.tally}{remark}", fontsize="small", color="0.35")


def check_folder(folder: Path) -> None:
    """Makes the folder, or says at once that nothing can be written there."""
    if folder.exists() and not folder.is_dir():
        raise ExperimentError(
            f"cannot write figures to {folder}: it is not a directory; choose another --out"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ExperimentError(
            f"cannot write figures to {folder}: {error.strerror}; choose another --out"
        ) from None
    if not os.access(folder, os.W_OK):
        raise ExperimentError(f"cannot write figures to {folder}: permission denied; choose another --out")


def paint(draw: Callable[[Figure], None], path: Path) -> Path:
    """Draws anything as a PNG, without a screen."""
    figure = Figure(figsize=(9.0, 5.5), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)  # attaches itself
    draw(figure)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path)
    except OSError as error:
        raise ExperimentError(
            f"cannot write the figure {path}: {error.strerror}; choose another --out"
        ) from None
    return path
