"""What a cut is expected to cost, and when another one pays."""

from __future__ import annotations

import pytest
from hypothesis import given

from penstock.model.estimates import Estimate, Estimates
from penstock.model.graph import Graph
from penstock.model.operators import Select, Source
from penstock.model.query import PlanNode, Query
from penstock.model.unit import Unit
from penstock.plan.sharing import merge
from penstock.policies.cuts.fused import FusedCut
from penstock.policies.cuts.operator import OperatorCut
from penstock.policies.forecast import Gain, Recutting, forecast, gain
from penstock.policies.layout import UnitPlace, lay_out
from tests.strategies import graphs


def chain(*names: str) -> Graph:
    node = PlanNode(Source("s"))
    for name in names:
        node = PlanNode(Select(name), (node,), name=name)
    return merge(Graph(), [Query("q", node)])


def places(graph: Graph, *units: tuple[str, ...]) -> tuple[UnitPlace, ...]:
    return lay_out(graph, tuple(Unit(unit) for unit in units)).places


def test_memory_is_bytes_times_the_seconds_they_wait() -> None:
    graph = chain("a", "b")
    estimates = Estimates({"a": Estimate(0.1, 0.5, 100, 40), "b": Estimate(0.2, 1.0, 40, 40)}, {"s": 10.0})
    # Ten rows of 100 bytes while `a` runs for a second; then five of 40 bytes while `b` does.
    assert forecast(graph, estimates, places(graph, ("a",), ("b",)), "memory") == pytest.approx(1000 + 200)
    assert forecast(graph, estimates, places(graph, ("a", "b")), "memory") == pytest.approx(1000 * 2)


def test_latency_is_results_times_the_seconds_until_they_are_there() -> None:
    graph = chain("a", "b")
    estimates = Estimates({"a": Estimate(0.1, 0.5), "b": Estimate(0.2, 1.0)}, {"s": 10.0}, fixed_s=0.5)
    assert forecast(graph, estimates, places(graph, ("a", "b")), "latency") == pytest.approx(5 * 2.5)
    assert forecast(graph, estimates, places(graph, ("a",), ("b",)), "latency") == pytest.approx(5 * 3.0)


def test_a_selectivity_that_has_changed_makes_another_cut_pay() -> None:
    graph = chain("a", "b")
    apart, together = places(graph, ("a",), ("b",)), places(graph, ("a", "b"))

    def gained(selectivity: float) -> Gain:
        estimates = Estimates(
            {"a": Estimate(1e-4, selectivity), "b": Estimate(5e-4, 1.0)}, {"s": 1000.0}, fixed_s=0.04
        )
        return gain(graph, estimates, apart, together, "memory")

    assert not Recutting().pays(gained(0.05))  # few rows get behind `a`: a queue there is worth a step more
    assert gained(1.0).share > gained(0.9).share > gained(0.05).share
    assert gained(1.0).new_units == 1
    assert Recutting().pays(Gain(0.2, 1))
    assert not Recutting().pays(Gain(0.2, 30))


@given(graphs())
def test_every_row_gets_through_whatever_the_cut(found: tuple[Graph, Estimates]) -> None:
    graph, estimates = found
    for cutter in (FusedCut(), OperatorCut()):
        made = lay_out(graph, cutter.cut(graph, estimates)).places
        for objective in ("memory", "latency", "stalls"):
            assert 0 <= forecast(graph, estimates, made, objective) < float("inf")  # type: ignore[arg-type]
