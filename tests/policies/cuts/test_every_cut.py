"""What holds for every way to cut, on any graph."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from penstock.model.estimates import Estimates
from penstock.model.graph import Graph
from penstock.policies.cuts.base import Cutter
from penstock.policies.cuts.chain import ChainCut
from penstock.policies.cuts.composition import CompositionCut
from penstock.policies.cuts.fused import FusedCut
from penstock.policies.cuts.latency_chart import LatencyChartCut
from penstock.policies.cuts.memory_chart import MemoryChartCut
from penstock.policies.cuts.operator import OperatorCut
from penstock.policies.cuts.path import PathCut
from penstock.policies.cuts.segment import SegmentCut
from penstock.policies.cuts.simplified_segment import SimplifiedSegmentCut
from penstock.policies.cuts.stall_avoiding import StallAvoidingCut
from penstock.policies.layout import check_cut, lay_out
from tests.policies.cuts.builders import graph_of
from tests.strategies import graphs

CUTS: tuple[Cutter, ...] = (
    OperatorCut(),
    PathCut(),
    SegmentCut(),
    SimplifiedSegmentCut(),
    ChainCut(),
    LatencyChartCut(),
    MemoryChartCut(),
    StallAvoidingCut(),
    CompositionCut(),
    FusedCut(),
)


def named(cutter: Cutter) -> str:
    return type(cutter).__name__


@pytest.mark.parametrize("cutter", CUTS, ids=named)
@settings(max_examples=60)
@given(drawn=graphs())
def test_a_cut_keeps_the_rules_that_engines_rely_on(cutter: Cutter, drawn: tuple[Graph, Estimates]) -> None:
    graph, estimates = drawn
    check_cut(graph, cutter.cut(graph, estimates))


@pytest.mark.parametrize("cutter", CUTS, ids=named)
@settings(max_examples=30)
@given(drawn=graphs())
def test_every_unit_has_something_to_read(cutter: Cutter, drawn: tuple[Graph, Estimates]) -> None:
    graph, estimates = drawn
    idle = [place.unit for place in lay_out(graph, cutter.cut(graph, estimates)).places if not place.entries]
    assert not idle


@pytest.mark.parametrize("cutter", CUTS, ids=named)
def test_nothing_is_cut_into_nothing(cutter: Cutter) -> None:
    assert cutter.cut(Graph(), Estimates()) == ()


@pytest.mark.parametrize("cutter", CUTS, ids=named)
def test_a_cut_can_be_made_before_anything_is_known(cutter: Cutter) -> None:
    graph = graph_of({"a": "s", "b": "a", "c": "a", "join": "b t", "top": "join"})
    check_cut(graph, cutter.cut(graph, Estimates()))
