"""A look at everything between two events: what is copied there is little, the rest is worked out elsewhere.

The coordinator's thread takes a `Look`, which takes some 10 µs for each query; the thread that asked makes a
`Status` of it.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from penstock.engines.spark.failing import Failing
from penstock.engines.spark.results.measures import QueryMeasures
from penstock.engines.spark.results.staleness import Passing, Waiting, passing, selectivity, waiting_stale_s
from penstock.engines.spark.status.query_states import PartState, QueryFacts, query_state, stream_state
from penstock.engines.spark.status.status import PartStatus, QueryStatus, Status, StreamStatus
from penstock.model.estimates import Estimates
from penstock.model.graph import Graph
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


@dataclass(frozen=True, slots=True)
class StreamLook:
    """One stream as it is now: where its log ends, and what did not fit."""

    rows: int
    late: int
    bad: int
    ended: bool
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Look:
    """Everything at one moment."""

    at_s: float
    catalog: Catalog
    graph: Graph
    planned: Graph  # with those that have not begun
    units: tuple[tuple[str, ...], ...]
    measured: frozenset[tuple[str, ...]]  # the units whose estimates are fitted to steps
    estimates: Estimates
    waiting: tuple[Waiting, ...]
    queries: Mapping[str, QueryLook]
    streams: Mapping[str, StreamLook]
    failing: Mapping[str, Mapping[str, Failing]]  # by kind: stream, table, sink
    queued_bytes: float
    held_bytes: int
    totals: Totals
    policy: str


def waiting_now(coordinator: Coordinator) -> tuple[Waiting, ...]:
    """All batches that some unit has not finished."""
    found = []
    for port, queue in coordinator.control.queues.items():
        for reader in queue.readers:
            if reader.cursor < queue.tail:
                operators = tuple(edge.reader for edge in reader.edges)
                batches = tuple(queue.slice(reader.cursor, queue.tail))
                found.append(Waiting(port.node, operators, batches))
    return tuple(found)


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
        )
    streams = {}
    for name, feed in feeds.items():
        standing = coordinator.intake.standings.get(name, feed.standing)
        problem = "; ".join(feed.source.problems) if feed.source is not None else ""
        streams[name] = StreamLook(standing.offset, standing.late, standing.bad, standing.ended, problem)
    return Look(
        time.time(),
        catalog,
        control.graph,
        sharing.plans.graph,
        tuple(unit.place.unit.operators for unit in control.units.values()),
        coordinator.monitor.measured,
        control.estimates,
        waiting_now(coordinator),
        queries,
        streams,
        failing,
        coordinator.queued_bytes,
        coordinator.store.held_bytes,
        replace(coordinator.totals),
        control.policy.text,
    )


def status(look: Look) -> Status:
    """What people look at, worked out of a look. Any thread may do it."""
    by_operator: dict[str, list[Waiting]] = {}
    for one in look.waiting:
        for operator in one.operators:
            by_operator.setdefault(operator, []).append(one)
    runs = {one.runs_as for one in look.queries.values()}
    running = {name: _Running(look, name, by_operator) for name in runs if name in look.graph.members}
    nothing: Mapping[str, StreamLook] = {}
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
    )


def _parts(kind: str, known: Mapping[str, object], look: Look) -> dict[str, PartStatus]:
    """Those of the catalog, and whatever else of the kind fails: a query's own directory for example."""
    failing = look.failing.get(kind, {})
    return {
        name: PartStatus(name, PartState.failing if name in failing else PartState.running, failing.get(name))
        for name in dict.fromkeys((*known, *failing))
    }


class _Running:
    """What control runs, which may be many queries as one: what waits for it, and how rows pass it."""

    def __init__(self, look: Look, name: str, by_operator: Mapping[str, list[Waiting]]) -> None:
        self._look = look
        graph, members = look.graph, look.graph.members[name]
        found = {id(one): one for operator in members for one in by_operator.get(operator, ())}
        self.own = set(members)
        self.waiting = list(found.values())
        self.bytes = sum(one.bytes for one in self.waiting)
        self.passing: Passing = passing(graph, members, look.estimates)
        self.believed = self.passing.of_stream(graph)
        self.streams = [member for member in members if graph.is_source(member)]
        #: The offset of each stream up to which rows have passed.
        self.reached = {
            stream: look.streams[stream].rows for stream in self.streams if stream in look.streams
        }
        for one in self.waiting:
            for batch in one.batches:
                if batch.leaf in self.reached:
                    self.reached[batch.leaf] = min(self.reached[batch.leaf], batch.lo)

    @property
    def through(self) -> bool:
        """Whether its streams have ended, and nothing of them waits."""
        ended = [self._look.streams[name].ended for name in self.streams if name in self._look.streams]
        return bool(ended) and all(ended) and not self.waiting

    def passed(self, starts: Mapping[str, int]) -> int:
        """How many rows have passed, from those offsets on."""
        return sum(max(0, self.reached.get(stream, lo) - lo) for stream, lo in starts.items())


def _query(look: Look, name: str, one: QueryLook, running: _Running | None) -> QueryStatus:
    measures, facts = one.measures, one.facts
    waiting_s, waiting_rows, streams = 0.0, 0, [] if running is None else running.streams
    if running is not None and not facts.gone:
        facts = replace(facts, through=running.through)
        waiting_rows = round(sum(w.rows_between(one.starts, one.ends).sum() for w in running.waiting))
        measured = selectivity(
            one.rows - one.rows_before, running.passed(one.starts), running.believed / one.members
        )
        chances = [(w, running.passing.chance(w, measured, running.own)) for w in running.waiting]
        if facts.begun:
            waiting_s = waiting_stale_s(chances, one.starts, one.ends, measures.counted_to_s, look.at_s)
    known = [look.streams[stream] for stream in streams if stream in look.streams]
    return QueryStatus(
        name,
        look.catalog.queries[name].qos,
        one.rows,
        measures.latencies,
        measures.staleness(look.at_s, waiting_s) if facts.begun else 0.0,
        measures.stale_s,
        0.0 if running is None else running.bytes,
        one.missed,
        sum(stream.bad for stream in known),
        one.failure,
        query_state(facts),
        waiting_rows,
        waiting_s,
        one.skipped,
        one.runs_as,
    )
