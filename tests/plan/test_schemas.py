"""Schemas of intermediate streams: a project shrinks, a join widens."""

from __future__ import annotations

from hypothesis import given

from penstock.model.operators import Aggregate, Column, Join, Project, Select, Sink, Source, Split, Union
from penstock.model.query import PlanNode, Query
from penstock.model.schema import EMPTY, Schema
from penstock.model.window import Window
from penstock.plan.schemas import derived_schemas
from tests.plan.strategies import queries

TEMPS = PlanNode(Source("temps", Schema.of(t="timestamp", room="string", temp="double")))
DOORS = PlanNode(Source("doors", Schema.of(t="timestamp", door="string")))
SECONDS = Window.seconds(10)


def schema_of(*args: PlanNode | Project | Aggregate | Join | Select | Split | Union | Sink) -> str:
    """The derived schema of an operator over some inputs, as text."""
    operator, *inputs = args
    assert not isinstance(operator, PlanNode)
    node = PlanNode(operator, tuple(plan for plan in inputs if isinstance(plan, PlanNode)))
    last, schema = derived_schemas(node)[-1]
    assert last is node
    return str(schema)


def test_a_select_keeps_the_columns() -> None:
    assert schema_of(Select("temp > 30"), TEMPS) == "t timestamp, room string, temp double"


def test_a_split_a_union_and_a_sink_keep_the_columns() -> None:
    assert schema_of(Split(("true", "false")), TEMPS) == str(TEMPS.operator.schema)  # type: ignore[union-attr]
    assert schema_of(Union(), DOORS, DOORS) == "t timestamp, door string"
    assert schema_of(Sink("q"), DOORS) == "t timestamp, door string"


def test_a_project_shrinks_and_takes_plain_types_from_below() -> None:
    columns = (Column("r", "room"), Column("f", "temp * 1.8 + 32", "double"))
    assert schema_of(Project(columns), TEMPS) == "r string, f double"


def test_an_expression_that_nothing_typed_says_so() -> None:
    assert schema_of(Project((Column("f", "temp + 1"),)), TEMPS) == "f unknown"


def test_an_aggregate_puts_out_keys_then_aggregates() -> None:
    operator = Aggregate(("room", "hour(t)"), (Column("n", "count(*)", "bigint"),), SECONDS)
    assert schema_of(operator, TEMPS) == "room string, hour(t) unknown, n bigint"


def test_a_join_widens_and_renames_what_is_there_twice() -> None:
    pairs = Join("temps.t = doors.t", SECONDS, SECONDS)
    assert schema_of(pairs, TEMPS, DOORS) == (
        "t timestamp, room string, temp double, right_t timestamp, door string"
    )


def test_a_join_renames_until_every_name_is_there_once() -> None:
    pairs = Join("true", SECONDS, SECONDS)
    both = PlanNode(pairs, (DOORS, DOORS))
    assert schema_of(pairs, both, DOORS) == (
        "t timestamp, door string, right_t timestamp, right_door string, "
        "right_right_t timestamp, right_right_door string"
    )


def test_a_join_with_a_relation_widens_by_its_columns() -> None:
    lookup = Join("temps.room = rooms.room", relation="rooms", relation_schema=Schema.of(floor="int"))
    assert schema_of(lookup, TEMPS) == "t timestamp, room string, temp double, floor int"


def test_what_is_not_known_of_one_side_is_not_known_of_the_join() -> None:
    unknown = PlanNode(Source("s"))
    assert schema_of(Join("true", SECONDS, SECONDS), TEMPS, unknown) == str(EMPTY)
    assert schema_of(Join("true", relation="rooms"), TEMPS) == str(EMPTY)


def test_every_node_is_listed_once_inputs_first() -> None:
    plan = PlanNode(Union(), (PlanNode(Select("true"), (TEMPS,)), TEMPS))
    assert [node.operator.kind for node, _ in derived_schemas(plan)] == ["source", "select", "union"]


@given(queries())
def test_no_derived_schema_names_a_column_twice(query: Query) -> None:
    for _, schema in derived_schemas(query.root):
        names = [name.lower() for name in schema.names]
        assert len(names) == len(set(names))
