"""How things stand: one value with everything that people look at while queries run."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import Any

from penstock.engines.spark.coordinator import Coordinator, Totals
from penstock.engines.spark.ingest import Feed
from penstock.engines.spark.measures import Latencies
from penstock.model.qos import QoS


@dataclass(frozen=True, slots=True)
class QueryStatus:
    """One query: what it got, what waits for it, and what it asked for."""

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
            "rows": self.rows,
            "mean_latency_s": self.latencies.mean_s,
            "p50_latency_s": self.latencies.percentile_s(0.5),
            "p95_latency_s": self.latencies.percentile_s(0.95),
            "staleness": self.staleness,
            "late_rows": self.late_rows,
            "bad_rows": self.bad_rows,
            **({"failure": self.failure} if self.failure else {}),
        }


@dataclass(frozen=True, slots=True)
class Status:
    """All queries, streams and counters at one moment."""

    at_s: float
    queries: dict[str, QueryStatus]
    rows_in: dict[str, int]
    queued_bytes: float
    held_bytes: int
    totals: Totals
    policy: str


def status(coordinator: Coordinator, feeds: dict[str, Feed], wishes: dict[str, QoS]) -> Status:
    """How things stand now; to be asked between two events."""
    control, at_s = coordinator.control, time.time()
    graph = control.graph
    waiting: dict[str, float] = {}
    for queue in control.queues.values():
        for reader in queue.readers:
            size = sum(batch.bytes for batch in queue.slice(reader.cursor, queue.tail))
            if size:
                users = {q for name in reader.unit.place.unit.operators for q in graph.users[name]}
                for query in users:
                    waiting[query] = waiting.get(query, 0.0) + size
    queries = {}
    places = {name: place for place, name in enumerate(wishes)}
    measured = coordinator.results.measures
    for name in sorted(measured, key=lambda name: places.get(name, len(places))):
        measures = measured[name]
        runs_as = coordinator.shared.runs_as(name)
        if name in coordinator.shared:
            continue  # it is there for its members
        streams = [feeds[n] for n in graph.members.get(runs_as, ()) if n in feeds]
        queries[name] = QueryStatus(
            name,
            wishes.get(name, QoS()),
            coordinator.results.lives.get(name, {}).get("rows", 0),
            measures.latencies.copy(),
            measures.staleness(at_s),
            measures.stale_s,
            waiting.get(runs_as, 0.0),
            sum(feed.standing.late for feed in streams),
            sum(feed.standing.bad for feed in streams),
            coordinator.failures.get(name),
        )
    return Status(
        at_s,
        queries,
        {name: feed.standing.offset for name, feed in feeds.items()},
        coordinator.queued_bytes,
        coordinator.store.held_bytes,
        replace(coordinator.totals),
        control.policy.text,
    )
