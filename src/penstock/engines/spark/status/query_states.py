"""States: what a query, a stream, a stored table or a sink is at a moment; each is decided here alone."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class QueryState(StrEnum):
    """What a query is."""

    scheduled = "scheduled"  # accepted, and yet to begin
    running = "running"
    held = "held"  # until somebody resumes it
    failed = "failed"  # held, since it cannot process a row
    draining = "draining"  # asked to stop, and not gone yet
    ended = "ended"  # it puts out nothing more


@dataclass(frozen=True, slots=True)
class QueryFacts:
    """What is known of a query: all that its state depends on."""

    begun: bool = False
    held: bool = False
    failed: bool = False
    stopping: bool = False
    gone: bool = False
    #: Its streams have ended, and no row of them waits for it.
    through: bool = False


def query_state(facts: QueryFacts) -> QueryState:
    """A query's state."""
    match facts:
        case QueryFacts(gone=True):
            return QueryState.ended
        case QueryFacts(stopping=True):
            return QueryState.draining
        case QueryFacts(failed=True):
            return QueryState.failed
        case QueryFacts(held=True):
            return QueryState.held
        case QueryFacts(begun=False):
            return QueryState.scheduled
        case QueryFacts(through=True):
            return QueryState.ended
        case _:
            return QueryState.running


class PartState(StrEnum):
    """What a stream, a stored table or a sink is."""

    waiting = "waiting"  # nothing has come yet
    running = "running"
    failing = "failing"  # it is tried again
    ended = "ended"


def stream_state(*, rows: int, ended: bool, failing: bool) -> PartState:
    """A stream's state."""
    if ended:
        return PartState.ended
    if failing:
        return PartState.failing
    return PartState.running if rows else PartState.waiting
