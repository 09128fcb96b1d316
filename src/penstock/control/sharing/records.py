"""What sharing knows: a record for each query, and one for each host that queries run in.

A *host* is what control runs: a query by itself, or a shared query with members. Hosts of one *base* are of
one shape; a member moves between them with all that operators remember of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias


class Phase(StrEnum):
    """What a query is doing; only in `running` is anything begun that is asked of it."""

    waiting = "waiting"  # its host has yet to begin
    running = "running"
    splitting = "splitting"  # a host of its own is to begin where its host stands
    returning = "returning"  # its host is to end where the base stands, and to become part of it
    exchanging = "exchanging"  # its host settles, and there other constants are its own
    replacing = "replacing"  # another host is to begin where its host stands, and to go on for it
    leaving = "leaving"  # its host settles, and there it ends
    ending = "ending"  # it gets rows up to offsets that its host has yet to pass
    stopping = "stopping"  # control takes it out: it runs by itself


@dataclass(frozen=True, slots=True)
class Stop:
    """To end where its streams end now; with `drain`, windows that are open then are put out."""

    drain: bool
    tails: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Hold:
    """To be held until it is resumed."""


@dataclass(frozen=True, slots=True)
class Resume:
    """To go on, also after a failure."""


@dataclass(frozen=True, slots=True)
class Alter:
    """To be something else from one position on: the definition of that number, of a shape."""

    number: int
    digest: str


@dataclass(frozen=True, slots=True)
class RunApart:
    """To run in a host of its own, or with the others."""

    apart: bool


Request: TypeAlias = Stop | Hold | Resume | Alter | RunApart


@dataclass(slots=True)
class QueryRecord:
    """One query: what runs it, what it is doing, where it is on its way to, and what is asked of it next."""

    name: str
    host: str
    phase: Phase = Phase.waiting
    to: str | None = None
    held: bool = False
    failed: bool = False
    as_it_stands: bool = False  # it leaves without what waits for it: it is held, or has failed
    doing: Request | None = None
    asked: tuple[Request, ...] = ()


@dataclass(slots=True)
class HostRecord:
    """One host.

    `instant` says that members may join while it runs, `stateful` that its operators remember rows. A host
    that `returns` becomes part of its base as soon as it has caught up. `excluding` are members that made a
    step fail: the host is held until each has a host of its own.
    """

    name: str
    base: str
    digest: str | None = None  # none: a query that runs by itself and could not be a member
    stateful: bool = False
    instant: bool = True
    begun: bool = False
    held: bool = False
    returns: bool = False
    ends: bool = False  # control was told to take it out
    excluding: frozenset[str] = frozenset()
    beside: str | None = None  # where it is to begin

    @property
    def shared(self) -> bool:
        """Whether it has members."""
        return self.digest is not None
