"""The engine: streams, queries and results on one Spark, for as long as its `with` block lasts.

    with Engine(state="state") as engine:
        engine.execute(sql)
        engine.run(until="drained")
        table = engine.results("hot_rooms")

Everything it knows is in its state directory; an engine that is opened on the directory of one that was
killed goes on where that one stood.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from penstock.control.events import (
    PolicyChanged,
    QueriesSubmitted,
    QueryResumed,
    QueryStopped,
    QuerySuspended,
    WeightChanged,
)
from penstock.control.machine import Control
from penstock.control.partitions import ThreadPlan
from penstock.engines.spark import recording, recovery, session
from penstock.engines.spark.commit_log import CommitLog
from penstock.engines.spark.coordinator import Coordinator, Delivered
from penstock.engines.spark.delivery import Deliveries
from penstock.engines.spark.ingest import IDLE_S, MOST_ROWS, Feed, Feeder, Standing
from penstock.engines.spark.measures import QueryMeasures
from penstock.engines.spark.one_time import window_us
from penstock.engines.spark.prepared import Jobs
from penstock.engines.spark.relations import Relations
from penstock.engines.spark.sinks import registry as sinks
from penstock.engines.spark.sinks.base import Sink
from penstock.engines.spark.sinks.callback import CallbackSink
from penstock.engines.spark.sinks.files import FileSink
from penstock.engines.spark.sinks.memory import MemorySink
from penstock.engines.spark.sinks.reading import read_files
from penstock.engines.spark.sinks.subscription import Subscription
from penstock.engines.spark.sources import registry as sources
from penstock.engines.spark.sources.base import Source, Ticket
from penstock.engines.spark.sources.dead_letters import DeadLetters
from penstock.engines.spark.sources.push import PushSource
from penstock.engines.spark.sources.structured import StructuredSource
from penstock.engines.spark.sources.types import arrow_schema
from penstock.engines.spark.status import Status, status
from penstock.engines.spark.store import MEMORY_BYTES, Store
from penstock.errors import EngineError, PolicyError, QueryError, closest
from penstock.model.graph import Graph
from penstock.model.operators import Join, is_stateful
from penstock.model.operators import Source as StreamSource
from penstock.model.query import PlanNode, Query
from penstock.model.schema import Schema
from penstock.plan import document
from penstock.plan.admission import admit
from penstock.plan.schemas import derived_schemas
from penstock.plan.sharing import merge, remove
from penstock.policies.parsing import parse
from penstock.sql.builder import literal
from penstock.sql.catalog import Catalog, Delivery, Stream
from penstock.sql.expressions import quoted
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

#: Any worker takes any unit, the path whose oldest batch was queued first.
POLICY = "fcfs"
#: The most rows of a step, unless one batch has more.
TRAIN_ROWS = 200_000


class Engine:
    """Continuous queries on Spark."""

    def __init__(
        self,
        state: str | Path | None = None,
        *,
        out: str | Path | None = None,
        format: str = "parquet",
        policy: str | None = None,
        workers: int = 2,
        memory_bytes: int = MEMORY_BYTES,
        train_rows: int = TRAIN_ROWS,
        first_batch_rows: int = MOST_ROWS,
        spark: SparkSession | None = None,
        base_dir: str | Path = ".",
        keep_log: bool = False,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        if workers < 1:
            raise EngineError(f"{workers} workers: at least one is needed")
        self._temporary = state is None
        self._root = Path(state) if state is not None else Path(tempfile.mkdtemp(prefix="penstock-"))
        self._out, self._format = Path(out) if out is not None else None, format
        self._base = Path(base_dir)
        self._given, self._workers, self._keep_log = spark, workers, keep_log
        self._policy, self._memory, self._train_rows, self._tell = policy, memory_bytes, train_rows, tell
        self._first_batch_rows = first_batch_rows  # of each stream; from then on batches may grow by half
        self._feeding = self._opened = False
        self._unlogged: list[Ticket] = []  # of rows that were pushed before the engine ran
        self._sources: dict[str, Source] = {}
        self._feeds: dict[str, Feed] = {}
        self._standings: dict[str, tuple[int, Standing]] = {}
        self._numbers: dict[str, int] = {}  # of streams, in the order in which they were created
        self._created = 0
        self._since = 0
        self.catalog = Catalog()
        self._planned = Graph()  # with all queries that were accepted

    # --- life ---

    def __enter__(self) -> Engine:
        return self.open()

    def open(self) -> Engine:
        """Takes up what is in the state directory; `with` does it, and closes the engine in the end."""
        if self._opened:
            return self
        self._stops_spark = self._given is None and not session.is_running()
        self._log = CommitLog(self._root / "penstock.db")  # first: whether the state is free costs nothing
        try:
            self._spark = self._given or session.make(self._workers, log=self._root / "spark.log")
        except BaseException:
            self._log.close()
            self._forget()
            raise
        self._store = Store(self._root / "tables", self._memory)
        self._session = session.own(self._spark)
        self._relations = Relations(self._store, self._base, self._tell)
        self._letters = DeadLetters(self._root / "dead-letters")
        self._deliveries = Deliveries(
            self._store,
            self._log.get("next_file", 0),
            lambda n, ref: self._coordinator.send(Delivered(n, ref)),
        )
        policy = self._policy or self._log.get("policy") or POLICY
        control = Control(
            self._log.get("policy") or policy,
            threads=ThreadPlan("pool", self._workers),
            most_rows=self._train_rows,
        )
        self._coordinator = Coordinator(
            control,
            self._log,
            self._store,
            Jobs(self._session, self._root / "jobs"),
            self._relations,
            self._deliveries,
            workers=self._workers,
            keep_log=self._keep_log,
            tell=self._tell,
        )
        self._feeder = Feeder(
            self._store,
            self._relations,
            self._letters,
            self._coordinator.send,
            self._may_read,
            lambda: self._coordinator.waited_s,
            self._first_batch_rows,
        )
        self._restore()
        self._opened = True
        self._coordinator.start()
        self._deliveries.start()
        if policy != control.policy.text:
            self.use_policy(policy)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def pause(self) -> None:
        """Takes in nothing more, finishes the steps that run and commits them."""
        if self._feeding:
            self._feeder.stop()
        self._coordinator.stop()

    def close(self) -> None:
        """Finishes what runs, commits, and stops. What has not been processed is there on the next start."""
        if not self._opened:
            return
        self.pause()
        self._deliveries.stop()
        self._log.close()
        self._opened = False
        if self._stops_spark and session.is_alive(self._spark):
            self._spark.stop()
        self._forget()

    def _forget(self) -> None:
        if self._temporary:
            shutil.rmtree(self._root, ignore_errors=True)

    def _check_open(self) -> None:
        if not self._opened:
            raise EngineError(
                "the engine is not open; write `with Engine() as engine:`, or call open() first"
            )

    def _restore(self) -> None:
        """Takes up what is in the state directory."""
        stood = recovery.stood(self._log)
        for sql, at_s in self._log.statements():
            for statement in read(sql):
                before = self.catalog
                self.catalog, _ = apply(before, statement, sql, at_s)
                self._number(before, self.catalog)
        self._standings = stood.streams
        self._since = self._log.get("since", 0)
        self._planned = stood.graph
        for name, versions in stood.versions.items():
            self._relations.restore(name, versions, max(versions, default=0))
        self._store.keep_only(stood.files(self._relations))
        self._coordinator.lives = dict(stood.lives)
        self._coordinator.finished = partial(self._stop, drain=False)
        for query in (*stood.queries, *stood.waiting):
            self._use(query)
            self._add_own_sink(query)
            self._note_one_time(query)
        for delivery in self.catalog.sinks.values():
            if delivery.query in stood.graph.queries:
                self._add_sink(delivery)
        files = self._log.files()
        self._deliveries.recover(files)
        self._recover_ended(files)
        with self._log.transaction():
            for sink, names in files.items():
                self._log.drop_files(sink, names)
            weights = {name: query.qos.weight for name, query in self.catalog.queries.items()}
            recovery.restore(self._coordinator, stood, weights)
            self._ask_again(stood)
        self._coordinator.committed()
        for n, sink, ref in self._log.outbox():
            self._deliveries.post(n, sink, ref)

    def _ask_again(self, stood: recovery.Stood) -> None:
        """What had been asked for and was not done yet when the engine stopped, and what has its time."""
        if stood.waiting:
            self._planned = merge(self._planned, stood.waiting)
            self._handle(QueriesSubmitted(self._coordinator.now(), tuple(stood.waiting)))
        for query in (*stood.queries, *stood.waiting):
            if query.stop_s is not None:
                self._coordinator.at(query.stop_s, partial(self._stop, query.name, drain=False))
            if query.one_time and stood.lives.get(query.name, {}).get("rows"):
                self._stop(query.name, drain=False)
        for name, drain in self._log.get("stopping", {}).items():
            self._stop(name, drain=drain)
        if stood.queries:  # cut as the policy wants, whatever was under way
            self._handle(PolicyChanged(self._coordinator.now(), self._coordinator.control.policy.text))

    def _recover_ended(self, files: Mapping[str, list[str]]) -> None:
        """Files that were committed with the end of their query and not yet renamed."""
        for name, staged in files.items():
            delivery = self.catalog.sinks.get(name.removeprefix("sink "))
            query = delivery.query if name.startswith("sink ") and delivery is not None else name
            if query in self._planned.queries:
                continue
            sink: Sink | None = None
            if query != name and delivery is not None:
                sink = sinks.make(delivery, self._base, pa.schema([]))
            elif query == name and self._out is not None:
                sink = FileSink(self._out / name, self._format, pa.schema([]))
            if isinstance(sink, FileSink):
                sink.recover(staged)

    # --- statements ---

    def execute(self, sql: str, *, once: bool = False) -> list[Answer]:
        """Runs statements: all of them, or none if one is wrong.

        With `once`, a text that this state has seen already is passed over: it was restored.
        """
        self._check_open()
        if once and any(text == sql for text, _ in self._log.statements()):
            return []
        answers: list[Answer] = self._call(lambda: self._execute(sql))
        return answers

    def submit(self, sql: str) -> list[Answer]:
        """The same as `execute`, for a query that a builder made."""
        return self.execute(sql if sql.rstrip().endswith(";") else f"{sql};")

    def create_stream(
        self,
        name: str,
        columns: Mapping[str, str],
        *,
        time: str | None = None,
        delay: str = "0 seconds",
        format: str = "push",
        **options: str,
    ) -> None:
        """A stream; without a format, one that rows are pushed to."""
        parts = [f"{quoted(column)} {type_}" for column, type_ in columns.items()]
        if time is not None:
            parts.append(
                f"WATERMARK FOR {quoted(time)} AS {quoted(time)} - INTERVAL {seconds(delay)} SECONDS"
            )
        given = ", ".join(f"`{key}` = {literal(value)}" for key, value in options.items())
        settings = f" OPTIONS ({given})" if options else ""
        self.execute(f"CREATE STREAM {quoted(name)} ({', '.join(parts)}) USING {format}{settings};")

    def _execute(self, sql: str) -> list[Answer]:
        at_s = time.time()
        catalog, effects = self.catalog, []
        for statement in read(sql):
            catalog, answer = apply(catalog, statement, sql, at_s)
            effects.append((statement, answer))
        created = [
            answer.query for s, answer in effects if isinstance(s, CreateQuery) and answer.query is not None
        ]
        for statement, _ in effects:
            if isinstance(statement, SetPolicy):
                check_policy(statement.policy)
        before, self.catalog = self.catalog, catalog
        streams = self._created
        self._number(before, catalog)
        try:
            planned = self._plan(created)
        except BaseException:
            self.catalog, self._created = before, streams
            raise
        if not all(isinstance(statement, Show | Describe | Explain) for statement, _ in effects):
            self._log.add_statement(sql, at_s)
        if planned:
            self._start(planned)
        for statement, _ in effects:
            self._effect(statement)
        return [answer for _, answer in effects]

    def _plan(self, queries: Sequence[Query]) -> list[Query]:
        """The plans that will run; opens what they read, so that a mistake shows before anything starts."""
        graph, planned = self._planned, []
        for query in queries:
            if query.one_time:
                window_us(query)
        since = self._since + 1 if self._feeding else 0
        for query in queries:
            chosen = admit(graph, query, self.catalog.rates())
            own = replace(chosen.query, root=_since(chosen.query.root, since)) if since else chosen.query
            own = replace(own, stop_s=query.stop_s)
            graph = merge(graph, [own]) if since else chosen.graph
            planned.append(own)
        for query in planned:
            self._use(query)
        self._planned = graph
        if since:
            self._since = since
            self._log.set("since", since)
        return planned

    def _use(self, query: Query) -> None:
        """Gets ready what a query reads."""
        for node in query.root.post_order():
            match node.operator:
                case StreamSource(stream=name) if name not in self._sources:
                    self._open(self._stream(name))
                case Join(relation=str(name)):
                    table = self.catalog.tables[name]
                    for version in self._relations.add(table):
                        relation, epoch, ref = version
                        self._log.put_version(
                            relation, epoch, {"name": ref.name, "rows": ref.rows, "bytes": ref.bytes}
                        )

    def _number(self, before: Catalog, after: Catalog) -> None:
        """Rows of equal time are in the order in which their streams were created."""
        for name in after.streams:
            if name not in before.streams:
                self._numbers[name] = self._created
                self._created += 1

    def _stream(self, name: str) -> Stream:
        return self.catalog.streams[name]

    def _open(self, stream: Stream) -> None:
        source = sources.make(stream, self._base)
        if isinstance(source, StructuredSource):
            source.attach(self._spark, self._root / "checkpoints" / stream.name)
        number, standing = self._standings.get(stream.name) or (self._numbers[stream.name], Standing())
        self._standings[stream.name] = number, standing
        self._sources[stream.name] = source
        idle = stream.options.get("idle")
        idle_s = seconds(idle) if idle is not None else (IDLE_S if source.live else None)
        feed = Feed(stream, number, source, standing, None if idle_s is None else round(idle_s * 1e6))
        self._feeds[stream.name] = feed
        if self._feeding:
            self._feeder.add(feed)

    def _start(self, planned: Sequence[Query]) -> None:
        for query in planned:
            self._log.put_query(query.name, document.write(query), {})
            self._coordinator.lives.pop(query.name, None)  # of one that had the name before
            self._log.put_result(query.name, {})
            self._add_own_sink(query)
            self._note_one_time(query)
        self._coordinator.handle(QueriesSubmitted(self._coordinator.now(), tuple(planned)))
        for query in planned:
            if query.stop_s is not None:
                self._coordinator.at(query.stop_s, partial(self._stop, query.name, drain=False))

    def _note_one_time(self, query: Query) -> None:
        if query.one_time:
            self._coordinator.one_time[query.name] = window_us(query)

    def _effect(self, statement: Statement) -> None:
        match statement:
            case StopQuery(name=name, drain=drain):
                self._stop(self._known(name), drain=drain)
            case AlterQuery(name=name):
                query = self.catalog.queries[self._known(name)]
                self._handle(WeightChanged(self._coordinator.now(), query.name, query.qos.weight))
            case CreateSink(name=name):
                self._add_sink(self.catalog.sinks[name])
            case Drop(kind="sink", name=name):
                self._deliveries.remove(f"sink {name}")
            case Drop(kind="query", name=name):
                if name in self._planned.queries:
                    self._stop(name, drain=False)
            case SetPolicy(policy=policy):
                self._switch(policy)
            case _:
                pass

    def _stop(self, name: str, *, drain: bool) -> None:
        if name in self._planned.queries:
            self._planned = remove(self._planned, name)
            if drain:
                self._coordinator.draining.add(name)
            self._log.set("stopping", {**self._log.get("stopping", {}), name: drain})
            self._handle(QueryStopped(self._coordinator.now(), name, drain))

    def _switch(self, policy: str) -> None:
        self._handle(PolicyChanged(self._coordinator.now(), policy))
        self._log.set("policy", policy)

    def _handle(self, event: Any) -> None:
        self._coordinator.handle(event)

    def _known(self, name: str) -> str:
        for known in self.catalog.queries:
            if known.lower() == name.lower():
                return known
        raise QueryError(f"no query '{name}'.{closest(name, self.catalog.queries)}")

    # --- sinks ---

    def _add_own_sink(self, query: Query) -> None:
        """Every query's results go to its own directory, or, without one, the last of them are kept."""
        if self._out is not None:
            made: Sink = FileSink(self._out / query.name, self._format, arrow_schema(result_schema(query)))
        else:
            made = MemorySink(arrow_schema(result_schema(query)))
        self._deliveries.add(query.name, query.name, made)

    def _add_sink(self, delivery: Delivery) -> None:
        query = self._planned.queries[delivery.query]
        made = sinks.make(delivery, self._base, arrow_schema(result_schema(query)))
        self._deliveries.add(delivery.query, f"sink {delivery.name}", made)

    def results(self, query: str) -> pa.Table:
        """A query's committed results as Arrow: all of them if they go to files, else the last ones."""
        name = self._known(query)
        self._deliveries.settle()
        for sink in self._deliveries.sinks_of(name):
            if isinstance(sink, FileSink) and self._out is not None:
                columns = arrow_schema(result_schema(self.catalog_query(name)))
                return read_files(self._out / name, self._format, columns)
            if isinstance(sink, MemorySink):
                return sink.rows()
        raise QueryError(f"query '{name}' keeps no results")

    def catalog_query(self, name: str) -> Query:
        """A query as it was planned."""
        return self._planned.queries.get(name) or self.catalog.queries[name]

    def subscribe(self, query: str, most: int = 1000) -> Subscription:
        """Results as they are committed, each with its position."""
        name = self._known(query)
        made = Subscription(most)
        self._call(lambda: self._deliveries.add(name, f"subscription {id(made)}", made))
        return made

    def on_result(self, query: str, function: Callable[[pa.Table, int], None]) -> None:
        """Calls a function with each result and its position: in order, and again if it raises."""
        name = self._known(query)
        made = CallbackSink(name, function)
        self._call(lambda: self._deliveries.add(name, f"callback {id(made)} of {name}", made))

    # --- rows ---

    def push(
        self,
        stream: str,
        rows: pa.Table | pa.RecordBatch | Sequence[Mapping[str, Any]],
        timeout: float | None = 10.0,
    ) -> None:
        """Puts rows at the end of a pushed stream: all of them, or none if one does not fit.

        Returns when they are in the log; before the engine runs, they wait for it.
        """
        ticket = self._pushed(stream).push(rows)
        if not self._feeding:
            self._unlogged.append(ticket)
        elif not ticket.wait(timeout):
            raise EngineError(f"rows for stream '{stream}' were not logged within {timeout} s")

    def end(self, stream: str) -> None:
        """Says that no row will be pushed to a stream any more."""
        self._pushed(stream).end()

    def _pushed(self, stream: str) -> PushSource:
        self._check_open()
        known = self.catalog.streams
        name = next((name for name in known if name.lower() == stream.lower()), None)
        if name is None:
            raise EngineError(f"there is no stream '{stream}'.{closest(stream, known)}")
        source = self._sources.get(name)
        if isinstance(source, PushSource):
            return source
        if known[name].format != "push":
            raise EngineError(f"the rows of stream '{name}' come from {known[name].format}, not from Python")
        raise EngineError(f"no query reads stream '{name}' yet; submit one before pushing rows")

    # --- running ---

    def start(self) -> None:
        """Begins to take in rows."""
        self._check_open()
        if not self._feeding:
            self._feeding = True
            for feed in self._feeds.values():
                self._feeder.add(feed)
            self._feeder.start()

    def run(self, until: str | float | None = "drained", watch: Callable[[], None] | None = None) -> None:
        """Runs until all streams have ended and everything is processed, or for a time.

        `watch` is called a few times a second.
        """
        self.start()
        limit_s = None
        if until is not None and until != "drained":
            limit_s = time.monotonic() + (seconds(until) if isinstance(until, str) else until)
        while limit_s is None or time.monotonic() < limit_s:
            if watch is not None:
                watch()
            self.check()
            if until == "drained" and self.drained():
                return
            wait_s = 0.1 if limit_s is None else min(0.1, max(0.0, limit_s - time.monotonic()))
            if until == "drained" and self._feeder.ended:
                self._coordinator.settled.wait(wait_s)
            time.sleep(0.005 if until == "drained" and self._feeder.ended else wait_s)

    def settle(self, timeout: float = 10.0) -> bool:
        """Waits until all rows that came in are processed and delivered; False if that took longer.

        Windows stay open until later rows, or the end of the stream, close them.
        """
        self.start()
        until_s = time.monotonic() + timeout
        while self._unlogged and self._unlogged[0].wait(max(0.0, until_s - time.monotonic())):
            self._unlogged.pop(0)
        while (left_s := until_s - time.monotonic()) > 0:
            self.check()
            self._coordinator.settled.wait(min(left_s, 0.1))
            if self._call(self._coordinator.nothing_left):
                self._deliveries.settle(left_s)
                return True
        return False

    def drained(self) -> bool:
        """Whether all streams have ended and nothing is left to do."""
        if not self._feeder.ended or not self._coordinator.settled.is_set():
            return False
        return bool(self._call(self._coordinator.nothing_left))

    def check(self) -> None:
        """Raises what made the engine stop, if something did."""
        failed = self._coordinator.failed or self._feeder.failed
        if failed is not None:
            raise EngineError(f"the engine has stopped: {failed}") from failed

    def use_policy(self, policy: str) -> None:
        """Another policy from now on."""
        check_policy(policy)
        self._call(lambda: self._switch(policy))

    def suspend(self, query: str) -> None:
        """Holds a query; its rows wait."""
        name = self._known(query)

        def suspended() -> None:
            self._handle(QuerySuspended(self._coordinator.now(), name))
            self._log.set("suspended", sorted({*self._log.get("suspended", []), name}))

        self._call(suspended)

    def resume(self, query: str) -> None:
        """Lets a query go on, one that failed too."""
        name = self._known(query)

        def resumed() -> None:
            self._coordinator.failures.pop(name, None)
            self._handle(QueryResumed(self._coordinator.now(), name))
            self._log.set("suspended", sorted({*self._log.get("suspended", [])} - {name}))

        self._call(resumed)

    # --- what is going on ---

    @property
    def measures(self) -> Mapping[str, QueryMeasures]:
        """What each running query got so far."""
        return self._coordinator.measures

    @property
    def coordinator(self) -> Coordinator:
        """Counters, failures and control's queues, to look at."""
        return self._coordinator

    def feeds(self) -> Mapping[str, Feed]:
        """The streams and where their logs stand."""
        return dict(self._feeds)

    def problems(self) -> dict[str, str]:
        """Sinks that cannot be written to, and why."""
        return dict(self._deliveries.problems)

    def read_up_to(self, stream: str) -> int:
        """The offset of a stream up to which every query has processed and committed its rows."""
        offset: int = self._call(lambda: self._coordinator.read_up_to(stream))
        return offset

    def recorded_streams(self) -> dict[str, pa.Table]:
        """Each stream's log, if it is kept: its columns, and what ingest decided about each row."""
        logged = self._log.batches()
        return {
            name: recording.stream(
                self.catalog.streams[name], [b for _, b in logged.get(name, [])], self._store
            )
            for name in self._feeds
        }

    def recorded_tables(self) -> dict[str, pa.Table]:
        """Each stored table in all its versions, with the epochs for which each counts."""
        return self._relations.recorded()

    def status(self) -> Status:
        """How everything stands."""
        wishes = {name: query.qos for name, query in self.catalog.queries.items()}
        found: Status = self._call(lambda: status(self._coordinator, self._feeds, wishes))
        return found

    def _may_read(self) -> bool:
        """Whether a stream at full speed may go on: not while half the memory is full of waiting rows."""
        return self._coordinator.queued_bytes < self._memory / 2

    def _call(self, action: Callable[[], Any]) -> Any:
        self._check_open()
        return self._coordinator.call(action)


def check_policy(text: str) -> None:
    """Refuses a policy that there is not, or that cannot run here."""
    if parse(text).needs_oracle:
        raise PolicyError(f"policy '{text}' needs the true cost of every row, which only the simulator knows")


def result_schema(query: Query) -> Schema:
    """The columns of a query's results."""
    return {id(node): schema for node, schema in derived_schemas(query.root)}[id(query.root)]


def _since(root: PlanNode, since: int) -> PlanNode:
    """A plan whose stateful operators are its own: they remember rows from its start on, and no others."""
    made: dict[int, PlanNode] = {}
    for node in root.post_order():
        operator = node.operator
        if is_stateful(operator):
            operator = replace(operator, since=since)  # type: ignore[arg-type]
        made[id(node)] = replace(
            node, operator=operator, children=tuple(made[id(child)] for child in node.children)
        )
    return made[id(root)]
