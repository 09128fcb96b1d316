"""Many overlapping queries in one graph: each is still computed as its own plan says."""

from __future__ import annotations

import random
from functools import cache

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.bench.queries import catalog, random_queries
from penstock.model.graph import Graph
from penstock.model.operators import Select, Sink, Source
from penstock.model.query import PlanNode, Query
from penstock.plan.admission import Admission, admit
from penstock.plan.schemas import derived_schemas
from penstock.plan.sharing import remove
from penstock.sql.reading.reader import read_one
from penstock.sql.session import apply

STREAMS = catalog()


def bound(text: str) -> Query:
    query = apply(STREAMS, read_one(text), text)[1].query
    assert query is not None
    return query


def admitted(queries: list[Query]) -> list[Admission]:
    """One after the other, each into the graph of those before it."""
    made: list[Admission] = []
    for query in queries:
        made.append(admit(made[-1].graph if made else Graph(), query, STREAMS.rates()))
    return made


def computed(graph: Graph, query: str) -> tuple[object, ...]:
    """What the graph computes for a query: its sink with all below, by structure, without names."""
    (sink,) = (name for name in graph.members[query] if graph.nodes[name].operator == sink_of(graph, query))

    @cache
    def tree(name: str) -> tuple[object, ...]:
        node = graph.nodes[name]
        return node.operator, tuple((port.output, tree(port.node)) for port in node.inputs)

    return tree(sink)


def sink_of(graph: Graph, query: str) -> Sink:
    operator = graph.queries[query].root.operator
    assert isinstance(operator, Sink)
    return operator


def planned(query: Query) -> tuple[object, ...]:
    """The same of a plan; a bare stream has a select of all its rows in the graph."""
    root = query.root
    if isinstance(root.children[0].operator, Source):
        root = PlanNode(root.operator, (PlanNode(Select("true"), root.children),))
    made: dict[int, tuple[object, ...]] = {}
    for node in root.post_order():
        below = tuple((node.port_of(slot), made[id(child)]) for slot, child in enumerate(node.children))
        made[id(node)] = node.operator, below
    return made[id(root)]


def check(made: list[Admission], rng: random.Random) -> tuple[int, int]:
    """Holds the graph of all against each plan, and again while queries are removed in random order.

    Tells how many operators there were apart and together.
    """
    graph = made[-1].graph
    expected = {one.query.name: planned(one.query) for one in made}
    for name, plan in expected.items():
        assert computed(graph, name) == plan, name
    used = {name for members in graph.members.values() for name in members}
    assert used == set(graph.nodes)
    separate = sum(len(set(graph.operators) & set(members)) for members in graph.members.values())
    merged = len(graph.operators)
    for name in rng.sample(sorted(expected), len(expected)):
        graph = remove(graph, name)
        del expected[name]
        some = rng.sample(sorted(expected), min(len(expected), 5))
        assert all(computed(graph, other) == expected[other] for other in some), name
    assert not graph.nodes
    return separate, merged


@pytest.fixture(scope="module")
def queries() -> list[Query]:
    return [bound(text) for text in random_queries(100, seed=7)]


@pytest.fixture(scope="module")
def hundred(queries: list[Query]) -> list[Admission]:
    return admitted(queries)


def test_a_hundred_overlapping_queries_are_computed_as_planned_and_share(hundred: list[Admission]) -> None:
    separate, merged = check(hundred, random.Random(7))
    print(f"{separate} operators apart, {merged} together: {separate - merged} saved")
    assert merged < 0.8 * separate


def test_a_query_has_the_columns_it_was_written_with_whichever_plan_was_chosen(
    queries: list[Query], hundred: list[Admission]
) -> None:
    for written, one in zip(queries, hundred, strict=True):
        assert derived_schemas(one.query.root)[-1][1] == derived_schemas(written.root)[-1][1], written.name


def test_no_two_operators_of_the_graph_compute_the_same(hundred: list[Admission]) -> None:
    graph = hundred[-1].graph
    computations = [(node.operator, node.inputs) for node in graph.nodes.values()]
    assert len(set(computations)) == len(computations)


def test_what_admission_says_is_shared_was_there_before(hundred: list[Admission]) -> None:
    before = Graph()
    for one in hundred:
        assert set(one.shared) <= set(before.operators)
        assert not set(one.added) & set(before.operators)
        assert {*one.shared, *one.added} == set(one.graph.members[one.query.name]) & set(one.graph.operators)
        before = one.graph


def test_a_query_asked_twice_in_other_words_adds_no_operator() -> None:
    pairs = [
        (
            "SELECT room, temp * 2 AS twice FROM temps WHERE temp > 30 AND id < 100",
            "SELECT 2 * x.temp AS d, x.room AS place FROM temps x WHERE 100 > x.id AND 30 < x.temp",
        ),
        (
            "SELECT room, max(temp) AS m, count(*) AS n FROM temps GROUP BY window(t, '1 minute'), room",
            "SELECT count(*) AS c, a.room, max(a.temp) FROM temps a GROUP BY a.room, window(a.t, '60 s')",
        ),
        (
            "SELECT l.room, r.watts FROM temps [RANGE 10 s] l JOIN power [RANGE 5 s] r ON l.room = r.room",
            "SELECT watts AS w, a.room FROM power [RANGE 5 s] b JOIN temps [RANGE 10 s] a ON b.room = a.room",
        ),
        (
            "SELECT t, room FROM temps WHERE temp > 30 UNION ALL SELECT t, room FROM attic",
            "SELECT t AS at, room AS r FROM attic UNION ALL SELECT t, room FROM temps WHERE NOT temp <= 30",
        ),
    ]
    for one, other in pairs:
        first, second = admitted(
            [
                bound(f"CREATE CONTINUOUS QUERY a AS {one}"),
                bound(f"CREATE CONTINUOUS QUERY b AS {other}"),
            ]
        )
        assert second.added == (), other
        assert set(second.shared) == set(first.added)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(seed=st.integers(0, 10**6), order=st.randoms(use_true_random=False))
def test_any_overlapping_queries_are_computed_as_planned(seed: int, order: random.Random) -> None:
    check(admitted([bound(text) for text in random_queries(8, seed)]), order)
