"""Places of names and edges: no cell lies on another, and lanes are kept to."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from penstock.explain.layering import BEND, Layering, placed

Edges = dict[int, tuple[str, str]]


@st.composite
def networks(draw: st.DrawFn) -> tuple[list[str], Edges]:
    """Names and edges between them, in no order."""
    names = [f"n{number}" for number in range(draw(st.integers(1, 12)))]
    pairs = [(one, other) for place, one in enumerate(names) for other in names[place + 1 :]]
    chosen = draw(st.lists(st.sampled_from(pairs), max_size=20, unique=True)) if pairs else []
    return draw(st.permutations(names)), dict(enumerate(chosen))


def reads(edges: Edges) -> set[str]:
    return {end for _, end in edges.values()}


@given(networks())
def test_a_node_stands_behind_all_that_it_reads(network: tuple[list[str], Edges]) -> None:
    names, edges = network
    layering = placed(names, edges)
    for edge, (start, end) in edges.items():
        assert layering.places[start][0] < layering.places[end][0]
        assert [layer for layer, _ in layering.ways[edge]] == [
            float(layer) for layer in range(int(layering.places[start][0]), int(layering.places[end][0]) + 1)
        ]


@given(networks(), st.integers(1, 3), st.integers(0, 24))
def test_cells_keep_their_distance_and_their_lane(
    network: tuple[list[str], Edges], lanes: int, sweeps: int
) -> None:
    names, edges = network
    lane = {name: int(name[1:]) % lanes for name in names if name in reads(edges)}
    layering = placed(names, edges, lanes=lane, sweeps=sweeps)
    for cells in layers(layering).values():
        for (above, room), (below, other_room) in pairwise(sorted(cells)):
            assert below - above >= (room + other_room) / 2 - 1e-9
        assert all(room / 2 - 1e-9 <= height <= layering.height - room / 2 + 1e-9 for height, room in cells)
    for name, number in lane.items():
        top, bottom = layering.lanes[number]
        assert top + 0.5 <= layering.places[name][1] <= bottom - 0.5
    for (_, bottom), (top, _) in pairwise(layering.lanes[number] for number in sorted(layering.lanes)):
        assert bottom <= top + 1e-9


def test_the_last_are_in_the_last_layer() -> None:
    layering = placed(["a", "b", "c", "r"], {0: ("a", "b"), 1: ("b", "c"), 2: ("a", "r")}, last={"r"})
    assert layering.places["r"][0] == layering.places["c"][0] == 2.0


def test_nothing_takes_no_room() -> None:
    assert (placed([], {}).layers, placed([], {}).height) == (0, 0.0)


def layers(layering: Layering[int]) -> dict[float, list[tuple[float, float]]]:
    """Height and room of each cell, by layers."""
    found: dict[float, list[tuple[float, float]]] = {}
    for layer, height in layering.places.values():
        found.setdefault(layer, []).append((height, 1.0))
    for way in layering.ways.values():
        for layer, height in way[1:-1]:
            found.setdefault(layer, []).append((height, BEND))
    return found
