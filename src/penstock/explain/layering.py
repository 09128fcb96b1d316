"""Places for the nodes of a graph: in layers from the left to the right, with few crossings.

Sugiyama's method in its simplest form. A node stands one layer behind the last that it reads, all sinks in
the last layer. An edge that passes layers gets a bend in each, which takes room there, so that no edge runs
through a node. Within the layers nodes are ordered by the mean place of their neighbours, back and forth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from penstock.model.graph import Edge, Graph

SWEEPS = 24
#: How much more a bend than a node wants to be level with its neighbours: long edges should be straight.
LEVEL = 6.0
#: Room of a bend in its layer, where a node takes 1.
BEND = 0.35


@dataclass(frozen=True, slots=True)
class Layering:
    """Where each node is, `(layer, height)`, the way of each edge, bends included, and the room all take."""

    places: Mapping[str, tuple[float, float]]
    ways: Mapping[Edge, tuple[tuple[float, float], ...]]
    layers: int
    height: float


@dataclass(slots=True)
class _Cell:
    """A node or a bend in a layer."""

    layer: int
    room: float
    y: float = 0.0
    left: list[_Cell] = field(default_factory=list)
    right: list[_Cell] = field(default_factory=list)


def layered(graph: Graph) -> Layering:
    """Places for a graph's nodes; heights go down from 0."""
    depth = _depths(graph)
    layers: list[list[_Cell]] = [[] for _ in range(max(depth.values(), default=-1) + 1)]
    cells: dict[str, _Cell] = {}
    chains: dict[Edge, list[_Cell]] = {}
    for name in graph.nodes:
        cells[name] = _put(layers, depth[name], 1.0)
    for name in graph.nodes:
        for edge in graph.in_edges(name):
            passed = range(depth[edge.port.node] + 1, depth[name])
            bends = [_put(layers, layer, BEND) for layer in passed]
            chains[edge] = [cells[edge.port.node], *bends, cells[name]]
    for chain in chains.values():
        for one, other in pairwise(chain):
            one.right.append(other)
            other.left.append(one)
    for layer in layers:
        _pack(layer)
    for sweep in range(SWEEPS):
        forth = sweep % 2 == 0
        for layer in layers if forth else reversed(layers):
            _order(layer, forth)
    for sweep in range(SWEEPS):
        for layer in layers if sweep % 2 else reversed(layers):
            _straighten(layer)
    top = min((cell.y - cell.room / 2 for layer in layers for cell in layer), default=0.0)
    bottom = max((cell.y + cell.room / 2 for layer in layers for cell in layer), default=0.0)
    return Layering(
        {name: (float(cell.layer), cell.y - top) for name, cell in cells.items()},
        {edge: tuple((float(cell.layer), cell.y - top) for cell in chain) for edge, chain in chains.items()},
        len(layers),
        bottom - top,
    )


def _depths(graph: Graph) -> dict[str, int]:
    depth: dict[str, int] = {}
    for name, node in graph.nodes.items():
        depth[name] = 1 + max((depth[port.node] for port in node.inputs), default=-1)
    sinks = {edge.reader for edges in graph.sinks.values() for edge in edges}
    last = max(depth.values(), default=0)
    return {name: last if name in sinks else at for name, at in depth.items()}


def _put(layers: list[list[_Cell]], layer: int, room: float) -> _Cell:
    cell = _Cell(layer, room)
    layers[layer].append(cell)
    return cell


def _pack(layer: Sequence[_Cell]) -> None:
    """One under the other, in their order, around the middle."""
    at = -sum(cell.room for cell in layer) / 2
    for cell in layer:
        cell.y = at + cell.room / 2
        at += cell.room


def _order(layer: list[_Cell], forth: bool) -> None:
    """By the mean of what stands before them; what has nothing there keeps its place."""
    means = {id(cell): _mean(cell.left if forth else cell.right, cell.y) for cell in layer}
    layer.sort(key=lambda cell: means[id(cell)])
    _pack(layer)


def _mean(cells: Sequence[_Cell], otherwise: float) -> float:
    return sum(cell.y for cell in cells) / len(cells) if cells else otherwise


def _straighten(layer: Sequence[_Cell]) -> None:
    """Every cell as near to its neighbours' mean as those above and below it allow.

    Cells that want to be in each other's way form a block that goes where their means' mean is (the pool
    adjacent violators algorithm: least squares with the order given).
    """
    blocks: list[tuple[float, float, list[_Cell]]] = []  # sum of weighted wishes, of weights, cells
    offset = 0.0
    for cell in layer:
        # A cell's place less the room above it: these must not decrease, and that is all.
        wish = _mean([*cell.left, *cell.right], cell.y) - offset - cell.room / 2
        offset += cell.room
        weight = LEVEL if cell.room < 1.0 else 1.0
        blocks.append((weight * wish, weight, [cell]))
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] > blocks[-1][0] / blocks[-1][1]:
            total, weight, cells = blocks.pop()
            total_above, weight_above, above = blocks.pop()
            blocks.append((total_above + total, weight_above + weight, above + cells))
    offset = 0.0
    for total, weight, cells in blocks:
        for cell in cells:
            cell.y = total / weight + offset + cell.room / 2
            offset += cell.room
