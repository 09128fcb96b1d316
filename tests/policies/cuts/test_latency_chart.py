"""Stream Mill's chart partitioning for latency."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from penstock.model.estimates import Estimate, Estimates
from penstock.model.graph import Graph
from penstock.model.operators import Union
from penstock.policies.cuts.latency_chart import LatencyChartCut
from tests.policies.cuts.brute_force import least_area, results_owed
from tests.policies.cuts.builders import costing, graph_of, names
from tests.strategies import graphs

FORK = graph_of({"O1": "s", "O2": "O1", "O3": "O1"})


def test_a_branch_as_fast_as_the_rest_of_the_fork_stays() -> None:
    # Figure 5a: τ2 < τ3 < τ1 + τ2.
    assert names(LatencyChartCut().cut(FORK, costing(O1=2, O2=3, O3=4))) == ["O1+O2+O3"]
    assert names(LatencyChartCut().cut(FORK, costing(O1=2, O2=3, O3=5))) == ["O1+O2+O3"]


def test_a_branch_slower_than_the_rest_of_the_fork_is_cut_off() -> None:
    # Figure 5b: τ3 > τ1 + τ2.
    assert names(LatencyChartCut().cut(FORK, costing(O1=2, O2=3, O3=6))) == ["O1+O2", "O3"]


def test_forks_nest_bottom_up() -> None:
    # Figure 8: C+A+B are joined, O leaves G+H+P, then E takes in D and G+H+P.
    graph = graph_of(
        {"E": "s", "C": "E", "A": "C", "B": "C", "D": "E", "G": "E", "H": "G", "P": "H", "O": "G"}
    )
    estimates = costing(E=1, C=9, A=3, B=6, D=1, G=0.5, H=0.5, P=1, O=20)

    assert names(LatencyChartCut().cut(graph, estimates)) == ["E+D+G+H+P", "C+A+B", "O"]


def test_what_was_joined_stays_joined_when_the_fork_above_is_slow() -> None:
    graph = graph_of(
        {"E": "s", "C": "E", "A": "C", "B": "C", "D": "E", "G": "E", "H": "G", "P": "H", "O": "G"}
    )
    estimates = costing(E=100, C=9, A=3, B=6, D=1, G=0.5, H=0.5, P=1, O=20)

    assert names(LatencyChartCut().cut(graph, estimates)) == ["E+C+A+B+D+G+H+P+O"]


def test_a_path_is_never_cut() -> None:
    graph = graph_of({"a": "s", "b": "a", "c": "b", "d": "c"})
    estimates = Estimates({"a": Estimate(1.0, 0.01), "b": Estimate(99.0, 2.0), "d": Estimate(50.0, 0.0)})

    assert names(LatencyChartCut().cut(graph, estimates)) == ["a+b+c+d"]


def test_branches_of_a_stream_are_independent() -> None:
    graph = graph_of({"a": "s", "b": "s"})

    assert names(LatencyChartCut().cut(graph, costing(a=1, b=1))) == ["a", "b"]


def test_results_that_leave_half_way_make_a_fork() -> None:
    graph = graph_of({"early": "s", "late": "early"}, delivering=["early"])

    assert names(LatencyChartCut().cut(graph, costing(early=1, late=1))) == ["early+late"]
    assert names(LatencyChartCut().cut(graph, costing(early=1, late=2))) == ["early", "late"]


def test_what_a_union_connects_is_not_cut() -> None:
    graph = graph_of({"a": "s", "b": "t", "union": "a b", "fast": "union", "slow": "union", "other": "s"})
    estimates = costing(a=1, b=1, union=1, fast=1, slow=1000, other=1)

    assert names(LatencyChartCut().cut(graph, estimates)) == ["a+b+union+fast+slow", "other"]


def test_a_union_in_time_order_keeps_its_queues() -> None:
    graph = graph_of(
        {"a": "s", "fast": "a", "slow": "a", "union": "fast t", "top": "union"},
        {"union": Union(ordered=True)},
    )
    estimates = costing(a=1, fast=1, slow=1000, union=1, top=1)

    assert names(LatencyChartCut().cut(graph, estimates)) == ["a+fast+slow", "union+top"]


@settings(max_examples=150)
@given(graphs(kinds=("select", "project", "split"), max_sources=1, max_operators=6))
def test_no_cut_of_a_tree_in_any_order_delivers_sooner(drawn: tuple[Graph, Estimates]) -> None:
    graph, estimates = drawn
    level = results_owed(graph, estimates)
    units = [unit.members for unit in LatencyChartCut().cut(graph, estimates)]

    best = least_area(graph, estimates, level)

    assert least_area(graph, estimates, level, units) == pytest.approx(best, rel=1e-9)
