"""What is measured, by box and queue, and what of it is news."""

from __future__ import annotations

from typing import Any

from penstock.web.network.drawing import drawn
from penstock.web.network.readings import changes, readings
from tests.web.network.test_drawing import EDGES, NODES


def operator(name: str, **given: Any) -> dict[str, Any]:
    """As GET /operators has it."""
    return {
        "name": name,
        "state": "ready",
        "partition": "",
        "waiting_rows": 0,
        "waiting_batches": 0,
        "waiting_bytes": 0.0,
        "state_bytes": 0,
        "rate_per_s": 10.0,
        "cost_s": 0.001,
        "cost_error": None,
        "selectivity": 0.5,
        "selectivity_error": None,
        "in_bytes": 10.0,
        "out_bytes": 10.0,
        "fixed_s": 0.01,
        "measured": True,
        **given,
    }


GRAPH: dict[str, Any] = {
    "units": [{"unit": 1, "policy": "fcfs"}, {"unit": 2, "policy": "mss"}],
    "queues": [
        {"at": "temps", "before": ["s1"], "rows": 7, "batches": 2, "bytes": 70.0, "oldest_s": 1.23456}
    ],
}
OPERATORS = [operator("s1", rate_per_s=123.456), operator("a1"), operator("p1", selectivity=1.0)]


def test_a_box_has_what_its_operator_costs_and_the_policy_of_its_unit() -> None:
    found = readings(drawn(NODES, EDGES), GRAPH, OPERATORS)
    assert (found["a1"]["cost_s"], found["a1"]["policy"], found["s1"]["policy"]) == (0.001, "mss", "fcfs")


def test_streams_and_results_have_rates() -> None:
    found = readings(drawn(NODES, EDGES), GRAPH, OPERATORS)
    assert found["temps"] == {"rate": 123.0}
    assert found["s1>hot"] == {"rate": 61.7}


def test_queues_say_what_waits_in_them_and_empty_ones_that_nothing_does() -> None:
    found = readings(drawn(NODES, EDGES), GRAPH, OPERATORS)
    assert found["temps 0 s1 0"] == {"rows": 7, "batches": 2, "bytes": 70.0, "oldest_s": 1.23}
    assert found["s1 0 a1 0"]["rows"] == 0


def test_only_what_changed_is_told() -> None:
    before = readings(drawn(NODES, EDGES), GRAPH, OPERATORS)
    slower = [OPERATORS[0], operator("a1", cost_s=0.002), OPERATORS[2]]
    assert set(changes(before, readings(drawn(NODES, EDGES), GRAPH, slower))["readings"]) == {"a1"}
    assert changes(before, before) == {"readings": {}, "gone": []}
    assert changes(before, {})["gone"] == list(before)
