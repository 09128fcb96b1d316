"""The search for alternate plans: bounded, sound, the cheapest first, and with an eye on what runs."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from penstock.model.operators import Join, Select, Sink
from penstock.model.query import PlanNode, Query
from penstock.model.schema import EMPTY
from penstock.plan.alternates.generator import MOST_PLANS, MOST_PRUNED, alternates
from penstock.plan.alternates.rules import RULES, name_of
from penstock.plan.schemas import derived_schemas
from penstock.plan.text import plan_text
from penstock.plan.validate import validate
from tests.plan.alternates.plans import (
    AB,
    ABC,
    BUSHY,
    TYPICAL,
    A,
    B,
    join,
    select,
)
from tests.plan.alternates.random_plans import plans
from tests.plan.strategies import queries


def best(root: PlanNode, rates: dict[str, float] | None = None) -> str:
    return plan_text(alternates(root, rates)[0].root)


@settings(max_examples=150)
@given(plans())
def test_every_alternate_can_run_and_has_the_same_columns(root: PlanNode) -> None:
    schema = derived_schemas(root)[-1][1]
    validate(Query("q", root))
    found = alternates(root)
    assert sum(not one.rules for one in found) == 1
    for one in found:
        validate(Query("q", one.root))
        assert derived_schemas(one.root)[-1][1] == schema


@settings(max_examples=50)
@given(plans(depth=3))
def test_where_any_order_may_be_shared_the_alternates_are_sound_too(root: PlanNode) -> None:
    schema = derived_schemas(root)[-1][1]
    for one in alternates(root, shared_nodes=lambda _plan: set()):
        validate(Query("q", one.root))
        assert derived_schemas(one.root)[-1][1] == schema


@settings(max_examples=50)
@given(queries())
def test_a_plan_of_texts_that_nobody_can_read_stays_as_it_is(query: Query) -> None:
    for one in alternates(query.root):
        validate(Query(query.name, one.root))


@pytest.mark.parametrize("root", TYPICAL.values(), ids=TYPICAL.keys())
def test_alternates_come_cheapest_first_and_differ(root: PlanNode) -> None:
    found = alternates(root)
    assert [one.key for one in found] == sorted(one.key for one in found)
    assert len({plan_text(one.root) for one in found}) == len(found)
    assert found[0].cost.cpu_s_per_s < next(one for one in found if not one.rules).cost.cpu_s_per_s
    assert {rule for one in found for rule in one.rules} <= {name_of(rule) for rule in RULES}


@pytest.mark.parametrize("limit", [1, 2, 5, 64])
def test_there_are_no_more_than_asked_for_the_best_and_the_original_in_any_case(limit: int) -> None:
    found = alternates(BUSHY, limit=limit)
    assert len(found) <= min(max(limit, 2), MOST_PLANS + MOST_PRUNED)
    assert [one.root for one in found if not one.rules] == [BUSHY]
    assert found[0] == alternates(BUSHY)[0]


def test_selects_come_before_the_join_and_the_best_select_first() -> None:
    assert best(select("x < 3 AND s = 'a' AND y > 0", AB)) == (
        "join inner id = right_id [RANGE 10 s on t] × [RANGE 5 s on t]\n"
        "  select s = 'a' AND x < 3\n"
        "    source a\n"
        "  select y > 0\n"
        "    source b"
    )


def test_the_streams_of_which_least_comes_are_joined_first() -> None:
    first = best(ABC, {"a": 100.0, "b": 100_000.0, "c": 1.0}).splitlines()
    assert [line.strip() for line in first if "source" in line] == ["source a", "source c", "source b"]
    first = best(ABC, {"a": 100.0, "b": 1.0, "c": 100_000.0}).splitlines()
    assert [line.strip() for line in first if "source" in line] == ["source a", "source b", "source c"]


def test_a_plan_that_shares_more_beats_one_that_is_cheaper_by_itself() -> None:
    query = select("s = 'a' AND x > 3", A)
    alone = alternates(query)[0]
    assert plan_text(alone.root) == "select s = 'a' AND x > 3\n  source a"

    def running(root: PlanNode) -> set[int]:
        """Another query has the rows with x > 3."""
        return {
            id(node)
            for node in root.post_order()
            if node is A or (node.operator == Select("x > 3") and node.children == (A,))
        }

    shared = alternates(query, shared_nodes=running)[0]
    assert plan_text(shared.root) == "select s = 'a'\n  select x > 3\n    source a"
    assert shared.shared == 2
    assert shared.new_cost_s < alone.new_cost_s
    assert shared.cost.cpu_s_per_s > alone.cost.cpu_s_per_s


def test_a_join_is_found_that_another_query_wrote_the_other_way_round() -> None:
    def running(root: PlanNode) -> set[int]:
        return {
            id(node)
            for node in root.post_order()
            if isinstance(node.operator, Join) and node.children == (B, A)
        }

    assert alternates(AB)[0].root == AB
    assert alternates(AB, {"a": 0.1, "b": 0.1}, running)[0].shared == 1


def test_names_stay_with_what_is_unchanged_and_with_sinks() -> None:
    named = PlanNode(Select("x > 0"), (A,), name="positive")
    root = PlanNode(Sink("q"), (PlanNode(Select("id = 1 AND s = 'a'"), (named,), name="top"),), name="q.out")
    for one in alternates(root, shared_nodes=lambda _plan: set()):
        assert one.root.name == "q.out"
        for node in one.root.post_order():
            if node.name == "positive":
                assert node == named
            if node.name == "top":
                assert node == root.children[0]


def test_without_schemas_nothing_is_moved() -> None:
    unknown = PlanNode(A.operator.__class__("u", EMPTY))  # type: ignore[call-arg, arg-type]
    root = select("x > 0", join("id = right_id", unknown, unknown))
    assert [plan_text(one.root) for one in alternates(root)] == [plan_text(root)]
