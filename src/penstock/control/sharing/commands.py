"""Commands: all that sharing asks for. The first seven are for control, the others for the engine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class SubmitHosts:
    """Begin hosts, together: beside another one, where that stands, or instead of it; held or not."""

    hosts: tuple[str, ...]
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
    """Let a host stand at one position, for a query; as it stands, if it is held and cannot read on."""

    host: str
    query: str
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
    """Forget that a host was to begin beside another, or to end beside another, if that is not done."""

    host: str


@dataclass(frozen=True, slots=True)
class WithdrawSettling:
    """Forget that a host was to settle for a query, if it has not."""

    host: str
    query: str


@dataclass(frozen=True, slots=True)
class PlanHost:
    """Make a host's plan, before it is submitted: like another's, or for a definition of a query.

    A host that is planned for a definition and whose base is another is like that base.
    """

    host: str
    base: str
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
    """What is remembered of a member goes to another host, which stands where the member's own does.

    Both stay where they stand until the answer: `Moved`, `MoveFailed`, or none if everything ends before.
    """

    query: str
    source: str
    target: str


@dataclass(frozen=True, slots=True)
class Merge:
    """All members of a host that is leaving become part of another that stands there.

    What is remembered of them stays where it is and is another host's from then on, so it cannot fail.
    """

    source: str
    target: str


@dataclass(frozen=True, slots=True)
class PutOutWindows:
    """Put out the windows that are open in a host that is leaving, which ran one query by itself."""

    host: str


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
class ReportPosition:
    """Say with `HostStepped` how far a host is, although no step of it may come."""

    host: str


@dataclass(frozen=True, slots=True)
class TryLater:
    """Say `TimeToTry` some time later: what is remembered of a query could not be moved."""

    query: str


@dataclass(frozen=True, slots=True)
class Leave:
    """A query is gone from its host, where that stands or its ends were; open windows are put out or not."""

    query: str
    host: str
    drain: bool


@dataclass(frozen=True, slots=True)
class ForgetHost:
    """A host that never began is not wanted any more."""

    host: str


Command: TypeAlias = (
    SubmitHosts
    | StopHost
    | SettleHost
    | SuspendHost
    | ReleaseHost
    | Withdraw
    | WithdrawSettling
    | PlanHost
    | Begin
    | Move
    | Merge
    | PutOutWindows
    | Become
    | SetEnds
    | ReportPosition
    | TryLater
    | Leave
    | ForgetHost
)
