"""Chain."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given, settings

from penstock.model.estimates import Estimate, Estimates
from penstock.model.graph import Graph
from penstock.policies.cuts.base import operator_paths
from penstock.policies.cuts.chain import ChainCut, progress_chart
from penstock.policies.cuts.charts import Stretch
from tests.policies.cuts.builders import graph_of, names, releasing
from tests.strategies import graphs


def test_a_slow_operator_joins_the_selective_one_behind_it() -> None:
    graph = graph_of({"slow": "s", "selective": "slow", "rest": "selective"})
    estimates = Estimates(
        {
            "slow": Estimate(cost_s=1.0, selectivity=0.9),
            "selective": Estimate(cost_s=1.0, selectivity=0.1),
            "rest": Estimate(cost_s=10.0),
        }
    )

    assert names(ChainCut().cut(graph, estimates)) == ["slow+selective", "rest"]


def test_chain_and_segments_differ_where_a_later_operator_makes_up_for_an_earlier_one() -> None:
    graph = graph_of({"a": "s", "b": "a", "c": "b", "top": "c"})
    estimates = releasing(graph, a=100, b=10, c=500, top=390)

    # A segment would break before b, since b alone frees less than a.
    assert names(ChainCut().cut(graph, estimates)) == ["a+b+c+top"]


def test_what_ends_at_a_fork_still_takes_memory() -> None:
    graph = graph_of({"a": "s", "shared": "a", "left": "shared", "right": "shared"})
    estimates = Estimates(
        {"a": Estimate(cost_s=1.0, selectivity=0.5), "shared": Estimate(cost_s=1.0, selectivity=0.9)}
    )

    assert names(ChainCut().cut(graph, estimates))[:2] == ["a", "shared"]


def test_two_paths_each_have_their_own_envelope_through_the_join() -> None:
    graph = graph_of({"a": "s", "b": "t", "join": "a b"})
    estimates = Estimates(
        {
            "a": Estimate(cost_s=1.0, selectivity=0.1),
            "b": Estimate(cost_s=1.0, selectivity=1.0),
            "join": Estimate(cost_s=2.0),
        }
    )

    # The join's envelope on the path from a is a part of the one from b.
    assert names(ChainCut().cut(graph, estimates)) == ["a", "b+join"]


@settings(max_examples=100)
@given(graphs(forks=False))
def test_the_envelope_of_a_path_is_convex(drawn: tuple[Graph, Estimates]) -> None:
    graph, estimates = drawn
    units = ChainCut().cut(graph, estimates)
    for path in operator_paths(graph):
        if any(graph.is_merge(name) for name in path):
            continue
        chart = {stretch.operators[0]: stretch for stretch in progress_chart(graph, estimates, path)}
        slopes = [
            Stretch.of((), sum(chart[n].seconds for n in unit), sum(chart[n].fall for n in unit)).slope
            for unit in (unit.operators for unit in units)
            if unit[0] in chart
        ]
        assert all(sooner > later for sooner, later in pairwise(slopes))
