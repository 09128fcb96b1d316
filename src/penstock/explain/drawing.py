"""The graph of all queries as a picture: streams at the left, results at the right, units in colour.

Operators of one unit lie on ground of one colour, and where rows flow from one to the next without a queue
the ground connects them. An operator that several queries share has a bold border and says how many. A bar
across an edge is a queue.
"""

from __future__ import annotations

import colorsys
import textwrap
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch, PathPatch
from matplotlib.path import Path as Curve

from penstock.errors import PenstockError
from penstock.explain.explanation import Explanation
from penstock.explain.layering import Layering, layered
from penstock.model.graph import Edge
from penstock.model.operators import Sink, Source, Split
from penstock.model.unit import Unit
from penstock.policies.layout import lay_out

# Inches.
BOX = (1.75, 0.46)
PITCH = (2.45, 0.74)
MARGIN = 0.35
TITLE = 0.6
#: Characters and lines of an operator's text in its box.
LETTERS, LINES = 29, 2
#: From so many nodes on the picture is drawn at this part of its size, and says so.
LARGE, SMALLER = 150, 0.6
#: Dots per inch; more where it is drawn smaller, to zoom into.
DOTS, MORE_DOTS = 130.0, 180.0
#: Agg draws no more than 2^16 pixels either way.
MOST_PIXELS = 30_000

_INK, _PALE = "#26323d", "#8b98a5"


def draw(explanation: Explanation, path: Path) -> None:
    """Writes the picture as a PNG."""
    figure = picture(explanation)
    try:
        figure.savefig(path, format="png")
    except OSError as error:
        raise PenstockError(
            f"cannot write the picture {path}: {error.strerror}; choose another --png"
        ) from None


def picture(explanation: Explanation) -> Figure:
    """The figure, as large as the graph needs."""
    graph = explanation.graph
    layering = layered(graph)
    width = max(layering.layers - 1, 0) * PITCH[0] + BOX[0] + 2 * MARGIN
    height = layering.height * PITCH[1] + 2 * MARGIN + TITLE
    width, height = max(width, 6.5), max(height, 1.5)
    large = len(graph.nodes) > LARGE
    scale = SMALLER if large else 1.0
    dpi = min(MORE_DOTS if large else DOTS, MOST_PIXELS / (scale * max(width, height)))
    figure = Figure(figsize=(width * scale, height * scale), dpi=dpi)
    FigureCanvasAgg(figure)  # attaches itself
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    axes.set_axis_off()
    _Pen(axes, explanation, layering, scale).draw(large)
    return figure


class _Pen:
    """Draws one graph; all places are in inches of the unscaled picture."""

    def __init__(self, axes: Axes, explanation: Explanation, layering: Layering[Edge], scale: float) -> None:
        self._axes, self._explanation, self._scale = axes, explanation, scale
        self._graph = explanation.graph
        self._places = {name: _inches(place) for name, place in layering.places.items()}
        self._ways = {edge: [_inches(point) for point in way] for edge, way in layering.ways.items()}

    def draw(self, large: bool) -> None:
        """Title, ground, edges, boxes: each over the one before."""
        self._title(large)
        if not self._graph.operators:
            self._text(MARGIN, TITLE + MARGIN, "no query is registered", 9, color=_PALE, ha="left")
            return
        cut = tuple(Unit(unit.operators) for unit in self._explanation.units)
        places = lay_out(self._graph, cut).places
        colours = _colours(len(places))
        direct: set[Edge] = set()
        of: dict[str, list[int]] = {}
        for number, place in enumerate(places):
            direct |= place.direct
            for name in place.unit.operators:
                of.setdefault(name, []).append(number)
        for number, place in enumerate(places):
            for edge in place.direct:
                self._line(self._ways[edge], colours[number], 13.0, 1)
        for name, numbers in of.items():
            self._ground(name, [colours[number] for number in numbers])
        for edge, way in self._ways.items():
            self._line(way, _INK, 0.9, 3)
            if edge not in direct and not self._is_sink(edge.reader):
                self._queue(way)
            if isinstance(self._graph.nodes[edge.port.node].operator, Split):
                x, y = way[-1]
                self._text(x - BOX[0] / 2 - 0.28, y - 0.09, f"port {edge.port.output}", 6)
        for name in self._graph.nodes:
            self._box(name, [number + 1 for number in of.get(name, [])])

    def _title(self, large: bool) -> None:
        explanation, graph = self._explanation, self._graph
        words = [f"{_count(len(graph.queries), 'query')}, {_count(len(graph.operators), 'operator')}"]
        saved = explanation.separate - len(graph.operators)
        words += [f"{saved} saved by sharing"] if saved else []
        words += [f"{_count(len(explanation.units), 'unit')} under {explanation.policy}"]
        words += ["a large graph, drawn small: zoom in"] if large else []
        self._text(MARGIN, MARGIN, "  ·  ".join(words), 10, weight="bold", ha="left")
        legend = "one colour: one unit  ·  |||  a queue  ·  bold border ×n: shared by n queries"
        self._text(MARGIN, MARGIN + 0.22, legend, 7, color=_PALE, ha="left")

    def _ground(self, name: str, colours: Sequence[str]) -> None:
        """A border for each unit that runs the operator, the first innermost."""
        for place in range(len(colours) - 1, -1, -1):
            self._rounded(name, 0.07 + 0.045 * place, colours[place], "none", 0.0, 2)

    def _box(self, name: str, units: Sequence[int]) -> None:
        operator = self._graph.nodes[name].operator
        users = len(self._graph.users[name])
        x, y = self._places[name]
        if isinstance(operator, Source | Sink):
            title = operator.stream if isinstance(operator, Source) else operator.query
            self._rounded(name, 0.0, _INK if isinstance(operator, Source) else "#ffffff", _INK, 1.0, 4)
            colour = "#ffffff" if isinstance(operator, Source) else _INK
            self._text(x, y, _short(title, 22, 1)[0], 9, weight="bold", color=colour)
            return
        shared = users > 1
        self._rounded(name, 0.0, "#ffffff", _INK if shared else _PALE, 2.2 if shared else 0.8, 4)
        left, top = x - BOX[0] / 2 + 0.07, y - BOX[1] / 2
        kind, _, rest = self._explanation.texts[name].partition(" ")
        self._text(left, top + 0.095, kind.rstrip(":"), 7, weight="bold", ha="left")
        unit = ", ".join(str(number) for number in units)
        mark = f"×{users}   " if shared else ""
        self._text(x + BOX[0] / 2 - 0.07, top + 0.095, f"{mark}unit {unit}", 6, color=_INK, ha="right")
        for line, text in enumerate(_short(rest, LETTERS, LINES)):
            self._text(left, top + 0.225 + 0.12 * line, text, 6.3, family="monospace", ha="left")

    def _rounded(self, name: str, pad: float, fill: str, border: str, line: float, layer: int) -> None:
        x, y = self._places[name]
        style = f"round,pad=0,rounding_size={0.06 + pad}"
        corner = x - BOX[0] / 2 - pad, y - BOX[1] / 2 - pad
        size = BOX[0] + 2 * pad, BOX[1] + 2 * pad
        self._axes.add_patch(
            FancyBboxPatch(
                corner,
                *size,
                style,
                fc=fill,
                ec=border,
                lw=line * self._scale,
                zorder=layer,
                mutation_aspect=1,
            )
        )

    def _line(self, way: Sequence[tuple[float, float]], colour: str, width: float, layer: int) -> None:
        """A smooth line from box to box, level where it leaves, bends and arrives."""
        points: list[tuple[float, float]] = []
        codes: list[Any] = []
        for (x0, y0), (x1, y1) in _stretches(way):
            half = (x1 - x0) / 2
            points += [(x0, y0), (x0 + half, y0), (x1 - half, y1), (x1, y1)]
            codes += [Curve.LINETO if codes else Curve.MOVETO, Curve.CURVE4, Curve.CURVE4, Curve.CURVE4]
        self._axes.add_patch(
            PathPatch(
                Curve(points, codes),
                fc="none",
                ec=colour,
                lw=width * self._scale,
                zorder=layer,
                capstyle="round",
            )
        )

    def _queue(self, way: Sequence[tuple[float, float]]) -> None:
        x, y = way[-1]
        at = x - BOX[0] / 2 - 0.16
        for step in (0.0, 0.04, 0.08):
            self._axes.plot([at + step] * 2, [y - 0.06, y + 0.06], color=_INK, lw=1.0 * self._scale, zorder=3)

    def _is_sink(self, name: str) -> bool:
        return isinstance(self._graph.nodes[name].operator, Sink)

    def _text(self, x: float, y: float, text: str, size: float, **style: Any) -> None:
        style = {"ha": "center", "va": "center", "color": _INK, **style}
        self._axes.text(x, y, text, fontsize=size * self._scale, zorder=5, parse_math=False, **style)


def _inches(place: tuple[float, float]) -> tuple[float, float]:
    layer, height = place
    return MARGIN + BOX[0] / 2 + layer * PITCH[0], MARGIN + TITLE + height * PITCH[1]


def _stretches(
    way: Sequence[tuple[float, float]],
) -> Iterator[tuple[tuple[float, float], tuple[float, float]]]:
    """The way between boxes, and straight through the width of a box at each bend."""
    half = BOX[0] / 2
    for place, ((x0, y0), (x1, y1)) in enumerate(pairwise(way)):
        if place:
            yield (x0 - half, y0), (x0 + half, y0)
        yield (x0 + half, y0), (x1 - half, y1)


def _count(number: int, of: str) -> str:
    """`1 query`, `2 queries`."""
    return f"{number} {of if number == 1 else of.removesuffix('y') + ('ies' if of.endswith('y') else 's')}"


def _short(text: str, letters: int, lines: int) -> list[str]:
    """The text in so many lines of so many letters, with a … where it does not fit."""
    return textwrap.wrap(text, letters, max_lines=lines, placeholder="…") or [""]


def _colours(count: int) -> list[str]:
    """Pale colours, neighbours far apart on the circle."""
    made = []
    for number in range(count):
        hue = (0.58 + number * 0.381966) % 1.0
        red, green, blue = colorsys.hls_to_rgb(hue, 0.8 if number % 2 else 0.74, 0.62)
        made.append(f"#{round(255 * red):02x}{round(255 * green):02x}{round(255 * blue):02x}")
    return made
