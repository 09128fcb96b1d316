"""Operators only ever change state as MavStream's diagram allows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from penstock.control.lifecycle import TRANSITIONS, State, check_transition
from penstock.control.units import UnitState
from penstock.errors import ControlError
from tests.runs import Run, runs


def test_the_thesis_ways_are_all_there() -> None:
    ready, run, suspend, stop = State.READY, State.RUNNING, State.SUSPENDED, State.STOPPED
    assert {(ready, run), (run, ready), (run, suspend), (suspend, ready), (run, stop)} <= TRANSITIONS


def test_nothing_comes_back_from_the_dead_or_runs_unasked() -> None:
    for old, new in ((State.STOPPED, State.READY), (State.SUSPENDED, State.RUNNING)):
        with pytest.raises(ControlError, match="cannot go from"):
            check_transition("a", old, new)


class _Checked:
    """Stands in for the `state` slot and checks every assignment."""

    def __init__(self, slot: Any) -> None:
        self.slot = slot
        self.seen: set[tuple[State, State]] = set()

    def __get__(self, unit: UnitState | None, owner: type) -> Any:
        return self if unit is None else self.slot.__get__(unit, owner)

    def __set__(self, unit: UnitState, new: State) -> None:
        try:
            old = self.slot.__get__(unit, UnitState)
        except AttributeError:
            old = new
        check_transition(unit.place.unit.name, old, new)
        self.seen.add((old, new))
        self.slot.__set__(unit, new)


@pytest.fixture(scope="module")
def checked() -> Iterator[_Checked]:
    slot = UnitState.__dict__["state"]
    UnitState.state = _Checked(slot)  # type: ignore[assignment]
    yield UnitState.state  # type: ignore[misc]
    UnitState.state = slot


@given(run=runs())
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
def test_no_run_leaves_the_diagram(checked: _Checked, run: Run) -> None:
    run.start()
    assert checked.seen <= TRANSITIONS | {(state, state) for state in State}
