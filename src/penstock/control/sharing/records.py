"""What sharing knows: a record for each query, and one for each host that queries run in.

A *host* is what control runs: a query by itself, or a shared query with members. Hosts of one *base* are of
one shape; a member moves between them with all that operators remember of it.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TypeAlias

import msgspec


class Phase(StrEnum):
    """What a query is doing; only in `running` is anything begun that is asked of it."""

    waiting = "waiting"  # its host has yet to begin
    running = "running"
    splitting = "splitting"  # a host of its own is to begin where its host stands
    moving = "moving"  # that host has begun; what is remembered of the query is on its way there
    returning = "returning"  # its host is to end where the base stands, and to become part of it
    exchanging = "exchanging"  # its host settles, and there other constants are its own
    replacing = "replacing"  # another host is to begin where its host stands, and to go on for it
    leaving = "leaving"  # its host settles, and there it ends
    ending = "ending"  # it gets rows up to offsets that its host has yet to pass
    stopping = "stopping"  # control takes it out: it runs by itself


class ShapeFacts(msgspec.Struct, frozen=True):
    """What matters of a shape.

    Members may join an `instant` one while it runs. One that is `stateful` remembers rows. One that `absorbs`
    others takes in those of its shape that began later, once nothing older is remembered.
    """

    digest: str
    stateful: bool = False
    instant: bool = True
    absorbs: bool = True


class Stop(msgspec.Struct, frozen=True, tag=True):
    """To end where its streams end now; with `drain`, windows that are open then are put out."""

    drain: bool


class Hold(msgspec.Struct, frozen=True, tag=True):
    """To be held until it is resumed."""


class Resume(msgspec.Struct, frozen=True, tag=True):
    """To go on, also after a failure."""


class Alter(msgspec.Struct, frozen=True, tag=True):
    """To be something else from one position on: the definition of that number, of a shape."""

    number: int
    shape: ShapeFacts


class RunApart(msgspec.Struct, frozen=True, tag=True):
    """The policy wants it in a host of its own, or with the others; it says so again if need be."""

    apart: bool


class PreferApart(msgspec.Struct, frozen=True, tag=True):
    """Somebody wants it to run apart, or not to; None leaves that to the policy."""

    apart: bool | None


Request: TypeAlias = Stop | Hold | Resume | Alter | RunApart | PreferApart


class QueryRecord(msgspec.Struct):
    """One query: what runs it, what it is doing, where it is on its way to, and what is asked of it next."""

    name: str
    host: str
    phase: Phase = Phase.waiting
    to: str | None = None
    held: bool = False  # somebody wants it held
    failed: str | None = None  # why, if it has
    as_it_stands: bool = False  # it leaves without what waits for it: it is held, or has failed
    prefers_apart: bool | None = None
    doing: Request | None = None
    asked: tuple[Request, ...] = ()

    @property
    def is_stopping(self) -> bool:
        """Whether somebody has asked for its end."""
        return isinstance(self.doing, Stop) or any(isinstance(one, Stop) for one in self.asked)


class HostRecord(msgspec.Struct):
    """One host; without a shape it is a query that runs by itself.

    One that `returns` becomes part of its base as soon as it has caught up and watermarks have come to
    `ripe_at`. `excluding` are members that made a step fail: it is held until each has a host of its own.
    """

    name: str
    base: str
    shape: ShapeFacts | None = None
    begun: bool = False
    held: bool = False
    failed: bool = False  # as a whole; a restart tries again
    returns: bool = False
    ripe_at: int | None = None
    end_asked: bool = False  # control was told to take it out
    being_removed: bool = False  # control is taking it out
    excluding: frozenset[str] = frozenset()
    beside: str | None = None  # where it is to begin
    replacing: bool = False  # what it is to begin beside ends there

    @property
    def shared(self) -> bool:
        """Whether it has members."""
        return self.shape is not None

    @property
    def stateful(self) -> bool:
        """Whether its operators remember rows that belong to members."""
        return self.shape is not None and self.shape.stateful

    @property
    def is_base(self) -> bool:
        """Whether others are split off from it, and return to it."""
        return self.base == self.name
