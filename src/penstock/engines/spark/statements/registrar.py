"""The registrar: what statements ask for becomes plans, shared queries, and sources and sinks in use.

Everything here happens between two events, within a commit. What is refused is refused before anything has
changed (`statements` says how).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

import pyarrow as pa
from pyspark.sql import SparkSession

from penstock.control.events import Event, PolicyChanged
from penstock.control.sharing import events as sharing_events
from penstock.control.sharing.records import (
    Alter,
    Hold,
    HostRecord,
    PreferApart,
    Request,
    Resume,
    Stop,
)
from penstock.engines.spark.functions.registry import Functions
from penstock.engines.spark.ingest.feeder import Feed
from penstock.engines.spark.ingest.relations import Relations
from penstock.engines.spark.results.delivery import Deliveries
from penstock.engines.spark.results.distributing import Distributor
from penstock.engines.spark.results.full_windows import FullWindows, put_out
from penstock.engines.spark.results.places import ResultPlaces
from penstock.engines.spark.results.reading import Reading
from penstock.engines.spark.results.sinks.base import Sink
from penstock.engines.spark.results.sinks.columns import result_columns
from penstock.engines.spark.runtime import recovery
from penstock.engines.spark.runtime.coordinator import Coordinator
from penstock.engines.spark.sharing.driver import SharingDriver
from penstock.engines.spark.sharing.host_plans import HostPlans, facts
from penstock.engines.spark.sharing.older_states import take_over
from penstock.engines.spark.statements.dropping import Dropping
from penstock.engines.spark.statements.inputs import Inputs
from penstock.engines.spark.statements.outputs import Outputs, Places
from penstock.engines.spark.statements.statements import (
    Asked,
    Ground,
    OvertakenError,
    Prepared,
    StillThereError,
)
from penstock.engines.spark.storage.commit_log import CommitLog
from penstock.errors import PenstockError, PolicyError, QueryError, closest
from penstock.model.functions import called as functions_called
from penstock.model.qos import QoS
from penstock.model.query import Query
from penstock.plan import document
from penstock.plan.shared.together import (
    Admitted,
    Running,
    admitted,
    may_share,
)
from penstock.plan.sharing import merge
from penstock.policies.parsing import parse
from penstock.sql.binding.catalog import Catalog
from penstock.sql.reading.reader import read
from penstock.sql.reading.statements import (
    AlterQuery,
    CreatePlanned,
    CreateQuery,
    CreateSink,
    Drop,
    SetPartition,
    SetPolicy,
    SetScheduling,
    StopQuery,
)
from penstock.sql.scoping import Scope, steps_in
from penstock.sql.session import Answer, Step
from penstock.sql.users import users_of


class Registrar:
    """Applies what statements ask for, and what people ask of queries, within a commit."""

    def __init__(
        self,
        places: Places,
        spark: SparkSession,
        log: CommitLog,
        coordinator: Coordinator,
        relations: Relations,
        deliveries: Deliveries,
        functions: Functions,
        is_feeding: Callable[[], bool],
        opened: Callable[[Feed], None],
        closed: Callable[[str], None],
        tell: Callable[[str], None],
    ) -> None:
        """`is_feeding` says whether rows are taken in.

        `opened` hears of each stream that is read for the first time, `closed` of one that is no more.
        """
        self._log, self._coordinator, self._relations = log, coordinator, relations
        self._functions = functions
        self.inputs = Inputs(places, spark, log, relations, is_feeding, opened, closed)
        self.dropping = Dropping(log, coordinator, self.inputs)
        distributor = Distributor(places.out, places.format, coordinator, log, deliveries, tell)
        self.outputs = Outputs(places, coordinator.shared, deliveries, distributor)
        self.catalog = Catalog()
        self.begun = False  # whether rows have come in: who comes now comes later
        self._plans = HostPlans(log)
        self._sharing = SharingDriver(coordinator, self._plans, self.outputs.open, self._wish, self._rates)
        coordinator.sharing = self._sharing
        coordinator.shared.number_of = self.inputs.number_of
        coordinator.finished = partial(self.stop, drain=False)

    # --- statements ---

    def ground(self, asked: Asked) -> Ground:
        """What the plans of a text are to be made for; refuses a text that cannot be applied now."""
        self._check_names(asked)
        for query in asked.altered:
            self._check_alterable(query.name)
        known = self._coordinator.control.graph.operators
        for name in asked.partitioned:
            if name not in known:
                raise PolicyError(f"there is no operator '{name}' that runs.{closest(name, known)}")
        since = self._plans.since + 1 if self.begun else 0
        return Ground(self._running(), self._rates(), since, self._coordinator.control.estimates)

    def ground_for_draft(self) -> tuple[Running, Mapping[str, str], Mapping[str, float]]:
        """What runs, the shapes of queries that run by themselves, and rates: for one only looked at."""
        there = self._plans.graph.queries
        alone = {name: digest for name, digest in self._plans.alone.items() if name in there}
        return self._running(), alone, self._rates()

    def plan(self, asked: Asked, ground: Ground) -> Admitted:
        """The plans that will run. For any thread, one text after the other; nobody waits for it."""
        for policy in asked.policies:
            check_policy(policy)
        for query in asked.altered:
            self._plans.shaped(query)
        queries = list(asked.created.values())
        templates, rates = self._plans.templates, ground.rates
        return admitted(queries, ground.running, templates, rates, ground.since, ground.estimates)

    def apply(self, prepared: Prepared, ground: Ground, found: Admitted) -> list[Answer]:
        """Does what a text asks for. What is refused here is refused before anything has changed.

        OvertakenError if the plans were made for something else than what runs now.
        """
        asked = prepared.asked
        if not self.ground(asked).is_as(ground):
            raise OvertakenError("other queries have come or gone since these were planned; try again")
        own = self.outputs.make(asked.created, found.alone)
        with defects_told("a statement was applied in part"):
            self._commit(prepared, found, own)
        return [one.answer for one in asked.steps if one.answers]

    def _check_names(self, asked: Asked) -> None:
        """A name that had been another's is free once that one is gone."""
        reads = self.dropping.read()
        records = self._sharing.queries
        stopping = {name.lower() for name, one in records.items() if one.is_stopping}
        running = {name.lower() for name in asked.before.queries if name in records}
        for name in asked.created:
            if name.lower() in stopping:
                raise StillThereError(f"a query '{name}' is still ending; try again when it has ended")
            if name.lower() in running:
                raise QueryError(
                    f"query '{name}' still runs; drop it by itself, and create another when that is done"
                )
        for kind in ("streams", "tables"):
            for name in asked.new(kind):
                if name in self.dropping:
                    raise StillThereError(
                        f"'{name}' was dropped and a query that is ending still reads it; try again later"
                    )
                if name in reads:
                    raise QueryError(
                        f"a query that is running still reads '{name}'; drop both by themselves, and create "
                        "another when that is done"
                    )
        for name, stream in asked.altered_streams.items():
            if stream.schema == asked.before.streams[name].schema or name not in reads:
                continue
            if users_of(asked.before, "stream", name):
                raise QueryError(
                    f"a query that is running still reads '{name}'; drop it by itself, and add columns when "
                    "that is done"
                )
            raise StillThereError(f"a query that is ending still reads stream '{name}'; try again later")

    def _commit(self, prepared: Prepared, found: Admitted, own: Mapping[str, Sink]) -> None:
        """What nothing can be wrong with any more."""
        asked = prepared.asked
        self.catalog = asked.after
        if asked.changes:
            self._log.add_statement(asked.sql, asked.at_s, asked.namespace)
        for one in asked.steps:
            self._drop_input(one)
            self.inputs.number(one.before, one.after)
        self.inputs.add(prepared.inputs)
        for stream in asked.altered_streams.values():
            self.inputs.alter(stream)
        for query in asked.created.values():
            self._plans.created(query)
        if self.begun and asked.created:
            self._plans.next_since()
        self._start(found, own, asked.at_s)
        for one in asked.steps:
            self._effect(one, prepared.sinks)
            altered = one.answer.query if isinstance(one.statement, AlterQuery) else None
            if altered is not None and altered.name not in asked.created:
                self._alter(altered)

    def _drop_input(self, one: Step) -> None:
        if isinstance(one.statement, Drop) and one.after is not one.before:
            match one.statement.kind:
                case "stream":
                    self.dropping.add("stream", called(one.statement.name, one.before.streams))
                case "table":
                    self.dropping.add("table", called(one.statement.name, one.before.tables))

    def _running(self) -> Running:
        """What runs, for those that come."""
        machine, graph = self._sharing.machine, self._plans.graph
        at_once: dict[str, str] = {}
        later: dict[str, str] = {}
        for host in self._sharing.hosts.values():
            shape = host.shape
            if shape is None or not host.is_base or host.end_asked:
                continue
            together = not (self.begun or host.held or host.beside)  # before rows come all begin together
            if together or machine.takes_in(host):
                at_once.setdefault(shape.digest, host.name)
            if shape.absorbs:
                later.setdefault(shape.digest, host.name)
        alone = (digest for name, digest in self._plans.alone.items() if name in graph.queries)
        names = (*self._sharing.hosts, *machine.book.reserved, *self._coordinator.shared.bases())
        return Running(graph, at_once, later, frozenset(alone), frozenset(names))

    def _start(self, found: Admitted, own: Mapping[str, Sink], at_s: float) -> None:
        shapes = {query.name: shape for query, shape in found.shared}
        hosts = []
        for query in found.queries:
            self._begin_anew(query.name)
            if query.back_s:
                self._coordinator.results.looks_back(query.name, at_s, at_s - query.back_s)
            host = HostRecord(query.name, query.name)
            if query.name in shapes:
                shape, base = shapes[query.name], found.joining.get(query.name)
                self._coordinator.shared.create(query, shape, base)
                host = HostRecord(
                    query.name, base or query.name, facts(shape, query), returns=base is not None
                )
            hosts.append(host)
            self.outputs.open(query, own.get(query.name))
            self._note_windows(query)
        self._plans.admit(found)
        for name, members in found.members.items():
            for query_name, _ in members:
                self._begin_anew(query_name)
            self._coordinator.query_lives.join(name, members)
        joined = {query: name for name, members in found.members.items() for query, _ in members}
        alone = {query.name: query.name for query in found.alone}
        if alone or joined:
            self._sharing.tell(sharing_events.Admitted({**alone, **joined}, tuple(hosts)))
        for query in found.alone:
            self._stop_in_time(query)

    def _stop_in_time(self, query: Query) -> None:
        if query.stop_s is not None:
            self._coordinator.mailbox.at(query.stop_s, partial(self.stop, query.name, drain=False))

    def _begin_anew(self, name: str) -> None:
        """Another query may have had that name, of which nothing is left in the new one's results."""
        self._coordinator.drains.cancel(name)
        self._coordinator.results.begin_anew(name)
        self._coordinator.charging.charges.forget(name)
        self.outputs.forget(name)

    def _note_windows(self, query: Query) -> None:
        windows = FullWindows.of(query)
        if windows is not None:
            self._coordinator.results.ending[query.name] = windows

    def _effect(self, one: Step, sinks: Mapping[str, Sink]) -> None:
        if one.after is one.before:  # IF EXISTS, IF NOT EXISTS, or nothing was to be changed
            return
        match one.statement:
            case StopQuery(name=name, drain=drain):
                self.stop(called(name, one.before.queries), drain=drain)
            case AlterQuery(name=name):
                host = self._coordinator.shared.runs_as(called(name, one.before.queries))
                self._sharing.weigh(host)
                self._sharing.ask_latency(host)
            case CreateSink(name=name) if name in sinks and one.after.sinks[name] is self.catalog.sinks[name]:
                self.outputs.add(self.catalog.sinks[name], sinks[name])
            case Drop(kind="sink", name=name):
                self.outputs.remove(called(name, one.before.sinks))
            case Drop(kind="query", name=name):
                stopped = called(name, one.before.queries)
                self.stop(stopped, drain=False)
                self._coordinator.results.readers.drop(stopped)
                self._coordinator.drains.cancel(stopped)
                self._coordinator.query_lives.lost_windows.pop(stopped, None)
            case SetPolicy(policy=policy):
                self.switch(policy)
            case SetScheduling() | SetPartition() | Drop(kind="partition"):
                self._divide()
            case _:
                pass

    def _wish(self, name: str) -> QoS:
        known = self.catalog.queries.get(name)
        return known.qos if known is not None else QoS()

    def _rates(self) -> Mapping[str, float]:
        """Rows per second of streams: as measured, or else as their definitions say."""
        return {**self.catalog.rates(), **self._coordinator.monitor.rates(self._coordinator.now())}

    def stop(self, name: str, *, drain: bool) -> None:
        """Takes a query out, if it runs."""
        if name in self._sharing.queries:
            self._sharing.tell(sharing_events.Asked(name, Stop(drain)))

    def switch(self, policy: str) -> None:
        """Another policy from now on."""
        self._handle(PolicyChanged(self._coordinator.now(), policy))
        self._log.set("policy", policy)

    def _divide(self) -> None:
        """The graph divided among threads as the catalog says."""
        coordinator, catalog = self._coordinator, self.catalog
        coordinator.scheduling = replace(
            coordinator.scheduling,
            kind=catalog.scheduling or "pool",
            partitions=tuple(catalog.partitions.values()),
        )
        coordinator.divide_anew()

    # --- something else while it runs ---

    def _check_alterable(self, name: str) -> None:
        if name not in self._sharing.queries:
            raise QueryError(f"query '{name}' does not run yet; stop it and create another")
        query, host = self._sharing.queries[name], self._sharing.machine.host_of(name)
        failed_alone = query.failed is not None and not host.shared and not query.held
        if self._sharing.machine.is_held(name) and not failed_alone:
            raise QueryError(f"query '{name}' is held; resume it first, or stop it and create another")

    def _alter(self, query: Query) -> None:
        """A query is that from now on, as soon as nothing else is going on with it."""
        shape = self._plans.shaped(query).shape
        request = Alter(self._plans.altered(query), facts(shape, shape.query(query.name)))
        self._sharing.tell(sharing_events.Asked(query.name, request))

    def suspend(self, name: str) -> None:
        """Holds a query; its rows wait."""
        self._ask(name, Hold())

    def resume(self, name: str) -> None:
        """Lets a query go on."""
        self._ask(name, Resume())

    def resume_callers(self, identity: str) -> None:
        """Queries that failed and call a function go on, since it is another now."""
        for name in self._coordinator.failures:
            query = self.catalog.queries.get(name)
            if query is not None and identity in functions_called(query.root):
                self.resume(name)

    def run_apart(self, name: str, *, apart: bool | None) -> None:
        """Somebody wants a query to run apart, or not to; None leaves it to the policy."""
        self._ask(name, PreferApart(apart))
        self._coordinator.estimate()

    def _ask(self, name: str, request: Request) -> None:
        if name in self.catalog.stopped:
            raise QueryError(f"query '{name}' is stopped; create another to go on from now")
        if name in self._sharing.queries:
            self._sharing.tell(sharing_events.Asked(name, request))

    def _handle(self, event: Event) -> None:
        self._coordinator.handle(event)

    def known(self, name: str) -> str:
        """The name of a query, however its letters are written."""
        for known in self.catalog.queries:
            if known.lower() == name.lower():
                return known
        raise QueryError(f"no query '{name}'.{closest(name, self.catalog.queries)}")

    def reading(self, query: str) -> Reading:
        """Where a query's committed results are: all of them if they go to files, else the last ones."""
        return self.outputs.reading(query, self._columns(query), self._first_file(query))

    def places(self, query: str) -> ResultPlaces:
        """The directories with a query's results."""
        version = self._coordinator.results.places_version
        return self.outputs.places(query, self._columns(query), self._first_file(query), version)

    def _first_file(self, query: str) -> int:
        return int(self._coordinator.results.lives.get(query, {}).get("first_file", 0))

    def _columns(self, query: str) -> pa.Schema:
        return result_columns(self._plans.graph.queries.get(query) or self.catalog.queries[query])

    # --- after a crash ---

    def restore(self) -> None:
        """Takes up what is in the state directory; the first thing that control hears of."""
        coordinator = self._coordinator
        for sql, at_s, namespace in self._log.statements():
            self._replay(sql, at_s, Scope(namespace, accepted=True) if namespace is not None else None)
        self._functions.follow(self.catalog.functions.values())
        with self._log.transaction():
            take_over(self._log, self._plans)
        stood = recovery.stood(self._log)
        queries = (*stood.queries, *stood.waiting)
        self.inputs.restore(stood.streams)
        self._plans.restore(queries, merge(stood.graph, stood.waiting))
        self.begun = any(standing.batches for _, standing in stood.streams.values())
        for name, versions in stood.versions.items():
            self._relations.restore(name, versions, max(versions, default=0))
        coordinator.store.keep_only(stood.files(self._relations))
        coordinator.results.restore(stood.lives)
        coordinator.shared.restore()
        self._find_shapes()
        self.dropping.restore()
        self.inputs.resume(queries, self.catalog)
        self.inputs.sweep()
        owed, files = self._restore_outputs(stood, queries)
        unseen = self.outputs.deliveries.unseen
        with self._log.transaction():
            for name, names in files.items():
                if name not in owed:
                    self._log.drop_files(name, [one for one in names if (name, one) not in unseen])
            weights = {query.name: self._sharing.weight_of(query.name) for query in stood.queries}
            recovery.restore(coordinator, stood, weights)
            coordinator.drains.restore()
            self._sharing.restore()
            self._go_on(stood, queries)
            coordinator.retention.hand_over()
            self.dropping.sweep()
        self.outputs.deliveries.post(self._log.outbox())
        coordinator.committed()

    def _restore_outputs(
        self, stood: recovery.Stood, queries: Iterable[Query]
    ) -> tuple[set[str], Mapping[str, list[str]]]:
        """Places of results; those where files cannot be renamed now, and the files that were staged."""
        for query in queries:
            self.outputs.open(query)
            self._note_windows(query)
        for base in self._coordinator.shared.bases():
            self.outputs.distributor.open_former(base)
        for delivery in self.catalog.sinks.values():
            self.outputs.restore(delivery, self._columns(delivery.query))
        self.outputs.open_kept(self.catalog.queries.values())
        for drain in stood.drains:
            self.outputs.open_drained(drain)
        self._coordinator.results.readers.restore()
        files = self._log.files()
        return self.outputs.recover(files, self._plans.graph.queries), files

    def _replay(self, sql: str, at_s: float, scope: Scope | None) -> None:
        """Statements that were accepted once; what was altered before it began counts as created so."""
        created: set[str] = set()
        for step in self._steps(sql, at_s, scope):
            self.catalog = step.after
            self.inputs.number(step.before, step.after)
            match step.statement, step.answer.query:
                case ((CreateQuery() | CreatePlanned()), Query() as query):
                    created.add(query.name)
                    self._plans.created(query)
                case AlterQuery(), Query() as query if query.name in created:
                    self._plans.created(query)
                case AlterQuery(), Query() as query:
                    self._plans.altered(query)

    def _steps(self, sql: str, at_s: float, scope: Scope | None) -> Iterator[Step]:
        for statement in read(sql):
            yield from steps_in(scope, self.catalog, statement, sql, at_s, document.read)

    def _find_shapes(self) -> None:
        """The shapes of queries that run alone, for those that will come."""
        for name in self.catalog.queries:
            query = self._plans.definitions(name)[0]  # what has become something else runs alone no more
            if name in self._plans.graph.queries and may_share(query):
                form = self._plans.templates.shaped(query)
                if form is not None:
                    self._plans.alone[name] = form.shape.digest

    def _go_on(self, stood: recovery.Stood, queries: Iterable[Query]) -> None:
        """What has its time, and a cut as the policy wants it, whatever was under way."""
        for query in queries:
            self._stop_in_time(query)
            most = query.most_windows
            if most is not None and put_out(stood.lives.get(query.name, {}))[0] >= most:
                self.stop(query.name, drain=False)
        self._divide()
        if stood.queries:
            self._handle(PolicyChanged(self._coordinator.now(), self._coordinator.control.policy.text))


def check_policy(text: str) -> None:
    """Refuses a policy that there is not, or that cannot run here."""
    if parse(text).needs_oracle:
        raise PolicyError(f"policy '{text}' needs the true cost of every row, which only the simulator knows")


def called(name: str, known: Iterable[str]) -> str:
    """The name as it was given first; upper and lower case are the same."""
    return next(one for one in known if one.lower() == name.lower())


@contextmanager
def defects_told(what: str) -> Iterator[None]:
    """What is refused too late is no user's mistake: it stops the engine, rather than leave half done."""
    try:
        yield
    except PenstockError as error:
        raise RuntimeError(f"{what}, which is a defect of Penstock: {error}") from error
