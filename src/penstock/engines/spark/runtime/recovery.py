"""Going on after a crash: from what the commit log says to a control, queues and states as they stood."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.control.events import Restored
from penstock.control.standing import Cursor, QueueContents
from penstock.engines.spark.ingest.feeder import LogPosition
from penstock.engines.spark.ingest.relations import Relations
from penstock.engines.spark.ingest.retained import Kept
from penstock.engines.spark.operators.base import UNKNOWN
from penstock.engines.spark.operators.layouts import Needs
from penstock.engines.spark.results.draining import Drain, recorded
from penstock.engines.spark.results.measures import QueryMeasures
from penstock.engines.spark.runtime.coordinator import Coordinator, now_s
from penstock.engines.spark.storage.commit_log import CommitLog
from penstock.engines.spark.storage.queue_records import key
from penstock.engines.spark.storage.records import OperatorState
from penstock.engines.spark.storage.store import Ref
from penstock.model.batch import Batch
from penstock.model.graph import Graph, Port
from penstock.model.query import Query
from penstock.model.unit import Unit
from penstock.plan import document
from penstock.plan.sharing import merge
from penstock.policies.layout import lay_out


@dataclass(slots=True)
class Stood:
    """What the commit log says."""

    queries: list[Query]
    waiting: list[Query]  # accepted, but not started
    graph: Graph
    streams: dict[str, tuple[int, LogPosition]]
    batches: dict[str, list[tuple[int, Batch]]]
    units: dict[int, tuple[str, ...]]
    readers: dict[tuple[int, str], tuple[int, int]]
    states: dict[str, tuple[OperatorState, int]]
    marks: dict[tuple[str, int], int]
    asked: dict[str, Needs]
    versions: dict[str, dict[int, Ref]]
    lives: dict[str, dict[str, Any]]
    outbox: list[Ref] = field(default_factory=list)
    drains: list[Drain] = field(default_factory=list)

    def files(self, relations: Relations) -> Iterator[str]:
        """All tables of the store that count."""
        for batches in self.batches.values():
            yield from (batch.ref.ref.name for _, batch in batches if batch.ref.ref is not None)
        for state, _ in self.states.values():
            yield from (piece.ref.name for piece in state.pieces)
        yield from (ref.name for ref in relations.refs())
        yield from (ref.name for ref in self.outbox)
        yield from (name for drain in self.drains for name in drain.tables)


def stood(log: CommitLog) -> Stood:
    """Reads the commit log."""
    lives = log.results()
    accepted = [document.read(plan) for _, plan, _ in log.queries()]
    queries = [query for query in accepted if "from" in lives.get(query.name, {})]
    return Stood(
        queries,
        [query for query in accepted if query not in queries],
        merge(Graph(), queries),
        {name: (number, LogPosition(**values)) for name, (number, values) in log.streams().items()},
        log.batches(),
        log.units(),
        log.readers(),
        log.states(),
        log.marks(),
        {name: Needs(**needs) for name, needs in log.get("asked", {}).items()},
        {
            name: {epoch: Ref(**version) for epoch, version in versions.items()}
            for name, versions in log.versions().items()
        },
        lives,
        [entry.ref for entry in log.outbox()],
        recorded(log),
    )


def restore(coordinator: Coordinator, stood: Stood, weights: Mapping[str, float]) -> None:
    """Puts control and coordinator where they stood. The first thing control hears of."""
    if not stood.queries and not stood.streams:
        return
    coordinator.progress.states = {name: state for name, (state, _) in stood.states.items()}
    coordinator.progress.outputs = {name: mark for name, (_, mark) in stood.states.items()}
    coordinator.progress.marks = dict(stood.marks)
    coordinator.progress.asked = dict(stood.asked)
    for query in stood.queries:
        for name in (query.name, *coordinator.shared.queries(query.name)):
            coordinator.results.measures[name] = QueryMeasures(since_s=now_s())
    for name, batches in stood.batches.items():
        coordinator.records.restore(name, dict(batches))
    units = [Unit(operators) for operators in stood.units.values()]
    places = {n: place for place, n in enumerate(stood.units)}
    layout = lay_out(stood.graph, tuple(units))
    contents = []
    for port in layout.readers:
        name = key(port, stood.graph)
        cursors = {places[n]: read for (n, queue), read in stood.readers.items() if queue == name}
        contents.append(_contents(port, stood, name, cursors))
    coordinator.intake.standings = {name: standing for name, (_, standing) in stood.streams.items()}
    unread = [name for name in stood.streams if Port(name) not in layout.readers]
    kept = coordinator.retention.restore(stood.batches, unread, now_s())
    for name in unread:
        contents.append(_before(kept[name]) if name in kept else _contents(Port(name), stood, name, {}))
    for one in contents:
        marks = [batch.ref.mark for batch in one.batches]
        coordinator.progress.pushed[one.port] = max(marks, default=UNKNOWN)
    coordinator.handle(
        Restored(
            coordinator.now(),
            tuple(stood.queries),
            tuple(stood.units.values()),
            tuple(contents),
            tuple(host.name for host in coordinator.log.sharing_hosts() if host.held and host.begun),
            {name: weight for name, weight in weights.items() if name in stood.graph.queries},
        )
    )
    for name in unread:  # of what has expired meanwhile files are left
        coordinator.records.sweep(name, coordinator.control.stream_queue(name))


def _before(kept: Kept) -> QueueContents:
    """The queue at a stream of which batches wait for the first query: it ends before them."""
    batch = kept.batch
    return QueueContents(Port(batch.leaf), (), batch.lo, float("-inf"), False, (), kept.n)


def _contents(port: Port, stood: Stood, name: str, cursors: dict[int, tuple[int, int]]) -> QueueContents:
    """A queue as it stood; of a log that is kept, only what some reader has yet to read."""
    batches = stood.batches.get(name, [])
    _, standing = stood.streams.get(name, (0, LogPosition()))
    read = [number for number, _ in cursors.values()]
    end = batches[-1][0] + 1 if batches else max(read, default=standing.batches)
    first = min(read, default=end)
    waiting = tuple(batch for n, batch in batches if n >= first)
    return QueueContents(
        port,
        waiting,
        standing.offset,
        standing.mark / 1e6 if name in stood.streams else float("-inf"),
        standing.ended,
        tuple(Cursor(unit, read - first, rows) for unit, (read, rows) in sorted(cursors.items())),
        first,
    )
