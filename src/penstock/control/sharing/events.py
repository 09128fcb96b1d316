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
    """A host has begun, where it was to."""

    host: str


@dataclass(frozen=True, slots=True)
class HostSettled:
    """A host stands at one position of each stream: with all that had arrived processed, or as it stands."""

    host: str
    as_it_stands: bool = False


@dataclass(frozen=True, slots=True)
class HostStepped:
    """A step of a host is through; the positions up to which it has read, and whether it may return."""

    host: str
    positions: Mapping[str, int]
    caught_up: bool = False


@dataclass(frozen=True, slots=True)
class HostEnded:
    """A host is gone from the graph; if it was to end beside another, both stood at one position."""

    host: str


@dataclass(frozen=True, slots=True)
class HostFailed:
    """Steps of a host failed too often; control holds it."""

    host: str


@dataclass(frozen=True, slots=True)
class MembersFailed:
    """A step of a host came to nothing because of these members; nothing has begun again yet."""

    host: str
    queries: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Restored:
    """What was recorded before a crash; only as the first event. Control has forgotten what it was asked."""

    queries: tuple[QueryRecord, ...]
    hosts: tuple[HostRecord, ...]


Event: TypeAlias = (
    Admitted
    | Asked
    | HostStarted
    | HostSettled
    | HostStepped
    | HostEnded
    | HostFailed
    | MembersFailed
    | Restored
)
