"""A network of operators as a picture: boxes and lines at their places, ready to be sent to `Network`.

Streams are at the left, results at the right. Pure: nodes and edges go in as `GET /graph` and `POST /explain`
have them, plain JSON comes out. Numbers that change while the network runs are no part of it (`readings` has
those), so a picture is made anew only if there are others nodes or edges.
"""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

from penstock.explain.layering import Layering, placed
from penstock.explain.operator_texts import readable

#: Pixels: a box, lower without figures in it or with a name only, and from one box to the next.
WIDTH, HEIGHT, LOW, SMALL = 232, 80, 62, 44
ACROSS, BETWEEN = 336, 22
MARGIN = 28
#: Letters and lines of an operator's text in its box.
LETTERS, LINES = 31, 2
#: More results of one operator than this are one box until somebody opens it.
APART = 3
#: With more partitions than this, lanes would be a drawing of lines.
MOST_LANES = 12
#: From so many boxes on, fewer sweeps: a large picture may be a little less straight, but not late.
MANY = 250

#: As the API has them.
Node = Mapping[str, Any]
Link = Mapping[str, Any]


def drawn(
    nodes: Iterable[Node],
    edges: Iterable[Link],
    units: Iterable[Mapping[str, Any]] = (),
    *,
    query: str = "",
    opened: Collection[str] = (),
    lively: bool = False,
) -> dict[str, Any]:
    """The picture of a network.

    A node has `name`, `kind`, `text`, and may have `queries` and `units` (numbers); an edge has `from` and
    `to`, and may have `output`, `input` and `queued`; a unit has `unit`, `operators` and `partition`: all as
    in GET /graph. `query` leaves only what one query uses. Operators in `opened` have a box for each of their
    results, however many. `lively` leaves room for figures in the boxes.

    The picture has `width` and `height`, and

    - `nodes`: `id`, `kind`, `title`, `text` (with the queries' names for columns), `lines` (that in short),
      `queries`, `units`, `grounds` (their hues), `fold` (of an operator with many results, and of them: the
      operator to open or close), `folded` (whether they are one box), `part` (of one query's results that
      come with those of others), `x`, `y` (the middle), `w`, `h`
    - `edges`: `id`, `from`, `to`, `path`, `span` (top and bottom), `hue` (of the unit that runs both ends,
      None across a queue), `queue` (where its length is written, None if it is none),
      `port` (of a split)
    - `lanes`: `name`, `y`, `h`: of partitions, if there are several
    """
    nodes, edges = list(nodes), list(edges)
    texts = readable(nodes, edges)
    shown, lines = _of_query([{**one, "text": texts[one["name"]]} for one in nodes], edges, query)
    boxes, links = _folded(shown, lines, query, opened)
    lanes = _lanes(boxes, links, list(units))
    number = {lane: place for place, lane in enumerate(sorted(set(lanes.values())))}
    height = HEIGHT if lively else LOW
    small = (SMALL + BETWEEN) / (height + BETWEEN)
    layering = placed(
        [one["id"] for one in boxes],
        {one["id"]: (one["from"], one["to"]) for one in links},
        last={one["id"] for one in boxes if one["kind"] == "sink"},
        lanes={name: number[lane] for name, lane in lanes.items()},
        rooms={one["id"]: small for one in boxes if one["kind"] in ("source", "sink")},
        sweeps=24 if len(boxes) < MANY else 10,
    )
    return _Pen(layering, height).picture(boxes, links, {at: name for name, at in number.items()})


def hue_of(unit: int) -> int:
    """The colour of a unit, in degrees; neighbours are far apart on the circle."""
    return round(360 * ((0.58 + unit * 0.381966) % 1.0))


def _of_query(nodes: list[Node], edges: list[Link], query: str) -> tuple[list[Node], list[Link]]:
    if query:
        nodes = [one for one in nodes if query in one.get("queries", ())]
    names = {one["name"] for one in nodes}
    return nodes, [one for one in edges if one["from"] in names and one["to"] in names]


def _folded(
    nodes: Sequence[Node], edges: Sequence[Link], query: str, opened: Collection[str]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Boxes and lines: the results of one operator are boxes of their own, or one box if they are many."""
    of = {one["name"]: one for one in nodes}
    results: dict[str, dict[str, bool]] = {}
    for edge in edges:
        if of[edge["to"]]["kind"] == "sink":
            found = _results(of[edge["to"]])
            shown = [query] if query else found
            results.setdefault(edge["from"], {}).update(dict.fromkeys(shown, len(found) > 1))
    boxes = {one["name"]: _box(one) for one in nodes if one["kind"] != "sink"}
    links = [_link(one) for one in edges if of[one["to"]]["kind"] != "sink"]
    for operator, those in results.items():
        folded = len(those) > APART and operator not in opened
        fold = operator if len(those) > APART else None
        boxes[operator] |= {"fold": fold, "folded": folded}
        for group in [list(those)] if folded else [[name] for name in those]:
            at = f"{operator}>{'' if folded else group[0]}"
            boxes[at] = {
                "id": at,
                "kind": "sink",
                "title": f"{len(group)} queries" if folded else group[0],
                "text": "",
                "queries": group,
                "units": [],
                "fold": fold,
                "folded": folded,
                "part": not folded and those[group[0]],
            }
            links.append({"id": at, "from": operator, "to": at, "input": 0, "queued": False, "port": None})
    return list(boxes.values()), links


def _results(sink: Node) -> list[str]:
    """The queries whose results leave here; a plan that nobody runs has its sink's name only."""
    return list(sink.get("queries", ())) or [sink["text"].removeprefix("sink ").partition(":")[0] or "result"]


def _box(node: Node) -> dict[str, Any]:
    kind, _, rest = node["text"].partition(" ")
    title = rest if node["kind"] == "source" else kind.rstrip(":")
    return {
        "id": node["name"],
        "kind": node["kind"],
        "title": title or node["name"],
        "text": "" if node["kind"] == "source" else rest,
        "queries": list(node.get("queries", ())),
        "units": list(node.get("units", ())),
        "fold": None,
        "folded": False,
        "part": False,
    }


def _link(edge: Link) -> dict[str, Any]:
    output, slot = edge.get("output", 0), edge.get("input", 0)
    return {
        "id": f"{edge['from']} {output} {edge['to']} {slot}",
        "from": edge["from"],
        "to": edge["to"],
        "input": slot,
        "queued": bool(edge.get("queued", False)),
        "port": output,
    }


def _lanes(
    boxes: Sequence[Mapping[str, Any]], links: Sequence[Mapping[str, Any]], units: Sequence[Mapping[str, Any]]
) -> dict[str, str]:
    """The partition of each box but the streams; nothing unless there are a few."""
    partition = {one["unit"]: one.get("partition", "") for one in units}
    lanes = {
        one["id"]: next((partition[unit] for unit in one["units"] if unit in partition), "")
        for one in boxes
        if one["kind"] not in ("source", "sink")
    }
    if not 1 < len(set(lanes.values())) <= MOST_LANES:
        return {}
    lanes.update({one["to"]: lanes[one["from"]] for one in links if one["to"] not in lanes})
    return lanes


class _Pen:
    """Knows where everything is, in pixels."""

    def __init__(self, layering: Layering[str], height: int) -> None:
        self._layering, self._height, self._pitch = layering, height, height + BETWEEN

    def picture(
        self, boxes: Sequence[dict[str, Any]], links: Sequence[dict[str, Any]], lanes: Mapping[int, str]
    ) -> dict[str, Any]:
        """Everything at its place."""
        layering = self._layering
        of = {one["id"]: one for one in boxes}
        arrive = self._arrivals(links)
        splits = {one["id"] for one in boxes if one["kind"] == "split"}
        return {
            "width": max(layering.layers - 1, 0) * ACROSS + WIDTH + 2 * MARGIN,
            "height": round(layering.height * self._pitch) + 2 * MARGIN,
            "nodes": [self._node(one) for one in boxes],
            "edges": [self._edge(one, of, arrive[one["id"]], splits) for one in links],
            "lanes": [
                {
                    "name": lanes[lane] or "the rest",
                    "y": round(MARGIN + top * self._pitch),
                    "h": round((bottom - top) * self._pitch),
                }
                for lane, (top, bottom) in layering.lanes.items()
            ],
        }

    def _node(self, box: Mapping[str, Any]) -> dict[str, Any]:
        x, y = self._at(self._layering.places[box["id"]])
        small = box["kind"] in ("source", "sink")
        return {
            **box,
            "lines": textwrap.wrap(box["text"], LETTERS, max_lines=LINES, placeholder=" …"),
            "grounds": [hue_of(unit) for unit in box["units"]],
            "x": x,
            "y": y,
            "w": WIDTH,
            "h": SMALL if small else self._height,
        }

    def _arrivals(self, links: Sequence[Mapping[str, Any]]) -> Mapping[str, float]:
        """How far above or below the middle of its box each line arrives: in the order they come from."""
        into: dict[str, list[tuple[float, str]]] = {}
        for one in links:
            into.setdefault(one["to"], []).append((self._layering.ways[one["id"]][-2][1], one["id"]))
        found = {}
        for coming in into.values():
            step = min(24.0, (self._height - 18) / len(coming))
            for place, (_, name) in enumerate(sorted(coming)):
                found[name] = (place - (len(coming) - 1) / 2) * step
        return found

    def _edge(
        self,
        link: Mapping[str, Any],
        of: Mapping[str, Mapping[str, Any]],
        arrive: float,
        splits: Collection[str],
    ) -> dict[str, Any]:
        way = [self._at(place) for place in self._layering.ways[link["id"]]]
        way[-1] = way[-1][0], round(way[-1][1] + arrive)
        common = [unit for unit in of[link["from"]]["units"] if unit in of[link["to"]]["units"]]
        x, y = way[-1]
        return {
            "id": link["id"],
            "from": link["from"],
            "to": link["to"],
            "path": _path(way),
            "span": [min(y for _, y in way), max(y for _, y in way)],
            "hue": hue_of(common[0]) if common and not link["queued"] else None,
            "queue": [x - WIDTH // 2 - 34, y] if link["queued"] else None,
            "port": link["port"] if link["from"] in splits else None,
        }

    def _at(self, place: tuple[float, float]) -> tuple[int, int]:
        layer, height = place
        return round(MARGIN + WIDTH / 2 + layer * ACROSS), round(MARGIN + height * self._pitch)


def _path(way: Sequence[tuple[int, int]]) -> str:
    """A smooth line from box to box, level where it leaves, bends and arrives."""
    half = WIDTH // 2
    path = f"M{way[0][0] + half} {way[0][1]}"
    for place, ((x0, y0), (x1, y1)) in enumerate(pairwise(way)):
        if place:
            path += f"H{x0 + half}"
        middle = (x0 + x1) // 2
        path += f"C{middle} {y0} {middle} {y1} {x1 - half} {y1}"
    return path
