"""The coordinator: one thread that asks control what to do, and commits what was done.

Messages come from the feeder (a batch was taken in), from the threads that run steps, and from whoever calls
the engine. Those that wait are handled together, in one transaction; steps that control then asks for start
after the commit. Whatever a crash interrupts was not committed: its input is still where it was.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from penstock.adapt.arrivals import Arrivals
from penstock.adapt.budget import ProfileBudget
from penstock.adapt.monitor import Monitor
from penstock.adapt.observations import PartTiming, Profile
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
    WakeAt,
)
from penstock.control.events import (
    EstimatesChanged,
    Event,
    Output,
    QuerySuspended,
    RowsWanted,
    StepFailed,
    StepFinished,
    ThreadsChanged,
    Ticked,
)
from penstock.control.machine import Control
from penstock.control.recent_log import RecentLog
from penstock.control.sharing.events import Asked, HostFailed, HostSettled, MembersFailed
from penstock.control.sharing.records import RunApart
from penstock.engines.spark.ingest.feeder import Ingested
from penstock.engines.spark.ingest.relations import Relations
from penstock.engines.spark.ingest.retention import Retention
from penstock.engines.spark.results.delivery import Deliveries
from penstock.engines.spark.results.draining import Drains
from penstock.engines.spark.results.results import Results, StagedResult
from penstock.engines.spark.rows.at_large import LargeTables
from penstock.engines.spark.runtime.charging import Charging
from penstock.engines.spark.runtime.holding import MemoryWatch
from penstock.engines.spark.runtime.intake import Intake
from penstock.engines.spark.runtime.mailbox import Action, Call, Mailbox
from penstock.engines.spark.runtime.query_lives import QueryLives
from penstock.engines.spark.runtime.scheduling import AskedScheduling
from penstock.engines.spark.runtime.workers import (
    DrainBroken,
    DrainDone,
    Report,
    StepBroken,
    StepDone,
    Workers,
)
from penstock.engines.spark.sharing.driver import SharingDriver
from penstock.engines.spark.sharing.member_reports import MemberReports
from penstock.engines.spark.sharing.shared import SharedQueries
from penstock.engines.spark.steps.prepared import Jobs
from penstock.engines.spark.steps.profiling import Profiler
from penstock.engines.spark.steps.progress import Progress
from penstock.engines.spark.steps.skipped import SkippedRows
from penstock.engines.spark.storage.commit_log import CommitLog
from penstock.engines.spark.storage.queue_records import QueueRecords, key
from penstock.engines.spark.storage.store import Store
from penstock.errors import EngineError

#: Seconds between two looks at what steps cost.
ESTIMATE_S = 2.0
#: Seconds between two looks whether Spark is still there, when there is nothing to do.
LOOK_S = 5.0


@dataclass(frozen=True, slots=True)
class Delivered:
    """Something was delivered or renamed, which is to be recorded with the next commit."""


Message: TypeAlias = Ingested | Report | Delivered | Profile


@dataclass(slots=True)
class Totals:
    """What the engine did so far."""

    steps: int = 0
    jobs: int = 0
    large_steps: int = 0  # of the steps, those of many tasks
    driver_row_bytes: int = 0  # of rows that the driver had in its hands for steps; none of those at large
    failed_steps: int = 0
    step_s: float = 0.0  # of steps, from their start to their commit
    spark_s: float = 0.0  # of that, within Spark
    profile_s: float = 0.0  # of samples, beside the steps
    max_queue_bytes: float = 0.0
    queue_byte_s: float = 0.0  # bytes that waited in queues, times the seconds they did


class Coordinator:
    """Takes messages in turn, tells control what happened, obeys it, and commits what was done."""

    def __init__(
        self,
        control: Control,
        log: CommitLog,
        store: Store,
        jobs: Jobs,
        relations: Relations,
        deliveries: Deliveries,
        shared: SharedQueries,
        skipped: SkippedRows,
        *,
        workers: int,
        keep_log: bool,
        tell: Callable[[str], None],
        profiling: float,
        profiles: Jobs,
        large: LargeTables,
    ) -> None:
        self.control, self.log, self.store, self.shared = control, log, store, shared
        self.skipped = skipped
        self.recent_log = RecentLog(control)
        self.say = tell
        self._garbage: list[str] = []  # files that nobody needs once the transaction is through
        self.results = Results(log, deliveries, shared, self._garbage)
        self.progress = Progress(log, self._garbage)
        self.records = QueueRecords(log, store, self._garbage, keep_log=keep_log)
        self.mailbox: Mailbox[Message] = Mailbox(
            self._turn, self._look, lambda: self._running > 0, lambda: not self._running and control.idle
        )
        budget = ProfileBudget(profiling)
        self.profiler = Profiler(profiles, self.mailbox.send, budget) if profiling else None
        self._workers = Workers(
            self.progress, jobs, store, relations, self.results, self.mailbox.send, self.profiler, large
        )
        self.drains = Drains(log, self.progress, store, shared, deliveries, self._garbage)
        #: What to do when a one-time query has its window.
        self.finished: Callable[[str], None] = lambda _: None
        #: What to do when something runs no more.
        self.stopped_running: Action = lambda: None
        self.intake = Intake(self, relations, self._garbage, keep_log=keep_log)
        self.query_lives = QueryLives(self, relations)
        self.sharing: SharingDriver  # the registrar's, which knows the plans
        self.member_reports = MemberReports(self)
        self.memory_watch = MemoryWatch(self)
        self.retention = Retention(self)
        self.scheduling = AskedScheduling(workers)
        self.monitor = Monitor()
        self.arrivals = Arrivals()
        self.totals = Totals()
        self.charging = Charging(shared)
        self.waited_s = 0.0  # how long rows waited until they were processed, lately
        self._running = 0
        self._queued_bytes = 0.0
        self._queued_s = now_s()  # since when
        self._estimated_s = 0.0
        self._looked_s = now_s()
        # What is to be done once the transaction is through.
        self._steps: list[RunStep] = []
        self._after: list[Action] = []

    # --- turns ---

    def stop(self) -> None:
        """Starts no step any more, lets those that run finish, commits what came of them, and ends."""
        self.mailbox.stop()
        self._workers.close()

    def record_deliveries(self) -> None:
        """In the end: what was delivered after the last commit."""
        with self.log.transaction():
            self.results.cross_off()
        self.store.delete(self._garbage)
        self._garbage.clear()

    def afterwards(self, action: Action) -> None:
        """Does something once this transaction is through and its results can be seen."""
        self._after.append(action)

    def _look(self) -> None:
        """While there is nothing to do, nobody else would notice that Spark has ended."""
        if now_s() - self._looked_s > LOOK_S and not self._running:
            self._looked_s = now_s()
            self._check_spark()

    def _check_spark(self) -> None:
        if not self._workers.has_spark:
            raise EngineError("Spark has ended; the next run goes on from the last commit")

    def _turn(self, messages: list[Message | Call], due: list[Action]) -> None:
        with self.log.transaction():
            self.results.cross_off()
            for action in due:
                action()
            for message in messages:
                self._take(message)
            self.member_reports.tell_noted()
            self.memory_watch.look(now_s())
            self._estimate()
            self.retention.hand_over()
        self.committed()
        for message in messages:
            if isinstance(message, Call):
                message.say()

    def _take(self, message: Message | Call) -> None:
        match message:
            case Ingested():
                self.intake.take(message)
            case StepDone():
                self._step_done(message)
            case StepBroken():
                self._step_broken(message)
            case DrainDone() | DrainBroken():
                self._drained(message)
            case Delivered():
                pass  # each turn begins with that
            case Profile():
                self.monitor.profiled(message)
                self.totals.profile_s += message.seconds
            case Call():
                message.do(self.log.savepoint())

    def committed(self) -> None:
        """All that was decided is recorded: now it may be seen, and go on."""
        self.results.show()
        self.skipped.show()
        for action in self._after:
            action()
        self._after = []
        for stream in filter(self.intake.has_been_read, self.progress.waiting.unread):
            self.progress.waiting.read(stream)
        steps, self._steps = self._steps, []
        if not self.mailbox.ending:  # else it is not committed, so as if it had never been asked for
            for command in steps:
                self._running += 1
                self._workers.submit(command)
            for drain in self.drains.due():
                self._running += 1
                self._workers.submit_drain(drain)
        self.drains.release()
        self.store.delete(self._garbage)
        self._garbage.clear()

    # --- events ---

    def handle(self, event: Event) -> None:
        """Asks control, and does as it says."""
        commands = self.control.handle(event)
        self.recent_log(event, commands)
        for command in commands:
            self._obey(command)
        self.sharing.flush()
        now = now_s()
        self.totals.queue_byte_s += self._queued_bytes * max(0.0, now - self._queued_s)
        self._queued_bytes, self._queued_s = self.control.queued_bytes(), now
        self.totals.max_queue_bytes = max(self.totals.max_queue_bytes, self._queued_bytes)

    def _obey(self, command: Command) -> None:
        match command:
            case RunStep():
                self._steps.append(command)
            case Recut():
                self._recut(command)
            case WakeAt(at_s):
                self.mailbox.at(at_s, lambda: self.handle(Ticked(self.now())))
            case QueryStarted(query, starts):
                self.query_lives.started(query, dict(starts))
            case Settled(query, _, on_behalf_of):
                self.sharing.post(HostSettled(query, on_behalf_of))
            case SplitOff(query) | Rejoin(query):
                if query in self.sharing.queries:
                    self.sharing.post(Asked(query, RunApart(isinstance(command, SplitOff))))
            case QueryEnded(query, ends):
                self.sharing.ended(query, dict(ends))
            case QueryFailed(query, reason):
                self.sharing.post(HostFailed(query, reason))
                for name in self.shared.queries(query):
                    self.say(f"query '{name}' is suspended, since a step of it failed three times: {reason}")
            case AskTimestamp(stream):
                self.progress.waiting.ask(stream)  # the feeder sees it; what the stream says is in its log
            case Commit():
                pass  # what a step came to is committed with the event that says it is done

    def nothing_left(self) -> bool:
        """Whether nothing runs or waits, but for suspended queries; asked between two events."""
        through = not self._running and not self._steps and not self.drains
        return through and self.mailbox.nothing_waits and self.control.idle

    def runs(self, query: str) -> bool:
        """Whether a query runs or will, by itself or as a member."""
        return query in self.sharing.queries

    @property
    def failures(self) -> dict[str, str]:
        """Why queries have failed, or what they have lost in the end."""
        failed = {name: one.failed for name, one in self.sharing.queries.items() if one.failed is not None}
        return {**self.query_lives.lost_windows, **failed}

    def want_rows(self) -> None:
        """Somebody waits for what has arrived."""
        if self.control.rows_wait_for_more:
            self.handle(RowsWanted(self.now()))

    def settled(self) -> bool | None:
        """Whether all rows that came in are processed; None if that may still be; asked between two events.

        It will not be without somebody's help if rows wait for a query that is held or has failed.
        """
        if not self.nothing_left():
            return None
        waiting = {
            query
            for queue_ in self.control.queues.values()
            for reader in queue_.readers
            if reader.unit.held and reader.cursor < queue_.tail
            for edge in reader.edges
            for query in self.control.graph.users[edge.reader]
        }
        if not waiting:
            return True
        held = all(
            self.sharing.machine.is_held(name) for query in waiting for name in self.shared.queries(query)
        )
        return False if held else None  # or one is held for a moment, while a member comes or goes

    @property
    def queued_bytes(self) -> float:
        """Bytes that wait in queues."""
        return self._queued_bytes

    def now(self) -> float:
        """The time for control: seconds since 1970, never less than before."""
        return max(now_s(), self.control.now_s)

    # --- steps ---

    def _step_broken(self, message: StepBroken) -> None:
        self._running -= 1
        self._check_spark()
        self.totals.failed_steps += 1
        if not message.culprits:
            self._undo(message)
            return
        for query, reason in message.culprits.items():
            self.say(f"query '{query}' is suspended, since a step of it failed: {reason}")
        host = self.shared.runs_as(next(iter(message.culprits)))
        self.handle(QuerySuspended(self.now(), host))  # before anything begins again
        self._undo(message)
        self.sharing.tell(MembersFailed(host, message.culprits))

    def _undo(self, message: StepBroken) -> None:
        self.handle(StepFailed(self.now(), message.command.step, message.reason))

    def _step_done(self, message: StepDone) -> None:
        command, result = message.command, message.result
        self._running -= 1
        unit = self.control.units[command.unit]
        outputs = self.progress.stepped(unit.place, command.takes, result, message.stored)
        self._count(message)
        event = StepFinished(
            self.now(),
            command.step,
            result.seconds,
            tuple(Output(port, batch) for port, batch in outputs.items()),
        )
        units, graph = self.control.units, self.progress.graph
        self.handle(event)
        if self.control.units is units:  # or the cut has changed, and all of it was written anew
            self.records.read(unit, graph)
            for port, batch in outputs.items():
                self.records.put(key(port, graph), self.control.queues[port].tail - 1, batch)
        for edge in unit.place.sinks:
            self.sharing.stepped(graph.nodes[edge.reader].operator.query)  # type: ignore[union-attr]

    def _count(self, message: StepDone) -> None:
        command, result = message.command, message.result
        totals = self.totals
        totals.steps += 1
        totals.jobs += result.jobs
        totals.large_steps += result.at_large
        totals.driver_row_bytes += result.driver_bytes
        totals.spark_s += result.spark_s
        self.skipped.add(result.skipped)
        unit = self.control.units[command.unit]
        operators = unit.place.unit.operators
        self._after.append(partial(self._timed, message, operators))
        if not unit.may_wait:  # or they waited for more to come, which says nothing of how busy everything is
            oldest_s = min(batch.arrived_s for take in command.takes for batch in take.batches)
            self.waited_s += (max(0.0, now_s() - oldest_s) - self.waited_s) * 0.2
        self.charging.stepped(self.control.graph, operators, result.spark_s, message.staged)
        frontier = {batch.leaf: batch.hi for take in command.takes for batch in take.batches}
        self.deliver(message.staged, frontier)

    def _timed(self, message: StepDone, unit: tuple[str, ...]) -> None:
        """The step is committed. Its worker got no other until now, so that is part of what a step costs."""
        taken_s, result = time.perf_counter() - message.began_s, message.result
        self.totals.step_s += taken_s
        if result.at_large:  # estimates are of steps in hand: all of this would be taken for their fixed cost
            return
        beside_s = max(0.0, taken_s - sum(timing.seconds for timing in result.timings))
        result.timings.append(PartTiming("commit", unit[-1:], 0, beside_s, is_job=False))
        self.monitor.stepped(result.seen(unit))

    def deliver(self, results: tuple[StagedResult, ...], frontier: Mapping[str, int]) -> None:
        """Records results, with the offsets up to which rows are in them."""
        self.results.deliver(
            results, frontier, lambda query: self.mailbox.soon(partial(self.finished, query))
        )

    # --- changes of the cut and the graph ---

    def _recut(self, command: Recut) -> None:
        """Another cut: new units get their jobs, and where everything stands is written anew."""
        graph = self.control.graph
        if graph is not self.progress.graph:
            for host in [name for name in self.progress.graph.queries if name not in graph.queries]:
                self.sharing.leaving(host)
            self.progress.regraph(graph)
            if self.scheduling.partitions:
                self.mailbox.soon(self.divide_anew)
        self._workers.equip(self.control.units)
        self.monitor.recut(graph, command.units.values())
        self.records.write(command.units, self.control.queues, graph)
        self.progress.forget_queues(self.control.queues)

    def divide_anew(self) -> None:
        """Divides the graph among threads as it was asked for, if it is not."""
        plan = self.scheduling.plan(self.control.graph, self.shared.runs_as)
        if plan != self.control.threads_asked:
            self.handle(ThreadsChanged(self.now(), plan))

    def _drained(self, message: DrainDone | DrainBroken) -> None:
        self._running -= 1
        drain = message.drain
        staged = message.staged if isinstance(message, DrainDone) else None
        if isinstance(message, DrainBroken):
            self._check_spark()
        if drain.number not in self.drains:  # somebody has dropped the query meanwhile
            if staged is not None:
                self.results.discard([staged])
                self._garbage.extend(ref.name for ref in (staged.staged.ref,) if ref is not None)
        elif isinstance(message, DrainBroken):
            self.query_lives.drain_failed(drain, message.reason)
        else:
            self.query_lives.drained(drain, staged)

    # --- estimates ---

    def _estimate(self) -> None:
        """Now and then tells control what steps have cost lately."""
        if now_s() - self._estimated_s >= ESTIMATE_S and self.monitor.changed:
            self.estimate()

    def estimate(self) -> None:
        """Tells control what steps have cost lately, and who there is."""
        self._estimated_s = now_s()
        self.member_reports.look()
        now = self.now()
        self.handle(EstimatesChanged(now, self.monitor.estimates(self.progress.graph, now)))


def now_s() -> float:
    """Seconds since 1970."""
    return time.time()
