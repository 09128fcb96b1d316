"""Estimates fitted to what steps report and profiles find."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.adapt.monitor import Monitor
from penstock.adapt.observations import (
    CountSample,
    PartTiming,
    Profile,
    RowCounts,
    RowSizes,
    StepObservation,
    TimeSample,
)
from penstock.model.estimates import Estimate
from penstock.model.graph import Graph, Port
from penstock.model.operators import Aggregate, Column, Project, Select, Source, Split, Union
from penstock.model.query import PlanNode, Query
from penstock.model.unit import Unit
from penstock.model.window import Window
from penstock.plan.sharing import merge
from penstock.policies.costs import input_rates, unit_cost
from penstock.policies.layout import lay_out

SOURCE = PlanNode(Source("s"))
CHAIN = ("select", "project")


def graph() -> Graph:
    select = PlanNode(Select("a > 1"), (SOURCE,), name="select", estimate=Estimate(1e-6, 0.5))
    root = PlanNode(Project((Column("a", "a"),)), (select,), name="project", estimate=Estimate(2e-6, 1.0))
    return merge(Graph(), [Query("q", root)])


def step(rows: int, seconds: float, out: int | None = None, unit: tuple[str, ...] = CHAIN) -> StepObservation:
    """A step of one job over rows of the stream."""
    passed = (RowCounts(unit[0], rows, {0: out}),) if out is not None else ()
    return StepObservation(unit, {Port("s"): rows}, (PartTiming("enter s.0", unit, rows, seconds),), passed)


def timed(seconds: dict[str, float], rows: dict[str, int], unit: tuple[str, ...] = CHAIN) -> Profile:
    return Profile(timed=TimeSample(unit, "enter s.0", seconds, rows, rows[unit[0]]))


def test_fixed_and_per_row_parts_are_told_apart() -> None:
    monitor = Monitor()
    for rows in (100, 5000, 1000, 200, 8000, 3000):
        monitor.stepped(step(rows, 0.03 + rows * 1e-5, rows // 4))
    found = monitor.estimates(graph())
    assert found.fixed_s == pytest.approx(0.03, rel=1e-6)
    assert found.fixed_of(CHAIN) == pytest.approx(0.03, rel=1e-6)
    cost = found.of("select").cost_s + 0.25 * found.of("project").cost_s
    assert cost == pytest.approx(1e-5, rel=1e-6)
    assert found.of("select").selectivity == pytest.approx(0.25, rel=1e-3)
    assert found.of("project").selectivity == 1.0


def test_each_unit_has_its_own_fixed_cost() -> None:
    monitor = Monitor()
    for rows in (100, 5000, 1000, 200, 8000, 3000):
        monitor.stepped(step(rows, 0.03 + rows * 1e-5, unit=("select",)))
        entered = {Port("select"): rows}
        timing = PartTiming("enter select.0", ("project",), rows, 0.09 + rows * 1e-6)
        monitor.stepped(StepObservation(("project",), entered, (timing,)))
    found = monitor.estimates(graph())
    assert found.fixed_of(("select",)) == pytest.approx(0.03)
    assert found.fixed_of(("project",)) == pytest.approx(0.09)
    assert found.fixed_of(CHAIN) == found.fixed_s == pytest.approx(0.06)


def test_costs_can_be_forgotten_and_what_rows_pass_is_still_known() -> None:
    monitor = Monitor()
    for rows in (100, 5000, 1000, 200, 8000, 3000):
        monitor.stepped(step(rows, 0.9 + rows * 1e-5, rows // 4))
    monitor.forget_costs()
    assert monitor.estimates(graph()).of("select").cost_s == pytest.approx(1e-6)  # as planned
    assert monitor.estimates(graph()).of("select").selectivity == pytest.approx(0.25, rel=1e-3)
    for rows in (100, 5000, 1000, 200, 8000, 3000):
        monitor.stepped(step(rows, 0.03 + rows * 1e-5, rows // 4))
    assert monitor.estimates(graph()).fixed_s == pytest.approx(0.03, rel=1e-6)


def test_the_first_steps_do_not_count() -> None:
    """While code is made for a unit, rows pile up: the longest steps have most rows, not because of them."""
    monitor = Monitor()
    for rows, seconds in [(10_000, 3.0), (5000, 0.9), *[(rows, 0.07) for rows in (1000, 1500, 900, 2000)]]:
        monitor.stepped(step(rows, seconds))
    assert monitor.estimates(graph()).fixed_s == pytest.approx(0.07, rel=1e-6)


def test_few_steps_say_nothing() -> None:
    monitor = Monitor()
    monitor.stepped(step(100, 1.0, unit=("select",)))
    assert monitor.estimates(graph()).operators == {}


def test_steps_that_did_nothing_say_nothing() -> None:
    monitor = Monitor()
    for _ in range(10):
        monitor.stepped(StepObservation(("select",), {}, ()))
    assert not monitor.changed


def test_operators_that_are_gone_are_not_estimated() -> None:
    monitor = Monitor()
    for rows in range(100, 200, 10):
        monitor.stepped(step(rows, 0.1, rows, unit=("gone",)))
    assert monitor.estimates(graph()).operators == {}
    monitor.recut(graph(), [CHAIN])
    assert not monitor.estimates(graph()).fixed


def test_a_profile_divides_the_seconds_of_a_unit_among_its_operators() -> None:
    monitor = Monitor()
    for rows in (100, 5000, 1000, 200, 8000, 3000):
        monitor.stepped(step(rows, 0.03 + rows * 1e-5, rows // 2))
    before = monitor.estimates(graph())
    assert before.of("project").cost_s == pytest.approx(2 * before.of("select").cost_s)  # as planned
    for noise in (0.9, 1.0, 1.1):
        monitor.profiled(timed({"select": 0.08, "project": 0.02 * noise}, {"select": 1000, "project": 500}))
    found = monitor.estimates(graph())
    assert found.of("select").cost_s == pytest.approx(8e-6, rel=0.01)
    assert found.of("project").cost_s == pytest.approx(4e-6, rel=0.01)
    assert found.of("select").cost_error is not None
    assert found.of("select").cost_error < 0.2 < (before.of("select").cost_error or 0.0)


def test_trains_of_one_size_are_told_apart_by_what_a_profile_found_a_row_to_cost() -> None:
    monitor = Monitor()
    for _ in range(10):
        monitor.stepped(step(1000, 0.05))
    assert monitor.estimates(graph()).fixed_s == pytest.approx(0.025)  # by halves
    monitor.profiled(timed({"select": 0.008, "project": 0.002}, {"select": 1000, "project": 500}))
    assert monitor.estimates(graph()).fixed_s == pytest.approx(0.04)


def test_costs_follow_when_another_share_of_rows_passes() -> None:
    """A profile says what a row costs an operator; how many reach it may change meanwhile."""
    monitor = Monitor()
    monitor.profiled(timed({"select": 0.01, "project": 0.01}, {"select": 1000, "project": 100}))
    for rows in (1000, 5000, 2000, 8000, 3000, 4000, 6000):
        monitor.stepped(step(rows, 0.03 + rows * (1e-5 + 0.9 * 1e-4), round(0.9 * rows)))
    found = monitor.estimates(graph())
    assert found.of("select").selectivity == pytest.approx(0.9, rel=0.01)
    assert found.of("select").cost_s == pytest.approx(1e-5, rel=0.05)
    assert found.of("project").cost_s == pytest.approx(1e-4, rel=0.05)


def test_samples_tell_what_steps_cannot_and_forget_quickly() -> None:
    monitor = Monitor()
    for rows in (100, 5000, 1000, 200, 8000, 3000):
        monitor.stepped(step(rows, 0.03 + rows * 1e-5))
    assert monitor.estimates(graph()).of("select").selectivity_error is None
    for share in (0.05, 0.05, 0.9):
        monitor.profiled(Profile(counted=CountSample((RowCounts("select", 1000, {0: round(1000 * share)}),))))
    found = monitor.estimates(graph()).of("select")
    assert found.selectivity == pytest.approx(0.9, rel=0.05)
    assert found.selectivity_error is not None


@given(st.lists(st.tuples(st.integers(1, 5000), st.floats(0, 1)), min_size=1, max_size=20))
def test_a_selectivity_is_between_those_that_were_seen(seen: list[tuple[int, float]]) -> None:
    monitor = Monitor()
    shares = []
    for rows, share in seen:
        out = round(rows * share)
        shares.append(out / rows)
        monitor.stepped(step(rows, 0.1, out))
    found = monitor.estimates(graph()).of("select")
    assert min(shares) - 1e-9 <= found.selectivity <= max(shares) + 1e-9
    assert found.selectivity_error is not None
    assert found.selectivity_error >= 0


def test_more_rows_make_it_more_certain() -> None:
    errors = []
    for count in (1, 4, 16):
        monitor = Monitor()
        for _ in range(count):
            monitor.stepped(step(100, 0.1, 30))
        error = monitor.estimates(graph()).of("select").selectivity_error
        assert error is not None
        errors.append(error)
    assert errors == sorted(errors, reverse=True)


def test_sizes_are_those_of_rows_that_were_weighed() -> None:
    monitor = Monitor()
    for rows in (100, 5000, 1000, 200, 8000, 3000):
        seen = step(rows, 0.1, rows)
        sizes = (RowSizes(Port("s"), rows, 48.0 * rows), RowSizes(Port("project"), rows, 20.0 * rows))
        monitor.stepped(StepObservation(seen.unit, seen.entered, seen.timings, seen.passed, sizes))
    monitor.profiled(Profile(counted=CountSample((), (RowSizes(Port("select"), 10, 400.0),))))
    found = monitor.estimates(graph())
    assert (found.of("select").in_bytes, found.of("select").out_bytes) == (48.0, 40.0)
    assert (found.of("project").in_bytes, found.of("project").out_bytes) == (40.0, 20.0)


def test_ports_of_a_split_are_told_apart() -> None:
    split = PlanNode(Split(("a > 1", "a <= 1")), (SOURCE,), name="split")
    one = PlanNode(Select("a > 5"), (split,), name="one")
    other = PlanNode(Select("a < 0"), (split,), (1,), name="other")
    both = merge(merge(Graph(), [Query("q1", one)]), [Query("q2", other)])
    monitor = Monitor()
    unit = ("split", "one", "other")
    for rows in (100, 200, 300, 400, 500, 600):
        passed = (RowCounts("split", rows, {0: rows // 10, 1: 9 * rows // 10}),)
        timing = PartTiming("enter s.0", unit, rows, 0.01 + rows * 1e-5)
        monitor.stepped(StepObservation(unit, {Port("s"): rows}, (timing,), passed))
    found = monitor.estimates(both).of("split")
    assert found.ports == pytest.approx((0.1, 0.9))
    assert found.selectivity == pytest.approx(1.0)


def windowed() -> Graph:
    select = PlanNode(Select("a > 1"), (SOURCE,), name="select", estimate=Estimate(1e-6, 0.5))
    aggregate = PlanNode(
        Aggregate((), (Column("n", "count(*)"),), Window("time", end=10.0)),
        (select,),
        name="count",
        estimate=Estimate(1e-6, 0.3),
    )
    return merge(Graph(), [Query("q", aggregate)])


def test_rows_that_come_out_later_are_set_against_those_that_went_in_since() -> None:
    """Every tenth step closes a window of 1,000 rows; a select below it, whose rows only samples count."""
    monitor, known = Monitor(), windowed()
    unit = ("select", "count")
    monitor.recut(known, [unit])
    monitor.profiled(Profile(counted=CountSample((RowCounts("select", 1000, {0: 500}),))))
    for number in range(1, 201):
        timings = [
            PartTiming("enter s.0", unit, 200, 0.04),
            PartTiming("advance count", ("count",), 1, 0.001),
        ]
        passed = [RowCounts("count", None, {}, later=True)]
        if number % 10 == 0:
            timings.append(PartTiming("release count close", ("count",), 10, 0.05, "count"))
            passed.append(RowCounts("count", 0, {0: 5}, later=True, released=10))
        monitor.stepped(StepObservation(unit, {Port("s"): 200}, tuple(timings), tuple(passed)))
        if number == 9:
            assert monitor.estimates(known).of("count").selectivity_error is None
    found = monitor.estimates(known)
    assert found.of("count").selectivity == pytest.approx(5 / 1000, rel=1e-6)


@pytest.mark.parametrize("profiled", [True, False])
def test_costs_and_the_fixed_part_add_up_to_what_steps_take(profiled: bool) -> None:
    monitor, known = Monitor(), windowed()
    unit = ("select", "count")
    monitor.recut(known, [unit])
    if profiled:
        monitor.profiled(timed({"select": 0.3, "count": 0.1}, {"select": 1000, "count": 500}, unit))
    monitor.profiled(Profile(counted=CountSample((RowCounts("select", 1000, {0: 500}),))))
    steps = []
    for number in range(1, 400):
        rows = 100 + (number * 37) % 900
        parts = [PartTiming("enter s.0", unit, rows, 0.03 + 2e-5 * rows)]
        parts.append(PartTiming("advance count", ("count",), 5, 0.002))
        passed = [RowCounts("count", None, {}, later=True)]
        if number % 7 == 0:
            parts.append(PartTiming("release count close", ("count",), 30, 0.04, "count"))
            passed.append(RowCounts("count", 0, {0: 10}, later=True, released=30))
        steps.append((rows, sum(part.seconds for part in parts)))
        monitor.stepped(StepObservation(unit, {Port("s"): rows}, tuple(parts), tuple(passed)))
    found = monitor.estimates(known)
    (place,) = lay_out(known, (Unit(unit),)).places
    cost = unit_cost(known, found, input_rates(known, found), place)
    lately = steps[-140:]
    taken_s = sum(seconds for _, seconds in lately) / len(lately)
    mean_rows = sum(rows for rows, _ in lately) / len(lately)
    assert cost.fixed_s + mean_rows * cost.row_s == pytest.approx(taken_s, rel=0.05)


def test_an_operator_of_two_units_has_one_cost() -> None:
    left = PlanNode(Select("a > 1"), (SOURCE,), name="left")
    right = PlanNode(Select("a < 1"), (PlanNode(Source("r")),), name="right")
    root = PlanNode(Union(), (left, right), name="union")
    known = merge(Graph(), [Query("q", root)])
    monitor = Monitor()
    monitor.recut(known, [("left", "union"), ("right", "union")])
    for rows in (100, 5000, 1000, 200, 8000, 3000):
        for side, stream, row_s in (("left", "s", 1e-5), ("right", "r", 3e-5)):
            unit = (side, "union")
            timing = PartTiming(f"enter {stream}.0", unit, rows, 0.03 + rows * row_s)
            passed = (RowCounts(side, rows, {0: rows}), RowCounts("union", rows, {0: rows}))
            monitor.stepped(StepObservation(unit, {Port(stream): rows}, (timing,), passed))
    for side, stream, share in (("left", "s", 0.5), ("right", "r", 0.5)):
        seconds, rows_of = {side: 1 - share, "union": share}, {side: 1000, "union": 1000}
        monitor.profiled(
            Profile(timed=TimeSample((side, "union"), f"enter {stream}.0", seconds, rows_of, 1000))
        )
    found = monitor.estimates(known)
    assert found.of("left").cost_s == pytest.approx(0.5e-5, rel=0.01)
    assert found.of("right").cost_s == pytest.approx(1.5e-5, rel=0.01)
    assert found.of("union").cost_s == pytest.approx(1e-5, rel=0.01)  # the mean of both


def test_what_runs_now_counts_and_not_an_earlier_cut() -> None:
    monitor, known = Monitor(), graph()
    monitor.recut(known, [CHAIN])
    for rows in (100, 5000, 1000, 200, 8000, 3000):
        monitor.stepped(step(rows, 0.03 + rows * 1e-5, rows))
    monitor.recut(known, [("select",), ("project",)])
    assert monitor.estimates(known).of("select").cost_s < 1e-5
    for rows in (100, 5000, 1000, 200, 8000, 3000):
        monitor.stepped(step(rows, 0.02 + rows * 2e-5, rows, unit=("select",)))
    found = monitor.estimates(known)
    assert found.of("select").cost_s == pytest.approx(2e-5)
    assert found.fixed_s == pytest.approx(0.02)
    assert found.fixed_of(CHAIN) == pytest.approx(0.02)  # as if nothing were known of it


def test_rates_follow_what_arrives() -> None:
    monitor = Monitor()
    for second in range(20):
        monitor.arrived("s", 500, 1000.0 + second)
    assert monitor.estimates(graph(), 1019.5).rates["s"] == pytest.approx(500, rel=0.1)
    for second in range(60):
        monitor.arrived("s", 2000, 1020.0 + second)
    assert monitor.estimates(graph(), 1079.5).rates["s"] == pytest.approx(2000, rel=0.1)
    assert monitor.estimates(graph(), 1179.0).rates["s"] < 100  # nothing comes any more
