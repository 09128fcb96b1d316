"""Everything by direct interoperability."""

from __future__ import annotations

from penstock.model.estimates import Estimates
from penstock.model.operators import Union
from penstock.policies.cuts.fused import FusedCut
from tests.policies.cuts.builders import graph_of, names


def test_whatever_is_connected_runs_as_one_forks_and_joins_included() -> None:
    graph = graph_of({"a": "s", "b": "a", "c": "a", "d": "t", "union": "c d", "other": "s"})

    assert names(FusedCut().cut(graph, Estimates())) == ["a+b+c+d+union", "other"]


def test_what_goes_round_a_union_in_time_order_is_kept_apart_from_what_lies_below_it() -> None:
    graph = graph_of({"a": "s", "ordered": "a t", "union": "a ordered"}, {"ordered": Union(ordered=True)})

    assert names(FusedCut().cut(graph, Estimates())) == ["a", "ordered+union"]


def test_a_union_in_time_order_keeps_a_queue_at_each_input() -> None:
    graph = graph_of({"a": "s", "b": "t", "union": "a b", "top": "union"}, {"union": Union(ordered=True)})

    assert names(FusedCut().cut(graph, Estimates())) == ["a", "b", "union+top"]
