"""Where everything stands: what an engine keeps so that a new control can go on after a crash.

`Control.standing` tells all of it. To keep only what differs after each event, an engine need look no
further than what the event concerns:

- `BatchArrived` put one batch at the end of the stream's queue; `StreamEnded` and `TimestampAdvanced` changed
  its `ended` and `register_s`.
- `StepFinished` moved the cursors of the step's unit, put its outputs at the end of their queues, and let
  those queues its unit reads free what every reader has read (`Queue.freed`).
- A `Recut` among the commands, whatever the event was: the units are others, so all of it anew. It lists
  the units in the order of `Standing.units`.

Batches keep their numbers through a crash, so a batch can be kept under its port and number. Of a queue that
is not at a stream `offset`, `register_s` and `ended` follow from the rest and need not be kept: 0, minus
infinity and False will do.
"""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from penstock.model.batch import Batch
from penstock.model.graph import Port
from penstock.model.query import Query


class Cursor(msgspec.Struct, frozen=True):
    """How many of a queue's batches a unit has read and done, by the unit's position among the units.

    Of the batch after those it has done `rows`.
    """

    unit: int
    read: int
    rows: int = 0


class QueueContents(msgspec.Struct, frozen=True):
    """A queue: its batches, of which the first has the number `first`, and a cursor for each unit it goes to.

    `offset` is where a stream's log ends so far; rows yet to come have time stamps of at least `register_s`.
    """

    port: Port
    batches: tuple[Batch, ...]
    offset: int
    register_s: float
    ended: bool
    cursors: tuple[Cursor, ...]
    first: int = 0


class Standing(msgspec.Struct, frozen=True):
    """Everything but the policy, the threads and the estimates, which a control is made with.

    Queries that run are in it, each with the names its operators have in the graph: a shared one keeps the
    name that the first of its queries gave it, even when that query has gone. Steps that run are not: what
    they took counts as unread. Nor is what was asked for and not yet answered: queries that wait for their
    start, policies and stops that wait for a switch. The engine asks for that again.
    """

    queries: tuple[Query, ...]
    units: tuple[tuple[str, ...], ...]
    queues: tuple[QueueContents, ...]
    suspended: tuple[str, ...] = ()
    weights: Mapping[str, float] = {}
