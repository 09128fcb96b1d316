"""Each rule: what it makes of a plan, and what it leaves alone."""

from __future__ import annotations

import inspect
import re
from textwrap import dedent

import pytest

from penstock.model.estimates import Estimate
from penstock.model.operators import Select
from penstock.model.query import PlanNode, Query
from penstock.model.schema import Schema
from penstock.model.window import Window
from penstock.plan.alternates import rules
from penstock.plan.alternates.merge_aggregate_project import merge_aggregate_project
from penstock.plan.alternates.merge_projects import merge_projects
from penstock.plan.alternates.merge_selects import merge_selects
from penstock.plan.alternates.order_joins import order_joins
from penstock.plan.alternates.order_selects import order_selects
from penstock.plan.alternates.prune_columns import prune_columns
from penstock.plan.alternates.push_aggregate_through_union import push_aggregate_through_union
from penstock.plan.alternates.push_select_through_aggregate import push_select_through_aggregate
from penstock.plan.alternates.push_select_through_join import push_select_through_join
from penstock.plan.alternates.push_select_through_project import push_select_through_project
from penstock.plan.alternates.push_select_through_union import push_select_through_union
from penstock.plan.alternates.rules import RULES, name_of
from penstock.plan.alternates.space import Rule
from penstock.plan.alternates.split_select import split_select
from penstock.plan.schemas import derived_schemas
from penstock.plan.text import plan_text
from penstock.plan.validate import validate
from tests.plan.alternates.plans import (
    AB,
    ABC,
    CASES,
    FIVE,
    OTHER,
    SPLIT,
    A,
    B,
    aggregate,
    join,
    lookup,
    project,
    rewritten,
    select,
    union,
)

SECTIONS = ["From", "To", "Valid when", "Why"]


def texts(rule: Rule, root: PlanNode, *, any_order: bool = False) -> list[str]:
    return [plan_text(new) for new in rewritten(rule, root, any_order=any_order)]


@pytest.mark.parametrize("rule", RULES, ids=name_of)
def test_a_rule_documents_itself_in_all_sections(rule: Rule) -> None:
    summary, _, rest = (inspect.getdoc(rule) or "").partition("\n\n")
    assert summary.endswith(".")
    assert re.findall(r"^([A-Z][a-z ]+):", rest, re.MULTILINE) == SECTIONS


@pytest.mark.parametrize("rule", RULES, ids=name_of)
def test_a_rule_has_a_file_of_its_name(rule: Rule) -> None:
    assert inspect.getmodule(rule).__name__.rpartition(".")[2] == name_of(rule)  # type: ignore[union-attr]


def test_no_rule_is_named_twice_and_every_one_has_plans_to_try() -> None:
    assert {name_of(rule) for rule in RULES} == CASES.keys()
    assert len(RULES) == len(CASES)
    assert set(RULES) >= rules.REORDERING


@pytest.mark.parametrize(
    ("rule", "root"),
    [pytest.param(rule, root, id=name_of(rule)) for rule in RULES for root in CASES[name_of(rule)]],
)
def test_a_rewritten_plan_can_run_and_has_the_same_columns(rule: Rule, root: PlanNode) -> None:
    made = [*rewritten(rule, root)]
    assert made
    for new in made:
        assert plan_text(new) != plan_text(root)
        validate(Query("q", new))
        assert derived_schemas(new)[-1][1] == derived_schemas(root)[-1][1]


EXPECTED = [
    (
        split_select,
        select("x > 0 AND (s = 'a' OR id > 1) AND 1 / x > 2", SPLIT, 1),
        """
        select 1 / x > 2
          select s = 'a' OR id > 1
            select x > 0
              port 1 of split x > 0 | x <= 1
                source a
        """,
    ),
    (
        merge_selects,
        select("s = 'a' OR id = 1", select("x > 0", A)),
        """
        select x > 0 AND (s = 'a' OR id = 1)
          source a
        """,
    ),
    (
        order_selects,
        select("s = 'a'", select("x > 0", A)),
        """
        select x > 0
          select s = 'a'
            source a
        """,
    ),
    (
        push_select_through_project,
        select("y > 1 AND k = 'a'", project(A, k="s", y="x * 2")),
        """
        project s AS k, x * 2 AS y
          select (x * 2) > 1 AND s = 'a'
            source a
        """,
    ),
    (
        push_select_through_union,
        select("x > 0", union(A, OTHER)),
        """
        union
          select x > 0
            source a
          select value > 0
            source o
        """,
    ),
    (
        push_select_through_aggregate,
        select("s = 'a' AND n > 1", aggregate(A, "s", n="count(*)")),
        """
        select n > 1
          aggregate by s: count(*) AS n over [RANGE 20 s SLIDE 10 s on t]
            select s = 'a'
              source a
        """,
    ),
    (
        push_select_through_join,
        select("x > 0 AND right_s = 'a' AND x < y", join("id = right_id AND s <> 'b'", A, B)),
        """
        join inner id = right_id AND x < y [RANGE 10 s on t] × [RANGE 5 s on t]
          select x > 0 AND s <> 'b'
            source a
          select s = 'a'
            source b
        """,
    ),
    (
        push_select_through_join,
        select("x > 0 AND y > 0", join("id = right_id AND s = 'a' AND right_s = 'b'", A, B, type="left")),
        """
        select y > 0
          join left id = right_id AND s = 'a' [RANGE 10 s on t] × [RANGE 5 s on t]
            select x > 0
              source a
            select s = 'b'
              source b
        """,
    ),
    (
        push_select_through_join,
        select("x > 0 AND w > 0", lookup("id = right_id AND name = 'n'", A, type="left")),
        """
        select w > 0
          join left id = right_id AND name = 'n' with names
            select x > 0
              source a
        """,
    ),
    (
        merge_projects,
        project(project(A, y="x * 2"), z="y * 3"),
        """
        project (x * 2) * 3 AS z
          source a
        """,
    ),
    (
        merge_aggregate_project,
        aggregate(project(A, k="s", y="x * 2", time="t"), "k", Window.seconds(5, on="time"), m="max(y)"),
        """
        project s AS k, m
          aggregate by s: max((x * 2)) AS m over [RANGE 5 s on t]
            source a
        """,
    ),
    (
        push_aggregate_through_union,
        aggregate(union(A, OTHER), "s", FIVE, n="count(*)", m="avg(x)", w="window()"),
        """
        project s, part_0 AS n, part_1_sum / nullif(part_1_count, 0) AS m, part_2 AS w
          aggregate by s: sum(part_0) AS part_0, sum(part_1_sum) AS part_1_sum, \
        sum(part_1_count) AS part_1_count, window() AS part_2 over [GIVEN on part_window]
            union
              aggregate by s: window() AS part_window, count(*) AS part_0, \
        sum(CAST(x AS DOUBLE)) AS part_1_sum, count(x) AS part_1_count over [RANGE 5 s on t]
                source a
              aggregate by text: window() AS part_window, count(*) AS part_0, \
        sum(CAST(value AS DOUBLE)) AS part_1_sum, count(value) AS part_1_count over [RANGE 5 s on time]
                source o
        """,
    ),
    (
        prune_columns,
        project(AB, right_s="right_s"),
        """
        project s AS right_s
          join inner id = right_id [RANGE 10 s on t] × [RANGE 5 s on t]
            project t, id
              source a
            project t, id, s
              source b
        """,
    ),
]


@pytest.mark.parametrize(("rule", "root", "expected"), EXPECTED, ids=lambda one: getattr(one, "__name__", ""))
def test_a_rule_makes_this_of_that(rule: Rule, root: PlanNode, expected: str) -> None:
    assert texts(rule, root)[-1] == re.sub(r"(?<=,) {2,}", " ", dedent(expected).strip())


def test_of_three_streams_any_two_that_have_a_condition_can_be_joined_first() -> None:
    first = [text.splitlines()[-4:-1] for text in texts(order_joins, ABC) if text.startswith("project")]
    assert [[line.strip() for line in lines] for lines in first] == [
        ["join inner id = right_id [RANGE 10 s on t] × [RANGE 8 s on t]", "source a", "source c"]
    ]


def test_a_relation_does_not_sink_below_a_join_of_streams() -> None:
    # A row meets the version of a relation that its batch recorded; a row of two streams has two batches.
    over = lookup("right_s = right_right_s", AB, "places", Schema.of(s="string", place="string"))
    assert texts(order_joins, over) == []


def test_sides_change_places_only_where_any_order_is_asked_for() -> None:
    assert texts(order_joins, AB) == []
    (swapped,) = texts(order_joins, AB, any_order=True)
    assert "join inner right_id = id [RANGE 5 s on t] × [RANGE 10 s on t]" in swapped


def test_the_select_of_greater_rank_comes_first_by_what_was_measured() -> None:
    dear = PlanNode(Select("s = 'a'"), (A,), estimate=Estimate(cost_s=1.0, selectivity=0.1))
    cheap = PlanNode(Select("x > 0"), (dear,), estimate=Estimate(cost_s=1e-9, selectivity=0.5))
    assert texts(order_selects, cheap) == ["select s = 'a'\n  select x > 0\n    source a"]
    (made,) = rewritten(order_selects, cheap, any_order=False)
    assert made.estimate is not None
    assert made.estimate.cost_s == 1.0


def test_a_plan_read_in_two_places_is_rewritten_in_both() -> None:
    shared = select("id > 0", select("x > 0", A))
    (made,) = rewritten(merge_selects, join("id = right_id", shared, shared))
    left, right = made.children
    assert left is right
    assert plan_text(left) == "select x > 0 AND id > 0\n  source a"
