"""Pictures of reports."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from penstock.errors import ExperimentError
from penstock.experiments.report import Report


def save(report: Report, folder: Path) -> Path:
    """Draws a report's figure as `<folder>/<id>.png`."""
    return paint(report.draw, folder / f"{report.id}.png")


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
