"""Plans as text."""

from __future__ import annotations

from textwrap import dedent

import pytest

from penstock.model.operators import Column, Project, Sink
from penstock.model.query import PlanNode
from penstock.model.window import Window
from penstock.plan.text import plan_text, window_text
from tests.plan.alternates.plans import AB, SHARED, SPLIT, A, aggregate, join, lookup, project, select, union


def test_one_line_per_operator_and_what_it_reads_below() -> None:
    grouped = aggregate(select("x > 30", A), "s", Window.seconds(10, 5, on="t"), mean="avg(x)")
    assert (
        plan_text(PlanNode(Sink("hot", (Column("s", "s"), Column("m", "mean"))), (grouped,)))
        == dedent(
            """
        sink hot: s, mean AS m
          aggregate by s: avg(x) AS mean over [RANGE 10 s SLIDE 5 s on t]
            select x > 30
              source a
        """
        ).strip()
    )


def test_joins_with_windows_and_with_relations() -> None:
    assert (
        plan_text(lookup("id = right_right_id", AB))
        == dedent(
            """
        join inner id = right_right_id with names
          join inner id = right_id [RANGE 10 s on t] × [RANGE 5 s on t]
            source a
            source b
        """
        ).strip()
    )


def test_what_is_read_twice_is_written_once() -> None:
    both = union(project(SHARED, x="x"), project(SHARED, x="x * 2"))
    assert (
        plan_text(both)
        == dedent(
            """
        union
          project x
            select x > 0 AND s <> 'b'  (^1)
              source a
          project x * 2 AS x
            ^1
        """
        ).strip()
    )


def test_the_port_of_a_split_is_named() -> None:
    assert plan_text(select("id = 1", SPLIT, 1)).splitlines()[1] == "  port 1 of split x > 0 | x <= 1"


def test_a_column_with_an_odd_name_is_not_said_twice() -> None:
    odd = PlanNode(Project((Column("a b", "`a b`"),)), (A,))
    assert plan_text(odd).splitlines()[0] == "project `a b`"


@pytest.mark.parametrize(
    ("window", "text"),
    [
        (None, "[all]"),
        (Window.seconds(0.5), "[RANGE 0.5 s]"),
        (Window.rows(100, 50), "[ROWS 100 SLIDE 50]"),
        (Window.session(30, on="t"), "[SESSION 30 s on t]"),
        (Window.given("w"), "[GIVEN on w]"),
        (Window("time", end=30, begin=10, end_of_query=90), "[RANGE 20 s FROM 10 s UNTIL 90 s]"),
    ],
)
def test_windows_are_written_as_in_sql(window: Window | None, text: str) -> None:
    assert window_text(window) == text


def test_a_join_without_windows() -> None:
    assert "[all] × [all]" in plan_text(join("TRUE", A, A, (None, None)))
