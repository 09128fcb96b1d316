"""Merging queries: what computes the same exists once, and lives as long as anyone uses it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import PlanError, QueryError
from penstock.model.estimates import Estimate
from penstock.model.graph import Graph, Port
from penstock.model.operators import Aggregate, Column, Project, Select, Sink, Source, Split, Union
from penstock.model.query import PlanNode, Query
from penstock.model.schema import Schema
from penstock.model.window import Window
from penstock.plan.sharing import initial_estimates, merge, remove
from tests.strategies import graphs

TEMPS = PlanNode(Source("temps"))
HOT = PlanNode(Select("temp > 30"), (TEMPS,), name="hot")


def project(column: str, below: PlanNode = HOT) -> PlanNode:
    return PlanNode(Project((Column(column, column),)), (below,), name=f"keep-{column}")


def test_equal_operators_over_equal_inputs_exist_once() -> None:
    graph = merge(Graph(), [Query("a", project("room")), Query("b", project("temp"))])
    assert graph.operators == ("hot", "keep-room", "keep-temp")
    assert graph.users["hot"] == ("a", "b")


def test_operators_have_the_names_they_had_in_states_of_earlier_versions() -> None:
    means = Aggregate(("room",), (Column("mean", "avg(temp)"),), Window("count", 10.0, hop=5.0))
    top = PlanNode(means, (PlanNode(Select("temp > 30"), (TEMPS,)),))
    assert merge(Graph(), [Query("q", top)]).operators == (
        "select-72ccb1b0ad0a64ef",
        "aggregate-d4dbd216864fe76f",
    )


def test_the_later_query_uses_the_earlier_ones_operator_under_its_name() -> None:
    renamed = PlanNode(Select("temp > 30"), (TEMPS,), name="very-hot")
    graph = merge(Graph(), [Query("a", HOT), Query("b", renamed)])
    assert graph.operators == ("hot",)
    assert graph.members["b"] == ("temps", "hot", "b.sink")


def test_a_query_that_leaves_out_rows_shares_nothing_but_its_streams() -> None:
    hot = PlanNode(Select("temp > 30"), (TEMPS,))
    skipping = [Query(name, hot, on_error="skip") for name in "bc"]
    queries = [Query("a", hot), *skipping, Query("d", hot)]
    graph = merge(Graph(), queries)
    assert sorted(graph.users[name] for name in graph.operators) == [("a", "d"), ("b",), ("c",)]
    one_by_one = Graph()
    for query in queries:
        one_by_one = merge(one_by_one, [query])
    assert one_by_one == graph


def test_merging_one_by_one_or_all_at_once_is_the_same() -> None:
    queries = [Query("a", project("room")), Query("b", project("temp")), Query("c", TEMPS)]
    one_by_one = Graph()
    for query in queries:
        one_by_one = merge(one_by_one, [query])
    assert one_by_one == merge(Graph(), queries)


def test_a_query_gets_a_sink_unless_it_has_one() -> None:
    graph = merge(Graph(), [Query("a", HOT), Query("b", PlanNode(Sink("b"), (HOT,), name="out"))])
    assert [edge.reader for edge in graph.sinks["hot"]] == ["a.sink", "out"]


@pytest.mark.parametrize("plan", [TEMPS, PlanNode(Sink("all"), (TEMPS,))], ids=["bare", "with a sink"])
def test_a_bare_stream_gets_an_operator_to_schedule(plan: PlanNode) -> None:
    graph = merge(Graph(), [Query("all", plan)])
    (name,) = graph.operators
    assert graph.nodes[name].operator == Select("true")


def test_a_node_read_twice_is_made_once() -> None:
    graph = merge(Graph(), [Query("a", PlanNode(Union(), (HOT, HOT), name="twice"))])
    assert graph.nodes["twice"].inputs == (Port("hot"), Port("hot"))


def test_readers_name_the_port_they_read() -> None:
    split = PlanNode(Split(("temp > 0", "temp <= 0")), (TEMPS,), name="signs")
    graph = merge(Graph(), [Query("a", PlanNode(Union(), (split, split), (1, 0), "both"))])
    assert graph.nodes["both"].inputs == (Port("signs", 1), Port("signs", 0))


def test_operators_without_a_name_get_the_same_one_every_time() -> None:
    queries = [Query("a", PlanNode(Select("temp > 30"), (TEMPS,)))]
    assert tuple(merge(Graph(), queries).nodes) == tuple(merge(Graph(), queries).nodes)


def test_a_removed_query_takes_along_what_only_it_used() -> None:
    graph = merge(Graph(), [Query("a", project("room")), Query("b", project("temp"))])
    assert remove(graph, "b") == merge(Graph(), [Query("a", project("room"))])
    assert remove(remove(graph, "a"), "b") == Graph()


def test_an_unknown_query_cannot_be_removed() -> None:
    graph = merge(Graph(), [Query("hot-rooms", HOT)])
    with pytest.raises(QueryError, match=r"^no query 'hot-room'\. Did you mean 'hot-rooms'\?$"):
        remove(graph, "hot-room")


def test_a_query_of_the_same_name_is_refused() -> None:
    with pytest.raises(QueryError, match="query 'a' exists already; stop it first or choose another name"):
        merge(Graph(), [Query("a", HOT), Query("a", TEMPS)])


def test_an_operator_name_that_is_taken_is_refused() -> None:
    other = PlanNode(Select("temp > 40"), (TEMPS,), name="hot")
    with pytest.raises(PlanError, match="query 'b' names an operator 'hot', but another operator has that"):
        merge(merge(Graph(), [Query("a", HOT)]), [Query("b", other)])


def test_a_stream_read_with_other_columns_is_refused() -> None:
    other = PlanNode(Source("temps", Schema.of(room="string")))
    with pytest.raises(PlanError, match="query 'b' reads stream 'temps', but what has that name already is"):
        merge(merge(Graph(), [Query("a", HOT)]), [Query("b", other)])


def test_a_refused_merge_leaves_the_graph_as_it_was() -> None:
    graph = merge(Graph(), [Query("a", HOT)])
    before = dict(graph.nodes)
    with pytest.raises(PlanError):
        merge(graph, [Query("b", project("room")), Query("c", PlanNode(Select(""), (TEMPS,)))])
    assert dict(graph.nodes) == before
    assert tuple(graph.queries) == ("a",)


def test_of_a_shared_operator_the_first_querys_estimate_counts() -> None:
    first = PlanNode(Select("temp > 30"), (TEMPS,), name="hot", estimate=Estimate(selectivity=0.1))
    later = PlanNode(Select("temp > 30"), (TEMPS,), name="hot", estimate=Estimate(selectivity=0.9))
    graph = merge(Graph(), [Query("a", first), Query("b", later)])
    assert initial_estimates(graph) == {"hot": Estimate(selectivity=0.1)}


@given(graphs(), st.data())
def test_removing_queries_in_any_order_leaves_what_the_others_use(
    drawn: tuple[Graph, object], data: st.DataObject
) -> None:
    graph, _ = drawn
    order = data.draw(st.permutations(list(graph.queries)))
    for place, name in enumerate(order):
        graph = remove(graph, name)
        assert set(graph.queries) == set(order[place + 1 :])
        assert set(graph.nodes) == {node for used in graph.members.values() for node in used}
        for node in graph.nodes.values():
            assert all(port.node in graph.nodes for port in node.inputs)
    assert not graph.nodes


def test_merging_takes_work_in_proportion_to_the_queries() -> None:
    def lines_executed(count: int) -> int:
        """Lines of Python that merging runs: unlike seconds, the same on every machine."""
        queries = [Query(str(n), PlanNode(Select(f"temp > {n}"), (TEMPS,))) for n in range(count)]
        lines = 0

        def trace(_frame: FrameType, event: str, _argument: object) -> Callable[..., object]:
            nonlocal lines
            lines += event == "line"
            return trace

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            merge(Graph(), queries)
        finally:
            sys.settrace(before)
        return lines

    few, many = lines_executed(100), lines_executed(800)
    assert many / few < 12, "eight times the queries: 8 if linear, 64 if quadratic"
