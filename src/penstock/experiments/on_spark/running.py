"""Feeds rows to a running engine as they are due, and takes down what comes of it."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from penstock.engines.spark.engine import Engine
from penstock.engines.spark.ingest.sources.base import Ticket
from penstock.engines.spark.ingest.sources.push import PushSource
from penstock.engines.spark.results.measures import Latencies, QueryMeasures
from penstock.errors import ExperimentError

#: Seconds between two looks at queues and results.
LOOK_S = 0.02


@dataclass(frozen=True, slots=True)
class Group:
    """Rows that arrive together: when, on which stream, and which of its rows."""

    at_s: float
    stream: str
    first: int
    rows: int


@dataclass(slots=True)
class Trace:
    """What was seen while rows were fed, look by look, with times from when feeding began."""

    at_s: list[float] = field(default_factory=list)
    queued_bytes: list[float] = field(default_factory=list)
    rows_out: list[int] = field(default_factory=list)
    latency_s: list[float] = field(default_factory=list)  # of all results so far, added up
    units: list[int] = field(default_factory=list)

    def per_second(self, seconds: float) -> list[int]:
        """Results in each whole second."""
        edges = np.arange(0, int(seconds) + 1)
        counts = np.interp(edges, self.at_s, self.rows_out)
        return [round(count) for count in np.diff(counts)]


class Watch:
    """Looks at an engine from a thread of its own, without asking the one that decides."""

    def __init__(self, engine: Engine, trace: Trace) -> None:
        self._engine, self._trace = engine, trace
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="watch", daemon=True)
        self.began = time.monotonic()

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        coordinator, trace = self._engine.coordinator, self._trace
        measures = [*coordinator.results.measures.values()]
        while not self._stopping.wait(LOOK_S):
            trace.at_s.append(time.monotonic() - self.began)
            trace.queued_bytes.append(coordinator.queued_bytes)
            trace.rows_out.append(sum(one.rows for one in measures))
            trace.latency_s.append(sum(one.latencies.total_s for one in measures))
            trace.units.append(len(coordinator.control.units))


@dataclass(frozen=True, slots=True)
class Run:
    """One run, until all rows are through; `fed_s` of it they came. What queries got before it and after."""

    fed_s: float
    taken_s: float
    rows_in: int
    trace: Trace
    before: Mapping[str, QueryMeasures]
    after: Mapping[str, QueryMeasures]
    steps: int
    step_s: float
    most_bytes: float
    byte_s: float  # that waited in queues, times how long

    def latencies(self, *queries: str) -> Latencies:
        """Of the results of some queries, or of all."""
        return together(
            [self.after[one].latencies.since(self.before[one].latencies) for one in queries or self.after]
        )

    def stale_s(self, query: str) -> float:
        """How long a query's result was out of date."""
        return self.after[query].stale_s - self.before[query].stale_s


def together(parts: Sequence[Latencies]) -> Latencies:
    """The latencies of several queries as one."""
    return Latencies(
        sum(one.count for one in parts),
        sum(one.total_s for one in parts),
        sum((one.cells for one in parts), np.zeros_like(parts[0].cells)),
        longest_s=max(one.longest_s for one in parts),
    )


def run(
    engine: Engine,
    groups: Sequence[Group],
    rows: Mapping[str, pa.Table],
    fed_s: float,
    limit_s: float,
) -> Run:
    """Feeds groups of rows when they are due, whatever the engine does meanwhile, and waits for all results.

    Raises ExperimentError if that takes longer than `limit_s` after the last row.
    """
    pushed: list[Ticket] = []
    totals = engine.status().totals
    steps, step_s, byte_s = totals.steps, totals.step_s, totals.queue_byte_s
    trace, before = Trace(), engine.measures
    with Watch(engine, trace) as watch:
        for group in groups:
            time.sleep(max(0.0, watch.began + group.at_s - time.monotonic()))
            pushed.append(push(engine, group.stream, rows[group.stream].slice(group.first, group.rows)))
        time.sleep(max(0.0, watch.began + fed_s - time.monotonic()))
        finish(engine, pushed, limit_s)
        taken_s = time.monotonic() - watch.began
    totals = engine.status().totals
    return Run(
        fed_s,
        taken_s,
        sum(group.rows for group in groups),
        trace,
        before,
        engine.measures,
        totals.steps - steps,
        totals.step_s - step_s,
        max(trace.queued_bytes, default=0.0),
        totals.queue_byte_s - byte_s,
    )


def push(engine: Engine, stream: str, rows: pa.Table) -> Ticket:
    """Rows for a stream, without waiting until they are logged."""
    source = engine.feeds()[stream].source
    assert isinstance(source, PushSource)
    return source.push(rows)


def finish(engine: Engine, pushed: Sequence[Ticket], limit_s: float) -> None:
    """Waits until all that was pushed is through."""
    until_s = time.monotonic() + limit_s
    logged = all(ticket.wait(max(0.0, until_s - time.monotonic())) for ticket in pushed)
    if not logged or not engine.settle(max(0.0, until_s - time.monotonic())):
        raise ExperimentError(f"not through with its rows {limit_s:g} s after the last one")
