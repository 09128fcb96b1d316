"""Small charts of what happened lately, as SVG that needs nothing around it."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from penstock.client.html import BLUE, RED, Html


def sparkline(
    values: Sequence[float | None],
    *,
    limit: float | None = None,
    width: int = 110,
    height: int = 22,
    title: str = "",
) -> Html:
    """A line through the values, the last one as a dot; a gap where there is none.

    `limit` is drawn dashed, and the dot is red when the last value is above it. It begins at zero.
    """
    known = [value for value in values if value is not None]
    if not known:
        return Html("")
    top = max([*known, limit or 0.0]) or 1.0
    step = (width - 6) / max(1, len(values) - 1)

    def at(place: int, value: float) -> tuple[float, float]:
        return 2 + place * step, height - 3 - (height - 6) * value / top

    runs: list[list[tuple[float, float]]] = [[]]
    for place, value in enumerate(values):
        if value is None:
            runs.append([])
        else:
            runs[-1].append(at(place, value))
    lines = "".join(
        f'<polyline fill="none" stroke="{BLUE}" stroke-width="1.5" stroke-linejoin="round" points="'
        f'{" ".join(f"{x:.1f},{y:.1f}" for x, y in run)}"/>'
        for run in runs
        if len(run) > 1
    )
    dashed = ""
    if limit is not None:
        _, y = at(0, limit)
        dashed = (
            f'<line x1="2" x2="{width - 4}" y1="{y:.1f}" y2="{y:.1f}" stroke="{RED}" stroke-width="1" '
            'stroke-dasharray="3 3" opacity=".7"/>'
        )
    last = max(place for place, value in enumerate(values) if value is not None)
    x, y = at(last, values[last] or 0.0)
    colour = RED if limit is not None and known[-1] > limit else BLUE
    dot = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.2" fill="{colour}"/>'
    said = f"<title>{escape(title)}</title>" if title else ""
    return Html(
        f'<svg width="{width}" height="{height}" role="img" viewBox="0 0 {width} {height}">'
        f"{said}{dashed}{lines}{dot}</svg>"
    )
