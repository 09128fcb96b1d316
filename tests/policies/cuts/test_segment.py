"""MavStream's segments."""

from __future__ import annotations

from itertools import pairwise, permutations

from hypothesis import given, settings

from penstock.model.estimates import Estimate, Estimates
from penstock.model.graph import Graph
from penstock.policies.costs import memory_estimate, release_capacity
from penstock.policies.cuts.base import operator_paths
from penstock.policies.cuts.segment import SegmentCut
from penstock.policies.cuts.simplified_segment import SimplifiedSegmentCut
from tests.policies.cuts.builders import graph_of, names, releasing
from tests.strategies import graphs


def test_an_operator_that_frees_memory_faster_joins_the_one_before_it() -> None:
    # Figure 4.2a: project and select are one segment, the join another.
    graph = graph_of({"project": "s", "select": "project", "join": "select t", "top": "join"})
    estimates = releasing(graph, project=50, select=100, join=10, top=5)

    assert names(SegmentCut().cut(graph, estimates)) == ["project+select", "join", "top"]


def test_after_another_plan_was_chosen_each_operator_is_a_segment() -> None:
    # Figure 4.2b: the same operators, the other way round.
    graph = graph_of({"select": "s", "project": "select", "join": "project t", "top": "join"})
    estimates = releasing(graph, project=50, select=100, join=10, top=5)

    assert names(SegmentCut().cut(graph, estimates)) == ["select", "project", "join", "top"]


def test_of_two_paths_the_larger_segment_at_their_join_is_left() -> None:
    graph = graph_of({"a": "s", "b": "t", "join": "a b", "top": "join"})
    estimates = releasing(graph, a=300, b=100, join=200, top=250)

    assert names(SegmentCut().cut(graph, estimates)) == ["a", "b+join+top"]


def test_equal_release_capacities_are_not_higher() -> None:
    graph = graph_of({"a": "s", "b": "a", "top": "b"})

    assert names(SegmentCut().cut(graph, releasing(graph, a=7, b=7, top=8))) == ["a", "b+top"]


@settings(max_examples=100)
@given(graphs())
def test_no_segment_equals_or_contains_another(drawn: tuple[Graph, Estimates]) -> None:
    cut = SegmentCut().cut(*drawn)

    assert not any(one.members <= other.members for one, other in permutations(cut, 2))


@settings(max_examples=100)
@given(graphs())
def test_a_path_is_broken_exactly_where_release_does_not_rise(drawn: tuple[Graph, Estimates]) -> None:
    graph, estimates = drawn
    units = SegmentCut().cut(graph, estimates)
    for path in operator_paths(graph):
        for current, above in pairwise(path):
            rises = release(graph, estimates, above) > release(graph, estimates, current)
            assert rises == any({current, above} <= unit.members for unit in units)


def release(graph: Graph, estimates: Estimates, name: str) -> float:
    return release_capacity(memory_estimate(graph, estimates, name))


def test_what_a_root_puts_out_counts_as_in_the_thesis_if_that_is_asked_for() -> None:
    graph = graph_of({"join": "s", "top": "join"})
    wide = Estimate(0.001, 1.0, in_bytes=100, out_bytes=150)
    estimates = Estimates({"join": Estimate(0.001, 1.0, in_bytes=50, out_bytes=80), "top": wide})

    assert names(SegmentCut().cut(graph, estimates)) == ["join+top"]  # results leave, so the root frees 100
    assert names(SegmentCut(results=True).cut(graph, estimates)) == ["join", "top"]
    assert names(SimplifiedSegmentCut().cut(graph, releasing(graph, join=10, top=30))) == ["join+top"]
    both = Estimates({"join": Estimate(0.001, 1.0, in_bytes=80, out_bytes=50), "top": wide})
    assert names(SimplifiedSegmentCut().cut(graph, both)) == ["join+top"]
    assert names(SimplifiedSegmentCut(results=True).cut(graph, both)) == ["join", "top"]
