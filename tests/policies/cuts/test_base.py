"""The walks that cuts share."""

from __future__ import annotations

import time

from penstock.control.dividing import divide
from penstock.control.thread_plans import ThreadPlan
from penstock.model.estimates import Estimates
from penstock.model.graph import Edge, Graph, Node, Port
from penstock.model.operators import Column, Project, Select, Sink, Source, Union
from penstock.model.query import OnError, PlanNode, Query
from penstock.plan.sharing import merge
from penstock.policies.cuts.base import apart_units, components, operator_edges, operator_paths, pruned
from penstock.policies.layout import check_cut
from penstock.policies.parsing import parse
from tests.policies.cuts.builders import graph_of, names


def test_two_paths_share_the_join_they_meet_at_and_all_above_it() -> None:
    graph = graph_of({"a": "s", "b": "t", "join": "a b", "project": "join"})

    assert operator_paths(graph) == [("a", "join", "project"), ("b", "join", "project")]


def test_a_path_ends_at_a_fork_and_each_branch_begins_its_own() -> None:
    graph = graph_of({"shared": "s", "left": "shared", "right": "shared", "top": "right"})

    assert operator_paths(graph) == [("shared",), ("left",), ("right", "top")]


def test_a_path_ends_before_an_operator_that_waits_for_time_order() -> None:
    graph = graph_of({"a": "s", "b": "t", "merge": "a b", "top": "merge"}, {"merge": Union(ordered=True)})

    assert operator_paths(graph) == [("a",), ("b",), ("merge", "top")]


def test_components_are_connected_by_the_given_edges_alone() -> None:
    graph = graph_of({"a": "s", "b": "a", "c": "b", "other": "s"})

    assert names(tuple(components(graph, operator_edges(graph)))) == ["a+b+c", "other"]
    assert names(tuple(components(graph, [Edge(Port("a"), "b", 0)]))) == ["a+b", "c", "other"]


def test_a_segment_that_another_equals_or_contains_is_dropped() -> None:
    graph = graph_of({"a": "s", "b": "t", "join": "a b", "top": "join"})

    cut = pruned(graph, [("a",), ("join",), ("b", "join"), ("join", "top"), ("b", "join"), ("top",)])

    assert names(cut) == ["a", "b+join", "join+top"]


def test_pruning_does_not_compare_segments_that_have_nothing_in_common() -> None:
    count = 30_000
    sources = {f"s{n}": Node(f"s{n}", Source(f"s{n}")) for n in range(count)}
    leaves = {f"o{n}": Node(f"o{n}", Select("x"), (Port(f"s{n}"),)) for n in range(count)}
    union = Node("union", Union(), tuple(Port(name) for name in leaves))
    graph = Graph({**sources, **leaves, "union": union, "sink": Node("sink", Sink("q"), (Port("union"),))})
    began = time.process_time()

    cut = pruned(graph, [segment for name in leaves for segment in ((name,), (name, "union"), ("union",))])

    assert len(cut) == count
    # Comparing each with each takes many minutes.
    assert time.process_time() - began < 60


def test_a_query_that_leaves_out_rows_is_one_unit_whatever_the_cut() -> None:
    def steps(name: str, *, on_error: OnError) -> Query:
        hot = PlanNode(Select("temp > 30"), (PlanNode(Source("temps")),))
        return Query(name, PlanNode(Project((Column("1 / temp", "x"),)), (hot,)), on_error=on_error)

    graph = merge(Graph(), [steps("held", on_error="hold"), steps("skips", on_error="skip")])
    policy = parse("round-robin")
    (share,) = divide(graph, Estimates(), policy, ThreadPlan("gts"), parse)
    check_cut(graph, share.units)
    assert sorted(len(unit.operators) for unit in share.units) == [1, 1, 2]
    assert apart_units(graph) == tuple(unit for unit in share.units if len(unit.operators) == 2)
