"""Plan trees: walked without recursion, shared nodes once."""

from __future__ import annotations

from hypothesis import given

from penstock.model.operators import Join, Select, Source, Union
from penstock.model.query import PlanNode, Query
from tests.plan.strategies import queries

LEFT, RIGHT = PlanNode(Source("left")), PlanNode(Source("right"))


def test_post_order_makes_children_before_parents_left_before_right() -> None:
    hot = PlanNode(Select("hot"), (LEFT,))
    cold = PlanNode(Select("cold"), (RIGHT,))
    join = PlanNode(Join("true"), (hot, cold))
    assert list(join.post_order()) == [LEFT, hot, RIGHT, cold, join]


def test_a_node_read_twice_comes_once() -> None:
    union = PlanNode(Union(), (LEFT, RIGHT, LEFT))
    assert list(union.post_order()) == [LEFT, RIGHT, union]


def test_a_plan_deeper_than_pythons_stack_is_walked() -> None:
    plan = LEFT
    for _ in range(5000):
        plan = PlanNode(Select("true"), (plan,))
    assert sum(1 for _ in plan.post_order()) == 5001


def test_a_plan_that_doubles_at_each_level_is_walked_in_no_time() -> None:
    plan = LEFT
    for _ in range(100):
        plan = PlanNode(Union(), (plan, plan))
    assert sum(1 for _ in plan.post_order()) == 101


@given(queries())
def test_post_order_is_what_recursion_would_give(query: Query) -> None:
    def recursive(node: PlanNode) -> list[PlanNode]:
        return [below for child in node.children for below in recursive(child)] + [node]

    assert list(map(id, query.root.post_order())) == list(dict.fromkeys(map(id, recursive(query.root))))


def test_without_ports_a_node_reads_port_0() -> None:
    assert PlanNode(Union(), (LEFT, RIGHT)).port_of(1) == 0
    assert PlanNode(Union(), (LEFT, RIGHT), (0, 3)).port_of(1) == 3
