"""What rules leave alone: windows by count, what can raise, and whatever else would change rows."""

from __future__ import annotations

from dataclasses import replace

import pytest

from penstock.model.operators import Source
from penstock.model.query import PlanNode
from penstock.model.window import Window
from penstock.plan.alternates.merge_aggregate_project import merge_aggregate_project
from penstock.plan.alternates.merge_projects import merge_projects
from penstock.plan.alternates.order_joins import order_joins
from penstock.plan.alternates.order_selects import order_selects
from penstock.plan.alternates.prune_columns import prune_columns
from penstock.plan.alternates.push_aggregate_through_union import push_aggregate_through_union
from penstock.plan.alternates.push_select_through_aggregate import push_select_through_aggregate
from penstock.plan.alternates.push_select_through_join import push_select_through_join
from penstock.plan.alternates.push_select_through_project import push_select_through_project
from penstock.plan.alternates.push_select_through_union import push_select_through_union
from penstock.plan.alternates.rules import name_of
from penstock.plan.alternates.space import Rule
from penstock.plan.text import plan_text
from tests.plan.alternates.plans import (
    AB,
    ABC,
    TEN,
    A,
    B,
    aggregate,
    join,
    lookup,
    project,
    rewritten,
    select,
    stream,
    union,
)

ROWS = Window.rows(100)


def other_time() -> PlanNode:
    """Three streams, of one of which the window goes by a column that is not its rows' time."""
    three = replace_source(ABC)
    assert "source late" in plan_text(three)
    return three


def replace_source(root: PlanNode) -> PlanNode:
    if root is A:
        assert isinstance(A.operator, Source)
        return PlanNode(replace(A.operator, stream="late", time=None))
    return replace(root, children=tuple(replace_source(child) for child in root.children))


#: Plans that a rule must leave alone, and why.
REFUSED = [
    (
        "a count window counts what the filter drops",
        push_select_through_aggregate,
        select("s = 'a'", aggregate(A, "s", ROWS, n="count(*)")),
    ),
    (
        "the predicate reads no key",
        push_select_through_aggregate,
        select("n > 1", aggregate(A, "s", n="count(*)")),
    ),
    (
        "the predicate can raise",
        push_select_through_aggregate,
        select("1 / id > 2", aggregate(A, "id", n="count(*)")),
    ),
    (
        "what comes before it can raise",
        push_select_through_aggregate,
        select("1 / n > 2 AND s = 'a'", aggregate(A, "s", n="count(*)")),
    ),
    (
        "what is aggregated can raise",
        push_select_through_aggregate,
        select("s = 'a'", aggregate(A, "s", m="max(1 / x)")),
    ),
    ("no key, one group", push_select_through_aggregate, select("TRUE", aggregate(A, n="count(*)"))),
    (
        "a count window on that side",
        push_select_through_join,
        select("x > 0", join("id = right_id", A, B, (ROWS, TEN))),
    ),
    (
        "a count window on that side of the condition",
        push_select_through_join,
        join("id = right_id AND y > 0", A, B, (TEN, ROWS)),
    ),
    (
        "a full join keeps all rows",
        push_select_through_join,
        select("x > 0 AND y > 0", join("id = right_id AND x > 0", A, B, type="full")),
    ),
    (
        "the side that may be missing",
        push_select_through_join,
        select("y > 0 AND x < y", join("id = right_id", A, B, type="left")),
    ),
    (
        "the condition keeps that side's rows",
        push_select_through_join,
        join("id = right_id AND x > 0", A, B, type="left"),
    ),
    (
        "a relation is no operator",
        push_select_through_join,
        select("w > 0", lookup("id = right_id AND name = 'n'", A)),
    ),
    ("the predicate can raise", push_select_through_join, select("1 / x > 2 AND s = 'a'", AB)),
    ("the condition can raise", push_select_through_join, select("s = 'a'", join("1 / id = right_id", A, B))),
    ("it asks for the time of day", push_select_through_join, select("t < now()", AB)),
    (
        "it asks for the time of day",
        push_select_through_join,
        join("id = right_id AND t < now()", A, B),
    ),
    ("one of the two can raise", order_selects, select("1 / x > 2", select("x <> 0", A))),
    ("the lower one can raise", order_selects, select("s = 'a'", select("1 / x > 2", A))),
    (
        "the columns below can raise",
        push_select_through_project,
        select("s = 'a'", project(A, s="s", y="1 / x")),
    ),
    ("the columns below can raise", merge_projects, project(project(A, s="s", y="1 / x"), s="s")),
    (
        "the columns below can raise",
        merge_aggregate_project,
        aggregate(project(A, t="t", y="1 / x"), n="count(*)"),
    ),
    (
        "a key is computed",
        merge_aggregate_project,
        aggregate(project(A, t="t", k="x * 2"), "k", n="count(*)"),
    ),
    (
        "a key is called like an aggregate",
        merge_aggregate_project,
        aggregate(project(A, k="s", t="t"), "k", s="count(*)"),
    ),
    ("types differ", push_select_through_union, select("x > 0", union(A, stream("i", "t2", n="int")))),
    (
        "types differ",
        push_select_through_union,
        select("id > 0", union(project(A, id="x"), project(A, id="id"))),
    ),
    ("a count window", push_aggregate_through_union, aggregate(union(A, B), "s", ROWS, n="count(*)")),
    (
        "a session",
        push_aggregate_through_union,
        aggregate(union(A, B), "s", Window.session(5, on="t"), n="count(*)"),
    ),
    ("distinct values", push_aggregate_through_union, aggregate(union(A, B), "s", n="count(DISTINCT x)")),
    ("the order of rows", push_aggregate_through_union, aggregate(union(A, B), "s", n="first(x)")),
    ("an outer join", order_joins, lookup("id = right_id", lookup("s = name", A, type="left"))),
    (
        "a count window on that side",
        order_joins,
        lookup("id = right_right_id", join("s = right_s", A, B, (ROWS, TEN))),
    ),
    ("a condition can raise", order_joins, lookup("s = name", lookup("1 / id = right_id", A))),
    ("pairs are not written out", order_joins, join("id = right_right_id", AB, A, (Window.seconds(10), TEN))),
    ("a window that goes by another time", order_joins, other_time()),
    (
        "the order of rows",
        order_joins,
        aggregate(lookup("s = name", lookup("id = right_id", A)), "s", n="first(x)"),
    ),
    (
        "the order of rows",
        order_joins,
        aggregate(lookup("s = name", lookup("id = right_id", A)), "s", ROWS, n="count(*)"),
    ),
    ("all columns are read", prune_columns, aggregate(A, "s id", m="max(x)")),
    ("the column can raise", prune_columns, project(project(A, s="s", y="1 / x"), s="s")),
]


@pytest.mark.parametrize(
    ("rule", "root"), [pytest.param(rule, root, id=f"{name_of(rule)}: {why}") for why, rule, root in REFUSED]
)
def test_a_rule_leaves_alone(rule: Rule, root: PlanNode) -> None:
    assert not [*rewritten(rule, root, any_order=False)]


def test_a_division_stays_behind_the_test_that_guards_it() -> None:
    guarded = select("x <> 0 AND 10 / x > 2 AND s = 'a'", AB)
    assert [plan_text(new) for new in rewritten(push_select_through_join, guarded)] == [
        "select 10 / x > 2 AND s = 'a'\n"
        "  join inner id = right_id [RANGE 10 s on t] × [RANGE 5 s on t]\n"
        "    select x <> 0\n"
        "      source a\n"
        "    source b"
    ]
