"""Events: everything that can happen to control. Each carries its time; control has no clock of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

import msgspec

from penstock.control.standing import QueueContents
from penstock.control.thread_plans import ThreadPlan
from penstock.model.batch import Batch
from penstock.model.estimates import Estimates
from penstock.model.graph import Port
from penstock.model.query import Query
from penstock.policies.apart import MemberFacts


class _Event(msgspec.Struct, frozen=True, tag=True):
    at_s: float


class BatchArrived(_Event, frozen=True, tag=True):
    """Ingest put a batch at the end of a stream's log."""

    stream: str
    batch: Batch


class StreamEnded(_Event, frozen=True, tag=True):
    """No batch of this stream will ever come again."""

    stream: str


class StreamDropped(_Event, frozen=True, tag=True):
    """A stream is no more, and no query reads it; another may get its name, and begins anew."""

    stream: str


class TimestampAdvanced(_Event, frozen=True, tag=True):
    """A heartbeat: rows of this stream yet to come have time stamps of at least `time_s`."""

    stream: str
    time_s: float


class Output(msgspec.Struct, frozen=True):
    """What a step put out of one port into its queue."""

    port: Port
    batch: Batch


class StepFinished(_Event, frozen=True, tag=True):
    """A step is done: what it took, and what it put into queues (what went to sinks is committed)."""

    step: int
    cost_s: float
    outputs: tuple[Output, ...] = ()


class StepFailed(_Event, frozen=True, tag=True):
    """A step came to nothing; its batches are still where they were."""

    step: int
    reason: str


class Recalled(msgspec.Struct, frozen=True):
    """Where in a stream's log queries are to begin: at the batch of number `first`, behind `rows` rows of it.

    `batches` are those from there on that everybody has read, and that control has forgotten.
    """

    stream: str
    first: int
    batches: tuple[Batch, ...]
    rows: int = 0


class QueriesSubmitted(_Event, frozen=True, tag=True):
    """Queries to be merged into the graph, together; `beside` another one, they begin where it stands.

    With `replacing`, that one ends there. With `held` they are suspended from the start. `recalled` has rows
    that came before, for queries that begin at once and look back.
    """

    queries: tuple[Query, ...]
    beside: str | None = None
    replacing: bool = False
    held: bool = False
    recalled: tuple[Recalled, ...] = ()


class QueryStopped(_Event, frozen=True, tag=True):
    """A query to be taken out: at once, or after all that has arrived was processed.

    `beside` another one, both first come to stand at one position, where that one then goes on for it.
    """

    query: str
    drain: bool = False
    beside: str | None = None


class SettleAsked(_Event, frozen=True, tag=True):
    """A query to process all that has arrived; `Settled` says when it stands there, before it goes on.

    One that is held can only stand where it is, between two steps. `on_behalf_of` is said again in the
    answer.
    """

    query: str
    as_it_stands: bool = False
    on_behalf_of: str = ""


class ChangeWithdrawn(_Event, frozen=True, tag=True):
    """Forget that a query was to begin, or to end, if it has not; no other may begin or end with it.

    With `on_behalf_of`, that it was to settle for somebody.
    """

    query: str
    on_behalf_of: str = ""


class MembersChanged(_Event, frozen=True, tag=True):
    """Who the members of a shared query are, with those split off from it, and what they want.

    Without members it is gone. The policy decides who runs apart, when there are new estimates; a shared
    query is worth what its members are together.
    """

    query: str
    members: tuple[MemberFacts, ...]


class QuerySuspended(_Event, frozen=True, tag=True):
    """A query to be held: its rows wait, operators it shares run on for others."""

    query: str


class QueryResumed(_Event, frozen=True, tag=True):
    """A held query to go on."""

    query: str


class WeightChanged(_Event, frozen=True, tag=True):
    """A query's weight, changed while it runs, and how many subscribe to it."""

    query: str
    weight: float
    subscribers: int = 0


class LatencyChanged(_Event, frozen=True, tag=True):
    """The least latency that those whom a query serves ask for, and whether all of them ask for one."""

    query: str
    latency_s: float | None
    by_all: bool = True


class RowsWanted(_Event, frozen=True, tag=True):
    """Somebody waits for what has arrived: no row of it is to wait for more."""


class PolicyChanged(_Event, frozen=True, tag=True):
    """Another policy from now on, as text: `fas-mcq(beta=0.25)`."""

    policy: str


class ThreadsChanged(_Event, frozen=True, tag=True):
    """Another division of the graph among threads."""

    threads: ThreadPlan


class EstimatesChanged(_Event, frozen=True, tag=True):
    """New estimates; with `recut` the graph is cut again by them."""

    estimates: Estimates
    recut: bool = False


class Restored(_Event, frozen=True, tag=True):
    """Where everything stood before a crash, to go on from there; only as the first event.

    The fields are those of `Standing`. The queries run already: `QueryStarted` is not repeated. The units are
    these whatever the policy; a change of it, or of estimates with `recut`, cuts the graph as always.
    """

    queries: tuple[Query, ...]
    units: tuple[tuple[str, ...], ...]
    queues: tuple[QueueContents, ...]
    suspended: tuple[str, ...] = ()
    weights: Mapping[str, float] = {}


class Ticked(_Event, frozen=True, tag=True):
    """Time has passed: the answer to a `WakeAt`."""


Event: TypeAlias = (
    BatchArrived
    | StreamEnded
    | StreamDropped
    | TimestampAdvanced
    | StepFinished
    | StepFailed
    | QueriesSubmitted
    | QueryStopped
    | SettleAsked
    | ChangeWithdrawn
    | MembersChanged
    | QuerySuspended
    | QueryResumed
    | WeightChanged
    | LatencyChanged
    | RowsWanted
    | PolicyChanged
    | ThreadsChanged
    | EstimatesChanged
    | Restored
    | Ticked
)
