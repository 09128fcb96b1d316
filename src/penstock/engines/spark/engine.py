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
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, get_args

import pyarrow as pa
from pyspark.sql import SparkSession

from penstock.adapt.budget import SHARE
from penstock.control.large_steps import LargeSteps
from penstock.control.machine import Control
from penstock.control.recent_log import Excerpt
from penstock.control.thread_plans import ThreadPlan
from penstock.engines.spark.failing import Failing, reason_of
from penstock.engines.spark.functions.annotations import declaration
from penstock.engines.spark.functions.registry import Functions
from penstock.engines.spark.ingest.feeder import Feed, Feeder
from penstock.engines.spark.ingest.reading import MOST_ROWS
from penstock.engines.spark.ingest.relations import Relations
from penstock.engines.spark.ingest.sources.base import Ticket
from penstock.engines.spark.ingest.sources.dead_letters import DeadLetters
from penstock.engines.spark.ingest.sources.push import PushOutcome, PushSource
from penstock.engines.spark.results import reading, recording
from penstock.engines.spark.results.delivery import Deliveries
from penstock.engines.spark.results.measures import QueryMeasures
from penstock.engines.spark.results.periods import Period, periods
from penstock.engines.spark.results.places import ResultPlaces
from penstock.engines.spark.results.readers import FUNCTION_ROWS, Readers
from penstock.engines.spark.results.reading import ResultFile
from penstock.engines.spark.results.sinks.base import DurableSink
from penstock.engines.spark.results.sinks.files import ENCODINGS, FileSink
from penstock.engines.spark.results.sinks.ownership import claim, release
from penstock.engines.spark.results.sinks.subscription import ROWS as SUBSCRIPTION_ROWS
from penstock.engines.spark.results.sinks.subscription import Subscription
from penstock.engines.spark.rows.at_large import LargeTables, session_for
from penstock.engines.spark.runtime.coordinator import Coordinator, Delivered
from penstock.engines.spark.session import session
from penstock.engines.spark.sharing.shared import SharedQueries
from penstock.engines.spark.statements import checks
from penstock.engines.spark.statements.confinement import Confined, Confinement, as_known, reworded
from penstock.engines.spark.statements.outputs import Places
from penstock.engines.spark.statements.registrar import Registrar, check_policy
from penstock.engines.spark.statements.statements import Statements
from penstock.engines.spark.status import operators, snapshot
from penstock.engines.spark.status.answers import ANSWERED, filled
from penstock.engines.spark.status.drafts import draft_of
from penstock.engines.spark.status.operators import OperatorStatus
from penstock.engines.spark.status.status import Status
from penstock.engines.spark.steps.prepared import Jobs
from penstock.engines.spark.steps.skipped import SkippedRows
from penstock.engines.spark.steps.skipping import Skipped
from penstock.engines.spark.storage.commit_log import CommitLog
from penstock.engines.spark.storage.store import MEMORY_BYTES, Store
from penstock.errors import EngineError, PenstockError, closest
from penstock.model.functions import PythonFunction
from penstock.model.query import Query
from penstock.model.scheduling import WAYS, Way
from penstock.plan import document
from penstock.policies.registry import DEFAULT
from penstock.sql.binding.catalog import Catalog
from penstock.sql.builder import literal
from penstock.sql.difference import Changes, difference
from penstock.sql.expressions.texts import quoted
from penstock.sql.reading.reader import read
from penstock.sql.reading.statements import CreateFunction, Statement
from penstock.sql.scoping import Scope, shown_answers, shown_errors
from penstock.sql.session import Answer
from penstock.sql.text.quantities import seconds
from penstock.sql.users import users_of

__all__ = ["Engine", "check_policy"]

#: Any worker takes any unit.
POLICY = DEFAULT
#: The most rows and bytes of a step; and rows while nobody knows what they cost, where no step may be long.
TRAIN_ROWS, TRAIN_BYTES, FIRST_ROWS = 200_000, 64 << 20, 16
#: The share of processor time that samples may take, which tell operators of one job apart; 0 for none.
PROFILING = SHARE


@dataclass(frozen=True, slots=True)
class _Registered:
    """A function of this program, and how it is declared."""

    text: str
    declared: PythonFunction
    function: Callable[..., Any]


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
        recuts: bool = True,
        steps: Way | None = None,
        spark: SparkSession | None = None,
        master: str | None = None,
        conf: Mapping[str, str] | None = None,
        base_dir: str | Path = ".",
        keep_log: bool = False,
        profiling: float = PROFILING,
        confinement: Confinement | None = None,
        tell: Callable[[str], None] = lambda _: None,
        published: Callable[[str, str], None] = lambda _directory, _name: None,
    ) -> None:
        """`tell` hears what goes wrong by itself; `published`, in any thread, of each file with results that
        can be seen from then on: its directory within `out`, and its name."""
        if workers < 1:
            raise EngineError(f"{workers} workers: at least one is needed")
        if not 0 <= profiling <= 1:
            raise EngineError(f"profiling = {profiling}: it is a share of processor time, between 0 and 1")
        if format not in ENCODINGS:
            known = "', '".join(ENCODINGS)
            raise EngineError(f"results cannot be written as '{format}'; choose one of '{known}'")
        if steps is not None and steps not in get_args(Way):
            known = "', '".join(WAYS)
            raise EngineError(f"steps cannot be run '{steps}'; choose one of '{known}'")
        if spark is not None and (master is not None or conf):
            raise EngineError("a session that is handed in has its master and settings already")
        self._temporary = state is None
        self._root = Path(state) if state is not None else Path(tempfile.mkdtemp(prefix="penstock-"))
        self._out, self._format = Path(out) if out is not None else None, format
        self._base = Path(base_dir)
        self._given, self._workers, self._keep_log = spark, workers, keep_log
        self._master, self._conf = master, conf
        self._policy, self._memory, self._train_rows, self._tell = policy, memory_bytes, train_rows, tell
        self._profiling, self._published = profiling, published
        self._confinement = confinement  # what streams, tables and sinks may reach; without one, everything
        self._first_batch_rows = first_batch_rows  # of each stream; from then on batches may grow by half
        self._asked_steps = steps
        self._recuts = recuts  # whether the graph is cut anew as estimates drift
        self._feeding = self._opened = False
        self._unlogged: list[Ticket] = []  # of rows that were pushed before the engine ran
        self._early: list[_Registered] = []  # functions that were registered before it was opened

    # --- life ---

    def __enter__(self) -> Engine:
        return self.open()

    def open(self) -> Engine:
        """Takes up what is in the state directory; `with` does it, and closes the engine in the end."""
        if self._opened:
            return self
        with ExitStack() as undo:  # whatever fails, nothing stays open
            undo.callback(self._forget)
            self._open(undo)
            undo.pop_all()
        self._opened = True
        self._coordinator.mailbox.start()
        self._deliveries.start()
        self._registrar.outputs.distributor.watch()
        if self._policy is not None and self._policy != self._coordinator.control.policy.text:
            self.use_policy(self._policy)
        while self._early:
            self._register(self._early.pop(0))
        return self

    def _open(self, undo: ExitStack) -> None:
        if self._policy is not None:
            check_policy(self._policy)
        self._log = CommitLog(self._root / "penstock.db")  # first: whether the state is free costs nothing
        undo.callback(self._log.close)
        if self._out is not None:
            claim(self._out, self._identity())
        self._stops_spark = self._given is None and not session.is_running()
        # Of a start that failed, what Spark said must outlive a temporary state.
        said = None if self._temporary else self._root / "spark.log"
        self._spark = self._given or session.make(self._workers, self._master, said, conf=self._conf)
        if self._stops_spark:
            undo.callback(self._spark.stop)
        self._store = Store(self._root / "tables", self._memory)
        self._session = session.own(self._spark)
        self._unhush = session.hush(self._spark)
        self._functions = Functions(self._session, [self._base], self._function_roots())
        for registered in self._early:  # before what is restored calls them
            self._functions.keep(registered.declared, registered.function)
        self._relations = Relations(self._store, self._base, self._tell)
        self._letters = DeadLetters(self._root / "dead-letters")
        self._deliveries = Deliveries(
            self._store,
            self._log.get("next_file", 0),
            lambda: self._coordinator.mailbox.send(Delivered()),
            self._tell_published,
        )
        control = Control(
            self._log.get("policy") or self._policy or POLICY,
            threads=ThreadPlan("pool", self._workers),
            most_rows=self._train_rows,
            first_rows=FIRST_ROWS,
            most_bytes=TRAIN_BYTES,
            recuts=self._recuts,
            large=LargeSteps(self._steps, self._spark.sparkContext.defaultParallelism),
        )
        self._coordinator = Coordinator(
            control,
            self._log,
            self._store,
            Jobs(self._session, self._root / "jobs", self._functions),
            self._relations,
            self._deliveries,
            SharedQueries(self._log),
            SkippedRows(self._log, self._root / "dead-letters" / "queries"),
            workers=self._workers,
            keep_log=self._keep_log,
            tell=self._tell,
            profiling=self._profiling,
            profiles=Jobs(self._session, self._root / "profiles", self._functions),
            large=LargeTables(session_for(self._spark, session.SETTINGS), self._store),
        )
        self._feeder = Feeder(
            self._store,
            self._relations,
            self._letters,
            self._coordinator.mailbox.send,
            self._may_read,
            lambda: self._coordinator.waited_s,
            self._first_batch_rows,
            self._tell,
            self._coordinator.progress.waiting,
        )
        places = Places(self._base, self._root, self._out, self._format)
        self._registrar = Registrar(
            places,
            self._spark,
            self._log,
            self._coordinator,
            self._relations,
            self._deliveries,
            self._functions,
            lambda: self._feeding,
            lambda feed: self._feeder.add(feed, check=False) if self._feeding else None,
            self._feeder.remove,
            self._tell,
        )
        self._statements = Statements(
            places,
            self._registrar.inputs,
            lambda: self.catalog,
            self._registrar,
            self._call,
            self._functions,
            self._confined(),
        )
        self._registrar.restore()

    @property
    def _steps(self) -> Way:
        """How steps are run: tasks on other machines may not see the files that they would have to read."""
        return self._asked_steps or ("by-size" if session.is_local(self._spark) else "in-hand")

    def confine(self, confinement: Confinement | None) -> None:
        """What new streams, tables, sinks and functions may reach from now on; what there is goes on."""
        self._confinement = confinement
        self._functions.confine(self._function_roots())
        self._statements.confined = self._confined()

    def _function_roots(self) -> tuple[Path, ...] | None:
        """The directories of modules with functions; None: wherever Python finds them."""
        return None if self._confinement is None else self._confinement.functions

    def without_places(self, text: str) -> str:
        """A text for whoever must not see where on this machine things are, if anybody must not."""
        confined = self._confined()
        return text if confined is None else confined.hidden(text)

    def _confined(self) -> Confined | None:
        if self._confinement is None:
            return None
        own = (self._root, self._out) if self._out is not None else (self._root,)
        return Confined(self._confinement, self._base, own)

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
        self._registrar.outputs.distributor.finish()
        self._coordinator.stop()
        if self._coordinator.mailbox.failed is None:
            self._registrar.outputs.distributor.all()

    def close(self) -> None:
        """Finishes what runs, commits, and stops. What has not been processed is there on the next start."""
        if not self._opened:
            return
        self.pause()
        for name in sorted(self._deliveries.stop()):
            self._tell(f"{name} is still busy with a result; it gets that again after the next start")
        if self._coordinator.mailbox.failed is None:
            self._coordinator.record_deliveries()
        identity = self._identity()
        self._log.close()
        self._opened = False
        if self._temporary and self._out is not None:
            release(self._out, identity)
        if session.is_alive(self._spark):
            self._unhush()
        if self._stops_spark and session.is_alive(self._spark):
            self._spark.stop()
        self._forget()

    def _forget(self) -> None:
        if self._temporary:
            shutil.rmtree(self._root, ignore_errors=True)

    def _identity(self) -> str:
        """A name that no other state has."""
        known = self._log.get("identity")
        if known is None:
            known = uuid.uuid4().hex
            self._log.set("identity", known)
        return str(known)

    def _check_open(self) -> None:
        if not self._opened:
            raise EngineError(
                "the engine is not open; write `with Engine() as engine:`, or call open() first"
            )

    # --- statements ---

    def execute(self, sql: str, *, once: bool = False, scope: Scope | None = None) -> list[Answer]:
        """Runs statements: all of them, or none if one is wrong.

        With `once`, a text that this state has seen already is passed over: it was restored. With a `scope`,
        the text is one namespace's: it sees and changes nothing of others.
        """
        self._check_open()
        namespace = scope.namespace if scope is not None else None
        if once and any((text, of) == (sql, namespace) for text, _, of in self._log.statements()):
            return []
        answers = self._statements.execute(sql, scope)
        if {answer.about for answer in answers} & ANSWERED:
            answers = filled(answers, self._call(self._look), scope)
        return shown_answers(scope, answers, sql, self.catalog)

    def submit(self, query: str | Query, *, scope: Scope | None = None) -> list[Answer]:
        """The same as `execute`, for one query: what a builder made, or a plan, as JSON or as it was read."""
        text = document.write(query) if isinstance(query, Query) else query
        if text.lstrip().startswith("{"):
            document.read(text)  # so that what is wrong is told in the words of plans
            return self.execute(f"SUBMIT PLAN {literal(text.strip())};", scope=scope)
        return self.execute(text if text.rstrip().endswith(";") else f"{text};", scope=scope)

    def draft(self, sql: str, *, scope: Scope | None = None) -> dict[str, Any]:
        """What a query would be that is not to be created: an EXPLAIN of its CREATE QUERY, or of a SELECT.

        Columns, operators with estimated costs, plans that were considered, and what of it runs already for
        other queries of the scope; of those of others nothing is said. `explain.drafting` has the form.
        """
        self._check_open()
        query = self._statements.drafted(sql, scope)
        ground, look = self._call(lambda: (self._registrar.ground_for_draft(), self._look()))
        return draft_of(query, ground, look, scope)

    def apply(
        self, sql: str, *, prune: bool = False, dry_run: bool = False, scope: Scope | None = None
    ) -> Changes:
        """Makes of what there is what a text says: all of it, or nothing if something cannot be.

        What is new begins, what differs is altered, and what the text has no more runs on, or with `prune` is
        dropped. With `dry_run` nothing happens.
        """
        self._check_open()
        try:
            changes = self._difference(sql, prune, scope)
        except PenstockError as problem:
            raise reworded(self._confined(), problem) from problem.__cause__
        if dry_run:
            return changes
        if changes:
            self._statements.execute(changes.sql, scope)
        return replace(changes, applied=True)

    def _difference(self, sql: str, prune: bool, scope: Scope | None) -> Changes:
        known, namespace = self.catalog, scope.namespace if scope is not None else None

        def check(statement: Statement, catalog: Catalog) -> None:
            before = as_known(catalog, known)  # what is there may stay, whatever may be reached by now
            self._statements.confine(statement, before, catalog, sql, namespace)
            checks.check(statement, catalog, sql, self._base)

        with shown_errors(scope, sql, known):
            return difference(
                known,
                sql,
                prune=prune,
                now_s=time.time(),
                plans=document.read,
                check=check,
                scope=scope,
            )

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

    def register(
        self,
        name: str,
        function: Callable[..., Any],
        takes: Mapping[str, str] | None = None,
        returns: str | None = None,
        *,
        aggregate: bool = False,
        timeout: str | float | None = None,
        memory: str | int | None = None,
    ) -> None:
        """Lets queries call a function of this program, which must give the same for the same arguments.

        `takes` has the parameters with their types in SQL, in order, and `returns` that of the result, unless
        annotations say them. It is sent to Spark's workers as it is now. A program that is started again
        registers it again, best before it opens the engine: until then queries that call it fail.
        """
        text = declaration(
            name, function, takes, returns, aggregate=aggregate, timeout=timeout, memory=memory
        )
        (statement,) = read(text)
        assert isinstance(statement, CreateFunction)
        one = _Registered(text, statement.function, function)
        if self._opened:
            self._register(one)
        else:
            self._early.append(one)

    def _register(self, one: _Registered) -> None:
        declared = one.declared
        known = {name.lower(): function for name, function in self.catalog.functions.items()}
        before = known.get(declared.name.lower())
        if before == declared and users_of(self.catalog, "function", before.name):
            self._again(one)
        else:
            gone = f"DROP FUNCTION {quoted(before.name)};\n" if before is not None else ""
            with self._functions.offered(declared, one.function):
                self._statements.execute(gone + one.text)

    def _again(self, one: _Registered) -> None:
        """What the program had registered before it was started again."""
        if not self._functions.has_body(one.declared):
            self._functions.keep(one.declared, one.function)
        elif not self._functions.has_body(one.declared, one.function):
            users = users_of(self.catalog, "function", one.declared.name)
            raise EngineError(
                f"function '{one.declared.name}' is called by {users[0]}, and would be another from now on; "
                "drop that first"
            )
        self._functions.follow([one.declared])
        self._call(lambda: self._registrar.resume_callers(one.declared.identity))

    @property
    def catalog(self) -> Catalog:
        """The streams, tables, queries and sinks that there are."""
        return self._registrar.catalog

    # --- results ---

    def results(self, query: str) -> pa.Table:
        """A query's committed results as Arrow: all of them if they go to files, else the last ones."""
        self._check_open()
        known = self._registrar.known(query)
        return reading.read(known, lambda: self._call(lambda: self._registrar.reading(known)), self._store)

    def result_files(self, query: str) -> tuple[ResultFile, ...]:
        """The committed files with results of a query, oldest first; there are none without `out`."""
        known = self._registrar.known(query)
        found: reading.Reading = self._call(lambda: self._registrar.reading(known))
        return found.files(self._store)

    def result_places(self, query: str) -> ResultPlaces:
        """The directories within `out` that have a query's results, for another process that reads them."""
        if self._out is None:
            raise EngineError("results are not in files; open the engine with out=DIRECTORY")
        known = self._registrar.known(query)
        found: ResultPlaces = self._call(lambda: self._registrar.places(known))
        return found

    @property
    def places_version(self) -> int:
        """Another number whenever some query's `result_places` may have changed; it costs nothing to ask."""
        return self._coordinator.results.places_version

    def _tell_published(self, sink: DurableSink, name: str) -> None:
        if self._out is not None and isinstance(sink, FileSink) and sink.root.is_relative_to(self._out):
            try:
                self._published(sink.root.relative_to(self._out).as_posix(), name)
            except Exception as error:  # the listener's trouble; the file can be seen all the same
                self._tell(f"nobody could be told of {sink.root / name}: {reason_of(error)}")

    def subscribe(self, query: str, most: int = SUBSCRIPTION_ROWS, name: str | None = None) -> Subscription:
        """Results as they are committed, each with its position, first those that wait under that name.

        At most so many rows wait. Without a name it is "subscription", or "subscription #2" while that one is
        open; what waits is forgotten when it is closed or collected. Under a name of its own it waits on.
        """
        known = self._registrar.known(query)
        made: Subscription = self._call(lambda: self._readers.subscribe(known, most, name))
        return made

    def on_result(
        self,
        query: str,
        function: Callable[[pa.Table, int], Any],
        name: str | None = None,
        most: int = FUNCTION_ROWS,
    ) -> str:
        """Calls a function with each result and its position: in order, and again if it raises.

        What it has not taken when the engine stops waits under the name that this returns, unless told the
        function's own, and comes first when a function is registered under the same name again.
        """
        known = self._registrar.known(query)
        found: str = self._call(lambda: self._readers.on_result(known, function, most, name))
        return found

    def unsubscribe(self, query: str, name: str) -> None:
        """Lets nobody get a query's results under that name, and forgets what waits there."""
        known = self._registrar.known(query)
        self._call(lambda: self._readers.unsubscribe(known, name))

    @property
    def _readers(self) -> Readers:
        return self._coordinator.results.readers

    # --- rows ---

    def push(
        self,
        stream: str,
        rows: Any,
        timeout: float | None = 10.0,
        *,
        key: str | None = None,
    ) -> None:
        """Puts rows at the end of a pushed stream: all of them, or none if one does not fit.

        They are dicts or tuples in any iterable, a dict of columns, a DataFrame, or anything of Arrow's.

        Returns when they are in the log; before the engine runs, they wait for it. Who does not know whether
        a push succeeded repeats it under the same key, within a day: the rows are logged once.
        """
        self._logged(self._pushed(stream).push(rows, key=key), f"rows for stream '{stream}'", timeout)

    def push_then(
        self, stream: str, rows: Any, then: Callable[[PushOutcome], None], *, key: str | None = None
    ) -> None:
        """The same without waiting: `then` hears what became of the rows, in the thread that committed them.

        That is this one, at once, if they were committed before under the same key. What is wrong with the
        rows or the key is raised here, and BusyError when too much waits to be logged.
        """
        ticket = self._pushed(stream).push(rows, timeout=0.0, key=key)

        def settled(problem: BaseException | None) -> None:
            if problem is not None and not isinstance(problem, PenstockError):
                problem = EngineError(reason_of(problem))
            try:
                then(PushOutcome(stream, ticket.rows, ticket.repeated and problem is None, problem))
            except Exception as error:  # the listener's trouble, not that of the thread that commits
                self._tell(f"nobody could be told of rows for stream '{stream}': {reason_of(error)}")

        ticket.then(settled)

    def heartbeat(self, stream: str, time: Any, timeout: float | None = 10.0) -> None:
        """Says that no row before `time` will be pushed to a stream; one that is all the same is late.

        So windows and joins go on that wait for the stream. The time is what a row's time may be, for example
        a datetime. Returns when it is in the log; before the engine runs, it waits for it.
        """
        source = self._pushed(stream)
        name = next(name for name in self.catalog.streams if name.lower() == stream.lower())
        column = self.catalog.streams[name].time
        if column is None:
            raise EngineError(f"stream '{name}' has no time; declare WATERMARK FOR its time column")
        self._logged(source.heartbeat(column, time), f"a heartbeat of stream '{stream}'", timeout)

    def _logged(self, ticket: Ticket, what: str, timeout: float | None) -> None:
        """Waits until something is in the log, if the engine runs."""
        if not self._feeding:
            self._unlogged.append(ticket)
        elif not ticket.wait(timeout):
            raise EngineError(f"{what}: not logged within {timeout} s")

    def end(self, stream: str) -> None:
        """Says that no row will be pushed to a stream any more."""
        self._pushed(stream).end()

    def _pushed(self, stream: str) -> PushSource:
        self._check_open()
        known = self.catalog.streams
        name = next((name for name in known if name.lower() == stream.lower()), None)
        if name is None:
            raise EngineError(f"there is no stream '{stream}'.{closest(stream, known)}")
        feed = self._registrar.inputs.feeds.get(name)
        if feed is None or not isinstance(feed.source, PushSource):
            raise EngineError(f"the rows of stream '{name}' come from {known[name].format}, not from Python")
        return feed.source

    # --- running ---

    def start(self) -> None:
        """Begins to take in rows."""
        self._check_open()
        if not self._feeding:
            self._feeding = self._registrar.begun = True
            for feed in self._registrar.inputs.feeds.values():
                self._feeder.add(feed, check=False)
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
            if until == "drained" and self._only_failing_left():
                fails = "; ".join(self._feeder.stuck.values())
                again = "run again" if self._temporary else "run again with the same state to go on"
                raise EngineError(f"all is done but what fails: {fails}; mend it, and {again}")
            wait_s = 0.1 if limit_s is None else min(0.1, max(0.0, limit_s - time.monotonic()))
            if until == "drained" and self._feeder.ended:
                self._coordinator.mailbox.settled.wait(wait_s)
            time.sleep(0.005 if until == "drained" and self._feeder.ended else wait_s)

    def end_all(self) -> None:
        """Ends every stream where its log stands: nothing more is taken in, and open windows close."""
        self.start()
        self._feeder.end_all()

    def settle(self, timeout: float = 10.0) -> bool:
        """Waits until all rows that came in are processed and delivered; False if that took longer.

        It is False as well, and at once, if rows wait for a query that is held or has failed and everything
        else is done. Windows stay open until later rows, or the end of the stream, close them.
        """
        self.start()
        until_s = time.monotonic() + timeout
        while self._unlogged and self._unlogged[0].wait(max(0.0, until_s - time.monotonic())):
            self._unlogged.pop(0)
        while (left_s := until_s - time.monotonic()) > 0:
            self.check()
            self._coordinator.mailbox.settled.wait(min(left_s, 0.1))
            self._call(self._coordinator.want_rows)
            settled: bool | None = self._call(self._coordinator.settled)
            if settled is not None:
                self._deliveries.settle(left_s)
                return settled
            time.sleep(0.001)
        return False

    def drained(self) -> bool:
        """Whether all streams have ended and nothing is left to do."""
        if not self._feeder.ended or not self._coordinator.mailbox.settled.is_set():
            return False
        return bool(self._call(self._coordinator.nothing_left))

    def _only_failing_left(self) -> bool:
        """Whether all is done but for streams that fail, again and again."""
        if not self._feeder.stuck or not self._coordinator.mailbox.settled.is_set():
            return False
        return bool(self._call(self._coordinator.nothing_left))

    def check(self) -> None:
        """Raises what made the engine stop, if something did."""
        failed = self._coordinator.mailbox.failed or self._feeder.failed
        if failed is not None:
            raise EngineError(f"the engine has stopped: {failed}") from failed

    def use_policy(self, policy: str) -> None:
        """Another policy from now on."""
        check_policy(policy)
        self._call(lambda: self._registrar.switch(policy))

    def use_scheduling(self, scheduling: str) -> None:
        """Divides the graph among threads in another way, while it runs: gts, ots, di, pool, owned, hmts."""
        self.execute(f"SET scheduling = {literal(scheduling)};")

    def set_partition(
        self,
        name: str,
        *,
        queries: Sequence[str] = (),
        operators: Sequence[str] = (),
        policy: str | None = None,
        priority: float | None = None,
    ) -> None:
        """What one thread runs under `hmts`, and how; what is not said stays as it was."""
        given = {
            "queries": literal(", ".join(queries)) if queries else None,
            "operators": literal(", ".join(operators)) if operators else None,
            "policy": literal(policy) if policy is not None else None,
            "priority": str(priority) if priority is not None else None,
        }
        options = ", ".join(f"{option} = {value}" for option, value in given.items() if value is not None)
        self.execute(f"SET PARTITION {quoted(name)} ({options});")

    def suspend(self, query: str) -> None:
        """Holds a query; its rows wait."""
        name = self._registrar.known(query)
        self._call(lambda: self._registrar.suspend(name))

    def resume(self, query: str) -> None:
        """Lets a query go on, one that failed too."""
        name = self._registrar.known(query)
        self._call(lambda: self._registrar.resume(name))

    def run_apart(self, query: str, apart: bool | None = True) -> None:
        """Lets a query run by itself though others differ from it in constants only, or with them.

        With None the policy decides again. Results are the same.
        """
        name = self._registrar.known(query)
        self._call(lambda: self._registrar.run_apart(name, apart=apart))

    # --- what is going on ---

    @property
    def measures(self) -> Mapping[str, QueryMeasures]:
        """What each query got up to now; a copy."""
        results = self._coordinator.results
        found: dict[str, QueryMeasures] = self._call(
            lambda: {name: one.copy() for name, one in results.measures.items()}
        )
        return found

    @property
    def coordinator(self) -> Coordinator:
        """Counters, failures and control's queues, to look at."""
        return self._coordinator

    def feeds(self) -> Mapping[str, Feed]:
        """The streams and where their logs stand."""
        return dict(self._registrar.inputs.feeds)

    def problems(self) -> dict[str, str]:
        """What fails by itself and is tried again, and why: `stream …`, `table …`, `sink …`, `reader …`.

        Also those for whom rows were dropped, since nobody took them, and files that cannot be read.
        """
        sinks = {f"sink {name.removeprefix('sink ')}": why for name, why in self._deliveries.problems.items()}
        failing = {name: failing.reason for name, failing in self.status().failing.items()}
        found = {  # functions and subscriptions are no sinks to those who made them
            name.removeprefix("sink ") if name.startswith("sink reader ") else name: why
            for name, why in (sinks | failing).items()
        }
        for name, why in self._registrar.inputs.problems().items():
            found[name] = f"{found[name]}; {why}" if name in found else why
        return found

    def _failing(self) -> dict[str, Mapping[str, Failing]]:
        """What fails, by kind and name."""
        sinks = {name.removeprefix("sink "): failing for name, failing in self._deliveries.failing.items()}
        return {"stream": self._feeder.failing.now, "table": self._relations.failing.now, "sink": sinks}

    def periods(self, query: str) -> tuple[Period, ...]:
        """Between which offsets of its streams a query saw rows: at first, and then after each ALTER."""
        known, lives = self._registrar.known(query), self._coordinator.results.lives
        found: tuple[Period, ...] = self._call(lambda: periods(lives.get(known, {})))
        return found

    def read_up_to(self, stream: str) -> int:
        """The offset of a stream up to which every query has processed and committed its rows."""
        offset: int = self._call(lambda: self._coordinator.intake.read_up_to(stream))
        return offset

    @property
    def streams_read(self) -> tuple[str, ...]:
        """The streams that some query reads, or has read."""
        return tuple(self._registrar.inputs.feeds)

    def recorded_streams(self) -> dict[str, pa.Table]:
        """Each stream's log, if it is kept: its columns, and what ingest decided about each row."""
        logged = self._log.batches()
        return {
            name: recording.stream(
                self.catalog.streams[name], [b for _, b in logged.get(name, [])], self._store
            )
            for name in self._registrar.inputs.feeds
        }

    def recorded_tables(self) -> dict[str, pa.Table]:
        """Each stored table in all its versions, with the epochs for which each counts."""
        return self._relations.recorded()

    def skipped(self, query: str) -> list[Skipped]:
        """The rows that a query left out (`on_error = 'skip'`): where each is in which stream, and why."""
        name = self._registrar.known(query)
        found: list[Skipped] = self._call(lambda: self._coordinator.skipped.of(name))
        return found

    def bad_rows(self, stream: str, most: int = 100) -> list[dict[str, str]]:
        """The newest rows of a stream that did not parse: `at`, `place`, `reason` and `text` of each."""
        return self._letters.latest(stream, most)

    def status(self) -> Status:
        """How everything stood a moment ago; it does not change any more."""
        return snapshot.status(self._call(self._look))

    def operators(self) -> tuple[OperatorStatus, ...]:
        """Each operator that runs: its state, what waits for it, what it remembers, what it costs."""
        return operators.operators(self._call(self._look))

    def graph_view(self) -> dict[str, Any]:
        """The graph with its units and queues as plain data, to be drawn."""
        return operators.graph_view(self._call(self._look))

    def control_log(self, minutes: float = 5.0) -> Iterator[bytes]:
        """What happened in the last minutes and what control made of it, for `penstock.control.log.replay`.

        Lines of JSON, the first with a checkpoint from which the others follow. It begins somewhat earlier,
        or later if so much is not kept.
        """
        if not minutes > 0:
            raise EngineError(f"the control log of {minutes:g} minutes: it must be above 0")
        recent, since_s = self._coordinator.recent_log, time.time() - 60 * minutes
        excerpt: Excerpt | None = self._call(lambda: recent.since(since_s))
        return iter(()) if excerpt is None else excerpt.lines()

    def keep_control_log(self, minutes: float) -> None:
        """For how long events of control are kept, as far as they fit into 16 MB."""
        if not minutes > 0:
            raise EngineError(f"the control log of {minutes:g} minutes: it must be above 0")
        self._coordinator.recent_log.kept_s = 60 * minutes

    def charged(self) -> dict[str, float]:
        """Seconds in Spark that each namespace was charged since the engine was opened."""
        found: dict[str, float] = self._call(lambda: dict(self._coordinator.charging.charges.namespaces))
        return found

    def _look(self) -> snapshot.Look:
        registrar = self._registrar
        return snapshot.look(
            self._coordinator,
            registrar.catalog,
            registrar.inputs.feeds,
            self._failing(),
        )

    def _may_read(self) -> bool:
        """Whether a stream at full speed may go on: not while half the memory is full of rows that wait.

        Unless they wait for something else: a held query, or rows of the very streams that would be read.
        """
        return self._coordinator.queued_bytes < self._memory / 2 or self._coordinator.mailbox.settled.is_set()

    def _call(self, action: Callable[[], Any]) -> Any:
        self._check_open()
        return self._coordinator.mailbox.call(action)
