"""What can be told of an operator from itself alone."""

from __future__ import annotations

import pytest

from penstock.model.operators import (
    Aggregate,
    Column,
    Join,
    Operator,
    Project,
    Select,
    Sink,
    Source,
    Split,
    Union,
    input_count,
    is_blocking,
    is_ordered,
    is_stateful,
    output_count,
)
from penstock.model.window import Window

WINDOW = Window.seconds(10)
COUNT = (Column("n", "count(*)"),)
PAIRS = Join("true", WINDOW, WINDOW)
LOOKUP = Join("true", relation="rooms")
ALL: dict[str, Operator] = {
    "source": Source("s"),
    "select": Select("true"),
    "project": Project(COUNT),
    "split": Split(("a", "b", "c")),
    "union": Union(),
    "ordered union": Union(ordered=True),
    "join": PAIRS,
    "ordered join": Join("true", WINDOW, WINDOW, ordered=True),
    "join without a window": Join("true", WINDOW),
    "lookup": LOOKUP,
    "aggregate": Aggregate((), COUNT, WINDOW),
    "aggregate without a window": Aggregate((), COUNT),
    "sink": Sink("q"),
}


def those(holds: object) -> set[str]:
    assert callable(holds)
    return {name for name, operator in ALL.items() if holds(operator)}


def test_only_joins_and_aggregates_without_a_window_block() -> None:
    assert those(is_blocking) == {"join without a window", "aggregate without a window"}


def test_only_what_merges_by_time_wants_its_inputs_in_order() -> None:
    assert those(is_ordered) == {"ordered union", "ordered join"}


def test_what_remembers_rows_is_stateful() -> None:
    assert those(is_stateful) == {
        "aggregate",
        "aggregate without a window",
        "join",
        "join without a window",
        "ordered join",
        "ordered union",
    }


@pytest.mark.parametrize(
    ("name", "inputs"),
    [("source", (0, 0)), ("select", (1, 1)), ("union", (2, None)), ("join", (2, 2)), ("lookup", (1, 1))],
)
def test_each_operator_knows_its_number_of_inputs(name: str, inputs: tuple[int, int | None]) -> None:
    assert input_count(ALL[name]) == inputs


@pytest.mark.parametrize(("name", "outputs"), [("split", 3), ("sink", 0), ("source", 1), ("join", 1)])
def test_each_operator_knows_its_number_of_outputs(name: str, outputs: int) -> None:
    assert output_count(ALL[name]) == outputs
