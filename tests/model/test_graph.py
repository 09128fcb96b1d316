"""The graph as a value: who reads what, who uses what."""

from __future__ import annotations

from hypothesis import given

from penstock.model.estimates import Estimate, Estimates
from penstock.model.graph import Edge, Graph, Port
from penstock.model.operators import Select, Source, Union
from penstock.model.query import PlanNode, Query
from penstock.plan.sharing import merge
from tests.strategies import graphs

TEMPS = PlanNode(Source("temps"))
HOT = PlanNode(Select("temp > 30"), (TEMPS,), name="hot")
COLD = PlanNode(Select("temp < 0"), (TEMPS,), name="cold")
GRAPH = merge(
    Graph(),
    [Query("both", PlanNode(Union(ordered=True), (HOT, COLD), name="extremes")), Query("alarm", HOT)],
)


def test_streams_and_sinks_are_not_operators() -> None:
    assert GRAPH.sources == ("temps",)
    assert GRAPH.operators == ("hot", "cold", "extremes")


def test_edges_lead_to_the_operators_that_read() -> None:
    assert GRAPH.edges["hot"] == (Edge(Port("hot"), "extremes", 0),)
    assert GRAPH.edges["cold"] == (Edge(Port("cold"), "extremes", 1),)
    assert list(GRAPH.in_edges("extremes")) == [*GRAPH.edges["hot"], *GRAPH.edges["cold"]]


def test_what_reaches_a_sink_is_told_apart() -> None:
    assert GRAPH.sinks["hot"] == (Edge(Port("hot"), "alarm.sink", 0),)
    assert GRAPH.sinks["cold"] == ()


def test_a_fork_is_read_by_several_operators_and_a_merge_reads_several() -> None:
    assert GRAPH.is_fork("temps")
    assert not GRAPH.is_fork("hot")
    assert GRAPH.is_merge("extremes")
    assert not GRAPH.is_merge("hot")


def test_the_graph_tells_what_its_operators_need() -> None:
    assert GRAPH.is_source("temps")
    assert GRAPH.is_ordered("extremes")
    assert GRAPH.is_stateful("extremes")
    assert not GRAPH.is_stateful("hot")


@given(graphs())
def test_inputs_stand_before_readers(drawn: tuple[Graph, Estimates]) -> None:
    graph, _ = drawn
    for name, node in graph.nodes.items():
        assert all(graph.position[port.node] < graph.position[name] for port in node.inputs)


@given(graphs())
def test_users_and_members_say_the_same(drawn: tuple[Graph, Estimates]) -> None:
    graph, _ = drawn
    used = {(query, name) for name, queries in graph.users.items() for query in queries}
    assert used == {(query, name) for query, names in graph.members.items() for name in names}


def test_an_operator_nothing_is_known_of_has_the_default_estimate() -> None:
    estimates = Estimates({"hot": Estimate(selectivity=0.1)})
    assert estimates.of("hot").selectivity == 0.1
    assert estimates.of("cold") == Estimate()


def test_a_split_yields_per_port_and_others_by_selectivity() -> None:
    assert Estimate(selectivity=0.5, ports=(0.2, 0.8)).yield_of(1) == 0.8
    assert Estimate(selectivity=0.5).yield_of(0) == 0.5
