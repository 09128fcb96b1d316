"""MavStream's operator states, and the only ways from one to another (figure 5.1 of the thesis).

    suspended ──input──▶ ready ──scheduled──▶ running ──quantum over──▶ ready
        ▲                                       │ no input left, or held
        └───────────────────────────────────────┘
    any state ──its last query has ended──▶ stopped

All operators of a unit are in its state. An operator of several units (above a join) is in the busiest one's.
"""

from __future__ import annotations

from enum import IntEnum

from penstock.errors import ControlError


class State(IntEnum):
    """Ordered by how busy an operator is."""

    STOPPED = 0
    SUSPENDED = 1
    READY = 2
    RUNNING = 3


TRANSITIONS: frozenset[tuple[State, State]] = frozenset(
    {
        (State.SUSPENDED, State.READY),
        (State.READY, State.RUNNING),
        (State.RUNNING, State.READY),
        (State.RUNNING, State.SUSPENDED),
        (State.READY, State.SUSPENDED),  # held: its query is suspended, or a switch needs it to wait
        (State.RUNNING, State.STOPPED),
        (State.READY, State.STOPPED),
        (State.SUSPENDED, State.STOPPED),
    }
)


def check_transition(unit: str, old: State, new: State) -> None:
    """Raises ControlError if there is no such way."""
    if old is not new and (old, new) not in TRANSITIONS:
        raise ControlError(f"unit '{unit}' cannot go from {old.name.lower()} to {new.name.lower()}")
