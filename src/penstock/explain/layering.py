"""Places for the nodes of a graph: in layers from the left to the right, with few crossings.

Sugiyama's method in its simplest form. A node stands one layer behind the last that it reads, all sinks in
the last layer. An edge that passes layers gets a bend in each, which takes room there, so that no edge runs
through a node. Within the layers nodes are ordered by the mean place of their neighbours, back and forth.

`placed` works on names and edges, `layered` on the graph of all queries. Nodes may have lanes: bands from the
left to the right, one below the other, in which they stay.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, pairwise
from types import MappingProxyType
from typing import Generic, TypeVar

from penstock.model.graph import Edge, Graph

SWEEPS = 24
#: How much more a bend than a node wants to be level with its neighbours: long edges should be straight.
LEVEL = 6.0
#: Room of a bend in its layer, where a node takes 1.
BEND = 0.35
#: Room at both sides of the line between two lanes.
MARGIN = 0.25

E = TypeVar("E", bound=Hashable)
_NO_LANES: Mapping[str, int] = MappingProxyType({})
_ALL_ALIKE: Mapping[str, float] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Layering(Generic[E]):
    """Where each node is, `(layer, height)`, the way of each edge, bends included, and the room all take.

    `lanes` are top and bottom of each lane.
    """

    places: Mapping[str, tuple[float, float]]
    ways: Mapping[E, tuple[tuple[float, float], ...]]
    layers: int
    height: float
    lanes: Mapping[int, tuple[float, float]] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(slots=True)
class _Cell:
    """A node or a bend in a layer; without a lane it may be anywhere."""

    layer: int
    room: float
    weight: float
    lane: int | None
    y: float = 0.0
    left: list[_Cell] = field(default_factory=list)
    right: list[_Cell] = field(default_factory=list)


def layered(graph: Graph) -> Layering[Edge]:
    """Places for a graph's nodes; heights go down from 0."""
    edges = {edge: (edge.port.node, name) for name in graph.nodes for edge in graph.in_edges(name)}
    sinks = {edge.reader for edges in graph.sinks.values() for edge in edges}
    return placed(tuple(graph.nodes), edges, last=sinks)


def placed(
    names: Sequence[str],
    edges: Mapping[E, tuple[str, str]],
    *,
    last: Collection[str] = (),
    lanes: Mapping[str, int] = _NO_LANES,
    rooms: Mapping[str, float] = _ALL_ALIKE,
    sweeps: int = SWEEPS,
) -> Layering[E]:
    """Places for nodes of these names; each edge is from the first of its two to the second.

    Nodes `last` stand in the last layer. A node without a lane must read nothing. `rooms`
    are of nodes that take more or less than 1. The time this takes goes
    with the `sweeps`, and with how many nodes and bends there are.
    """
    depth = _depths(names, edges.values(), last)
    layers: list[list[_Cell]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    cells = {name: _put(layers, depth[name], rooms.get(name, 1.0), 1.0, lanes.get(name)) for name in names}
    chains: dict[E, list[_Cell]] = {}
    for edge, (start, end) in edges.items():
        passed = range(depth[start] + 1, depth[end])
        bends = [_put(layers, layer, BEND, LEVEL, lanes.get(end)) for layer in passed]
        chains[edge] = [cells[start], *bends, cells[end]]
    for chain in chains.values():
        for one, other in pairwise(chain):
            one.right.append(other)
            other.left.append(one)
    for layer in layers:
        _pack(layer)
    for sweep in range(sweeps):
        forth = sweep % 2 == 0
        for layer in layers if forth else reversed(layers):
            _order(layer, forth)
    bands = _bands(layers)
    for sweep in range(sweeps):
        for layer in layers if sweep % 2 else reversed(layers):
            _straighten(layer, bands)
    tops = [cell.y - cell.room / 2 for layer in layers for cell in layer] + [top for top, _ in bands.values()]
    bottoms = [cell.y + cell.room / 2 for layer in layers for cell in layer]
    bottoms += [bottom for _, bottom in bands.values()]
    top = min(tops, default=0.0)
    return Layering(
        {name: (float(cell.layer), cell.y - top) for name, cell in cells.items()},
        {edge: tuple((float(cell.layer), cell.y - top) for cell in chain) for edge, chain in chains.items()},
        len(layers),
        max(bottoms, default=0.0) - top,
        {lane: (above - top, below - top) for lane, (above, below) in bands.items()},
    )


def _depths(
    names: Sequence[str], edges: Collection[tuple[str, str]], last: Collection[str]
) -> Mapping[str, int]:
    readers: dict[str, list[str]] = {name: [] for name in names}
    unread = dict.fromkeys(names, 0)
    for start, end in edges:
        readers[start].append(end)
        unread[end] += 1
    depth = dict.fromkeys(names, 0)
    ready = [name for name in names if not unread[name]]
    for name in ready:  # grows as the inputs of nodes are done
        for reader in readers[name]:
            depth[reader] = max(depth[reader], depth[name] + 1)
            unread[reader] -= 1
            if not unread[reader]:
                ready.append(reader)
    deepest = max(depth.values(), default=0)
    return {name: deepest if name in last else at for name, at in depth.items()}


def _put(layers: list[list[_Cell]], layer: int, room: float, weight: float, lane: int | None) -> _Cell:
    cell = _Cell(layer, room, weight, lane)
    layers[layer].append(cell)
    return cell


def _pack(layer: Sequence[_Cell]) -> None:
    """One under the other, in their order, around the middle."""
    at = -sum(cell.room for cell in layer) / 2
    for cell in layer:
        cell.y = at + cell.room / 2
        at += cell.room


def _order(layer: list[_Cell], forth: bool) -> None:
    """By lanes, then by the mean of what stands before them; what has nothing there keeps its place."""
    means = {id(cell): _mean(cell.left if forth else cell.right, cell.y) for cell in layer}
    layer.sort(key=lambda cell: (-1 if cell.lane is None else cell.lane, means[id(cell)]))
    _pack(layer)


def _mean(cells: Sequence[_Cell], otherwise: float) -> float:
    return sum(cell.y for cell in cells) / len(cells) if cells else otherwise


def _bands(layers: Sequence[Sequence[_Cell]]) -> Mapping[int, tuple[float, float]]:
    """Where each lane begins and ends: it has room for the fullest of its layers."""
    rooms: dict[int, float] = {}
    for layer in layers:
        for lane, cells in groupby(layer, key=lambda cell: cell.lane):
            if lane is not None:
                rooms[lane] = max(rooms.get(lane, 0.0), sum(cell.room for cell in cells) + 2 * MARGIN)
    at = -sum(rooms.values()) / 2
    bands = {}
    for lane in sorted(rooms):
        bands[lane] = at, at + rooms[lane]
        at += rooms[lane]
    return bands


def _straighten(layer: Sequence[_Cell], bands: Mapping[int, tuple[float, float]]) -> None:
    """Every cell as near to its neighbours' mean as those above and below it and its lane allow.

    Cells that want to be in each other's way form a block that goes where their means' mean is (the pool
    adjacent violators algorithm: least squares with the order given).
    """
    for lane, group in groupby(layer, key=lambda cell: cell.lane):
        cells = list(group)
        if lane is None:
            _level(cells)
        else:
            above, below = bands[lane]
            room = sum(cell.room for cell in cells)
            _level(cells, above + MARGIN, below - MARGIN - room)


def _level(layer: Sequence[_Cell], least: float = float("-inf"), most: float = float("inf")) -> None:
    blocks: list[tuple[float, float, list[_Cell]]] = []  # sum of weighted wishes, of weights, cells
    offset = 0.0
    for cell in layer:
        # A cell's place less the room above it: these must not decrease, and that is all.
        wish = _mean([*cell.left, *cell.right], cell.y) - offset - cell.room / 2
        offset += cell.room
        blocks.append((cell.weight * wish, cell.weight, [cell]))
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] > blocks[-1][0] / blocks[-1][1]:
            total, weight, cells = blocks.pop()
            total_above, weight_above, above = blocks.pop()
            blocks.append((total_above + total, weight_above + weight, above + cells))
    offset = 0.0
    for total, weight, cells in blocks:
        for cell in cells:
            cell.y = min(max(total / weight, least), most) + offset + cell.room / 2
            offset += cell.room
