"""What was measured of operators that run decides about plans to come."""

from __future__ import annotations

import pytest

from penstock.model.estimates import Estimate, Estimates
from penstock.model.graph import Graph
from penstock.model.operators import Select
from penstock.model.query import Query
from penstock.plan.admission import Admission, admit
from penstock.plan.measured import Measured
from penstock.sql.session import run

STREAM = "CREATE STREAM s (t TIMESTAMP, a INT, b INT) USING push;"


def queries(*selects: str) -> list[Query]:
    created = [f"CREATE CONTINUOUS QUERY q{n} AS {select};" for n, select in enumerate(selects)]
    return list(run(STREAM + "".join(created))[0].queries.values())


FIRST, SECOND, BOTH = queries(
    "SELECT a FROM s WHERE a > 1", "SELECT a FROM s WHERE b > 1", "SELECT a FROM s WHERE a > 1 AND b > 1"
)


def admission(high: float, low: float) -> Admission:
    """A query that could stand above either of two filters, which let these shares of rows pass."""
    graph = admit(admit(Graph(), FIRST).graph, SECOND).graph
    known = {
        name: Estimate(1e-5, high if "a" in node.operator.predicate else low, 50.0, 50.0, (), 0.1, 0.01)
        for name, node in graph.nodes.items()
        if isinstance(node.operator, Select)
    }
    assert len(known) == 2
    return admit(graph, BOTH, measured=Measured(graph, Estimates(known)).of)


@pytest.mark.parametrize(("high", "low", "below"), [(0.9, 0.01, "b"), (0.01, 0.9, "a")])
def test_a_query_stands_above_the_filter_that_lets_fewest_rows_pass(
    high: float, low: float, below: str
) -> None:
    found = admission(high, low)
    (new,) = [node for name in found.added if isinstance((node := found.graph.nodes[name]).operator, Select)]
    lower = found.graph.nodes[new.inputs[0].node].operator
    assert isinstance(lower, Select)
    assert below in lower.predicate


def test_what_is_measured_counts_in_the_round_numbers_of_plans() -> None:
    """What runs costs more than plans are costed with; a plan of both kinds must still be in order."""
    graph = admit(admit(Graph(), FIRST).graph, SECOND).graph
    selects = [node for node in graph.nodes.values() if isinstance(node.operator, Select)]
    known = {
        node.name: Estimate(100 * node.estimate.cost_s, 0.5, 50.0, 50.0, (), 0.1, 0.01)
        for node in selects
        if node.estimate is not None
    }
    measured = Measured(graph, Estimates(known))
    select = next(node for node in BOTH.root.post_order() if isinstance(node.operator, Select))
    assert measured.of(select) is None  # nobody runs both as one
    select = next(node for node in FIRST.root.post_order() if isinstance(node.operator, Select))
    found = measured.of(select)
    assert found is not None
    assert selects[0].estimate is not None
    assert found.cost_s == pytest.approx(selects[0].estimate.cost_s)
    assert (found.selectivity, found.selectivity_error) == (0.5, None)


def test_a_guess_is_no_measurement() -> None:
    graph = admit(Graph(), FIRST).graph
    guesses = {name: Estimate(1e-6, 0.3) for name in graph.operators}
    assert all(Measured(graph, Estimates(guesses)).of(node) is None for node in FIRST.root.post_order())
