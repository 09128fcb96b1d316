"""The registrar: what statements ask for becomes plans, shared queries, and sources and sinks in use.

Everything here happens between two events, within a commit. What is refused is refused before anything has
changed (`statements` says how).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial

import pyarrow as pa
from pyspark.sql import SparkSession

from penstock.control.events import (
    Event,
    PolicyChanged,
    QueriesSubmitted,
    QueryStopped,
    WeightChanged,
)
from penstock.engines.spark.ingest.feeder import Feed
from penstock.engines.spark.ingest.relations import Relations
from penstock.engines.spark.results.delivery import Deliveries
from penstock.engines.spark.results.distributing import Distributor
from penstock.engines.spark.results.one_time import window_us
from penstock.engines.spark.results.reading import Reading
from penstock.engines.spark.results.sinks.base import Sink
from penstock.engines.spark.results.sinks.columns import result_columns
from penstock.engines.spark.runtime import recovery
from penstock.engines.spark.runtime.coordinator import Coordinator
from penstock.engines.spark.sharing.altering import Alteration
from penstock.engines.spark.sharing.shared import Shared
from penstock.engines.spark.statements.dropping import Dropping
from penstock.engines.spark.statements.inputs import Inputs
from penstock.engines.spark.statements.outputs import Outputs, Places
from penstock.engines.spark.statements.statements import (
    Asked,
    Effect,
    Ground,
    OvertakenError,
    Prepared,
    StillThereError,
)
from penstock.engines.spark.storage.commit_log import CommitLog
from penstock.errors import PenstockError, PolicyError, QueryError, closest
from penstock.model.qos import QoS
from penstock.model.query import Query
from penstock.plan import document
from penstock.plan.canonical import canonical
from penstock.plan.shared.remembering import remembered_s
from penstock.plan.shared.shapes import Shape, Shaped, on_top
from penstock.plan.shared.templates import Templates
from penstock.plan.shared.together import (
    Admitted,
    Running,
    admitted,
    may_share,
    shared_query,
)
from penstock.plan.sharing import merge, remove
from penstock.policies.parsing import parse
from penstock.sql.binding.catalog import Catalog
from penstock.sql.reading.reader import read
from penstock.sql.reading.statements import (
    AlterQuery,
    CreateQuery,
    CreateSink,
    Drop,
    SetPolicy,
    StopQuery,
)
from penstock.sql.session import Answer, apply

#: The queries that somebody wants held: some may still be on their way from one shared query to another.
_TO_HOLD = "to hold"


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
        is_feeding: Callable[[], bool],
        opened: Callable[[Feed], None],
        closed: Callable[[str], None],
        tell: Callable[[str], None],
    ) -> None:
        """`is_feeding` says whether rows are taken in.

        `opened` hears of each stream that is read for the first time, `closed` of one that is no more.
        """
        self._log, self._coordinator, self._relations = log, coordinator, relations
        self.inputs = Inputs(places, spark, log, relations, is_feeding, opened, closed)
        self.dropping = Dropping(log, coordinator, self.inputs)
        distributor = Distributor(places.out, places.format, coordinator, log, deliveries, tell)
        self.outputs = Outputs(places, coordinator.shared, deliveries, distributor)
        self._since = 0
        self._templates = Templates()
        self._shapes: dict[str, str] = {}  # of queries that run alone and could be members
        self._when_resumed: dict[str, list[Callable[[], None]]] = {}  # what is to be done to who is held
        self.catalog = Catalog()
        self.begun = False  # whether rows have come in: who comes now comes later
        coordinator.shared.number_of = self.inputs.number_of
        coordinator.finished = partial(self.stop, drain=False)
        coordinator.membership.opened = self.outputs.open
        coordinator.membership.regrouped = self._weigh
        coordinator.altering.opened = self._open_altered
        coordinator.altering.again = self._alter
        coordinator.member_reports.wish_of = self._wish

    # --- statements ---

    def ground(self, asked: Asked) -> Ground:
        """What the plans of a text are to be made for; refuses a text that cannot be applied now."""
        self._check_names(asked)
        for query in asked.altered:
            self._check_alterable(query.name)
        return Ground(self._running(), self.catalog.rates(), self._since + 1 if self.begun else 0)

    def plan(self, asked: Asked, ground: Ground) -> Admitted:
        """The plans that will run. For any thread, one text after the other; nobody waits for it."""
        for policy in asked.policies:
            check_policy(policy)
        for query in asked.altered:
            self._shaped(query)
        queries = list(asked.created.values())
        for query in queries:
            if query.one_time:
                window_us(query)
        return admitted(queries, ground.running, self._templates, ground.rates, ground.since)

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
        return [one.answer for one in asked.effects]

    def _check_names(self, asked: Asked) -> None:
        """A name that had been another's is free once that one is gone."""
        reads = self.dropping.read()
        stopping = {name.lower() for name in self._log.get("stopping", {})}
        running = {name.lower(): name for name in asked.before.queries if self._runs(name)}
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

    def _commit(self, prepared: Prepared, found: Admitted, own: Mapping[str, Sink]) -> None:
        """What nothing can be wrong with any more."""
        asked = prepared.asked
        self.catalog = asked.after
        if asked.changes:
            self._log.add_statement(asked.sql, asked.at_s)
        for one in asked.effects:
            self._drop_input(one)
            self.inputs.number(one.before, one.after)
        self.inputs.add(prepared.inputs)
        self._coordinator.planned = found.graph
        if self.begun and asked.created:
            self._since += 1
            self._log.set("since", self._since)
        self._start(found, own)
        for one in asked.effects:
            self._effect(one, prepared.sinks)
        for query in asked.altered:
            self._alter(query)

    def _drop_input(self, one: Effect) -> None:
        if isinstance(one.statement, Drop) and one.after is not one.before:
            match one.statement.kind:
                case "stream":
                    self.dropping.add("stream", called(one.statement.name, one.before.streams))
                case "table":
                    self.dropping.add("table", called(one.statement.name, one.before.tables))

    def _running(self) -> Running:
        """What runs, for those that come."""
        shared, planned = self._coordinator.shared, self._coordinator.planned
        return Running(
            planned,
            {one.digest: one.name for one in shared if self._takes_in(one)},
            {one.digest: one.name for one in shared if self._takes_in_later(one)},
            frozenset(self._shapes.values()),
            frozenset([*planned.queries, *(one.name for one in shared), *shared.bases()]),
        )

    def _takes_in(self, shared: Shared) -> bool:
        """Whether a shared query takes in newcomers: it is not about to end, nor split off."""
        runs = shared.name in self._coordinator.planned.queries
        return runs and shared.base == shared.name and (shared.instant or not self.begun)

    def _takes_in_later(self, shared: Shared) -> bool:
        """Whether others of its shape that begin by themselves can become part of a shared query."""
        planned = self._coordinator.planned.queries.get(shared.name)
        return planned is not None and shared.base == shared.name and remembered_s(planned.root) is not None

    def _start(self, found: Admitted, own: Mapping[str, Sink]) -> None:
        shapes = {query.name: shape for query, shape in found.shared}
        for query in found.queries:
            self._log.put_query(query.name, document.write(query), {})
            self._begin_anew(query.name)
            if query.name in shapes:
                self._open_shared(query, shapes[query.name], found.joining.get(query.name))
            self.outputs.open(query, own.get(query.name))
            self._note_one_time(query)
        self._shapes |= found.shapes
        for name, members in found.members.items():
            for query_name, _ in members:
                self._begin_anew(query_name)
            self._coordinator.membership.join(name, members)
        if found.queries:
            self._handle(QueriesSubmitted(self._coordinator.now(), tuple(found.queries)))
        for name in found.members:
            self._weigh(name)
        for query in found.alone:
            if query.stop_s is not None:
                self._coordinator.mailbox.at(query.stop_s, partial(self.stop, query.name, drain=False))

    def _begin_anew(self, name: str) -> None:
        """Another query may have had that name, of which nothing is left in the new one's results."""
        self._coordinator.drains.cancel(name)
        self._coordinator.results.begin_anew(name)
        self.outputs.forget(name)

    def _note_one_time(self, query: Query) -> None:
        if query.one_time:
            self._coordinator.results.one_time[query.name] = window_us(query)

    def _effect(self, one: Effect, sinks: Mapping[str, Sink]) -> None:
        if one.after is one.before:  # IF EXISTS, IF NOT EXISTS, or nothing was to be changed
            return
        match one.statement:
            case StopQuery(name=name, drain=drain):
                self.stop(called(name, one.before.queries), drain=drain)
            case AlterQuery(name=name):
                self._weigh(self._coordinator.shared.runs_as(called(name, one.before.queries)))
            case CreateSink(name=name) if name in sinks and one.after.sinks[name] is self.catalog.sinks[name]:
                self.outputs.add(self.catalog.sinks[name], sinks[name])
            case Drop(kind="sink", name=name):
                self.outputs.remove(called(name, one.before.sinks))
            case Drop(kind="query", name=name):
                stopped = called(name, one.before.queries)
                self.stop(stopped, drain=False)
                self._coordinator.results.readers.drop(stopped)
                self._coordinator.drains.cancel(stopped)
                self._coordinator.failures.pop(stopped, None)
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
        if self._runs(name):
            self._log.set("stopping", {**self._log.get("stopping", {}), name: drain})
            self._want_held(name, held=False)
        if self._later(name, partial(self.stop, name, drain=drain)):
            return
        self._shapes.pop(name, None)
        self._when_resumed.pop(name, None)
        if self._coordinator.shared.of(name) is not None:
            self._coordinator.membership.stop(name, drain=drain)
        elif name in self._coordinator.planned.queries:
            if drain and self._coordinator.is_held(name):
                drain = name not in self._coordinator.failures
                if drain:
                    self._coordinator.hold(name, held=False)  # to process what waits
            self._coordinator.planned = remove(self._coordinator.planned, name)
            if drain:
                self._coordinator.draining.add(name)
            self._handle(QueryStopped(self._coordinator.now(), name, drain))

    def switch(self, policy: str) -> None:
        """Another policy from now on."""
        self._handle(PolicyChanged(self._coordinator.now(), policy))
        self._log.set("policy", policy)

    # --- something else while it runs ---

    def _check_alterable(self, name: str) -> None:
        if self._coordinator.is_held(name) and not self._failed_alone(name):
            raise QueryError(f"query '{name}' is held; resume it first, or stop it and create another")
        if not self._runs(name) and not self._coordinator.altering.is_busy(name):
            raise QueryError(f"query '{name}' does not run yet; stop it and create another")

    def _failed_alone(self, name: str) -> bool:
        """Whether a query that runs by itself has failed: it may become something else that does not."""
        held = name in self._log.get("suspended", [])
        return name in self._coordinator.failures and self._coordinator.shared.of(name) is None and not held

    def _alter(self, query: Query) -> None:
        """A query is that from now on, as soon as nothing else is going on with it."""
        coordinator, shared = self._coordinator, self._coordinator.shared
        name, again = query.name, partial(self._alter, query)
        if self._later(name, again) or not self._runs(name):
            return
        if coordinator.is_held(name) and not self._failed_alone(name):  # it has failed meanwhile
            self._when_resumed.setdefault(name, []).append(again)
            return
        found = shared.of(name)
        if found is not None and coordinator.membership.is_moving(name, again):
            return
        form = self._shaped(query)
        digest = form.shape.digest
        if found is not None and found[0].digest == digest and self._takes_in(found[0]):
            coordinator.altering.begin(Alteration(query, form, found[0].name))
            return
        self._since += 1
        self._log.set("since", self._since)
        own, base = shared_query(form.shape, self._running(), self.catalog.rates(), self._since)
        self._shapes.pop(name, None)
        coordinator.altering.begin(Alteration(query, form, shared.runs_as(name), own, base))

    def _shaped(self, query: Query) -> Shaped:
        return self._templates.shaped(query) or on_top(canonical(query))

    def _open_altered(self, alteration: Alteration) -> None:
        """A shared query that is to go on for another query."""
        query = alteration.new
        assert query is not None
        self._log.put_query(query.name, document.write(query), {})
        self._log.put_results([(query.name, {})])
        self._open_shared(query, alteration.shaped.shape, alteration.base)
        self.outputs.open(query)

    def _open_shared(self, query: Query, shape: Shape, base: str | None) -> None:
        self._coordinator.shared.create(query, shape, base)
        if base is not None:
            self._coordinator.membership.approach(query.name, base)

    def _later(self, name: str, action: Callable[[], None]) -> bool:
        """Whether a query is being altered; something is done about it afterwards, if it runs then."""
        if self._coordinator.altering.is_busy(name):
            self._coordinator.altering.when_done(name, lambda: action() if self._runs(name) else None)
            return True
        return False

    def suspend(self, name: str) -> None:
        """Holds a query; its rows wait."""
        self._check_wanted(name)
        self._suspend(name)

    def resume(self, name: str) -> None:
        """Lets a query go on."""
        self._check_wanted(name)
        self._resume(name)

    def _check_wanted(self, name: str) -> None:
        if name in self.catalog.stopped:
            raise QueryError(f"query '{name}' is stopped; create another to go on from now")

    def _suspend(self, name: str) -> None:
        self._want_held(name, held=True)
        if self._later(name, partial(self._suspend, name)):
            return
        if self._coordinator.shared.of(name) is not None:
            self._coordinator.membership.suspend(name)
        else:
            self._coordinator.hold(name, held=True)

    def _resume(self, name: str) -> None:
        self._want_held(name, held=False)
        if not self._coordinator.is_held(name) and self._later(name, partial(self._resume, name)):
            return
        self._coordinator.failures.pop(name, None)
        if self._coordinator.shared.of(name) is not None:
            self._coordinator.membership.resume(name)
        else:
            self._coordinator.hold(name, held=False)
        for action in self._when_resumed.pop(name, []):
            action()

    def _want_held(self, name: str, *, held: bool) -> None:
        wanted = {*self._log.get(_TO_HOLD, [])}
        self._log.set(_TO_HOLD, sorted(wanted | {name} if held else wanted - {name}))

    def wanted_held(self) -> frozenset[str]:
        """The queries that somebody wants held."""
        return frozenset(self._log.get(_TO_HOLD, []))

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
        first_file = self._coordinator.results.lives.get(query, {}).get("first_file", 0)
        return self.outputs.reading(query, self._columns(query), first_file)

    def _columns(self, query: str) -> pa.Schema:
        return result_columns(self._coordinator.planned.queries.get(query) or self.catalog.queries[query])

    # --- after a crash ---

    def restore(self) -> None:
        """Takes up what is in the state directory; the first thing that control hears of."""
        self._coordinator.altering.forget()
        stood = recovery.stood(self._log)
        definitions: dict[str, list[Query]] = {}  # what each query was asked to be, one after the other
        for sql, at_s in self._log.statements():
            self._replay(sql, at_s, definitions)
        self.inputs.restore(stood.streams)
        self._since = self._log.get("since", 0)
        self._coordinator.planned = stood.graph
        self.begun = any(standing.batches for _, standing in stood.streams.values())
        for name, versions in stood.versions.items():
            self._relations.restore(name, versions, max(versions, default=0))
        self._coordinator.store.keep_only(stood.files(self._relations))
        self._coordinator.results.restore(stood.lives)
        self._coordinator.shared.restore()
        self._coordinator.membership.load()
        self._find_shapes()
        self.dropping.restore()
        self.inputs.resume((*stood.queries, *stood.waiting), self.catalog)
        self.inputs.sweep()
        for query in (*stood.queries, *stood.waiting):
            self.outputs.open(query)
            self._note_one_time(query)
        for base in self._coordinator.shared.bases():
            self.outputs.distributor.open_former(base)
        for delivery in self.catalog.sinks.values():
            self.outputs.restore(delivery, self._columns(delivery.query))
        self.outputs.open_kept(self.catalog.queries.values())
        for drain in stood.drains:
            self.outputs.open_drained(drain)
        self._coordinator.results.readers.restore()
        files = self._log.files()
        owed = self.outputs.recover(files, self._coordinator.planned.queries)
        unseen = self.outputs.deliveries.unseen
        with self._log.transaction():
            for name, names in files.items():
                if name not in owed:
                    self._log.drop_files(name, [one for one in names if (name, one) not in unseen])
            weights = {query.name: self._weight(query.name) for query in stood.queries}
            recovery.restore(self._coordinator, stood, weights)
            self._coordinator.drains.restore()
            self._ask_again(stood, definitions)
            self._coordinator.retention.hand_over()
            self.dropping.sweep()
        self.outputs.deliveries.post(self._log.outbox())
        self._coordinator.committed()

    def _replay(self, sql: str, at_s: float, definitions: dict[str, list[Query]]) -> None:
        """Statements that were accepted once; what was altered before it began counts as created so."""
        created: set[str] = set()
        for statement in read(sql):
            before = self.catalog
            self.catalog, answer = apply(before, statement, sql, at_s)
            self.inputs.number(before, self.catalog)
            match statement, answer.query:
                case CreateQuery(), Query() as query:
                    created.add(query.name)
                    definitions[query.name] = [query]
                case AlterQuery(), Query() as query if query.name in created:
                    definitions[query.name] = [query]
                case AlterQuery(), Query() as query:
                    definitions[query.name].append(query)

    def _find_shapes(self) -> None:
        """The shapes of queries that run alone, for those that will come."""
        for name, query in self.catalog.queries.items():
            if name in self._coordinator.planned.queries and may_share(query):
                form = self._templates.shaped(query)
                if form is not None:
                    self._shapes[name] = form.shape.digest

    def _runs(self, query: str) -> bool:
        return self._coordinator.runs(query)

    def _ask_again(self, stood: recovery.Stood, definitions: Mapping[str, Sequence[Query]]) -> None:
        """What had been asked for and was not done yet when the engine stopped, and what has its time."""
        coordinator = self._coordinator
        if stood.waiting:
            coordinator.planned = merge(coordinator.planned, stood.waiting)
            waiting = [one for one in stood.waiting if not coordinator.membership.is_apart(one.name)]
            if waiting:
                self._handle(QueriesSubmitted(coordinator.now(), tuple(waiting)))
        coordinator.membership.restore()
        for name, asked in definitions.items():
            if self._runs(name):
                been = 1 + len(stood.lives.get(name, {}).get("before", ()))
                for query in asked[been:]:
                    self._alter(query)
        held = {*self._log.get("suspended", [])}
        for name in self._log.get(_TO_HOLD, []):
            if self._runs(name) and coordinator.shared.runs_as(name) not in held:
                self._suspend(name)
        for query in (*stood.queries, *stood.waiting):
            if query.stop_s is not None:
                self._coordinator.mailbox.at(query.stop_s, partial(self.stop, query.name, drain=False))
            if query.one_time and stood.lives.get(query.name, {}).get("rows"):
                self.stop(query.name, drain=False)
        for name, drain in self._log.get("stopping", {}).items():
            self.stop(name, drain=drain)
        if stood.queries:  # cut as the policy wants, whatever was under way
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
