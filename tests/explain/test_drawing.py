"""The picture of the graph: nothing lies on anything else, everything is inside."""

from __future__ import annotations

from itertools import combinations, pairwise
from pathlib import Path

import pytest
from matplotlib.text import Text

from penstock.bench.queries import STREAMS, random_queries
from penstock.errors import PenstockError
from penstock.explain.drawing import draw, picture
from penstock.explain.explanation import Explanation, explain
from penstock.explain.layering import BEND, layered
from penstock.model.graph import Graph
from tests.explain.statements import HOME, JOINED, SPLIT


@pytest.fixture(scope="module")
def twenty() -> Explanation:
    return explain(STREAMS + ";".join(random_queries(20, seed=5)))


def texts(explanation: Explanation) -> list[str]:
    return [text.get_text() for text in picture(explanation).findobj(Text) if text.get_text()]


def test_a_png_is_written(tmp_path: Path) -> None:
    draw(explain(HOME + JOINED + SPLIT), tmp_path / "graph.png")
    assert (tmp_path / "graph.png").read_bytes().startswith(b"\x89PNG")


def test_a_place_that_cannot_be_written_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(PenstockError) as caught:
        draw(explain(HOME), tmp_path / "no" / "graph.png")
    assert str(caught.value) == (
        f"cannot write the picture {tmp_path}/no/graph.png: No such file or directory; choose another --png"
    )


def test_streams_operators_and_queries_are_named_and_sharing_is_counted() -> None:
    shown = texts(explain(HOME))
    assert {"temps", "hot", "means", "select", "temp > 30"} <= set(shown)
    assert "×2   unit 1" in shown
    assert "2 queries, 4 operators  ·  1 saved by sharing  ·  3 units under fcfs" in shown


def test_an_empty_graph_is_drawn_too() -> None:
    assert "no query is registered" in texts(explain(""))


def test_a_large_graph_says_that_it_is_drawn_small() -> None:
    large = explain(STREAMS + ";".join(random_queries(60, seed=2)))
    assert any("a large graph, drawn small: zoom in" in text for text in texts(large))


def test_no_text_lies_on_another_or_leaves_the_picture(twenty: Explanation) -> None:
    figure = picture(twenty)
    figure.canvas.draw()
    boxes = [text.get_window_extent() for text in figure.findobj(Text) if text.get_text()]
    width, height = figure.canvas.get_width_height()
    assert all(box.x0 >= 0 and box.x1 <= width and box.y0 >= 0 and box.y1 <= height for box in boxes)
    # A line's extent has room for letters that go up or down, and lines are close: a third of it may meet.
    shrunk = [box.expanded(1.0, 0.6) for box in boxes]
    assert not [1 for one, other in combinations(shrunk, 2) if one.overlaps(other)]


def test_nodes_and_bends_of_a_layer_keep_their_distance(twenty: Explanation) -> None:
    layering = layered(twenty.graph)
    layers: dict[float, list[tuple[float, float]]] = {}
    for layer, height in layering.places.values():
        layers.setdefault(layer, []).append((height, 1.0))
    for way in layering.ways.values():
        for layer, height in way[1:-1]:
            layers.setdefault(layer, []).append((height, BEND))
    for cells in layers.values():
        for (above, room), (below, other_room) in pairwise(sorted(cells)):
            assert below - above >= (room + other_room) / 2 - 1e-9
        assert min(height - room / 2 for height, room in cells) >= -1e-9
        assert max(height + room / 2 for height, room in cells) <= layering.height + 1e-9


def test_edges_run_from_left_to_right_and_sinks_are_last(twenty: Explanation) -> None:
    graph, layering = twenty.graph, layered(twenty.graph)
    for edge, way in layering.ways.items():
        assert way[0] == layering.places[edge.port.node]
        assert way[-1] == layering.places[edge.reader]
        assert [later[0] - earlier[0] for earlier, later in pairwise(way)] == [1.0] * (len(way) - 1)
    last = {edge.reader for edges in graph.sinks.values() for edge in edges}
    assert {layering.places[name][0] for name in last} == {layering.layers - 1.0}
    assert all(layering.places[name][0] == 0.0 for name in graph.sources)


def test_an_empty_graph_has_no_layers() -> None:
    assert layered(Graph()).layers == 0
