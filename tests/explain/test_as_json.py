"""The explanation as programs read it."""

from __future__ import annotations

import json

from penstock.explain import as_json
from penstock.explain.as_json import explanation_json
from penstock.explain.explanation import explain
from penstock.plan.document import read
from tests.explain.statements import HOME, JOINED, SPLIT

DOCUMENT = json.loads(
    json.dumps(explanation_json(explain(HOME + JOINED + SPLIT + "EXPLAIN hot; SHOW TABLES")))
)


def test_it_has_the_fields_it_says_it_has() -> None:
    assert list(DOCUMENT) == ["penstock_explanation", "said", "queries", "graph", "policy", "units"]
    documented = as_json.__doc__ or ""
    for part in (DOCUMENT, DOCUMENT["queries"][0], DOCUMENT["graph"], DOCUMENT["units"][0]):
        for field in part:
            assert field in documented
    for field in (*DOCUMENT["queries"][0]["operators"][0], *DOCUMENT["queries"][0]["considered"][0]):
        assert f"`{field}`" in documented


def test_statements_stand_in_their_order() -> None:
    said = DOCUMENT["said"]
    assert said[0] == {"text": "stream 'temps' created", "columns": [], "rows": []}
    assert [one["query"] for one in said if "query" in one] == [0, 1, 2, 3, 4]
    assert said[-1] == {
        "text": "1 table",
        "columns": ["table", "columns", "format"],
        "rows": [["rooms", "room string, floor int", "csv"]],
    }


def test_a_query_says_what_it_is_and_what_it_shares() -> None:
    means = DOCUMENT["queries"][1]
    assert (means["name"], means["registered"], means["qos"]["weight"]) == ("means", True, 0.5)
    assert means["result"] == [{"name": "place", "type": "string"}, {"name": "mean", "type": "double"}]
    names = {one["name"]: one for one in means["operators"]}
    assert [names[name]["text"] for name in means["shared"]] == ["select temp > 30"]
    assert [names[name]["kind"] for name in means["added"]] == ["aggregate", "project"]
    assert names[means["shared"][0]]["inputs"] == [{"operator": "temps", "port": 0}]
    assert 0 < means["cost"]["new_processor_s_per_s"] < means["cost"]["processor_s_per_s"]


def test_plans_are_plan_json_that_can_be_read_again() -> None:
    explanation = explain(HOME + JOINED)
    for one, shown in zip(explanation.queries, explanation_json(explanation)["queries"], strict=True):
        assert read(json.dumps(shown["plan"]["written"]["document"])) == one.written
        assert read(json.dumps(shown["plan"]["chosen"]["document"])) == one.chosen


def test_units_are_of_operators_of_the_graph() -> None:
    graph = DOCUMENT["graph"]
    names = {one["name"] for one in graph["operators"]}
    assert {name for unit in DOCUMENT["units"] for name in unit["operators"]} == names
    assert graph["sharing"]["separate"] - graph["sharing"]["merged"] == graph["sharing"]["saved"] > 0
    assert graph["queries"] == ["hot", "means", "joined", "others"]
