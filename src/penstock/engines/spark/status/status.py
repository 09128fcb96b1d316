"""How things stand: one value with everything that people look at while queries run. It never changes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from penstock.engines.spark.failing import Failing
from penstock.engines.spark.results.measures import Latencies
from penstock.engines.spark.runtime.coordinator import Totals
from penstock.engines.spark.status.query_states import PartState, QueryState
from penstock.engines.spark.status.status_text import status_text
from penstock.model.qos import Judgement, QoS, Verdict, overall


@dataclass(frozen=True, slots=True)
class QueryStatus:
    """One query: what it is, what it got, what waits for it, and what it asked for.

    `staleness` is the share of the time in which its result was out of date. `stale_s` is how long that was
    before the last result, `waiting_stale_s` since then: expected, as long as rows wait that may not match.
    `queue_bytes` and `state_bytes` are its part of what waits and of what operators remember. `judged` says
    of each wish whether it is kept lately, over the last minute, and `judged_in_life` since it began.
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
    state_bytes: float = 0.0
    judged: tuple[Judgement, ...] = ()
    judged_in_life: tuple[Judgement, ...] = ()
    charged_s: float = 0.0  # its part of the time in Spark since the engine was opened
    since_s: float | None = None  # when it began
    until_s: float | None = None  # when it was stopped
    began_with: str = ""  # of which stream from when on, if it looked back

    @property
    def freshness(self) -> float:
        """The share of the time in which its result was up to date."""
        return 1.0 - self.staleness

    @property
    def memory_bytes(self) -> float:
        """What waits for it and what it remembers."""
        return self.queue_bytes + self.state_bytes

    @property
    def verdict(self) -> Verdict:
        """Whether it gets what it asked for lately: the worst of all wishes."""
        return overall(self.judged)

    @property
    def verdict_in_life(self) -> Verdict:
        """Whether it has got what it asked for since it began."""
        return overall(self.judged_in_life)

    def as_json(self) -> dict[str, Any]:
        """What `penstock run --json` says of a query; those of one `shape` run as one."""
        return {
            "state": self.state.value,
            "rows": self.rows,
            "latency_sum_s": self.latencies.total_s,
            "latency_count": self.latencies.count,
            "mean_latency_s": self.latencies.mean_s,
            "p50_latency_s": self.latencies.percentile_s(0.5),
            "p95_latency_s": self.latencies.percentile_s(0.95),
            "staleness": self.staleness,
            "stale_s": self.stale_s + self.waiting_stale_s,
            "freshness": self.freshness,
            "memory_bytes": self.memory_bytes,
            "charged_s": self.charged_s,
            "since_s": self.since_s,
            "until_s": self.until_s,
            "shape": hashlib.sha256(self.runs_as.encode()).hexdigest()[:8],
            "verdict": self.verdict.value,
            "wishes": [_judgement(one) for one in self.judged],
            "verdict_in_life": self.verdict_in_life.value,
            "wishes_in_life": [_judgement(one) for one in self.judged_in_life],
            "waiting_rows": self.waiting_rows,
            "late_rows": self.late_rows,
            "bad_rows": self.bad_rows,
            "skipped_rows": self.skipped_rows,
            **({"failure": self.failure} if self.failure else {}),
            **({"began_with": self.began_with} if self.began_with else {}),
        }


def _judgement(one: Judgement) -> dict[str, Any]:
    found = {"wish": one.wish, "asked": one.asked, "measured": one.measured, "verdict": one.verdict.value}
    return {**found, "cause": one.cause} if one.cause else found


@dataclass(frozen=True, slots=True)
class StreamStatus:
    """One stream: how many rows came, how many of them late or bad, and why it fails if it does.

    `problem` is what is wrong and does not stop it, such as files that cannot be read. `watermark` is how far
    its time has come; `waited_for` says that windows or joins wait for it, since others have come further.
    `rate_per_s` is how many rows it brings lately, over the last 10 s.
    """

    name: str
    state: PartState
    rows: int
    late_rows: int
    bad_rows: int
    failing: Failing | None = None
    problem: str = ""
    watermark: datetime | None = None
    waited_for: bool = False
    rate_per_s: float = 0.0

    def as_json(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "state": self.state.value,
            "rows": self.rows,
            "rate_per_s": self.rate_per_s,
            "late_rows": self.late_rows,
            "bad_rows": self.bad_rows,
            "watermark_s": self.watermark.timestamp() if self.watermark is not None else None,
            "waited_for": self.waited_for,
            **({"problem": self.problem} if self.problem else {}),
            **_failing_json(self.failing),
        }


def _failing_json(failing: Failing | None) -> dict[str, Any]:
    return {} if failing is None else {"failing": asdict(failing)}


@dataclass(frozen=True, slots=True)
class PartStatus:
    """One stored table or sink, and why it fails if it does."""

    name: str
    state: PartState
    failing: Failing | None = None

    def as_json(self) -> dict[str, Any]:
        """As plain data."""
        return {"state": self.state.value, **_failing_json(self.failing)}


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
    scheduling: str = "pool"

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

    @property
    def freshness(self) -> float | None:
        """The mean over all queries that have begun; None if none has."""
        return self._freshness(lambda _: 1.0)

    @property
    def weighted_freshness(self) -> float | None:
        """The same, each query counting for its weight."""
        return self._freshness(lambda query: query.qos.weight)

    def _freshness(self, weight: Callable[[QueryStatus], float]) -> float | None:
        begun = [one for one in self.queries.values() if one.state is not QueryState.scheduled]
        weights = sum(weight(one) for one in begun)
        return sum(weight(one) * one.freshness for one in begun) / weights if weights else None

    def as_json(self) -> dict[str, Any]:
        """Everything as plain data, for whoever is not in this process."""
        return {
            "at_s": self.at_s,
            "policy": self.policy,
            "scheduling": self.scheduling,
            "freshness": self.freshness,
            "weighted_freshness": self.weighted_freshness,
            "queued_bytes": self.queued_bytes,
            "held_bytes": self.held_bytes,
            "totals": asdict(self.totals),
            "queries": {name: one.as_json() for name, one in self.queries.items()},
            "streams": {name: one.as_json() for name, one in self.streams.items()},
            "tables": {name: one.as_json() for name, one in self.tables.items()},
            "sinks": {name: one.as_json() for name, one in self.sinks.items()},
        }

    def __str__(self) -> str:
        return status_text(self)

    __repr__ = __str__
