"""What notebooks show: escaped, well-formed, and with what matters first."""

from __future__ import annotations

import io
import itertools
import re
from html.parser import HTMLParser
from typing import Any
from xml.etree import ElementTree

import pyarrow as pa
import pytest

from penstock.client.answers import Answer, Answers, Change, Changes, Listing
from penstock.client.charts import sparkline
from penstock.client.drawing import Node, graph_svg, nodes_of
from penstock.client.explanation import explanation_of, graph_of
from penstock.client.html import MOST_ROWS, table_html
from penstock.client.notebook import show_live
from penstock.client.status import Moment, Wish, query_of, status_of
from penstock.client.subscription import Result
from tests.client.protocol import QUERIES, STREAMS, wish

EVIL = "<script>alert('&')</script>"
VOID = {"meta", "hr", "br"}


class Checked(HTMLParser):
    """Fails on elements that are not closed, or not in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open, self.seen = list[str](), set[str]()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        self.seen.add(tag)
        self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:  # noqa: ARG002
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def operators() -> list[dict[str, Any]]:
    return [
        {"name": "a", "text": f"source {EVIL}", "inputs": [], "users": ["q", "r"]},
        {"name": "b", "text": "filter", "inputs": [{"operator": "a", "port": 0}], "users": ["q"]},
        {"name": "c", "text": "join", "inputs": ["a", "b"]},
    ]


def everything() -> list[Any]:
    evil = {**QUERIES["slow"], "failure": EVIL, "select": EVIL, "columns": {EVIL: EVIL}}
    evil["wishes"] = [wish("latency", 1.0, 2.0, "violated", EVIL)]
    document = {
        "policy": EVIL,
        "scheduling": "pool",
        "queries": {EVIL: evil, **QUERIES},
        "streams": {EVIL: STREAMS["temps"]},
        "problems": {"sink x": EVIL},
    }
    past = [Moment(float(n), {EVIL: n, "hot": 5 * n}, {EVIL: 0.1 * n, "hot": None}) for n in range(4)]
    explained = {"text": EVIL, "columns": ["plan"], "rows": [[EVIL]]}
    return [
        status_of(document, past),
        query_of({"name": EVIL, **evil}),
        explanation_of(EVIL, explained, graph_of({"operators": operators()})),
        graph_of({"operators": operators()}),
        Result(pa.table({EVIL: [EVIL]}), EVIL),
        Answer(EVIL, (EVIL,), ((EVIL,),)),
        Answer(EVIL, ("plan",), ((EVIL,),)),
        Answers([Answer(EVIL, (EVIL,), ((EVIL,),)), Answer(EVIL)]),
        Listing([{EVIL: EVIL, "columns": {EVIL: EVIL}, "wishes": [{}], "reads": [EVIL]}] * 30),
        Changes((Change("create", "query", EVIL, EVIL),), False),
    ]


@pytest.mark.parametrize("shown", everything(), ids=lambda one: type(one).__name__)
def test_what_is_shown_is_whole_and_nothing_of_it_runs(shown: Any) -> None:
    parser = Checked()
    text = shown._repr_html_()
    parser.feed(text)
    assert not parser.open
    assert "script" not in parser.seen
    assert "&lt;script&gt;" in text
    assert "http" not in text  # nothing is fetched


def test_a_status_shows_what_hurts_first_and_a_chart_of_what_was() -> None:
    text = everything()[0]._repr_html_()
    assert text.index("broken") < text.index("hot")
    assert text.count("<polyline") >= 2
    assert "violated: latency" in text
    assert "broken: DIVIDE_BY_ZERO: &lt;b&gt;no" in text


def test_a_large_table_is_cut_and_says_so() -> None:
    text = table_html(pa.table({"n": range(MOST_ROWS + 5)}))
    assert "… and 5 more rows" in text
    assert text.count("<tr>") == MOST_ROWS + 1


def test_things_of_a_kind_are_a_table_of_their_plain_facts() -> None:
    columns = [{"name": "n", "type": "bigint"}]
    one = {"name": "s", "columns": columns, "options": {}, "reads": ["a", "b"], "rows": 1200, "is_on": True}
    text = Listing([one, {**one, "rate_per_s": 0.123456}])._repr_html_()
    heads = re.findall("<th[^>]*>([^<]*)</th>", text)
    assert heads == ["name", "columns", "reads", "rows", "is on", "rate per s"]
    first = text.partition("<tbody>")[2].partition("</tr>")[0]
    assert re.findall("<td[^>]*>([^<]*)</td>", first) == ["s", "n bigint", "a, b", "1,200", "yes", ""]
    assert ">0.1235<" in text
    assert '<td class="n">yes' not in text
    assert ">2026-01-01 12:00:00<" in Listing([STREAMS["temps"]])._repr_html_()


def test_a_sparkline_begins_at_zero_has_gaps_and_warns_above_the_limit() -> None:
    root = ElementTree.fromstring(sparkline([0.0, 1.0, None, 2.0, 4.0], limit=3.0, height=26))
    lines = [line.attrib["points"].split() for line in root.iter("polyline")]
    assert [len(line) for line in lines] == [2, 2]
    assert lines[0][0].endswith(",23.0")
    assert lines[1][1].endswith(",3.0")
    assert len(list(root.iter("line"))) == 1
    (dot,) = root.iter("circle")
    assert dot.attrib["fill"] == "#e5534b"
    assert sparkline([None, None]) == ""


def test_a_graph_goes_from_left_to_right_and_boxes_do_not_overlap() -> None:
    nodes = [Node(f"s{n}", "source") for n in range(3)]
    nodes += [Node(f"f{n}", "filter", (f"s{n % 3}",)) for n in range(7)]
    nodes += [Node("j", "join", ("f0", "f6", "s1"))]
    root = ElementTree.fromstring(graph_svg(nodes))
    boxes = [(float(box.attrib["x"]), float(box.attrib["y"])) for box in root.iter("rect")]
    assert len(set(boxes)) == len(nodes)
    ordered = sorted(boxes)
    for (x, y), (u, v) in itertools.pairwise(ordered):
        assert u > x or v >= y + 30
    for edge in root.iter("path"):
        start, end = re.findall(r"-?\d+", edge.attrib["d"])[0::6]
        assert float(start) < float(end)
    assert graph_svg([Node(str(n), "x") for n in range(500)]) == ""


def test_the_graph_of_a_server_has_edges() -> None:
    nodes = [
        {"id": "a", "kind": "source", "queries": ["q", "r"]},
        {"id": "b", "kind": "filter", "queries": []},
    ]
    found = graph_of({"nodes": nodes, "edges": [{"from": "a", "to": "b"}]})
    assert found.operators == (Node("a", "source", (), ("q", "r")), Node("b", "filter", ("a",)))


def test_an_explanation_has_the_part_of_the_graph_that_works_for_the_query() -> None:
    graph = graph_of({"operators": operators()})
    found = explanation_of("R", {"text": "plan of 'r'", "columns": ["plan"], "rows": [["source"]]}, graph)
    assert [one.name for one in found.operators] == ["a"]
    assert "<svg" in found._repr_html_()
    assert not explanation_of("later", {"text": "", "rows": [["source"]]}, graph).operators


def test_a_graph_that_feeds_itself_is_drawn_all_the_same() -> None:
    looped = nodes_of([{"name": "a", "inputs": ["b"]}, {"name": "b", "inputs": ["a", "gone"]}])
    assert graph_svg(looped).count("<rect") == 2


@pytest.mark.parametrize(
    ("one", "text", "overrun"),
    [
        (
            Wish("latency", 2.0, 4.0, "violated", "it is held"),
            "latency violated, 4.0 s of 2.0 s: it is held",
            2.0,
        ),
        (Wish("freshness", 0.9, 0.45, "violated"), "freshness violated, 45% of 90%", 2.0),
        (Wish("throughput", 100.0, 0.0, "violated"), "throughput violated, 0/s of 100/s", 1e9),
        (Wish("memory", 1e6, None, "unknown"), "memory unknown", 0.0),
    ],
)
def test_wishes_are_said_and_compared(one: Wish, text: str, overrun: float) -> None:
    assert str(one) == text
    assert one.overrun == overrun


def test_without_a_notebook_a_live_status_is_text() -> None:
    out = io.StringIO()
    show_live([status_of({"policy": "chain", "scheduling": "pool", "queries": QUERIES})], out)
    assert out.getvalue().splitlines()[:2] == [
        "policy chain, scheduling pool, 0 streams, 3 queries",
        "broken  failed  0 rows  failed",
    ]
