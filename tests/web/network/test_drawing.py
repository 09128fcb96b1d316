"""The picture of a network: what is in it, what is one box, and where things are."""

from __future__ import annotations

import json
from itertools import combinations
from typing import Any

import pytest

from penstock.explain.explanation import explain
from penstock.plan.text import operator_text
from penstock.web.network.drawing import drawn, hue_of

NODES: list[dict[str, Any]] = [
    {"name": "temps", "kind": "source", "text": "source temps", "queries": ["hot", "mean"], "units": []},
    {"name": "s1", "kind": "select", "text": "select temp > 30", "queries": ["hot", "mean"], "units": [1]},
    {
        "name": "a1",
        "kind": "aggregate",
        "text": "aggregate: avg(temp) AS c_0123456789",
        "queries": ["mean"],
        "units": [2],
    },
    {"name": "p1", "kind": "project", "text": "project c_0123456789", "queries": ["mean"], "units": [2]},
    {"name": "k1", "kind": "sink", "text": "sink hot", "queries": ["hot"], "units": []},
    {
        "name": "k2",
        "kind": "sink",
        "text": "sink mean: c_0123456789 AS mean",
        "queries": ["mean"],
        "units": [],
    },
]
EDGES: list[dict[str, Any]] = [
    {"from": "temps", "output": 0, "to": "s1", "input": 0, "queued": True},
    {"from": "s1", "output": 0, "to": "a1", "input": 0, "queued": True},
    {"from": "a1", "output": 0, "to": "p1", "input": 0, "queued": False},
    {"from": "s1", "output": 0, "to": "k1", "input": 0, "queued": False},
    {"from": "p1", "output": 0, "to": "k2", "input": 0, "queued": False},
]


def shared_by(count: int) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """One operator that so many queries of one shape have."""
    names = [f"q{number}" for number in range(count)]
    nodes = [
        {"name": "s", "kind": "source", "text": "source s", "queries": names, "units": []},
        {"name": "j", "kind": "join", "text": "join", "queries": names, "units": [1]},
        {"name": "k", "kind": "sink", "text": "sink shape-1", "queries": names, "units": []},
    ]
    return nodes, [{"from": "s", "to": "j", "queued": True}, {"from": "j", "to": "k"}]


def by_id(picture: dict[str, Any]) -> dict[str, Any]:
    return {one["id"]: one for one in picture["nodes"]}


def test_streams_are_at_the_left_and_results_at_the_right() -> None:
    boxes = by_id(drawn(NODES, EDGES))
    assert boxes["temps"]["x"] < boxes["s1"]["x"] < boxes["a1"]["x"] < boxes["p1"]["x"]
    assert boxes["s1>hot"]["x"] == boxes["p1>mean"]["x"] > boxes["p1"]["x"]
    assert boxes["s1>hot"]["title"] == "hot"


def test_a_picture_is_plain_json_and_all_is_inside() -> None:
    picture = drawn(NODES, EDGES, [{"unit": 1, "partition": ""}], lively=True)
    assert json.loads(json.dumps(picture)) == picture
    for one in picture["nodes"]:
        assert one["w"] / 2 <= one["x"] <= picture["width"] - one["w"] / 2
        assert one["h"] / 2 <= one["y"] <= picture["height"] - one["h"] / 2


def test_no_box_lies_on_another() -> None:
    explained = explain(
        "CREATE STREAM s (a INT, b INT, t TIMESTAMP, WATERMARK FOR t AS t) USING generator;"
        + "".join(
            f"CREATE CONTINUOUS QUERY q{n} AS SELECT a, b + {n} AS c FROM s WHERE a > {n % 3};"
            for n in range(9)
        )
    )
    graph = explained.graph
    nodes = [
        {"name": name, "kind": type(one.operator).__name__.lower(), "text": operator_text(one.operator)}
        for name, one in graph.nodes.items()
    ]
    edges = [{"from": edge.port.node, "to": name} for name in graph.nodes for edge in graph.in_edges(name)]
    boxes = drawn(nodes, edges)["nodes"]
    assert len(boxes) == len(nodes)
    for one, other in combinations(boxes, 2):
        assert (
            abs(one["x"] - other["x"]) >= one["w"]
            or abs(one["y"] - other["y"]) >= (one["h"] + other["h"]) / 2
        )


def test_operators_of_a_unit_are_joined_by_its_colour_and_queues_are_not() -> None:
    edges = {(one["from"], one["to"]): one for one in drawn(NODES, EDGES)["edges"]}
    assert edges["a1", "p1"]["hue"] == hue_of(2)
    assert edges["a1", "p1"]["queue"] is None
    assert edges["s1", "a1"]["hue"] is None
    assert edges["s1", "a1"]["queue"] is not None


def test_one_query_is_shown_with_what_it_uses_only() -> None:
    assert set(by_id(drawn(NODES, EDGES, query="hot"))) == {"temps", "s1", "s1>hot"}


def test_texts_have_the_names_that_queries_give() -> None:
    assert by_id(drawn(NODES, EDGES))["a1"]["lines"] == ["avg(temp) AS mean"]


@pytest.mark.parametrize(("count", "boxes"), [(2, ["q0", "q1"]), (3, ["q0", "q1", "q2"]), (9, ["9 queries"])])
def test_many_results_of_one_operator_are_one_box(count: int, boxes: list[str]) -> None:
    picture = drawn(*shared_by(count))
    assert [one["title"] for one in picture["nodes"] if one["kind"] == "sink"] == boxes


def test_a_box_of_many_results_can_be_opened_and_closed() -> None:
    (box,) = [one for one in drawn(*shared_by(9))["nodes"] if one["kind"] == "sink"]
    assert (box["fold"], box["folded"], len(box["queries"])) == ("j", True, 9)
    opened = [one for one in drawn(*shared_by(9), opened={"j"})["nodes"] if one["kind"] == "sink"]
    assert [(one["title"], one["fold"], one["folded"]) for one in opened][:1] == [("q0", "j", False)]
    assert len(opened) == 9
    assert by_id(drawn(*shared_by(9)))["j"]["fold"] == "j"


def test_results_that_come_with_those_of_others_are_a_part() -> None:
    def parts(picture: dict[str, Any]) -> set[bool]:
        return {one["part"] for one in picture["nodes"] if one["kind"] == "sink"}

    assert parts(drawn(NODES, EDGES)) == parts(drawn(*shared_by(9))) == {False}
    assert parts(drawn(*shared_by(2))) == parts(drawn(*shared_by(9), query="q1")) == {True}


def test_partitions_are_lanes_if_there_are_several() -> None:
    units = [{"unit": 1, "partition": "slow"}, {"unit": 2, "partition": "fast"}]
    picture = drawn(NODES, EDGES, units)
    lanes = {one["name"]: one for one in picture["lanes"]}
    boxes = by_id(picture)
    for name, lane in (("s1", "slow"), ("s1>hot", "slow"), ("a1", "fast"), ("p1>mean", "fast")):
        assert lanes[lane]["y"] < boxes[name]["y"] < lanes[lane]["y"] + lanes[lane]["h"]
    assert drawn(NODES, EDGES, [{"unit": 1, "partition": ""}, {"unit": 2, "partition": ""}])["lanes"] == []


def test_nothing_is_drawn_of_nothing() -> None:
    assert drawn((), ())["nodes"] == []
