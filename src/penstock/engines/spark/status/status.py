"""How things stand: one value with everything that people look at while queries run. It never changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.engines.spark.failing import Failing
from penstock.engines.spark.results.measures import Latencies
from penstock.engines.spark.runtime.coordinator import Totals
from penstock.engines.spark.status.query_states import PartState, QueryState
from penstock.engines.spark.status.status_text import status_text
from penstock.model.qos import QoS


@dataclass(frozen=True, slots=True)
class QueryStatus:
    """One query: what it is, what it got, what waits for it, and what it asked for.

    `staleness` is the share of the time in which its result was out of date. `stale_s` is how long that was
    before the last result, `waiting_stale_s` since then: expected, as long as rows wait that may not match.
    """

    name: str
    qos: QoS
    rows: int
    latencies: Latencies
    staleness: float
    stale_s: float
    queue_bytes: float
    late_rows: int
    bad_rows: int
    failure: str | None
    state: QueryState = QueryState.running
    waiting_rows: int = 0
    waiting_stale_s: float = 0.0
    skipped_rows: int = 0
    runs_as: str = ""  # itself, or the shared query that it is a member of

    def met(self, latency_s: float | None = None) -> bool | None:
        """Whether it gets what it asked for; None if it asked for nothing that can be said yet."""
        latency_s = self.latencies.mean_s if latency_s is None else latency_s
        said = []
        if self.qos.latency_s is not None and latency_s is not None:
            said.append(self.qos.latency_met(latency_s))
        if self.qos.freshness is not None:
            said.append(1 - self.staleness >= self.qos.freshness * (1 - self.qos.tolerance))
        if self.qos.memory_bytes is not None:
            said.append(self.queue_bytes <= self.qos.memory_bytes * (1 + self.qos.tolerance))
        return all(said) if said else None

    def as_json(self) -> dict[str, Any]:
        """What `penstock run --json` says of a query."""
        return {
            "state": self.state.value,
            "rows": self.rows,
            "mean_latency_s": self.latencies.mean_s,
            "p50_latency_s": self.latencies.percentile_s(0.5),
            "p95_latency_s": self.latencies.percentile_s(0.95),
            "staleness": self.staleness,
            "waiting_rows": self.waiting_rows,
            "late_rows": self.late_rows,
            "bad_rows": self.bad_rows,
            "skipped_rows": self.skipped_rows,
            **({"failure": self.failure} if self.failure else {}),
        }


@dataclass(frozen=True, slots=True)
class StreamStatus:
    """One stream: how many rows came, how many of them late or bad, and why it fails if it does.

    `problem` is what is wrong and does not stop it, such as files that cannot be read.
    """

    name: str
    state: PartState
    rows: int
    late_rows: int
    bad_rows: int
    failing: Failing | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class PartStatus:
    """One stored table or sink, and why it fails if it does."""

    name: str
    state: PartState
    failing: Failing | None = None


@dataclass(frozen=True, slots=True)
class Status:
    """All queries, streams, stored tables, sinks and counters at one moment."""

    at_s: float
    queries: Mapping[str, QueryStatus]
    rows_in: Mapping[str, int]
    queued_bytes: float
    held_bytes: int
    totals: Totals
    policy: str
    streams: Mapping[str, StreamStatus] = field(default_factory=dict)
    tables: Mapping[str, PartStatus] = field(default_factory=dict)
    sinks: Mapping[str, PartStatus] = field(default_factory=dict)

    @property
    def failing(self) -> dict[str, Failing]:
        """What fails by itself and is tried again: `stream s`, `table t`, `sink k`, and how."""
        kinds: tuple[tuple[str, Mapping[str, StreamStatus | PartStatus]], ...] = (
            ("stream", dict(self.streams)),
            ("table", dict(self.tables)),
            ("sink", dict(self.sinks)),
        )
        return {
            f"{kind} {one.name}": one.failing
            for kind, those in kinds
            for one in those.values()
            if one.failing is not None
        }

    def __str__(self) -> str:
        return status_text(self)

    __repr__ = __str__
