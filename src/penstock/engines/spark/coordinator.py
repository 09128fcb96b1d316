"""The coordinator: one thread that asks control what to do, and commits what was done.

Messages come from the feeder (a batch was taken in), from the threads that run steps, and from whoever calls
the engine. Those that wait are handled together, in one transaction; steps that control then asks for start
after the commit. Whatever a crash interrupts was not committed: its input is still where it was.
"""

from __future__ import annotations

import heapq
import itertools
import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any, TypeAlias

from penstock.adapt.monitor import Monitor
from penstock.control.commands import (
    AskTimestamp,
    Command,
    Commit,
    QueryEnded,
    QueryFailed,
    QueryStarted,
    Recut,
    Rejoin,
    RunStep,
    Settled,
    SplitOff,
    Take,
    WakeAt,
)
from penstock.control.events import (
    BatchArrived,
    EstimatesChanged,
    Event,
    Output,
    QueryResumed,
    QuerySuspended,
    StepFailed,
    StepFinished,
    StreamEnded,
    Ticked,
    TimestampAdvanced,
)
from penstock.control.machine import Control
from penstock.engines.spark.altering import Altering
from penstock.engines.spark.bisection import culprits
from penstock.engines.spark.commit_log import CommitLog
from penstock.engines.spark.crowds import CrowdWatch
from penstock.engines.spark.delivery import Deliveries
from penstock.engines.spark.ingest import Ingested
from penstock.engines.spark.layouts import Layouts, Needs, layouts
from penstock.engines.spark.marks import Marks, Outputs, exit_marks, raise_to
from penstock.engines.spark.membership import Membership
from penstock.engines.spark.operators.base import END, UNKNOWN, State, StatefulOperator, micros
from penstock.engines.spark.operators.registry import stateful_operators
from penstock.engines.spark.prepared import Jobs
from penstock.engines.spark.queue_records import QueueRecords, key
from penstock.engines.spark.relations import Relations
from penstock.engines.spark.results import Results, StagedResult
from penstock.engines.spark.rosters import Member
from penstock.engines.spark.shared import SharedQueries
from penstock.engines.spark.steps import Held, Result, UnitRunner
from penstock.engines.spark.store import Ref, Store
from penstock.engines.spark.units import alone
from penstock.errors import EngineError, PenstockError, StepError
from penstock.model.batch import Batch
from penstock.model.graph import Graph, Port
from penstock.policies.layout import UnitPlace

#: Seconds between two looks at what steps cost.
ESTIMATE_S = 2.0
#: Seconds between two looks whether Spark is still there, when there is nothing to do.
LOOK_S = 5.0


@dataclass(frozen=True, slots=True)
class StepDone:
    """A step's thread is done: what came of it, stored and staged."""

    command: RunStep
    result: Result
    stored: Mapping[Port, Ref]
    staged: tuple[StagedResult, ...]
    began_s: float


@dataclass(frozen=True, slots=True)
class StepBroken:
    """A step's thread gave up."""

    command: RunStep
    reason: str
    culprits: Mapping[str, str] = field(default_factory=dict)  # members that are at fault, and why


@dataclass(frozen=True, slots=True)
class Delivered:
    """A sink has got a result from the outbox."""

    n: int
    ref: Ref


@dataclass(frozen=True, slots=True)
class Call:
    """Something to do between two events, within a commit."""

    action: Callable[[], Any]
    answer: Future[Any]


Message: TypeAlias = Ingested | StepDone | StepBroken | Delivered | Call | None


@dataclass(slots=True)
class Totals:
    """What the engine did so far."""

    steps: int = 0
    jobs: int = 0
    failed_steps: int = 0
    step_s: float = 0.0  # of steps, from their start to their commit
    spark_s: float = 0.0  # of that, within Spark
    max_queue_bytes: float = 0.0


class Coordinator:
    """See the module's docstring."""

    def __init__(
        self,
        control: Control,
        log: CommitLog,
        store: Store,
        jobs: Jobs,
        relations: Relations,
        deliveries: Deliveries,
        shared: SharedQueries,
        *,
        workers: int,
        keep_log: bool,
        tell: Callable[[str], None],
    ) -> None:
        self.control, self.log, self.store, self.shared = control, log, store, shared
        self.results = Results(log, deliveries, shared)
        self._jobs, self._relations, self._keep_log, self._tell = jobs, relations, keep_log, tell
        self._inbox: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self._pool = ThreadPoolExecutor(workers, thread_name_prefix="penstock-step")
        self._thread: threading.Thread | None = None
        self._alarms: list[tuple[float, int, Callable[[], None]]] = []
        self._serial = itertools.count()
        self.states: dict[str, State] = {}
        self.marks: Marks = {}
        self.outputs: Outputs = {}
        self.pushed: dict[Port, int] = {}
        self.asked: dict[str, Needs] = {}
        self.failures: dict[str, str] = {}
        self.draining: set[str] = set()  # queries that are stopping and emit their open windows
        #: What to do when a one-time query has its window.
        self.finished: Callable[[str], None] = lambda _: None
        self.planned = Graph()  # with all queries that were accepted
        self.membership = Membership(self)
        self.crowds = CrowdWatch(self)
        self.altering = Altering(self)
        self.monitor = Monitor()
        self.totals = Totals()
        self.waited_s = 0.0  # how long rows waited until they were processed, lately
        self.failed: BaseException | None = None
        self.settled = threading.Event()  # nothing runs and nothing is left to do, as far as is known
        self._graph = Graph()
        self._layouts: Layouts = layouts(self._graph)
        self._runners: dict[int, tuple[object, UnitRunner]] = {}
        self._stopping = False
        self._running = 0
        self._queued_bytes = 0.0
        self._estimated_s = 0.0
        self._looked_s = now_s()
        # What is to be done once the transaction is through.
        self._steps: list[RunStep] = []
        self._garbage: list[str] = []
        self.records = QueueRecords(log, self._garbage, keep_log=keep_log)
        self._after: list[Callable[[], None]] = []

    # --- the loop ---

    def start(self) -> None:
        """Begins to decide."""
        self._thread = threading.Thread(target=self._loop, name="penstock-control", daemon=True)
        self._thread.start()

    def send(self, message: Message) -> None:
        """A message from any thread."""
        self.settled.clear()
        self._inbox.put(message)

    def call(self, action: Callable[[], Any]) -> Any:
        """Does something between two events, within a commit, and returns what it returned."""
        if self._thread is None or not self._thread.is_alive() or threading.current_thread() is self._thread:
            return action()
        answer: Future[Any] = Future()
        self.send(Call(action, answer))
        while True:
            try:
                return answer.result(timeout=1.0)
            except TimeoutError:
                if self._thread is None or not self._thread.is_alive():
                    raise PenstockError(f"the engine has stopped: {self.failed}") from self.failed

    def at(self, at_s: float, action: Callable[[], None]) -> None:
        """Does something at a time."""
        heapq.heappush(self._alarms, (at_s, next(self._serial), action))

    def afterwards(self, action: Callable[[], None]) -> None:
        """Does something once this transaction is through and its results can be seen."""
        self._after.append(action)

    def stop(self) -> None:
        """Starts no step any more, lets those that run finish and commit, and ends."""
        if self._thread is None or not self._thread.is_alive():
            return
        self._stopping = True
        self.send(None)
        self._thread.join()
        self._pool.shutdown(wait=True)

    def _loop(self) -> None:
        try:
            while not (self._stopping and not self._running):
                self._turn(self._waiting())
        except BaseException as error:  # a defect, or the disk of the state is full: nobody may wait for ever
            self.failed = error
            self._stopping = True
        finally:
            self.settled.set()

    def _waiting(self) -> list[Message]:
        """Messages that wait; if there are none, the next to come, or none by the next alarm."""
        messages: list[Message] = []
        if self._inbox.empty():
            if not self._running and self.control.idle:
                self.settled.set()
            until_s = self._alarms[0][0] if self._alarms else now_s() + 0.5
            try:
                messages.append(self._inbox.get(timeout=max(0.0, min(until_s - now_s(), 0.5))))
            except queue.Empty:
                self._look_after_spark()
                return []
        while not self._inbox.empty() and len(messages) < 1000:
            messages.append(self._inbox.get())
        return messages

    def _look_after_spark(self) -> None:
        """While there is nothing to do, nobody else would notice that Spark has ended."""
        if now_s() - self._looked_s > LOOK_S and not self._running:
            self._looked_s = now_s()
            self._check_spark()

    def _check_spark(self) -> None:
        if not self._jobs.alive:
            raise EngineError("Spark has ended; the next run goes on from the last commit")

    def _turn(self, messages: list[Message]) -> None:
        due = []
        while self._alarms and self._alarms[0][0] <= now_s():
            due.append(heapq.heappop(self._alarms)[2])
        if not messages and not due:
            return
        answers: list[tuple[Future[Any], Any, BaseException | None]] = []
        with self.log.transaction():
            self.results.cross_off()
            for action in due:
                action()
            for message in messages:
                self._take(message, answers)
            self._estimate()
        self.committed()
        for answer, value, error in answers:
            if error is None:
                answer.set_result(value)
            else:
                answer.set_exception(error)

    def _take(self, message: Message, answers: list[tuple[Future[Any], Any, BaseException | None]]) -> None:
        match message:
            case Ingested():
                self._ingested(message)
            case StepDone():
                self._step_done(message)
            case StepBroken():
                self._step_broken(message)
            case Delivered(n, ref):
                self.log.delivered(n)
                self._garbage.append(ref.name)
            case Call(action, answer):
                try:
                    answers.append((answer, action(), None))
                except PenstockError as error:  # refused: nothing was changed
                    answers.append((answer, None, error))
            case None:
                pass

    def committed(self) -> None:
        """All that was decided is recorded: now it may be seen, and go on."""
        self.results.show()
        for action in self._after:
            action()
        self._after = []
        steps, self._steps = self._steps, []
        for command in steps:
            if self._stopping:
                continue  # not committed, so as if it had never been asked for
            self._running += 1
            self._submit(command)
        self.store.delete(self._garbage)
        self._garbage.clear()

    # --- events ---

    def handle(self, event: Event) -> None:
        """Asks control, and does as it says."""
        for command in self.control.handle(event):
            self._obey(command)
        self._queued_bytes = self.control.queued_bytes()
        self.totals.max_queue_bytes = max(self.totals.max_queue_bytes, self._queued_bytes)

    def _obey(self, command: Command) -> None:
        match command:
            case RunStep():
                self._steps.append(command)
            case Recut():
                self._recut(command)
            case WakeAt(at_s):
                self.at(at_s, lambda: self.handle(Ticked(self.now())))
            case QueryStarted(query, starts):
                self._started(query, dict(starts))
            case Settled(query, positions):
                self.membership.settled(query, positions)
                self.altering.settled(query, positions)
            case SplitOff(query):
                self.membership.split_off(query)
            case Rejoin(query):
                self.membership.come_together(query)
            case QueryEnded(query, ends):
                self._ended(query, dict(ends))
            case QueryFailed(query, reason):
                for name in self.shared.queries(query):
                    self.failures[name] = reason
                    self._tell(
                        f"query '{name}' is suspended, since a step of it failed three times: {reason}"
                    )
            case AskTimestamp(stream):
                queue_ = self.control.stream_queue(stream)
                if queue_.register_s > float("-inf"):
                    self.at(
                        0.0, lambda: self.handle(TimestampAdvanced(self.now(), stream, queue_.register_s))
                    )
            case Commit():
                pass  # what a step came to is committed with the event that says it is done

    def nothing_left(self) -> bool:
        """Whether nothing runs or waits, but for suspended queries; asked between two events."""
        return not self._running and not self._steps and self._inbox.empty() and self.control.idle

    def read_up_to(self, stream: str) -> int:
        """The offset of a stream before which nothing waits or runs; asked between two events."""
        offsets = [
            batch.lo
            for queue_ in self.control.queues.values()
            for reader in queue_.readers
            for batch in queue_.slice(reader.cursor, queue_.tail)
            if batch.leaf == stream
        ]
        return min(offsets, default=self.control.stream_queue(stream).offset)

    def hold(self, query: str, *, held: bool, briefly: bool = False) -> None:
        """Holds a query of the graph, or lets it go on; `briefly` is forgotten by a crash."""
        suspended = {*self.log.get("suspended", [])}
        if not briefly:
            self.log.set("suspended", sorted(suspended | {query} if held else suspended - {query}))
        event = QuerySuspended if held else QueryResumed
        self.handle(event(self.now(), query))

    @property
    def graph(self) -> Graph:
        """The graph that the layouts are of."""
        return self._graph

    @property
    def queued_bytes(self) -> float:
        """Bytes that wait in queues."""
        return self._queued_bytes

    def now(self) -> float:
        """The time for control: seconds since 1970, never less than before."""
        return max(now_s(), self.control.now_s)

    def _ingested(self, message: Ingested) -> None:
        for name, epoch, ref in message.versions:
            self.log.put_version(name, epoch, {"name": ref.name, "rows": ref.rows, "bytes": ref.bytes})
            self._forget_versions(epoch)
        if not message.stream:
            return
        stream = message.stream
        for n, batch in enumerate(message.batches, message.n):
            self.records.put(stream, n, batch)
            self.handle(BatchArrived(self.now(), stream, batch))
            self.monitor.arrived(stream, batch.rows, self.now())
        self.log.put_stream(stream, message.batches[0].ref.stream, asdict(message.standing))
        if message.standing.ended:
            self.handle(StreamEnded(self.now(), stream))
        self.records.sweep(stream, self.control.stream_queue(stream))
        self._after.extend(ticket.complete for ticket in message.tickets)

    def _forget_versions(self, epoch: int) -> None:
        """Drops versions of stored relations that no row meets: those on their way, or from this epoch on."""
        if self._keep_log or any(needs.epoch for needs in self.asked.values()):
            return  # what operators remember may be of any epoch
        queues = self.control.queues.values()
        waiting = (batch for queue_ in queues for batch in queue_.slice(queue_.freed, queue_.tail))
        oldest = min((batch.ref.oldest_epoch for batch in waiting), default=epoch)
        for name, first, refs in self._relations.forget(min(oldest, epoch)):
            self.log.drop_versions(name, first)
            self._garbage.extend(ref.name for ref in refs)

    # --- steps ---

    def _submit(self, command: RunStep) -> None:
        runner = self._runners[command.unit][1]
        place = self.control.units[command.unit].place
        operators = place.unit.operators
        names = {(name, slot) for name in operators for slot in range(len(self._graph.nodes[name].inputs))}
        marks = {name: self.marks[name] for name in names if name in self.marks}
        outputs = {name: self.outputs[name] for name in operators if name in self.outputs}
        states = {name: self.states[name] for name in operators if name in self.states}
        self._pool.submit(self._work, runner, command, marks, outputs, states)

    def _work(
        self,
        runner: UnitRunner,
        command: RunStep,
        marks: Marks,
        outputs: Outputs,
        states: Mapping[str, State],
    ) -> None:
        """What a step's thread does."""
        began_s = time.perf_counter()
        try:
            result = runner.run(command.takes, marks, outputs, states)
            stored = {
                port: self.store.put(table, "queue")
                for port, table in result.queues.items()
                if table.num_rows
            }
            staged = self.results.stage(runner.graph, result.sinks)
            self.send(StepDone(command, result, stored, staged, began_s))
        except StepError as error:
            found = self._culprits(runner, command, marks, outputs, states)
            self.send(StepBroken(command, str(error), found))
        except PenstockError as error:
            self.send(StepBroken(command, str(error)))
        except BaseException as error:
            self.send(StepBroken(command, f"{type(error).__name__}: {error}"))

    def _culprits(
        self,
        runner: UnitRunner,
        command: RunStep,
        marks: Marks,
        outputs: Outputs,
        states: Mapping[str, State],
    ) -> dict[str, str]:
        """The members of a shared query without which a step would not have failed."""
        name = runner.shared
        roster = self.shared.roster(name) if name is not None else None
        if name is None or roster is None or len(roster.members) < 2:
            return {}

        def failure(members: Sequence[Member]) -> str | None:
            try:
                tried = runner.run(command.takes, marks, outputs, states, {name: roster.only(members)})
            except StepError as error:
                return str(error)
            known = {piece.ref.name for state in states.values() for piece in state.pieces}
            made = {piece.ref.name for state in tried.states.values() for piece in state.pieces}
            self.store.delete(made - known)
            return None

        return culprits(roster.members, failure)

    def _step_broken(self, message: StepBroken) -> None:
        self._running -= 1
        self._check_spark()
        self.totals.failed_steps += 1
        if not message.culprits:
            self._undo(message)
            return
        for query, reason in message.culprits.items():
            self.failures[query] = reason
            self._tell(f"query '{query}' is suspended, since a step of it failed: {reason}")
        self.membership.exclude(list(message.culprits), partial(self._undo, message))

    def _undo(self, message: StepBroken) -> None:
        self.handle(StepFailed(self.now(), message.command.step, message.reason))

    def _step_done(self, message: StepDone) -> None:
        command, result = message.command, message.result
        self._running -= 1
        unit = self.control.units[command.unit]
        outputs = self._outputs_of(message, unit.place)
        for name, state in result.states.items():
            self.put_state(name, state)
        for port, batch in outputs.items():
            self.pushed[port] = batch.ref.mark
        self._count(message)
        event = StepFinished(
            self.now(),
            command.step,
            result.seconds,
            tuple(Output(port, batch) for port, batch in outputs.items()),
        )
        units = self.control.units
        self.handle(event)
        if self.control.units is not units:
            return  # the cut has changed, and all of it was written anew
        self.records.read(unit, self._graph)
        for port, batch in outputs.items():
            self.records.put(key(port, self._graph), self.control.queues[port].tail - 1, batch)
        for edge in unit.place.sinks:
            query = self._graph.nodes[edge.reader].operator.query  # type: ignore[union-attr]
            if query in self.shared:
                self.membership.stepped(query)

    def _outputs_of(self, message: StepDone, place: UnitPlace) -> dict[Port, Batch]:
        """A batch for every queue the step put rows into, or whose time has come further."""
        result, takes = message.result, message.command.takes
        inputs = [
            (name, slot)
            for name in place.unit.operators
            for slot in range(len(self._graph.nodes[name].inputs))
        ]
        before = [self.marks.get(one) for one in inputs]
        for slot, mark in result.entry_marks.items():
            raise_to(self.marks, slot, mark)
        self.outputs.update(result.outputs)
        marks = exit_marks(self._graph, place, self.marks, self.outputs)
        for one, old in zip(inputs, before, strict=True):
            if self.marks.get(one) != old:
                self.log.put_mark(*one, self.marks[one])
        batches = [batch for take in takes for batch in take.batches]
        last = batches[-1]
        leaf = [batch for batch in batches if batch.leaf == last.leaf]
        arrived_us = max(batch.ref.arrived_us for batch in batches)
        epoch = max(batch.ref.epoch for batch in batches)
        first_epoch = min(batch.ref.oldest_epoch for batch in batches)
        found = {}
        for port, mark in marks.items():
            ref = message.stored.get(port)
            if ref is None and mark <= self.pushed.get(port, UNKNOWN):
                continue
            found[port] = Batch(
                ref.rows if ref is not None else 0,
                float(ref.bytes) if ref is not None else 0.0,
                min(batch.arrived_s for batch in batches),
                mark / 1e6,
                mark / 1e6,
                last.leaf,
                min(batch.lo for batch in leaf),
                last.hi,
                Held(ref, mark, arrived_us, epoch=epoch, first_epoch=first_epoch),
            )
        return found

    def _count(self, message: StepDone) -> None:
        command, result = message.command, message.result
        totals = self.totals
        totals.steps += 1
        totals.jobs += result.jobs
        totals.spark_s += result.spark_s
        self._after.append(partial(self._timed, message.began_s))
        oldest_s = min(batch.arrived_s for take in command.takes for batch in take.batches)
        self.waited_s += (max(0.0, now_s() - oldest_s) - self.waited_s) * 0.2
        operators = self.control.units[command.unit].place.unit.operators
        rows_out = sum(table.num_rows for table in (*result.queues.values(), *result.sinks.values()))
        self.monitor.stepped(operators, result.rows, rows_out, result.seconds, result.jobs)
        frontier = {batch.leaf: batch.hi for take in command.takes for batch in take.batches}
        self._deliver(message.staged, frontier)

    def _timed(self, began_s: float) -> None:
        self.totals.step_s += time.perf_counter() - began_s

    def _deliver(self, results: tuple[StagedResult, ...], frontier: Mapping[str, int]) -> None:
        self.results.deliver(results, frontier, lambda query: self.at(0.0, partial(self.finished, query)))

    def put_state(self, name: str, state: State) -> None:
        """What an operator remembers from now on."""
        kept = {piece.ref.name for piece in state.pieces}
        before = self.states.get(name, State())
        self._garbage.extend(p.ref.name for p in before.pieces if p.ref.name not in kept)
        self.states[name] = state
        self.log.put_state(name, state, self.outputs.get(name, UNKNOWN))

    # --- changes of the cut and the graph ---

    def _recut(self, command: Recut) -> None:
        """Another cut: new units get their jobs, and where everything stands is written anew."""
        graph = self.control.graph
        if graph is not self._graph:
            for query in [query for query in self.draining if query not in graph.queries]:
                self.draining.discard(query)
                self.drain(query)
            self.membership.regraphing(graph)
            self._regraph(graph)
        stateful = stateful_operators(graph, self._layouts)
        runners: dict[int, tuple[object, UnitRunner]] = {}
        for index, unit in self.control.units.items():
            mark = self._signature(unit.place)
            known = self._runners.get(index)
            if known is not None and known[0] == mark:
                runners[index] = known
            else:
                own = {name: stateful[name] for name in unit.place.unit.operators if name in stateful}
                runner = self._runner(graph, unit.place, own)
                runners[index] = mark, runner
        for index, (_, runner) in self._runners.items():
            at_work = self.control.units.get(index)
            is_running = at_work is not None and at_work.step
            if (index not in runners or runners[index][1] is not runner) and not is_running:
                runner.close()
        self._runners = runners
        self.records.write(command.units, self.control.queues, self._graph)
        self.pushed = {port: mark for port, mark in self.pushed.items() if port in self.control.queues}

    def _runner(self, graph: Graph, place: UnitPlace, stateful: Mapping[str, StatefulOperator]) -> UnitRunner:
        return UnitRunner(
            graph,
            place,
            self._layouts,
            stateful,
            self._jobs,
            self.store,
            self._relations.until,
            self.shared.roster,
        )

    def _signature(self, place: UnitPlace) -> object:
        ports = {port for name in place.unit.operators for port in self._graph.nodes[name].inputs}
        ports |= {Port(name) for name in place.unit.operators}
        return place, tuple(
            sorted((port, self._layouts.ports[port]) for port in ports if port in self._layouts.ports)
        )

    def drain(self, query: str, member: int | None = None) -> None:
        """Emits the open windows of a query that is about to go, or one member's, as if streams had ended.

        All it has begun is through. What its operators remember stays as it is: others may share them.
        """
        place = alone(self._graph, query)
        stateful = stateful_operators(self._graph, self._layouts)
        runner = self._runner(self._graph, place, stateful)
        held = Held(None, END, round(now_s() * 1e6), epoch=self._relations.epoch)
        end = Batch(0, 0.0, now_s(), 0.0, 0.0, "", 0, 0, held)
        ports = dict.fromkeys(edge.port for edge in place.entries)
        takes = tuple(
            Take(n, tuple(edge for edge in place.entries if edge.port == port), (end,))
            for n, port in enumerate(ports)
        )
        try:
            result = runner.run(takes, self.marks, self.outputs, self.states)
        except PenstockError as error:
            self._tell(f"the open windows of query '{query}' are lost: {error}")
            return
        kept = {piece.ref.name for state in self.states.values() for piece in state.pieces}
        made = {piece.ref.name for state in result.states.values() for piece in state.pieces}
        self._garbage.extend(made - kept)
        self._deliver(self.results.stage(self._graph, result.sinks, member), {})

    def _regraph(self, graph: Graph) -> None:
        gone = [name for name in self._graph.operators if name not in graph.nodes]
        for name in gone:
            self._garbage.extend(piece.ref.name for piece in self.states.pop(name, State()).pieces)
            self.outputs.pop(name, None)
            self.asked.pop(name, None)
            for slot in range(len(self._graph.nodes[name].inputs)):
                self.marks.pop((name, slot), None)
            self.log.drop_operator(name)
        self._layouts = layouts(graph, self.asked)
        self.asked = dict(self._layouts.asked)
        self.log.set("asked", {name: asdict(needs) for name, needs in self.asked.items()})
        self._graph = graph

    def _started(self, query: str, starts: dict[str, int]) -> None:
        life = self.results.started(query, starts)
        if query in self.results.one_time:  # rows before its start are not older than the watermark was then
            marks = [self.control.stream_queue(name).register_s for name, lo in starts.items() if lo]
            life["after_us"] = micros(max(marks)) if marks else UNKNOWN
        self.results.put_life(query)
        if query in self.shared:
            self.membership.begun(query, starts)
        self.altering.begun(query, starts)

    def _ended(self, query: str, ends: dict[str, int]) -> None:
        suspended = self.log.get("suspended", [])
        if query in suspended:
            self.log.set("suspended", [name for name in suspended if name != query])
        if self.altering.replaced(query, ends):
            return
        if query in self.shared:
            self.membership.ended(query)
        self.results.ended(query, ends)
        self.failures.pop(query, None)
        self.log.drop_query(query)
        self.log.set(
            "stopping", {n: drain for n, drain in self.log.get("stopping", {}).items() if n != query}
        )

    # --- estimates ---

    def _estimate(self) -> None:
        """Now and then tells control what steps have cost lately."""
        if now_s() - self._estimated_s >= ESTIMATE_S and self.monitor.changed:
            self.estimate()

    def estimate(self) -> None:
        """Tells control what steps have cost lately, and who there is."""
        self._estimated_s = now_s()
        self.crowds.look()
        self.handle(EstimatesChanged(self.now(), self.monitor.estimates(self._graph)))


def now_s() -> float:
    """Seconds since 1970."""
    return time.time()
