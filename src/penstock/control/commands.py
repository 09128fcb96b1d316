"""Commands: everything control can ask of an engine."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import msgspec

from penstock.model.batch import Batch
from penstock.model.graph import Edge


class Take(msgspec.Struct, frozen=True):
    """Consecutive batches of one queue, by which of the unit's readers, and the inputs they go to."""

    reader: int
    edges: tuple[Edge, ...]
    batches: tuple[Batch, ...]


class RunStep(msgspec.Struct, frozen=True, tag=True):
    """Run a unit (by its number in the last `Recut`) over a train of batches."""

    step: int
    unit: int
    worker: int
    takes: tuple[Take, ...]
    at_large: bool = False


class Commit(msgspec.Struct, frozen=True, tag=True):
    """Make a finished step's results visible, with the offsets up to which each leaf's rows are in them."""

    step: int
    frontier: Mapping[str, int]


class Recut(msgspec.Struct, frozen=True, tag=True):
    """The units from now on: number to operators. Numbers that were there before mean what they meant."""

    units: Mapping[int, tuple[str, ...]]


class WakeAt(msgspec.Struct, frozen=True, tag=True):
    """Send `Ticked` at this time: a priority will have expired."""

    at_s: float


class AskTimestamp(msgspec.Struct, frozen=True, tag=True):
    """Rows of other streams wait for this one: say how far its time has come."""

    stream: str


class QueryStarted(msgspec.Struct, frozen=True, tag=True):
    """The query runs; it sees each stream's rows from this offset on."""

    query: str
    starts: Mapping[str, int]


class Settled(msgspec.Struct, frozen=True, tag=True):
    """The query has processed each stream's rows up to this offset, and nothing after it yet."""

    query: str
    positions: Mapping[str, int]
    on_behalf_of: str = ""


class SplitOff(msgspec.Struct, frozen=True, tag=True):
    """Let a member of a shared query go on in a unit of its own."""

    query: str


class Rejoin(msgspec.Struct, frozen=True, tag=True):
    """Let a member that was split off go on with the others."""

    query: str


class QueryEnded(msgspec.Struct, frozen=True, tag=True):
    """The query is gone; it saw each stream's rows up to this offset."""

    query: str
    ends: Mapping[str, int]


class QueryFailed(msgspec.Struct, frozen=True, tag=True):
    """A unit failed too often in a row; the queries it serves are suspended until someone resumes them."""

    query: str
    reason: str


Command: TypeAlias = (
    RunStep
    | Commit
    | Recut
    | WakeAt
    | AskTimestamp
    | QueryStarted
    | Settled
    | SplitOff
    | Rejoin
    | QueryEnded
    | QueryFailed
)
