"""Commands: all that sharing asks for. The first six are for control, the others for the engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class SubmitHost:
    """Begin a host: beside another one, where that stands, or instead of it; held from the start or not."""

    host: str
    beside: str | None = None
    replacing: bool = False
    held: bool = False


@dataclass(frozen=True, slots=True)
class StopHost:
    """Take a host out: at once, after all that has arrived, or where another stands, which goes on for it."""

    host: str
    drain: bool = False
    beside: str | None = None


@dataclass(frozen=True, slots=True)
class SettleHost:
    """Let a host stand at one position; as it stands, if it is held and cannot read on."""

    host: str
    as_it_stands: bool = False


@dataclass(frozen=True, slots=True)
class SuspendHost:
    """Hold a host."""

    host: str


@dataclass(frozen=True, slots=True)
class ReleaseHost:
    """Let a host go on."""

    host: str


@dataclass(frozen=True, slots=True)
class Withdraw:
    """Forget what was asked about a host and is not done: that it begins, ends or settles."""

    host: str


@dataclass(frozen=True, slots=True)
class PlanHost:
    """Make a host's plan: like another's, or for a definition of a query; before it is submitted."""

    host: str
    like: str | None = None
    query: str | None = None
    number: int | None = None


@dataclass(frozen=True, slots=True)
class Begin:
    """A query runs in a host from where that begins, or from the next batch on."""

    query: str
    host: str


@dataclass(frozen=True, slots=True)
class Move:
    """A member goes to another host that stands where its own does, with what is remembered of it."""

    query: str
    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Merge:
    """All members of a host, with what is remembered of them, become part of another that stands there."""

    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Become:
    """A query is another definition from where `target` stands: a member of that, with or without a drain."""

    query: str
    source: str
    target: str
    number: int
    drain: bool


@dataclass(frozen=True, slots=True)
class SetEnds:
    """A member gets rows up to the tails of its streams."""

    query: str
    host: str


@dataclass(frozen=True, slots=True)
class Leave:
    """A query is gone from its host, where that stands or its ends were; open windows are put out or not."""

    query: str
    host: str
    drain: bool


Command: TypeAlias = (
    SubmitHost
    | StopHost
    | SettleHost
    | SuspendHost
    | ReleaseHost
    | Withdraw
    | PlanHost
    | Begin
    | Move
    | Merge
    | Become
    | SetEnds
    | Leave
)
