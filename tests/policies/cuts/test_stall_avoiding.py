"""HMTS's stall-avoiding queue placement."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings

from penstock.model.estimates import Estimate, Estimates
from penstock.model.graph import Graph
from penstock.model.operators import Union
from penstock.policies.costs import input_rates, partition_capacity
from penstock.policies.cuts.base import direct_edges
from penstock.policies.cuts.stall_avoiding import StallAvoidingCut
from tests.policies.cuts.builders import costing, graph_of, names
from tests.strategies import graphs


def at_rate(rate: float, **seconds: float) -> Estimates:
    return Estimates(costing(**seconds).operators, {"s": rate, "t": rate})


def test_an_expensive_aggregation_leaves_the_unit_it_would_stall() -> None:
    # Figure 5: three cheap operators and an aggregation behind the projection.
    graph = graph_of({"a": "s", "b": "a", "projection": "b", "aggregation": "projection"})
    estimates = at_rate(10, a=0.001, b=0.001, projection=0.001, aggregation=0.09)

    assert names(StallAvoidingCut().cut(graph, estimates)) == ["a+b+projection", "aggregation"]


def test_a_union_joins_the_input_of_greatest_capacity_first() -> None:
    graph = graph_of({"slow": "s", "fast": "t", "union": "slow fast"})
    estimates = at_rate(1, slow=0.5, fast=0.1, union=0.1)

    # With fast: 1/(1 + 2) − .2 > 0; with both: 1/4 − .7 < 0.
    assert names(StallAvoidingCut().cut(graph, estimates)) == ["slow", "fast+union"]


def test_the_whole_partition_that_is_joined_counts_not_the_one_operator_read() -> None:
    graph = graph_of({"a": "s", "b": "a", "c": "b"})
    estimates = at_rate(1, a=0.3, b=0.1, c=0.2)

    # b and c alone would fit: 1/2 − .3 > 0; with a they do not: 1/3 − .6 < 0.
    assert names(StallAvoidingCut().cut(graph, estimates)) == ["a+b", "c"]


def test_a_union_in_time_order_joins_nothing_but_may_be_joined() -> None:
    graph = graph_of({"a": "s", "b": "t", "union": "a b", "top": "union"}, {"union": Union(ordered=True)})

    assert names(StallAvoidingCut().cut(graph, at_rate(1, a=0, b=0, union=0, top=0))) == [
        "a",
        "b",
        "union+top",
    ]


def test_capacity_is_the_time_between_rows_that_the_work_leaves() -> None:
    graph = graph_of({"a": "s", "b": "a"})
    estimates = Estimates({"a": Estimate(0.01, 0.5), "b": Estimate(0.02)}, {"s": 10.0})
    rates = input_rates(graph, estimates)

    assert partition_capacity(graph, estimates, rates, ["a"]) == pytest.approx(1 / 10 - 0.01)
    assert partition_capacity(graph, estimates, rates, ["s", "a", "b"]) == pytest.approx(1 / 15 - 0.03)


def test_where_nothing_arrives_nothing_stalls() -> None:
    graph = graph_of({"a": "s"})
    estimates = Estimates({"a": Estimate(1e9)}, {"s": 0.0})

    assert partition_capacity(graph, estimates, input_rates(graph, estimates), ["a"]) == math.inf


@settings(max_examples=150)
@given(graphs())
def test_no_unit_stalls_that_a_further_cut_could_mend(drawn: tuple[Graph, Estimates]) -> None:
    graph, estimates = drawn
    rates = input_rates(graph, estimates)
    for unit in StallAvoidingCut().cut(graph, estimates):
        if len(unit.operators) > 1:
            assert partition_capacity(graph, estimates, rates, unit.operators) >= -1e-12


@settings(max_examples=150)
@given(graphs())
def test_every_queue_it_places_is_needed(drawn: tuple[Graph, Estimates]) -> None:
    graph, estimates = drawn
    rates = input_rates(graph, estimates)
    home = {name: unit for unit in StallAvoidingCut().cut(graph, estimates) for name in unit.operators}
    for edge in direct_edges(graph):
        below, above = home[edge.port.node], home[edge.reader]
        if below is not above:
            assert partition_capacity(graph, estimates, rates, below.operators + above.operators) < 0
