"""A graph of operators as SVG: streams at the left, results at the right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

from penstock.client.html import BLUE, GREY, Html

#: Pixels of a box, and from one to the next.
BOX, PITCH, MARGIN = (200, 30), (238, 44), 4
LETTERS = 30
#: More operators than these are not legible in a notebook.
MOST = 120


@dataclass(frozen=True, slots=True)
class Node:
    """An operator: what it says, whose rows it takes, and which queries use it."""

    name: str
    text: str
    inputs: tuple[str, ...] = ()
    users: tuple[str, ...] = ()


def nodes_of(operators: Sequence[Mapping[str, Any]]) -> tuple[Node, ...]:
    """The operators of a graph or explanation document."""
    return tuple(
        Node(
            _name(one),
            str(one.get("text") or one.get("kind") or _name(one)),
            tuple(str(i["operator"] if isinstance(i, Mapping) else i) for i in one.get("inputs", ())),
            tuple(str(user) for user in one.get("users") or one.get("queries") or ()),
        )
        for one in operators
    )


def _name(one: Mapping[str, Any]) -> str:
    return str(one["id"] if "id" in one else one["name"])


def graph_svg(nodes: Sequence[Node]) -> Html:
    """The picture; nothing if there are too many operators, or none."""
    if not nodes or len(nodes) > MOST:
        return Html("")
    places = _places(nodes)
    columns = 1 + max(column for column, _ in places.values())
    lines = 1 + max(line for _, line in places.values())
    width = MARGIN * 2 + (columns - 1) * PITCH[0] + BOX[0]
    height = MARGIN * 2 + round((lines - 1) * PITCH[1]) + BOX[1]
    edges = "".join(_edge(places[i], places[node.name]) for node in nodes for i in node.inputs if i in places)
    boxes = "".join(_box(node, places[node.name]) for node in nodes)
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    return Html(f'<svg {size} role="img">{edges}{boxes}</svg>')


def _places(nodes: Sequence[Node]) -> dict[str, tuple[int, float]]:
    """A column one behind the last input's; in it, as near to the inputs' mean line as there is room."""
    by_name = {node.name: node for node in nodes}
    depth: dict[str, int] = {}

    def depth_of(name: str, above: frozenset[str] = frozenset()) -> int:
        if name not in depth:
            known = [i for i in by_name[name].inputs if i in by_name and i not in above]
            depth[name] = 1 + max((depth_of(i, above | {name}) for i in known), default=-1)
        return depth[name]

    for node in nodes:
        depth_of(node.name)
    places: dict[str, tuple[int, float]] = {}
    for column in range(1 + max(depth.values())):
        there = [node for node in nodes if depth[node.name] == column]
        wanted = {node.name: _wanted(node, places, line) for line, node in enumerate(there)}
        free = 0.0
        for node in sorted(there, key=lambda node: wanted[node.name]):
            line = max(free, wanted[node.name])
            places[node.name] = (column, line)
            free = line + 1.0
    return places


def _wanted(node: Node, places: Mapping[str, tuple[int, float]], otherwise: float) -> float:
    lines = [places[i][1] for i in node.inputs if i in places]
    return sum(lines) / len(lines) if lines else otherwise


def _corner(place: tuple[int, float]) -> tuple[float, float]:
    return MARGIN + place[0] * PITCH[0], MARGIN + place[1] * PITCH[1]


def _edge(start: tuple[int, float], end: tuple[int, float]) -> str:
    (x, y), (u, v) = _corner(start), _corner(end)
    x, y, v = x + BOX[0], y + BOX[1] / 2, v + BOX[1] / 2
    bend = (u - x) / 2
    return (
        f'<path d="M{x:.0f} {y:.0f} C{x + bend:.0f} {y:.0f} {u - bend:.0f} {v:.0f} {u:.0f} {v:.0f}" '
        f'fill="none" stroke="{GREY}" stroke-width="1.2"/>'
    )


def _box(node: Node, place: tuple[int, float]) -> str:
    x, y = _corner(place)
    shared = len(node.users) > 1
    most = LETTERS - 5 if shared else LETTERS
    text = node.text if len(node.text) <= most else f"{node.text[: most - 1]}…"
    said = f"{node.text}\nfor {', '.join(node.users)}" if node.users else node.text
    count = (
        f'<text x="{x + BOX[0] - 7:.0f}" y="{y + BOX[1] / 2 + 4:.0f}" text-anchor="end" opacity=".7">'
        f"×{len(node.users)}</text>"
        if shared
        else ""
    )
    return (
        f'<g><title>{escape(said)}</title><rect x="{x:.0f}" y="{y:.0f}" width="{BOX[0]}" height="{BOX[1]}" '
        f'rx="5" fill="{BLUE}" fill-opacity="{".16" if shared else ".07"}" '
        f'stroke="{BLUE if shared else GREY}" stroke-width="{1.8 if shared else 1}"/>'
        f'<text x="{x + 8:.0f}" y="{y + BOX[1] / 2 + 4:.0f}">{escape(text)}</text>{count}</g>'
    )
