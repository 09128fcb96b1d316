"""Estimates fitted to what steps report."""

from __future__ import annotations

import pytest

from penstock.adapt.monitor import Monitor
from penstock.model.estimates import Estimate
from penstock.model.graph import Graph
from penstock.model.operators import Column, Project, Select, Source
from penstock.model.query import PlanNode, Query
from penstock.plan.sharing import merge


def graph() -> Graph:
    source = PlanNode(Source("s"))
    select = PlanNode(Select("a > 1"), (source,), name="select", estimate=Estimate(1e-6, 0.5))
    root = PlanNode(Project((Column("a", "a"),)), (select,), name="project", estimate=Estimate(2e-6, 1.0))
    return merge(Graph(), [Query("q", root)])


def test_fixed_and_per_row_parts_are_told_apart() -> None:
    monitor = Monitor()
    for rows in (100, 5000, 1000, 200, 8000, 3000):
        monitor.stepped(("select", "project"), rows, rows // 4, 0.03 + rows * 1e-5, 1)
    found = monitor.estimates(graph())
    assert found.fixed_s == pytest.approx(0.03, rel=1e-6)
    cost = found.of("select").cost_s + 0.5 * found.of("project").cost_s
    assert cost == pytest.approx(1e-5, rel=1e-6)
    selectivity = found.of("select").selectivity * found.of("project").selectivity
    assert selectivity == pytest.approx(0.25, rel=1e-3)


def test_the_first_steps_do_not_count() -> None:
    """While code is made for a unit, rows pile up: the longest steps have most rows, not because of them."""
    monitor = Monitor()
    for rows, seconds in [(10_000, 3.0), (5000, 0.9), *[(rows, 0.07) for rows in (1000, 1500, 900, 2000)]]:
        monitor.stepped(("select", "project"), rows, rows, seconds, 1)
    assert monitor.estimates(graph()).fixed_s == pytest.approx(0.07, rel=1e-6)


def test_few_steps_say_nothing() -> None:
    monitor = Monitor()
    monitor.stepped(("select",), 100, 50, 1.0, 1)
    assert monitor.estimates(graph()).operators == {}


def test_steps_without_a_job_say_nothing() -> None:
    monitor = Monitor()
    for _ in range(10):
        monitor.stepped(("select",), 0, 0, 0.001, 0)
    assert not monitor.changed


def test_operators_that_are_gone_are_not_estimated() -> None:
    monitor = Monitor()
    for rows in range(100, 200, 10):
        monitor.stepped(("gone",), rows, rows, 0.1, 1)
    assert monitor.estimates(graph()).operators == {}


def test_rates_follow_what_arrives() -> None:
    monitor = Monitor()
    for second in range(20):
        monitor.arrived("s", 500, 1000.0 + second)
    assert monitor.estimates(graph()).rates["s"] == pytest.approx(500, rel=0.1)
    for second in range(60):
        monitor.arrived("s", 2000, 1020.0 + second)
    assert monitor.estimates(graph()).rates["s"] == pytest.approx(2000, rel=0.1)
