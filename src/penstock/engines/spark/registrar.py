"""The registrar: what statements ask for becomes sources, plans, shared queries and sinks.

Everything here happens between two events, within a commit: it is taken back whole if it cannot be done.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from penstock.control.events import (
    Event,
    PolicyChanged,
    QueriesSubmitted,
    QueryStopped,
    WeightChanged,
)
from penstock.engines.spark import recovery
from penstock.engines.spark.admitting import Admitted, Running, admitted, own_since, shared_name
from penstock.engines.spark.altering import Alteration
from penstock.engines.spark.commit_log import CommitLog
from penstock.engines.spark.coordinator import Coordinator
from penstock.engines.spark.delivery import Deliveries
from penstock.engines.spark.distributing import Distributor
from penstock.engines.spark.fan_out import TaggedFiles, named
from penstock.engines.spark.ingest import IDLE_S, Feed, Standing
from penstock.engines.spark.one_time import window_us
from penstock.engines.spark.relations import Relations
from penstock.engines.spark.rosters import Member
from penstock.engines.spark.session import SparkSession
from penstock.engines.spark.shared import Shared
from penstock.engines.spark.sinks import registry as sinks
from penstock.engines.spark.sinks.base import Sink
from penstock.engines.spark.sinks.files import FileSink
from penstock.engines.spark.sinks.memory import ROWS, MemorySink
from penstock.engines.spark.sinks.reading import read_files
from penstock.engines.spark.sources import registry as sources
from penstock.engines.spark.sources.base import Source
from penstock.engines.spark.sources.structured import StructuredSource
from penstock.engines.spark.sources.types import arrow_schema
from penstock.errors import PolicyError, QueryError, closest
from penstock.model.operators import Join
from penstock.model.operators import Source as StreamSource
from penstock.model.qos import QoS
from penstock.model.query import Query
from penstock.model.schema import Schema
from penstock.plan import document
from penstock.plan.canonical import canonical
from penstock.plan.costing import estimated
from penstock.plan.schemas import derived_schemas
from penstock.plan.shapes import MEMBER, Shaped, on_top
from penstock.plan.sharing import merge, remove
from penstock.plan.templates import Templates
from penstock.policies.parsing import parse
from penstock.sql.catalog import Catalog, Delivery, Stream
from penstock.sql.quantities import seconds
from penstock.sql.reader import read
from penstock.sql.session import Answer, apply
from penstock.sql.statements import (
    AlterQuery,
    CreateQuery,
    CreateSink,
    Describe,
    Drop,
    Explain,
    SetPolicy,
    Show,
    Statement,
    StopQuery,
)


@dataclass(frozen=True, slots=True)
class Places:
    """Where things are: paths in statements begin at `base`, the state is in `state`, results go to `out`."""

    base: Path
    state: Path
    out: Path | None
    format: str


class Registrar:
    """See the module's docstring."""

    def __init__(
        self,
        places: Places,
        spark: SparkSession,
        log: CommitLog,
        coordinator: Coordinator,
        relations: Relations,
        deliveries: Deliveries,
        opened: Callable[[Feed], None],
        tell: Callable[[str], None],
    ) -> None:
        """`opened` hears of each stream that is read for the first time."""
        self._places, self._spark, self._log, self._coordinator = places, spark, log, coordinator
        self._relations, self._deliveries, self._opened = relations, deliveries, opened
        self.distributor = Distributor(places.out, places.format, coordinator, log, deliveries, tell)
        self._standings: dict[str, tuple[int, Standing]] = {}
        self._numbers: dict[str, int] = {}  # of streams, in the order in which they were created
        self._created = 0
        self._since = 0
        self._templates = Templates()
        self._shapes: dict[str, str] = {}  # of queries that run alone and could be members
        self.catalog = Catalog()
        self.sources: dict[str, Source] = {}
        self.feeds: dict[str, Feed] = {}
        self.begun = False  # whether rows have come in: who comes now comes later
        coordinator.shared.number_of = lambda stream: self._numbers[stream]
        coordinator.finished = partial(self.stop, drain=False)
        coordinator.membership.opened = self._add_own_sink
        coordinator.membership.regrouped = self._weigh
        coordinator.altering.opened = self._open_shared
        coordinator.altering.again = self._alter
        coordinator.crowds.wish_of = self._wish

    # --- statements ---

    def execute(self, sql: str) -> list[Answer]:
        """Runs statements: all of them, or none if one is wrong."""
        at_s = time.time()
        catalog, effects = self.catalog, []
        for statement in read(sql):
            catalog, answer = apply(catalog, statement, sql, at_s)
            effects.append((statement, answer))
        asked = [(s, answer.query.name) for s, answer in effects if answer.query is not None]
        created = {
            name: catalog.queries[name]
            for s, name in asked
            if isinstance(s, CreateQuery) and name in catalog.queries  # it may have been dropped again
        }
        altered = [
            answer.query
            for s, answer in effects
            if isinstance(s, AlterQuery) and answer.query is not None and answer.query.name not in created
        ]
        for statement, _ in effects:
            if isinstance(statement, SetPolicy):
                check_policy(statement.policy)
        for query in altered:
            self._check_alterable(query.name)
        before, self.catalog = self.catalog, catalog
        streams = self._created
        self._number(before, catalog)
        try:
            found = self._plan(list(created.values()))
        except BaseException:
            self.catalog, self._created = before, streams
            raise
        if not all(isinstance(statement, Show | Describe | Explain) for statement, _ in effects):
            self._log.add_statement(sql, at_s)
        self._start(found)
        for statement, _ in effects:
            self._effect(statement)
        for query in altered:
            self._alter(query)
        return [answer for _, answer in effects]

    def _plan(self, queries: Sequence[Query]) -> Admitted:
        """The plans that will run; opens what they read, so that a mistake shows before anything starts."""
        for query in queries:
            if query.one_time:
                window_us(query)
        shared = self._coordinator.shared
        running = Running(
            self._coordinator.planned,
            {one.digest: one.name for one in shared if self._takes_in(one)},
            frozenset(self._shapes.values()),
            frozenset({*self._coordinator.planned.queries, *shared.bases()}),  # files have the names
        )
        since = self._since + 1 if self.begun else 0
        found = admitted(queries, running, self._templates, self.catalog.rates(), since)
        for query in found.queries:
            self._use(query)
        self._coordinator.planned = found.graph
        if since and queries:
            self._since = since
            self._log.set("since", since)
        return found

    def _takes_in(self, shared: Shared, form: Shaped | None = None) -> bool:
        """Whether a shared query takes in newcomers, of that form: it is not about to end, nor split off."""
        runs = shared.name in self._coordinator.planned.queries
        fits = form is None or shared.digest == form.shape.digest
        return runs and fits and shared.instant and shared.base == shared.name

    def _use(self, query: Query) -> None:
        """Gets ready what a query reads."""
        for node in query.root.post_order():
            match node.operator:
                case StreamSource(stream=name) if name not in self.sources:
                    self._open(self.catalog.streams[name])
                case Join(relation=str(name), roster=False):
                    for relation, epoch, ref in self._relations.add(self.catalog.tables[name]):
                        version = {"name": ref.name, "rows": ref.rows, "bytes": ref.bytes}
                        self._log.put_version(relation, epoch, version)

    def _number(self, before: Catalog, after: Catalog) -> None:
        """Rows of equal time are in the order in which their streams were created."""
        for name in after.streams:
            if name not in before.streams:
                self._numbers[name] = self._created
                self._created += 1

    def _open(self, stream: Stream) -> None:
        source = sources.make(stream, self._places.base)
        if isinstance(source, StructuredSource):
            source.attach(self._spark, self._places.state / "checkpoints" / stream.name)
        number, standing = self._standings.get(stream.name) or (self._numbers[stream.name], Standing())
        self._standings[stream.name] = number, standing
        self.sources[stream.name] = source
        idle = stream.options.get("idle")
        idle_s = seconds(idle) if idle is not None else (IDLE_S if source.live else None)
        feed = Feed(stream, number, source, standing, None if idle_s is None else round(idle_s * 1e6))
        self.feeds[stream.name] = feed
        self._opened(feed)

    def _start(self, found: Admitted) -> None:
        shapes = {query.name: shape for query, shape in found.shared}
        for query in found.queries:
            self._log.put_query(query.name, document.write(query), {})
            self._coordinator.results.lives.pop(query.name, None)  # of one that had the name before
            self._log.put_results([(query.name, {})])
            if query.name in shapes:
                self._coordinator.shared.create(query, shapes[query.name])
            self._add_own_sink(query)
            self._note_one_time(query)
        self._shapes |= found.shapes
        for name, members in found.members.items():
            for query_name, _ in members:
                self._coordinator.results.lives.pop(query_name, None)
            self._coordinator.membership.join(name, members)
        if found.queries:
            self._handle(QueriesSubmitted(self._coordinator.now(), tuple(found.queries)))
        for name in found.members:
            self._weigh(name)
        for query in found.alone:
            if query.stop_s is not None:
                self._coordinator.at(query.stop_s, partial(self.stop, query.name, drain=False))

    def _note_one_time(self, query: Query) -> None:
        if query.one_time:
            self._coordinator.results.one_time[query.name] = window_us(query)

    def _effect(self, statement: Statement) -> None:
        match statement:
            case StopQuery(name=name, drain=drain):
                self.stop(self.known(name), drain=drain)
            case AlterQuery(name=name):
                self._weigh(self._coordinator.shared.runs_as(self.known(name)))
            case CreateSink(name=name):
                self._add_sink(self.catalog.sinks[name])
            case Drop(kind="sink", name=name):
                self._deliveries.remove(f"sink {name}")
            case Drop(kind="query", name=name):
                self.stop(name, drain=False)
            case SetPolicy(policy=policy):
                self.switch(policy)
            case _:
                pass

    def _weigh(self, name: str) -> None:
        """A query counts for what was asked, a shared one for its weightiest member."""
        if name in self._coordinator.planned.queries:
            self._handle(WeightChanged(self._coordinator.now(), name, self._weight(name)))

    def _wish(self, name: str) -> QoS:
        known = self.catalog.queries.get(name)
        return known.qos if known is not None else QoS()

    def _weight(self, name: str) -> float:
        known = (self.catalog.queries.get(one) for one in self._coordinator.shared.queries(name))
        return max((query.qos.weight for query in known if query is not None), default=1.0)

    def stop(self, name: str, *, drain: bool) -> None:
        """Takes a query out, if it runs."""
        if self._later(name, partial(self.stop, name, drain=drain)):
            return
        self._shapes.pop(name, None)
        if self._coordinator.shared.of(name) is not None:
            self._coordinator.membership.stop(name, drain=drain)
        elif name in self._coordinator.planned.queries:
            self._coordinator.planned = remove(self._coordinator.planned, name)
            if drain:
                self._coordinator.draining.add(name)
            self._log.set("stopping", {**self._log.get("stopping", {}), name: drain})
            self._handle(QueryStopped(self._coordinator.now(), name, drain))

    def switch(self, policy: str) -> None:
        """Another policy from now on."""
        self._handle(PolicyChanged(self._coordinator.now(), policy))
        self._log.set("policy", policy)

    # --- something else while it runs ---

    def _check_alterable(self, name: str) -> None:
        held, runs_as = {*self._log.get("suspended", [])}, self._coordinator.shared.runs_as(name)
        if name in self._coordinator.failures or runs_as in held:
            raise QueryError(f"query '{name}' is held; resume it first, or stop it and create another")
        if not self._runs(name) and not self._coordinator.altering.is_busy(name):
            raise QueryError(f"query '{name}' does not run yet; stop it and create another")

    def _alter(self, query: Query) -> None:
        """A query is that from now on, as soon as nothing else is going on with it."""
        coordinator, shared = self._coordinator, self._coordinator.shared
        name, again = query.name, partial(self._alter, query)
        if coordinator.altering.is_busy(name):
            coordinator.altering.when_done(name, again)
            return
        found = shared.of(name)
        if found is not None and coordinator.membership.is_moving(name, again):
            return
        form = self._templates.shaped(query)
        if found is not None and form is not None and self._takes_in(found[0], form):
            coordinator.altering.begin(Alteration(query, form, found[0].name))
            return
        form = form or on_top(canonical(query))
        self._since += 1
        self._log.set("since", self._since)
        taken = {*coordinator.planned.queries, *shared.bases()}
        own = form.shape.query(shared_name(form.shape.digest, taken))
        own = replace(own, root=estimated(own_since(own.root, self._since), self.catalog.rates()))
        self._use(own)
        self._shapes.pop(name, None)
        coordinator.altering.begin(Alteration(query, form, shared.runs_as(name), own))

    def _open_shared(self, query: Query, shaped: Shaped) -> None:
        """A shared query that is to go on for another one."""
        self._log.put_query(query.name, document.write(query), {})
        self._log.put_results([(query.name, {})])
        self._coordinator.shared.create(query, shaped.shape)
        self._add_own_sink(query)

    def _later(self, name: str, action: Callable[[], None]) -> bool:
        """Whether a query is being altered; something is done about it afterwards."""
        if self._coordinator.altering.is_busy(name):
            self._coordinator.altering.when_done(name, action)
            return True
        return False

    def suspend(self, name: str) -> None:
        """Holds a query; its rows wait."""
        if self._later(name, partial(self.suspend, name)):
            return
        if self._coordinator.shared.of(name) is not None:
            self._coordinator.membership.suspend(name)
        else:
            self._coordinator.hold(name, held=True)

    def resume(self, name: str) -> None:
        """Lets a query go on."""
        if self._later(name, partial(self.resume, name)):
            return
        self._coordinator.failures.pop(name, None)
        if self._coordinator.shared.of(name) is not None:
            self._coordinator.membership.resume(name)
        else:
            self._coordinator.hold(name, held=False)

    def _handle(self, event: Event) -> None:
        self._coordinator.handle(event)

    def known(self, name: str) -> str:
        """The name of a query, however its letters are written."""
        for known in self.catalog.queries:
            if known.lower() == name.lower():
                return known
        raise QueryError(f"no query '{name}'.{closest(name, self.catalog.queries)}")

    # --- sinks ---

    def _add_own_sink(self, query: Query) -> None:
        """Every query's results go to its own directory, or, without one, the last of them are kept."""
        columns, out = arrow_schema(result_schema(query)), self._places.out
        made: Sink
        shared = self._coordinator.shared
        if query.name in shared:
            base = shared.get(query.name).base
            if self._deliveries.share(query.name, base):
                return
            made = self.distributor.open(base, columns) if out else MemorySink(columns, 100 * ROWS)
        else:
            made = FileSink(out / query.name, self._places.format, columns) if out else MemorySink(columns)
        self._deliveries.add(query.name, base if query.name in shared else query.name, made)

    def _add_sink(self, delivery: Delivery) -> None:
        made = sinks.make(delivery, self._places.base, self._columns(delivery.query))
        self._deliveries.add(delivery.query, f"sink {delivery.name}", made)

    def _columns(self, query: str) -> pa.Schema:
        """The columns of a query's results."""
        planned = self._coordinator.planned.queries.get(query)
        return arrow_schema(result_schema(planned or self.catalog.queries[query]))

    def results(self, query: str) -> pa.Table:
        """A query's committed results: all of them if they go to files, else the last ones."""
        out, format_, columns = self._places.out, self._places.format, self._columns(query)
        found = self._coordinator.shared.files_of(query)
        if found:
            own = self._deliveries.get(query)  # of a query that ran by itself before it was altered
            parts = [own.rows()] if isinstance(own, MemorySink) else []
            if out is not None:
                parts = [read_files(out / query, format_, columns)]
            parts += [self._shared_results(base, member).cast(columns) for base, member in found]
            return pa.concat_tables(parts)
        for sink in self._deliveries.sinks_of(query):
            if isinstance(sink, MemorySink):
                return sink.rows()
        if out is not None:
            return read_files(out / query, format_, columns)
        raise QueryError(f"query '{query}' keeps no results")

    def _shared_results(self, base: str, member: Member) -> pa.Table:
        """A member's rows where all members' are."""
        sink = self._deliveries.get(base)
        if isinstance(sink, TaggedFiles):
            return sink.read(member)
        assert isinstance(sink, MemorySink)
        rows = sink.rows()
        mine = rows.filter(pc.equal(rows[MEMBER], member.number))
        return named(mine.drop_columns([MEMBER]), member)

    # --- after a crash ---

    def restore(self) -> None:
        """Takes up what is in the state directory; the first thing that control hears of."""
        altering = self._coordinator.altering.forget()
        stood = recovery.stood(self._log)
        for sql, at_s in self._log.statements():
            for statement in read(sql):
                before = self.catalog
                self.catalog, _ = apply(before, statement, sql, at_s)
                self._number(before, self.catalog)
        self._standings = stood.streams
        self._since = self._log.get("since", 0)
        self._coordinator.planned = stood.graph
        self.begun = any(standing.batches for _, standing in stood.streams.values())
        for name, versions in stood.versions.items():
            self._relations.restore(name, versions, max(versions, default=0))
        self._coordinator.store.keep_only(stood.files(self._relations))
        self._coordinator.results.restore(stood.lives)
        self._coordinator.shared.restore()
        for query in (*stood.queries, *stood.waiting):
            self._use(query)
            self._add_own_sink(query)
            self._note_one_time(query)
        for base in self._coordinator.shared.bases():
            self.distributor.open_former(base)
        for delivery in self.catalog.sinks.values():
            if self._runs(delivery.query):
                self._add_sink(delivery)
        files = self._log.files()
        self._deliveries.recover(files)
        self.distributor.recover()
        self._recover_ended(files)
        with self._log.transaction():
            for name, names in files.items():
                self._log.drop_files(name, names)
            weights = {query.name: self._weight(query.name) for query in stood.queries}
            recovery.restore(self._coordinator, stood, weights)
            self._ask_again(stood)
            for name in altering:
                self._alter(self.catalog.queries[name])
        self._coordinator.committed()
        for n, name, ref in self._log.outbox():
            self._deliveries.post(n, name, ref)

    def _runs(self, query: str) -> bool:
        return query in self._coordinator.planned.queries or self._coordinator.shared.of(query) is not None

    def _ask_again(self, stood: recovery.Stood) -> None:
        """What had been asked for and was not done yet when the engine stopped, and what has its time."""
        coordinator = self._coordinator
        if stood.waiting:
            coordinator.planned = merge(coordinator.planned, stood.waiting)
            waiting = [one for one in stood.waiting if not coordinator.membership.is_apart(one.name)]
            if waiting:
                self._handle(QueriesSubmitted(coordinator.now(), tuple(waiting)))
        coordinator.membership.restore()
        for query in (*stood.queries, *stood.waiting):
            if query.stop_s is not None:
                self._coordinator.at(query.stop_s, partial(self.stop, query.name, drain=False))
            if query.one_time and stood.lives.get(query.name, {}).get("rows"):
                self.stop(query.name, drain=False)
        for name, drain in self._log.get("stopping", {}).items():
            self.stop(name, drain=drain)
        if stood.queries:  # cut as the policy wants, whatever was under way
            self._handle(PolicyChanged(self._coordinator.now(), self._coordinator.control.policy.text))

    def _recover_ended(self, files: Mapping[str, list[str]]) -> None:
        """Files that were committed with the end of their query, or moved there, and not yet renamed."""
        for name, staged in files.items():
            delivery = self.catalog.sinks.get(name.removeprefix("sink "))
            query = delivery.query if name.startswith("sink ") and delivery is not None else name
            if query in self._coordinator.planned.queries:
                continue
            sink: Sink | None = None
            if query != name and delivery is not None:
                sink = sinks.make(delivery, self._places.base, pa.schema([]))
            elif query == name and self._places.out is not None:
                sink = FileSink(self._places.out / name, self._places.format, pa.schema([]))
            if isinstance(sink, FileSink):
                sink.recover(staged)


def check_policy(text: str) -> None:
    """Refuses a policy that there is not, or that cannot run here."""
    if parse(text).needs_oracle:
        raise PolicyError(f"policy '{text}' needs the true cost of every row, which only the simulator knows")


def result_schema(query: Query) -> Schema:
    """The columns of a query's results."""
    return {id(node): schema for node, schema in derived_schemas(query.root)}[id(query.root)]
