"""Costs of plans before they run: what is dearer comes out dearer."""

from __future__ import annotations

import pytest

from penstock.model.estimates import Estimate
from penstock.model.operators import Select, Source, Split
from penstock.model.query import PlanNode, Query
from penstock.model.window import Window
from penstock.plan.costing import DEFAULT_RATE, Costing, PlanCost, estimated
from penstock.plan.selectivity import selectivity
from penstock.plan.validate import validate
from tests.plan.alternates.plans import (
    AB,
    ABC,
    TYPICAL,
    A,
    B,
    aggregate,
    join,
    lookup,
    project,
    select,
    union,
)


@pytest.mark.parametrize(
    ("predicate", "share"),
    [
        ("x = 1", 0.1),
        ("x <> 1", 0.9),
        ("x > 1", 1 / 3),
        ("x BETWEEN 1 AND 2", 0.25),
        ("x IN (1, 2)", 0.2),
        ("x IN (1, 2, 3, 4, 5, 6, 7)", 0.5),
        ("NOT x IN (1, 2)", 0.8),
        ("s LIKE 'a%'", 0.25),
        ("x IS NULL", 0.05),
        ("x IS NOT NULL", 0.95),
        ("x = 1 AND y = 2", 0.01),
        ("x = 1 OR y = 2", 0.19),
        ("NOT (x = 1 OR y = 2)", 0.81),
        ("TRUE", 1.0),
        ("FALSE", 0.0),
        ("f(x)", 0.5),
        ("no expression )", 0.5),
    ],
)
def test_the_form_of_a_predicate_says_how_much_passes(predicate: str, share: float) -> None:
    assert selectivity(predicate) == pytest.approx(share)


def rate_out(root: PlanNode, **rates: float) -> float:
    return Costing(rates).of(root).outputs[0].rate


def cpu(root: PlanNode, **rates: float) -> float:
    return Costing(rates).plan(root).cpu_s_per_s


def test_rates_run_through_a_plan() -> None:
    assert rate_out(A) == DEFAULT_RATE
    assert rate_out(select("x = 1", A), a=50) == pytest.approx(5)
    assert rate_out(union(A, select("y = 1", B)), a=50, b=50) == pytest.approx(55)
    assert rate_out(lookup("id = right_id", A), a=50) == pytest.approx(50)


def test_a_join_puts_out_the_pairs_of_its_windows_that_meet_the_condition() -> None:
    # 20/s meet 10 s of 30/s, 30/s meet 5 s of 20/s... each way one in a thousand.
    assert rate_out(AB, a=20, b=30) == pytest.approx((20 * 30 * 5 + 30 * 20 * 10) * 0.001)
    assert Costing().plan(AB).operators[-1][1].estimate.selectivity > 1


def test_a_join_of_three_puts_out_the_same_in_any_order() -> None:
    pairs = 20 * 30 * (10 + 5) * 0.001
    assert rate_out(ABC, a=20, b=30, c=40) == pytest.approx(pairs * 40 * (10 + 8) * 0.001)


def test_a_window_by_count_holds_its_rows_at_any_rate() -> None:
    rows = join("id = right_id", A, B, (Window.rows(7), Window.rows(7)))
    assert Costing({"a": 10.0, "b": 10.0}).plan(rows).memory_bytes == Costing().plan(rows).memory_bytes
    assert Costing({"a": 10.0, "b": 10.0}).plan(AB).memory_bytes < Costing().plan(AB).memory_bytes


def test_an_aggregate_puts_out_its_groups_at_each_step() -> None:
    grouped = aggregate(A, "s", Window.seconds(20, 5, on="t"), n="count(*)")
    assert rate_out(grouped, a=1000) == pytest.approx(10 / 5)
    assert rate_out(grouped, a=0.1) == pytest.approx(0.1 * 20 / 5)
    tumbling = aggregate(A, "s", Window.seconds(20, on="t"), n="count(*)")
    assert cpu(grouped) > cpu(tumbling)


def test_what_a_plan_says_of_itself_is_believed() -> None:
    known = Estimate(cost_s=0.5, selectivity=0.25, in_bytes=1, out_bytes=1)
    root = PlanNode(Select("x > 0"), (A,), estimate=known)
    assert cpu(root, a=10) == pytest.approx(5)
    assert rate_out(root, a=10) == pytest.approx(2.5)


def test_a_split_has_a_yield_for_each_port() -> None:
    split = PlanNode(Split(("x = 1", "x > 1")), (A,))
    above = PlanNode(Select("TRUE"), (split,), (1,))
    assert Costing().of(split).estimate.ports == pytest.approx((0.1, 1 / 3))
    assert rate_out(above, a=30) == pytest.approx(10)


@pytest.mark.parametrize("root", TYPICAL.values(), ids=TYPICAL.keys())
def test_an_estimated_plan_can_run_and_is_the_same_otherwise(root: PlanNode) -> None:
    made = estimated(root, {"a": 10.0})
    validate(Query("q", made))
    for before, after in zip(root.post_order(), made.post_order(), strict=True):
        assert before.operator == after.operator
        assert (after.estimate is None) == isinstance(after.operator, Source) or after is made
    assert Costing({"a": 10.0}).plan(made).cpu_s_per_s == pytest.approx(cpu(root, a=10.0))


def test_an_operator_that_is_read_twice_costs_once() -> None:
    shared = select("x > 0", A)
    twice = PlanNode(Select("x > 0"), (A,))
    assert cpu(union(shared, shared)) == pytest.approx(cpu(union(shared, twice)) - cpu(twice))


def test_narrow_rows_are_cheaper_to_keep() -> None:
    narrow = join("id = right_id", project(A, t="t", id="id"), B)
    assert Costing().plan(narrow).memory_bytes < Costing().plan(AB).memory_bytes


def test_memory_decides_between_plans_of_the_same_time() -> None:
    assert PlanCost(1.0, 5.0).key < PlanCost(1.0, 6.0).key < PlanCost(2.0, 1.0).key
    assert PlanCost(1.0 + 1e-13, 5.0).key < PlanCost(1.0, 6.0).key
