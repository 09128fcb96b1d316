"""Plan JSON: what is written is read again, and what cannot be read is said in one sentence."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given

from penstock.errors import PlanError, PlanFormatError
from penstock.model.estimates import Estimate
from penstock.model.operators import Aggregate, Column, Join, Select, Source, Split, Union
from penstock.model.qos import QoS
from penstock.model.query import PlanNode, Query
from penstock.model.schema import Schema
from penstock.model.window import Window
from penstock.plan import document
from penstock.plan.validate import MAX_DEPTH
from tests.plan.strategies import queries

DOCS = Path(__file__).parents[2] / "docs"

TEMPS = PlanNode(Source("temps", Schema.of(t="timestamp", room="string", temp="double")))
HOT = PlanNode(
    Select("temp > 30"), (TEMPS,), estimate=Estimate(2e-6, selectivity=0.25, in_bytes=40, out_bytes=40)
)
MEANS = PlanNode(
    Aggregate(("room",), (Column("mean", "avg(temp)", "double"),), Window.seconds(10, hop=5)), (HOT,)
)
QUERY = Query("hot-rooms", MEANS, QoS(latency_s=2.0), start_s=60.0)


def written(query: Query = QUERY) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(document.write(query))
    return parsed


@given(queries())
def test_what_is_written_is_read_again(query: Query) -> None:
    assert document.read(document.write(query)) == query


def test_a_plan_as_deep_as_is_allowed_is_written_and_read() -> None:
    plan = TEMPS
    for _ in range(MAX_DEPTH - 1):
        plan = PlanNode(Select("temp > 0"), (plan,))
    assert document.read(document.write(Query("deep", plan))) == Query("deep", plan)


def test_a_document_holds_the_papers_plan_object() -> None:
    select = written()["plan"]["inputs"][0]
    assert select["operator"] == {"kind": "select", "predicate": "temp > 30"}
    assert select["estimate"]["selectivity"] == 0.25
    assert select["derived"]["processing_capacity_per_s"] == 500_000
    assert select["derived"]["memory_release_capacity_bytes_per_s"] == 500_000 * (40 - 0.25 * 40)
    assert select["inputs"][0]["operator"]["stream"] == "temps"


def test_a_document_shows_the_schemas_of_intermediate_streams() -> None:
    assert written()["plan"]["derived"]["schema"]["fields"] == [
        {"name": "room", "type": "string"},
        {"name": "mean", "type": "double"},
    ]


def test_a_document_holds_all_four_parameters_of_a_window() -> None:
    window = Window("count", begin=10, end=110, hop=50, end_of_query=1000)
    plan = PlanNode(Aggregate((), (Column("n", "count(*)"),), window), (TEMPS,))
    assert written(Query("q", plan))["plan"]["operator"]["window"] == {
        "kind": "count",
        "begin": 10,
        "end": 110,
        "hop": 50,
        "end_of_query": 1000,
    }


def test_a_split_frees_what_none_of_its_ports_puts_out() -> None:
    split = PlanNode(Split(("a", "b")), (TEMPS,), estimate=Estimate(1.0, 9.0, 100, 100, ports=(0.25, 0.5)))
    plan = PlanNode(Union(), (split, split), (0, 1))
    derived = written(Query("q", plan))["plan"]["inputs"][0]["derived"]
    assert derived["memory_release_capacity_bytes_per_s"] == 25


def test_an_operator_that_costs_nothing_has_no_capacity_to_show() -> None:
    plan = PlanNode(Select("true"), (PlanNode(Source("s")),), estimate=Estimate(cost_s=0))
    assert "derived" not in written(Query("q", plan))["plan"]


def test_derived_fields_are_ignored_on_reading() -> None:
    text = document.write(QUERY).replace("500000.0", '"plenty"')
    assert text != document.write(QUERY)
    assert document.read(text) == QUERY


def test_a_document_may_leave_out_what_has_a_default() -> None:
    text = '{"penstock_plan": 1, "query": "all", "plan": {"operator": {"kind": "source", "stream": "s"}}}'
    assert document.read(text) == Query("all", PlanNode(Source("s")))


def test_a_plan_that_cannot_run_is_neither_written_nor_read() -> None:
    blocked = Query("q", PlanNode(Join("true"), (TEMPS, TEMPS)))
    with pytest.raises(PlanError, match="has no left window, but the stream 'temps' there never ends"):
        document.write(blocked)
    broken = document.write(QUERY).replace("temp > 30", "")
    with pytest.raises(PlanError, match=r"^query 'hot-rooms': select at plan.inputs\[0\] has an empty pred"):
        document.read(broken)


def put(*path: str | int, value: object) -> Callable[[dict[str, Any]], None]:
    """Sets one value of a document."""

    def change(parsed: Any) -> None:
        for part in path[:-1]:
            parsed = parsed[part]
        parsed[path[-1]] = value

    return change


def cut(*path: str | int) -> Callable[[dict[str, Any]], None]:
    """Removes one field of a document."""

    def change(parsed: Any) -> None:
        for part in path[:-1]:
            parsed = parsed[part]
        del parsed[path[-1]]

    return change


KINDS = "aggregate, join, project, select, sink, source, split, union"
BAD_DOCUMENTS: dict[str, tuple[Callable[[dict[str, Any]], None], str]] = {
    "a later version": (
        put("penstock_plan", value=2),
        "penstock_plan is 2, a version this Penstock cannot read; it reads version 1",
    ),
    "a version as text": (
        put("penstock_plan", value="1"),
        'penstock_plan is "1", a version this Penstock cannot read; it reads version 1',
    ),
    "no version": (
        cut("penstock_plan"),
        'the document is not a Penstock plan; a plan has "penstock_plan": 1 at its top',
    ),
    "no query": (cut("query"), "the document has no field 'query'; add it"),
    "no plan": (cut("plan"), "the document has no field 'plan'; add it"),
    "a plan that is null": (put("plan", value=None), "plan is null; it must be an object"),
    "a plan that is a list": (put("plan", value=[]), "plan is []; it must be an object"),
    "no operator": (
        cut("plan", "inputs", 0, "operator"),
        "plan.inputs[0] has no field 'operator'; add it",
    ),
    "no kind": (
        cut("plan", "operator", "kind"),
        f"plan.operator has no field 'kind'; add one of {KINDS}",
    ),
    "a misspelt kind": (
        put("plan", "inputs", 0, "operator", "kind", value="selct"),
        f"plan.inputs[0].operator.kind is 'selct', which is no operator; use one of {KINDS}. "
        "Did you mean 'select'?",
    ),
    "a kind nobody knows": (
        put("plan", "operator", "kind", value="cube"),
        f"plan.operator.kind is 'cube', which is no operator; use one of {KINDS}.",
    ),
    "a missing field": (
        cut("plan", "inputs", 0, "operator", "predicate"),
        "plan.inputs[0].operator has no field 'predicate'; add it",
    ),
    "a misspelt field": (
        put("plan", "operator", "windwo", value={}),
        "plan.operator has an unknown field 'windwo'; remove it. Did you mean 'window'?",
    ),
    "a field of another operator": (
        put("plan", "operator", "predicate", value="true"),
        "plan.operator has an unknown field 'predicate'; remove it.",
    ),
    "a field without unit": (
        put("qos", "latency", value=2),
        "qos has an unknown field 'latency'; remove it. Did you mean 'latency_s'?",
    ),
    "a number as text": (
        put("plan", "operator", "window", "hop", value="5"),
        'plan.operator.window.hop is "5"; it must be a valid number',
    ),
    "a window of another kind": (
        put("plan", "operator", "window", "kind", value="landmark"),
        "plan.operator.window.kind is \"landmark\"; it must be 'time', 'count', 'session' or 'given'",
    ),
    "a list that is an object": (
        put("plan", "inputs", value={}),
        "plan.inputs is {}; it must be a valid array",
    ),
    "text that is a number": (
        put("plan", "inputs", 0, "operator", "predicate", value=3),
        "plan.inputs[0].operator.predicate is 3; it must be a valid string",
    ),
    "half a port": (put("plan", "ports", value=[0.5]), "plan.ports[0] is 0.5; it must be a valid integer"),
    "a truth that is a number": (
        put("plan", "inputs", 0, "inputs", 0, "operator", "endless", value=1),
        "plan.inputs[0].inputs[0].operator.endless is 1; it must be a valid boolean",
    ),
    "no number at all": (
        put("start_s", value=float("nan")),
        "start_s is NaN; it must be a finite number",
    ),
    "something long": (
        put("query", value=list(range(100))),
        "query is [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11…; it must be a valid string",
    ),
}


@pytest.mark.parametrize(("change", "message"), BAD_DOCUMENTS.values(), ids=BAD_DOCUMENTS)
def test_a_document_that_is_no_plan_is_refused(
    change: Callable[[dict[str, Any]], None], message: str
) -> None:
    parsed = written()
    change(parsed)
    with pytest.raises(PlanFormatError) as refused:
        document.read(json.dumps(parsed))
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the document is not JSON: EOF while parsing a value at line 1 column 0"),
        ("{", "the document is not JSON: EOF while parsing an object at line 1 column 1"),
        (b"\xff", "the document is not JSON: expected value at line 1 column 1"),
        ("[]", "the document is []; it must be an object"),
        ('{"plan":' * 2000, f"the document nests too deeply; a plan may be {MAX_DEPTH} operators deep"),
    ],
)
def test_what_is_no_document_is_refused(text: str | bytes, message: str) -> None:
    with pytest.raises(PlanFormatError) as refused:
        document.read(text)
    assert str(refused.value) == message


def test_the_published_schema_is_up_to_date() -> None:
    published = (DOCS / "plan.schema.json").read_text(encoding="utf-8")
    assert published == document.json_schema_text(), "run `make docs`"


def test_the_published_schema_asks_for_the_kind_of_every_operator() -> None:
    definitions = document.json_schema()["$defs"]
    operators = {name for name in definitions if "kind" in definitions[name].get("required", ())}
    assert {name.lower() for name in operators - {"Window"}} == set(KINDS.split(", "))


def test_the_example_in_the_manual_is_written_as_it_stands() -> None:
    page = (DOCS / "plan-json.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```json\n(.*?)```", page, re.DOTALL)
    assert written(document.read(example)) == json.loads(example)
