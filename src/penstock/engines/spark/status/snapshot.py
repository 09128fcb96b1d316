"""A look at everything between two events: what is copied there is little, the rest is worked out elsewhere.

The coordinator's thread takes a `Look`, which takes some 10 µs for each query; the thread that asked makes a
`Status` of it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from math import inf
from typing import TYPE_CHECKING, Any

from penstock.adapt.arrivals import StreamRate
from penstock.adapt.causes import Circumstances
from penstock.control.lifecycle import State
from penstock.control.waiting import Waits, waited_for
from penstock.engines.spark.failing import Failing
from penstock.engines.spark.operators.base import TIMELESS, UNKNOWN
from penstock.engines.spark.results.looking_back import began_with
from penstock.engines.spark.results.measures import QueryMeasures
from penstock.engines.spark.results.staleness import Waiting, selectivity, waiting_stale_s
from penstock.engines.spark.runtime.holding import remembered_now, waiting_now
from penstock.engines.spark.status.judging import Standing, judged, measured_in_life, measured_lately
from penstock.engines.spark.status.query_states import (
    PartState,
    QueryFacts,
    QueryState,
    query_state,
    stream_state,
)
from penstock.engines.spark.status.running import Moment, Running
from penstock.engines.spark.status.status import PartStatus, QueryStatus, Status, StreamStatus
from penstock.model.estimates import Estimates
from penstock.model.graph import Graph
from penstock.model.qos import Measured, QoS
from penstock.policies.layout import UnitPlace
from penstock.policies.policy import Policy
from penstock.sql.binding.catalog import Catalog

if TYPE_CHECKING:
    from penstock.engines.spark.ingest.feeder import Feed
    from penstock.engines.spark.runtime.coordinator import Coordinator, Totals

#: Measures of a query that has not begun.
_NOTHING = QueryMeasures()


@dataclass(frozen=True, slots=True)
class QueryLook:
    """One query as it is now: what control runs it as and with how many others, and from where to where."""

    runs_as: str
    members: int
    starts: Mapping[str, int]
    ends: Mapping[str, int]
    rows: int
    rows_before: int
    facts: QueryFacts
    failure: str | None
    skipped: int
    missed: int
    measures: QueryMeasures
    charged_s: float = 0.0
    began_with: str = ""


@dataclass(frozen=True, slots=True)
class StreamLook:
    """One stream as it is now: where its log ends, how far its time has come, and what did not fit."""

    rows: int
    late: int
    bad: int
    ended: bool
    problem: str = ""
    mark: int = UNKNOWN


@dataclass(frozen=True, slots=True)
class UnitLook:
    """A unit, how the partition that it is in is run, and what it does now."""

    place: UnitPlace
    partition: str
    policy: Policy
    priority: float
    state: State = State.SUSPENDED


@dataclass(frozen=True, slots=True)
class Look:
    """Everything at one moment."""

    at_s: float
    catalog: Catalog
    graph: Graph
    planned: Graph  # with those that have not begun
    units: tuple[UnitLook, ...]
    estimates: Estimates
    waiting: tuple[Waiting, ...]
    state_bytes: Mapping[str, int]  # of each operator that remembers anything
    rates: Mapping[str, StreamRate]
    queries: Mapping[str, QueryLook]
    streams: Mapping[str, StreamLook]
    failing: Mapping[str, Mapping[str, Failing]]  # by kind: stream, table, sink
    queued_bytes: float
    held_bytes: int
    totals: Totals
    policy: str
    scheduling: str
    waits: Waits  # what waits for the time of which streams


def look(
    coordinator: Coordinator,
    catalog: Catalog,
    feeds: Mapping[str, Feed],
    failing: Mapping[str, Mapping[str, Failing]],
) -> Look:
    """How everything is now; to be asked between two events."""
    control, results = coordinator.control, coordinator.results
    sharing, failures = coordinator.sharing, coordinator.failures
    drained = {query for query in coordinator.drains.queries if not coordinator.runs(query)}
    queries = {}
    for name in catalog.queries:
        life: Mapping[str, Any] = results.lives.get(name, {})
        found = coordinator.shared.of(name)
        runs_as = found[0].name if found is not None else name
        begun = name in results.measures
        record = sharing.queries.get(name)
        failure = failures.get(name)
        facts = QueryFacts(
            begun=begun,
            held=sharing.machine.is_held(name),
            failed=failure is not None,
            stopping=name in drained or (record is not None and record.is_stopping),
            gone=name not in drained
            and ("to" in life or (name in catalog.stopped and not coordinator.runs(name))),
        )
        queries[name] = QueryLook(
            runs_as,
            len(found[0].members) if found is not None else 1,
            life.get("from", {}),
            (found[1].ends or {}) if found is not None else {},
            life.get("rows", 0),
            life.get("rows before", 0),
            facts,
            failure,
            coordinator.skipped.counts.get(name, 0),
            results.missing.of(life),
            results.measures[name].copy() if begun else _NOTHING,
            coordinator.charging.charges.queries.get(name, 0.0),
            began_with(life.get("back", {})) if begun else "",
        )
    streams = {}
    for name, feed in feeds.items():
        standing = coordinator.intake.standings.get(name, feed.standing)
        problem = "; ".join(feed.source.problems) if feed.source is not None else ""
        streams[name] = StreamLook(
            standing.offset, standing.late, standing.bad, standing.ended, problem, standing.mark
        )
    now_s = time.time()
    return Look(
        now_s,
        catalog,
        control.graph,
        sharing.plans.graph,
        tuple(
            UnitLook(unit.place, one.name, one.policy, one.priority, unit.state)
            for one in control.partitions
            for unit in one.units
        ),
        control.estimates,
        waiting_now(coordinator),
        remembered_now(coordinator),
        coordinator.arrivals.rates(now_s),
        queries,
        streams,
        failing,
        coordinator.queued_bytes,
        coordinator.store.held_bytes,
        replace(coordinator.totals),
        control.policy.text,
        control.threads.kind,
        coordinator.progress.waiting.waits,
    )


def status(look: Look) -> Status:
    """What people look at, worked out of a look. Any thread may do it."""
    running = Moment(look).running
    nothing: Mapping[str, StreamLook] = {}
    marks = {name: one.mark for name, one in look.streams.items() if not one.ended and one.mark < TIMELESS}
    behind = waited_for(look.waits, marks)
    streams = {
        name: StreamStatus(
            name,
            stream_state(
                rows=found.rows if found is not None else 0,
                ended=found is not None and found.ended,
                failing=name in look.failing.get("stream", nothing),
            ),
            found.rows if found is not None else 0,
            found.late if found is not None else 0,
            found.bad if found is not None else 0,
            look.failing.get("stream", {}).get(name),
            found.problem if found is not None else "",
            _moment(found.mark) if found is not None else None,
            name in behind,
            look.rates[name].lately_per_s if name in look.rates else 0.0,
        )
        for name, found in ((name, look.streams.get(name)) for name in look.catalog.streams)
    }
    return Status(
        look.at_s,
        {name: _query(look, name, one, running.get(one.runs_as)) for name, one in look.queries.items()},
        {name: one.rows for name, one in look.streams.items()},
        look.queued_bytes,
        look.held_bytes,
        look.totals,
        look.policy,
        streams,
        _parts("table", look.catalog.tables, look),
        _parts("sink", look.catalog.sinks, look),
        look.scheduling,
    )


def _moment(mark: int) -> datetime | None:
    """A watermark, if it is a time that people write."""
    try:
        return datetime.fromtimestamp(mark / 1e6, UTC)
    except (ValueError, OverflowError, OSError):
        return None


def _parts(kind: str, known: Mapping[str, object], look: Look) -> dict[str, PartStatus]:
    """Those of the catalog, and whatever else of the kind fails: a query's own directory for example."""
    failing = look.failing.get(kind, {})
    return {
        name: PartStatus(name, PartState.failing if name in failing else PartState.running, failing.get(name))
        for name in dict.fromkeys((*known, *failing))
    }


def _query(look: Look, name: str, one: QueryLook, running: Running | None) -> QueryStatus:
    measures, facts, qos = one.measures, one.facts, look.catalog.queries[name].qos
    waiting_rows, matching, streams = 0, 1.0, [] if running is None else running.streams
    standing = Standing(measures, 0.0)
    if running is not None and not facts.gone:
        facts = replace(facts, through=running.through)
        waiting_rows = round(sum(w.rows_between(one.starts, one.ends).sum() for w in running.waiting))
        matching = selectivity(
            one.rows - one.rows_before, running.passed(one.starts), running.believed / one.members
        )
        chances = [(w, running.passing.chance(w, matching, running.own)) for w in running.waiting]
        standing = Standing(measures, running.queue_bytes + running.state_bytes)
        if facts.begun:
            where = chances, one.starts, one.ends
            stale_s = waiting_stale_s(*where, measures.counted_to_s, look.at_s)
            age_s = waiting_stale_s(*where, -inf, look.at_s) if qos.latency_s is not None else 0.0
            standing = replace(standing, waiting_stale_s=stale_s, waiting_s=age_s)
    state = query_state(facts)
    end_s = _end_s(look, measures, streams) if state is QueryState.ended else look.at_s
    got = _measured(end_s, qos, standing, state) if facts.begun else (Measured(), Measured())
    circumstances = Circumstances(
        facts.held,
        one.failure,
        selectivity=matching,
        most=measures.most_bytes,
        ended=state is QueryState.ended,
    )
    lately, in_life = (judged(qos, measured, circumstances, running) for measured in got)
    known = [look.streams[stream] for stream in streams if stream in look.streams]
    return QueryStatus(
        name,
        qos,
        one.rows,
        measures.latencies,
        measures.staleness(end_s, standing.waiting_stale_s) if facts.begun else 0.0,
        measures.stale_s,
        0.0 if running is None else running.queue_bytes,
        one.missed,
        sum(stream.bad for stream in known),
        one.failure,
        state,
        waiting_rows,
        standing.waiting_stale_s,
        one.skipped,
        one.runs_as,
        0.0 if running is None else running.state_bytes,
        lately,
        in_life,
        one.charged_s,
        measures.since_s if facts.begun else None,
        measures.until_s,
        one.began_with,
    )


def _measured(end_s: float, qos: QoS, one: Standing, state: QueryState) -> tuple[Measured, Measured]:
    """What a query gets lately and has got in its life, which is the same once it has ended."""
    life = measured_in_life(one, end_s)
    return (life if state is QueryState.ended else measured_lately(qos, one, end_s)), life


def _end_s(look: Look, measures: QueryMeasures, streams: Sequence[str]) -> float:
    """When a query had ended by itself: with the last row that came, or its last result."""
    arrived = [look.rates[stream].last_s for stream in streams if stream in look.rates]
    return max(measures.counted_to_s, *arrived) if arrived else look.at_s
