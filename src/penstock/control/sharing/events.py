"""Events: all that sharing is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from penstock.control.sharing.records import HostRecord, QueryRecord, Request


@dataclass(frozen=True, slots=True)
class Admitted:
    """New queries, each with its host: one of these new ones, or one that is there and takes members in."""

    queries: Mapping[str, str]
    hosts: tuple[HostRecord, ...] = ()


@dataclass(frozen=True, slots=True)
class Asked:
    """Somebody asks something of a query."""

    query: str
    request: Request


@dataclass(frozen=True, slots=True)
class HostStarted:
    """A host has begun, where it was to.

    When watermarks are at `ripe_at`, it remembers nothing that its base does not.
    """

    host: str
    ripe_at: int | None = None


@dataclass(frozen=True, slots=True)
class HostSettled:
    """A host stands at one position of each stream, as was asked for a query."""

    host: str
    query: str


@dataclass(frozen=True, slots=True)
class HostStepped:
    """A step of a host is through: which of its members have got all rows, and whether it may return."""

    host: str
    ended: tuple[str, ...] = ()
    caught_up: bool = False


@dataclass(frozen=True, slots=True)
class HostLeaving:
    """A host is about to be gone, with what it remembers; beside another, both stand at one position."""

    host: str


@dataclass(frozen=True, slots=True)
class HostEnded:
    """A host is gone from the graph."""

    host: str


@dataclass(frozen=True, slots=True)
class HostFailed:
    """Steps of a host failed too often; control holds it."""

    host: str
    reason: str


@dataclass(frozen=True, slots=True)
class MembersFailed:
    """A step of a host came to nothing because of these members; control holds the host."""

    host: str
    reasons: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Moved:
    """What is remembered of a member is where the member goes."""

    query: str


@dataclass(frozen=True, slots=True)
class MoveFailed:
    """What is remembered of a member could not be moved, and is where it was."""

    query: str


@dataclass(frozen=True, slots=True)
class TimeToTry:
    """It is time to try again what came to nothing for a query."""

    query: str


@dataclass(frozen=True, slots=True)
class Restored:
    """What was recorded before a crash; only as the first event. Control has forgotten what it was asked.

    Control holds the hosts that are recorded as held. `reserved` are names of bases whose files are still
    there: no new host gets one.
    """

    queries: tuple[QueryRecord, ...]
    hosts: tuple[HostRecord, ...]
    reserved: frozenset[str] = frozenset()


Event: TypeAlias = (
    Admitted
    | Asked
    | HostStarted
    | HostSettled
    | HostStepped
    | HostLeaving
    | HostEnded
    | HostFailed
    | MembersFailed
    | Moved
    | MoveFailed
    | TimeToTry
    | Restored
)
