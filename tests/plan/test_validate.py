"""Plans that can run pass; each that cannot gets one sentence with the place and the cure."""

from __future__ import annotations

from collections.abc import Callable
from math import inf, nan

import pytest
from hypothesis import given

from penstock.errors import PlanError
from penstock.model.estimates import Estimate
from penstock.model.graph import Graph
from penstock.model.operators import (
    Aggregate,
    Column,
    Join,
    Operator,
    Project,
    Select,
    Sink,
    Source,
    Split,
    Union,
)
from penstock.model.qos import QoS
from penstock.model.query import PlanNode, Query
from penstock.model.schema import Field, Schema
from penstock.model.window import Window
from penstock.plan.sharing import merge
from penstock.plan.validate import MAX_DEPTH, MAX_OPERATORS, validate
from tests.plan.strategies import queries

SCHEMA = Schema.of(t="timestamp", room="string", temp="double")
TEMPS = PlanNode(Source("temps", SCHEMA))
DOORS = PlanNode(Source("doors", Schema.of(t="timestamp", room="string")))
LOG = PlanNode(Source("log", SCHEMA, endless=False))
COUNT = (Column("n", "count(*)", "bigint"),)
SECONDS = Window.seconds(10)
HALVES = Split(("temp > 0", "temp <= 0"))


def over(operator: Operator, *children: PlanNode, ports: tuple[int, ...] = ()) -> PlanNode:
    return PlanNode(operator, children or (TEMPS,), ports)


def estimated(operator: Operator, estimate: Estimate) -> PlanNode:
    return PlanNode(operator, (TEMPS,), estimate=estimate)


def counted(window: Window | None) -> PlanNode:
    return over(Aggregate((), COUNT, window))


def chain(selects: int) -> PlanNode:
    plan = TEMPS
    for _ in range(selects):
        plan = over(Select("temp > 0"), plan)
    return plan


def doubled(levels: int) -> PlanNode:
    plan = TEMPS
    for _ in range(levels):
        plan = over(Union(), plan, plan)
    return plan


BAD_PLANS: dict[str, tuple[PlanNode, str]] = {
    "a select without input": (
        PlanNode(Select("temp > 0")),
        "query 'q': select at plan has no inputs; it takes 1",
    ),
    "a select with two inputs": (
        over(Select("temp > 0"), TEMPS, DOORS),
        "query 'q': select at plan has 2 inputs; it takes 1",
    ),
    "a union of one": (over(Union()), "query 'q': union at plan has 1 input; it takes 2 or more"),
    "a join of one": (
        over(Join("true", SECONDS, SECONDS)),
        "query 'q': join at plan has 1 input; it takes 2",
    ),
    "a source that reads": (
        over(Source("doors")),
        "query 'q': source at plan has 1 input; it takes none",
    ),
    "a sink below the root": (
        over(Select("temp > 0"), over(Sink("q"))),
        "query 'q': select at plan reads a sink; a sink ends a plan, so put it at the root or leave it out",
    ),
    "another query's sink": (
        over(Sink("other")),
        "query 'q': sink at plan delivers query 'other'; name this query there, or leave the sink out",
    ),
    "a split at the root": (
        over(HALVES),
        "query 'q': split at plan has 2 outputs, but a query has one; put a sink on top that reads one port, "
        "or an operator that reads several",
    ),
    "a port too far": (
        over(Select("true"), over(HALVES), ports=(2,)),
        "query 'q': select at plan reads port 2 of the split, which has 2 ports, counted from 0",
    ),
    "a port below 0": (
        over(Select("true"), over(HALVES), ports=(-1,)),
        "query 'q': select at plan reads port -1 of the split, which has 2 ports, counted from 0",
    ),
    "a second port of a select": (
        over(Sink("q"), over(Select("true")), ports=(1,)),
        "query 'q': sink at plan reads port 1 of the select, which has 1 port, counted from 0",
    ),
    "more ports than inputs": (
        over(Select("true"), ports=(0, 0)),
        "query 'q': select at plan has 2 ports for 1 input; give one per input, "
        "or none to read port 0 of each",
    ),
    "an empty operator name": (
        PlanNode(Select("true"), (TEMPS,), name=""),
        "query 'q': select at plan has an empty name",
    ),
    "a stream without name": (PlanNode(Source(" ")), "query 'q': source at plan has an empty stream"),
    "a column without name": (
        PlanNode(Source("s", Schema((Field("", "int"),)))),
        "query 'q': source at plan has an empty schema.fields[0].name",
    ),
    "an empty predicate": (over(Select("  ")), "query 'q': select at plan has an empty predicate"),
    "a projection to nothing": (
        over(Project(())),
        "query 'q': project at plan has no columns; name those to keep",
    ),
    "a column without expression": (
        over(Project((Column("a", ""),))),
        "query 'q': project at plan has an empty columns[0].expression",
    ),
    "a split without conditions": (
        over(Split(())),
        "query 'q': split at plan has no conditions; give one for each stream it should put out",
    ),
    "an empty condition of a split": (
        over(Sink("q"), over(Split(("temp > 0", "")))),
        "query 'q': split at plan.inputs[0] has an empty conditions[1]",
    ),
    "an empty join condition": (
        over(Join("", SECONDS, SECONDS), TEMPS, DOORS),
        "query 'q': join at plan has an empty condition; write 'true' to join all pairs",
    ),
    "an aggregate of nothing": (
        over(Aggregate((), (), SECONDS)),
        "query 'q': aggregate at plan has neither keys nor aggregates; say what to compute",
    ),
    "a projection with a column twice": (
        over(Project((Column("room", "room"), Column("Room", "temp")))),
        "query 'q': project at plan has two columns named 'Room'; rename one",
    ),
    "an aggregate named as its key": (
        over(Aggregate(("room",), (Column("room", "count(*)"),), SECONDS)),
        "query 'q': aggregate at plan has two columns named 'room'; rename one",
    ),
    "a stream with a column twice": (
        PlanNode(Source("s", Schema((Field("a", "int"), Field("a", "int"))))),
        "query 'q': source at plan has two columns named 'a'; rename one",
    ),
    "an unknown key": (
        over(Aggregate(("rooom",), COUNT, SECONDS)),
        "query 'q': aggregate at plan reads column 'rooom', but its input has only: t, room, temp. "
        "Did you mean 'room'?",
    ),
    "an unknown column of a projection": (
        over(Select("true"), over(Project((Column("x", "humidity"),)), TEMPS)),
        "query 'q': project at plan.inputs[0] reads column 'humidity', but its input has only: "
        "t, room, temp.",
    ),
    "a column that was projected away": (
        over(Project((Column("x", "temp"),)), over(Project((Column("room", "room"),)))),
        "query 'q': project at plan reads column 'temp', but its input has only: room.",
    ),
    "a union of unlike streams": (
        over(Union(), TEMPS, DOORS),
        "query 'q': union at plan has inputs of 3 and 2 columns; project them to the same columns first",
    ),
    "a relation's schema without the relation": (
        over(Join("true", SECONDS, SECONDS, relation_schema=SCHEMA), TEMPS, DOORS),
        "query 'q': join at plan has a relation_schema but no relation; name the relation, "
        "or leave its schema out",
    ),
    "a relation without name": (
        over(Join("true", relation="")),
        "query 'q': join at plan has an empty relation",
    ),
    "a window on a relation": (
        over(Join("true", SECONDS, relation="rooms")),
        "query 'q': join at plan has a window and a relation; a join with a stored relation needs no window, "
        "leave it out",
    ),
    "a full join with a relation": (
        over(Join("true", relation="rooms", type="full")),
        "query 'q': join at plan keeps unmatched rows of the relation 'rooms', but which those are is never "
        "known on the endless stream 'temps'; make it an inner or a left join",
    ),
    "a window of no width": (
        counted(Window("time", end=5, begin=5)),
        "query 'q': aggregate at plan has window from 5 to 5; a window must end after it begins",
    ),
    "a window that does not move": (
        counted(Window.seconds(10, hop=0)),
        "query 'q': aggregate at plan has window.hop 0; it must be greater than 0 "
        "(leave it out to hop by the width)",
    ),
    "a window that skips rows": (
        counted(Window.seconds(10, hop=20)),
        "query 'q': aggregate at plan has window.hop 20, more than the width 10.0, so the rows between two "
        "windows would be lost; hop by at most the width",
    ),
    "a window past the end of the query": (
        counted(Window("time", begin=10, end=20, end_of_query=10)),
        "query 'q': aggregate at plan has window.end_of_query 10, but the first window begins at 10; "
        "the query must end after that",
    ),
    "a window of half a row": (
        counted(Window.rows(2.5)),
        "query 'q': aggregate at plan has window.end 2.5, but a window by count needs whole row numbers "
        "from 0",
    ),
    "a window without end": (
        counted(Window.rows(inf)),
        "query 'q': aggregate at plan has window.end inf; it must be a finite number",
    ),
    "a bad window of a join": (
        over(Join("true", SECONDS, Window.seconds(-1)), TEMPS, DOORS),
        "query 'q': join at plan has right from 0.0 to -1; a window must end after it begins",
    ),
    "an aggregate over all of an endless stream": (
        over(Select("n > 1"), PlanNode(Aggregate((), COUNT), (TEMPS,), name="total")),
        "query 'q': aggregate 'total' at plan.inputs[0] has no window, but the stream 'temps' never ends, so "
        "it would never put out a row; give it a window, or read a stream that ends (endless: false)",
    ),
    "an aggregate of windows that never cease": (
        over(Aggregate((), COUNT), counted(SECONDS)),
        "query 'q': aggregate at plan has no window, but the stream 'temps' never ends, so it would never "
        "put out a row; give it a window, or read a stream that ends (endless: false)",
    ),
    "a join that remembers an endless stream": (
        over(Join("true", left=SECONDS), LOG, DOORS),
        "query 'q': join at plan has no right window, but the stream 'doors' there never ends, so it would "
        "keep all rows for ever; give it a right window, or read a stream that ends (endless: false)",
    ),
    "a negative cost": (
        estimated(Select("true"), Estimate(cost_s=-1)),
        "query 'q': select at plan has estimate.cost_s -1; it must be 0 or more and finite",
    ),
    "a selectivity that is no number": (
        estimated(Select("true"), Estimate(selectivity=nan)),
        "query 'q': select at plan has estimate.selectivity nan; it must be 0 or more and finite",
    ),
    "a negative size": (
        estimated(Select("true"), Estimate(out_bytes=-8)),
        "query 'q': select at plan has estimate.out_bytes -8; it must be 0 or more and finite",
    ),
    "a negative selectivity of a port": (
        over(Sink("q"), estimated(HALVES, Estimate(ports=(0.5, -0.5)))),
        "query 'q': split at plan.inputs[0] has estimate.ports[1] -0.5; it must be 0 or more and finite",
    ),
    "fewer estimates than ports": (
        over(Sink("q"), estimated(HALVES, Estimate(ports=(0.5,)))),
        "query 'q': split at plan.inputs[0] has 1 estimate.ports for 2 conditions; "
        "give one per condition, or none",
    ),
    "ports of a select": (
        estimated(Select("true"), Estimate(ports=(0.5,))),
        "query 'q': select at plan has estimate.ports, which only a split has; use estimate.selectivity",
    ),
    "a fault on the right of a join": (
        over(Join("true", SECONDS, SECONDS), TEMPS, over(Select(""), DOORS)),
        "query 'q': select at plan.inputs[1] has an empty predicate",
    ),
    "a plan deeper than Python's stack": (
        chain(2000),
        f"query 'q': the plan is 2001 operators deep, at most {MAX_DEPTH} are allowed; "
        "put neighbouring selects and projects into one",
    ),
    "a plan that doubles at each level": (
        doubled(60),
        f"query 'q': the plan has more than {MAX_OPERATORS} operators, counting one that is read twice "
        "as two; divide it into several queries",
    ),
}

BAD_QUERIES: dict[str, tuple[Query, str]] = {
    "no name": (Query(" ", TEMPS), "the query has no name; give it one"),
    "no latency": (
        Query("q", TEMPS, QoS(latency_s=0)),
        "query 'q' has qos.latency_s 0; it must be greater than 0 and finite",
    ),
    "endless latency": (
        Query("q", TEMPS, QoS(latency_s=inf)),
        "query 'q' has qos.latency_s inf; it must be greater than 0 and finite",
    ),
    "negative memory": (
        Query("q", TEMPS, QoS(memory_bytes=-1)),
        "query 'q' has qos.memory_bytes -1; it must be greater than 0 and finite",
    ),
    "no throughput": (
        Query("q", TEMPS, QoS(throughput_per_s=0)),
        "query 'q' has qos.throughput_per_s 0; it must be greater than 0 and finite",
    ),
    "freshness in percent": (
        Query("q", TEMPS, QoS(freshness=95)),
        "query 'q' has qos.freshness 95; it must be greater than 0 and at most 1",
    ),
    "no weight": (
        Query("q", TEMPS, QoS(weight=0)),
        "query 'q' has qos.weight 0; it must be greater than 0 and at most 1",
    ),
    "all is tolerated": (
        Query("q", TEMPS, QoS(tolerance=1)),
        "query 'q' has qos.tolerance 1; it must be at least 0 and less than 1",
    ),
    "a start before time": (
        Query("q", TEMPS, start_s=-1),
        "query 'q' has start_s -1; it must be 0 or more and finite",
    ),
}


@pytest.mark.parametrize(("plan", "message"), BAD_PLANS.values(), ids=BAD_PLANS)
def test_a_plan_that_cannot_run_is_refused(plan: PlanNode, message: str) -> None:
    with pytest.raises(PlanError) as refused:
        validate(Query("q", plan))
    assert str(refused.value) == message


@pytest.mark.parametrize(("query", "message"), BAD_QUERIES.values(), ids=BAD_QUERIES)
def test_a_query_out_of_range_is_refused(query: Query, message: str) -> None:
    with pytest.raises(PlanError) as refused:
        validate(query)
    assert str(refused.value) == message


@pytest.mark.parametrize("enter", [validate, lambda query: merge(Graph(), [query])])
def test_nothing_invalid_enters_the_graph(enter: Callable[[Query], object]) -> None:
    with pytest.raises(PlanError, match="has an empty predicate"):
        enter(Query("q", over(Select(""))))


GOOD_PLANS: dict[str, PlanNode] = {
    "a bare stream": TEMPS,
    "a window on an endless stream": counted(Window.seconds(10, hop=5)),
    "no window on a stream that ends": over(Aggregate((), COUNT), LOG),
    "no window over windows that cease": over(
        Aggregate((), COUNT), counted(Window("time", end=10, end_of_query=60))
    ),
    "no window over joined windows that cease": over(
        Aggregate((), COUNT),
        over(Join("true", *(Window("time", end=10, end_of_query=60),) * 2), TEMPS, DOORS),
    ),
    "a join that remembers a stream that ends": over(Join("true", right=SECONDS), LOG, DOORS),
    "a full join of a relation with a stream that ends": over(
        Join("true", relation="rooms", type="full"), LOG
    ),
    "a key by other case": over(Aggregate(("ROOM",), COUNT, SECONDS)),
    "a key that is computed": over(Aggregate(("hour(t)",), COUNT, SECONDS)),
    "a column that is a constant": over(Project((Column("x", "NULL", "int"),))),
    "columns of a stream of unknown schema": over(Project((Column("x", "y"),)), PlanNode(Source("s"))),
    "a column of a join with a stream of unknown schema": over(
        Project((Column("x", "y"),)), over(Join("true", SECONDS, SECONDS), TEMPS, PlanNode(Source("s")))
    ),
    "both ports of a split": over(Union(), over(HALVES), over(HALVES), ports=(0, 1)),
    "the deepest that is allowed": chain(MAX_DEPTH - 1),
    "a window before the beginning of time": counted(Window("time", begin=-10, end=0)),
}


@pytest.mark.parametrize("plan", GOOD_PLANS.values(), ids=GOOD_PLANS)
def test_a_plan_that_can_run_passes(plan: PlanNode) -> None:
    query = Query("q", plan)
    assert validate(query) is query


@given(queries())
def test_every_drawn_query_can_run(query: Query) -> None:
    assert validate(query) is query
