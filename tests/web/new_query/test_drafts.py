"""What the API says of a query that is being written, in words and as a network."""

from __future__ import annotations

from typing import Any

import pytest

from penstock.web.network.drawing import drawn
from penstock.web.new_query.drafts import considered, costs, names, network, sharing


def operator(name: str, kind: str, text: str, *shared: str) -> dict[str, Any]:
    return {"name": name, "kind": kind, "text": text, "shared_with": list(shared), "rate_in_per_s": 5.0}


def draft(**given: Any) -> dict[str, Any]:
    cost = {"processor_s_per_s": 0.002, "new_processor_s_per_s": 0.001, "memory_bytes": 2048.0}
    way = {"new_processor_s_per_s": 0.001, "memory_bytes": 2048.0, "operators": 2, "shared": 1, "rules": []}
    return {
        "columns": [{"name": "room", "type": "string"}],
        "cost": cost,
        "operators": [
            operator("temps", "source", "source temps", "a", "b"),
            operator("select-1", "select", "select temp > 3", "a", "b"),
            operator("aggregate-1", "aggregate", "aggregate by room"),
            operator("sink-1", "sink", "sink this query: room"),
        ],
        "edges": [
            {"from": "temps", "output": 0, "to": "select-1", "input": 0},
            {"from": "select-1", "output": 0, "to": "aggregate-1", "input": 0},
            {"from": "aggregate-1", "output": 0, "to": "sink-1", "input": 0},
        ],
        "shared": ["select-1"],
        "added": ["aggregate-1"],
        "together": [],
        "at_once": True,
        "considered": [way, {**way, "rules": ["push_select_through_join"] * 2}],
        **given,
    }


def test_what_it_shares_is_said_with_whom() -> None:
    assert sharing(draft()) == "Shares 1 of 2 operators with a and b."
    assert sharing(draft(shared=[])) == "Shares no operators with your other queries."
    assert sharing(draft(together=["a", "b", "c"])).startswith("Runs as one with a, b and c: ")
    assert "beside it at first" in sharing(draft(together=["a"], at_once=False))


@pytest.mark.parametrize(
    ("those", "said"),
    [(["a"], "a"), (["a", "b", "c"], "a, b and c"), (list("abcdef"), "a, b, c, d and 2 more")],
)
def test_names_are_told_as_people_do(those: list[str], said: str) -> None:
    assert names(those) == said


def test_costs_have_units() -> None:
    found = costs(draft())
    assert found == {
        "Adds": "0.100% of a core, 0.200% by itself",
        "Holds": "2.05 kB in windows",
        "Puts out": "5 rows/s",
    }
    assert considered(draft())[0] == ("as written", "0.100%", "2.05 kB", "1 of 2")
    assert considered(draft())[1][0] == "push select through join ×2"


def test_the_network_can_be_drawn_and_marks_what_runs() -> None:
    nodes, edges = network(draft(), "mean")
    titles = {one["id"]: one["title"] for one in drawn(nodes, edges)["nodes"]}
    assert titles["select-1"].replace("\u00a0", " ") == "select · runs already"
    assert titles["aggregate-1"] == "aggregate"
    assert "mean" in titles.values()
