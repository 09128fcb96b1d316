"""What follows about operators within a job from what went in and came out, and how its time is divided."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.adapt.observations import RowCounts
from penstock.engines.spark.steps.stages import (
    REMEMBERED,
    Stage,
    ancestors,
    divided,
    known_rows,
    passed,
    runs,
)

SELECT = Stage("r0", "select", 0, ("q0",))
PROJECT = Stage("r1", "project", 0, ("r0",), same_rows=True)
HIGH = Stage("r2", "high", 0, ("r1",))
LOW = Stage("r3", "low", 0, ("r1",))
CHAIN = [SELECT, PROJECT, HIGH]
FORK = [SELECT, PROJECT, HIGH, LOW]


def test_rows_follow_through_projections_in_both_directions() -> None:
    assert known_rows([SELECT, PROJECT], {"q0": 10, "r1": 4}) == {"q0": 10, "r0": 4, "r1": 4}
    assert known_rows(CHAIN, {"q0": 10, "r2": 4}) == {"q0": 10, "r2": 4}
    union = Stage("r4", "union", 0, ("r2", "r3"), same_rows=True)
    assert known_rows([*FORK, union], {"q0": 9, "r2": 2, "r3": 3})["r4"] == 5


def test_of_a_chain_of_filters_only_its_ends_are_known() -> None:
    assert passed([SELECT, PROJECT], {"q0": 10, "r0": 4, "r1": 4}, 10) == [
        RowCounts("select", 10, {0: 4}),
        RowCounts("project", 4, {0: 4}),
    ]
    assert passed(CHAIN, {"q0": 10, "r2": 4}, 10) == []


def test_what_a_stateful_operator_takes_in_and_releases_is_told_apart() -> None:
    entry = [SELECT, Stage("r1", "count", REMEMBERED, ("r0",), same_rows=True)]
    entry.append(Stage("k2", "count", REMEMBERED, ("r1",), select="SELECT count(*) FROM r1"))
    assert passed(entry, known_rows(entry, {"q0": 10, "k2": 1}), 10) == [
        RowCounts("count", None, {}, later=True)
    ]
    joined = [Stage("r0", "join", REMEMBERED, ("q0",), same_rows=True)]
    assert passed(joined, {"q0": 10, "r0": 10}, 10) == [RowCounts("join", 10, {}, later=True)]
    release = [Stage("r0", "count", 0, (), ("panes",)), Stage("r1", "having", 0, ("r0",))]
    unknown, whole = passed(release, {"r1": 2}, 30), passed(release, {"r0": 5, "r1": 2}, 30)
    assert unknown == [RowCounts("count", 0, {}, later=True, released=30)]
    assert not unknown[0].is_whole
    assert whole == [RowCounts("count", 0, {0: 5}, later=True, released=30), RowCounts("having", 5, {0: 2})]


def test_a_split_takes_its_rows_in_once() -> None:
    ports = [Stage("r0", "split", 0, ("q0",)), Stage("r1", "split", 1, ("q0",))]
    assert passed(ports, {"q0": 10, "r0": 4, "r1": 6}, 10) == [RowCounts("split", 10, {0: 4, 1: 6})]
    assert passed(ports, {"q0": 10, "r0": 4}, 10) == []


def test_spark_computes_the_stem_of_a_fork_once_for_each_branch() -> None:
    assert runs(FORK, ["r2", "r3"]) == {"q0": 2, "r0": 2, "r1": 2, "r2": 1, "r3": 1}
    assert [stage.name for stage in ancestors(FORK, "r3")] == ["r0", "r1", "r3"]


def test_a_jobs_seconds_are_those_of_its_stages_and_of_writing() -> None:
    seconds = {"r0": 1.0, "r1": 3.0, "r2": 3.5}
    assert divided(CHAIN, {"r2": 100.0}, seconds, 5.0) == pytest.approx(
        {"select": 1.0, "project": 2.0, "high": 0.5 + 1.5}
    )


def test_on_a_fork_writing_is_divided_by_bytes() -> None:
    seconds = {"r0": 1.0, "r1": 3.0, "r2": 3.5, "r3": 4.0}
    found = divided(FORK, {"r2": 100.0, "r3": 300.0}, seconds, 9.5)
    assert found == pytest.approx({"select": 2.0, "project": 4.0, "high": 0.5 + 0.5, "low": 1.0 + 1.5})


def test_an_input_that_several_read_is_brought_in_once() -> None:
    readers = [Stage("r0", "high", 0, ("q0",)), Stage("r1", "low", 0, ("q0",))]
    found = divided(readers, {"r0": 1.0, "r1": 1.0}, {"q0": 2.0, "r0": 3.0, "r1": 5.0}, 6.0)
    assert found == pytest.approx({"high": 1.0 + 1.0, "low": 3.0 + 1.0})


@given(st.lists(st.floats(0, 10), min_size=4, max_size=4), st.floats(0, 50), st.floats(0, 10))
def test_no_seconds_are_lost_and_none_are_negative(times: list[float], whole_s: float, size: float) -> None:
    seconds = dict(zip(("r0", "r1", "r2", "r3"), times, strict=True))
    found = divided(FORK, {"r2": size, "r3": 1.0}, seconds, whole_s)
    assert all(one >= 0 for one in found.values())
    assert sum(found.values()) >= whole_s - 1e-9
