"""The coordinator: one thread that asks control what to do, and commits what was done.

Messages come from the feeder (a batch was taken in), from the threads that run steps, and from whoever calls
the engine. Those that wait are handled together, in one transaction; steps that control then asks for start
after the commit. Whatever a crash interrupts was not committed: its input is still where it was.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import TypeAlias

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
    WakeAt,
)
from penstock.control.events import (
    EstimatesChanged,
    Event,
    Output,
    QuerySuspended,
    StepFailed,
    StepFinished,
    StreamDropped,
    Ticked,
    TimestampAdvanced,
)
from penstock.control.machine import Control
from penstock.control.sharing.events import Asked, HostFailed, HostSettled, MembersFailed
from penstock.control.sharing.records import RunApart
from penstock.engines.spark.ingest.feeder import Ingested, LogPosition
from penstock.engines.spark.ingest.late_rows import windows_of
from penstock.engines.spark.ingest.relations import Relations
from penstock.engines.spark.ingest.retention import Retention
from penstock.engines.spark.operators.base import UNKNOWN, micros
from penstock.engines.spark.operators.over_nothing import has_row_of_nothing
from penstock.engines.spark.results.delivery import Deliveries
from penstock.engines.spark.results.draining import Drains
from penstock.engines.spark.results.results import Results, StagedResult
from penstock.engines.spark.runtime.mailbox import Action, Call, Mailbox
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
from penstock.engines.spark.steps.progress import Progress
from penstock.engines.spark.steps.rosters import Member
from penstock.engines.spark.steps.skipped import SkippedRows
from penstock.engines.spark.storage.commit_log import CommitLog
from penstock.engines.spark.storage.queue_records import QueueRecords, key
from penstock.engines.spark.storage.store import Store
from penstock.errors import EngineError, SourceError
from penstock.plan.shared.shapes import Shaped

#: Seconds between two looks at what steps cost.
ESTIMATE_S = 2.0
#: Seconds between two looks whether Spark is still there, when there is nothing to do.
LOOK_S = 5.0


@dataclass(frozen=True, slots=True)
class Delivered:
    """Something was delivered or renamed, which is to be recorded with the next commit."""


Message: TypeAlias = Ingested | Report | Delivered


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
    ) -> None:
        self.control, self.log, self.store, self.shared = control, log, store, shared
        self.skipped = skipped
        self._relations, self._keep_log, self.say = relations, keep_log, tell
        self._garbage: list[str] = []  # files that nobody needs once the transaction is through
        self.results = Results(log, deliveries, shared, self._garbage)
        self.progress = Progress(log, self._garbage)
        self.records = QueueRecords(log, store, self._garbage, keep_log=keep_log)
        self.mailbox: Mailbox[Message] = Mailbox(
            self._turn, self._look, lambda: self._running > 0, lambda: not self._running and control.idle
        )
        self._workers = Workers(
            workers, self.progress, jobs, store, relations, self.results, self.mailbox.send
        )
        self.lost_windows: dict[str, str] = {}  # why, of queries that have ended
        self.standings: dict[str, LogPosition] = {}  # where each stream's log stands, as committed
        self.drains = Drains(log, self.progress, store, shared, deliveries, self._garbage)
        #: What to do when a one-time query has its window.
        self.finished: Callable[[str], None] = lambda _: None
        #: What to do when something runs no more.
        self.stopped_running: Action = lambda: None
        self.sharing: SharingDriver
        self.member_reports = MemberReports(self)
        self.retention = Retention(self)
        self.monitor = Monitor()
        self.totals = Totals()
        self.waited_s = 0.0  # how long rows waited until they were processed, lately
        self._running = 0
        self._queued_bytes = 0.0
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
            self._estimate()
            self.retention.hand_over()
        self.committed()
        for message in messages:
            if isinstance(message, Call):
                message.say()

    def _take(self, message: Message | Call) -> None:
        match message:
            case Ingested():
                self._ingested(message)
            case StepDone():
                self._step_done(message)
            case StepBroken():
                self._step_broken(message)
            case DrainDone() | DrainBroken():
                self._drained(message)
            case Delivered():
                pass  # each turn begins with that
            case Call():
                message.do(self.log.savepoint())

    def committed(self) -> None:
        """All that was decided is recorded: now it may be seen, and go on."""
        self.results.show()
        self.skipped.show()
        for action in self._after:
            action()
        self._after = []
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
        for command in self.control.handle(event):
            self._obey(command)
        self.sharing.flush()
        self._queued_bytes = self.control.queued_bytes()
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
                self._started(query, dict(starts))
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
                queue_ = self.control.stream_queue(stream)
                if queue_.register_s > float("-inf"):
                    self.mailbox.soon(
                        lambda: self.handle(TimestampAdvanced(self.now(), stream, queue_.register_s))
                    )
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
        return {**self.lost_windows, **failed}

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

    def drop_stream(self, stream: str) -> None:
        """Forgets a stream that no query reads."""
        self.retention.drop(stream)
        self.standings.pop(stream, None)
        self.handle(StreamDropped(self.now(), stream))
        self.records.drop(stream)
        self.results.missing.drop(stream)

    def drop_relation(self, name: str) -> None:
        """Forgets a stored relation that no query reads."""
        self._garbage.extend(ref.name for ref in self._relations.remove(name))
        self.log.drop_relation(name)

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

    @property
    def queued_bytes(self) -> float:
        """Bytes that wait in queues."""
        return self._queued_bytes

    def now(self) -> float:
        """The time for control: seconds since 1970, never less than before."""
        return max(now_s(), self.control.now_s)

    def _ingested(self, message: Ingested) -> None:
        for name, epoch, ref in message.versions:
            if not self._relations.knows(name, ref):  # it was dropped while it was read
                self._garbage.append(ref.name)
                continue
            self.log.put_version(name, epoch, {"name": ref.name, "rows": ref.rows, "bytes": ref.bytes})
            self._forget_versions(epoch)
        if not message.stream:
            return
        stream = message.stream
        if not message.counts:  # it was dropped meanwhile
            self._garbage.extend(batch.ref.ref.name for batch in message.batches if batch.ref.ref is not None)
            for ticket in message.tickets:
                ticket.fail(SourceError(f"stream '{stream}' was dropped before its rows were logged"))
            return
        for n, batch in enumerate(message.batches, message.n):
            self.records.put(stream, n, batch)
            self.monitor.arrived(stream, batch.rows, self.now())
        self.log.put_stream(stream, message.batches[0].ref.stream, asdict(message.standing))
        self.standings[stream] = message.standing
        self.log.add_known_files(stream, message.finished)
        self.retention.arrived(message)
        self.results.missing.taken_in(stream, message.late)
        self._after.extend(ticket.complete for ticket in message.tickets)

    def _forget_versions(self, epoch: int) -> None:
        """Drops versions of stored relations that no row meets: those on their way, or from this epoch on."""
        remembered = any(needs.epoch for needs in self.progress.asked.values())
        if self._keep_log or remembered or self.drains.need_relations:
            return  # what operators remember may be of any epoch
        queues = self.control.queues.values()
        waiting = (batch for queue_ in queues for batch in queue_.slice(queue_.freed, queue_.tail))
        oldest = min((batch.ref.oldest_epoch for batch in waiting), default=epoch)
        for name, first, refs in self._relations.forget(min(oldest, epoch)):
            self.log.drop_versions(name, first)
            self._garbage.extend(ref.name for ref in refs)

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
        units = self.control.units
        self.handle(event)
        if self.control.units is not units:
            return  # the cut has changed, and all of it was written anew
        graph = self.progress.graph
        self.records.read(unit, graph)
        for port, batch in outputs.items():
            self.records.put(key(port, graph), self.control.queues[port].tail - 1, batch)
        for edge in unit.place.sinks:
            query = graph.nodes[edge.reader].operator.query  # type: ignore[union-attr]
            self.sharing.stepped(query)

    def _count(self, message: StepDone) -> None:
        command, result = message.command, message.result
        totals = self.totals
        totals.steps += 1
        totals.jobs += result.jobs
        totals.spark_s += result.spark_s
        self.skipped.add(result.skipped)
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
        self._workers.equip(self.control.units)
        self.records.write(command.units, self.control.queues, graph)
        self.progress.forget_queues(self.control.queues)

    def drain(self, query: str, member: Member | None = None) -> None:
        """Has the open windows of a query that goes put out, or one member's, as if streams had ended now.

        If they have ended, none are open.
        """
        if self.progress.has_closed(query):
            return
        one_time_us = self.results.one_time.get(query)
        self.drains.begin(query, member, self._relations.epoch, round(now_s() * 1e6), one_time_us)

    def put_out_of_nothing(self, query: str, member: Member | None = None) -> None:
        """Has what a query or a member puts out of no rows put out: it began when its streams had ended."""
        if has_row_of_nothing(self.progress.graph, query):
            self.drains.begin(query, member, self._relations.epoch, round(now_s() * 1e6), anew=True)

    def have_ended(self, starts: Mapping[str, int]) -> bool:
        """Whether no row comes from these offsets of streams on."""
        return bool(starts) and all(
            self.control.stream_queue(name).has_ended_at(lo) for name, lo in starts.items()
        )

    def _drained(self, message: DrainDone | DrainBroken) -> None:
        self._running -= 1
        drain = message.drain
        staged = message.staged if isinstance(message, DrainDone) else None
        if drain.number not in self.drains:  # somebody has dropped the query meanwhile
            if staged is not None:
                self.results.discard([staged])
                self._garbage.extend(ref.name for ref in (staged.staged.ref,) if ref is not None)
        elif isinstance(message, DrainBroken):
            self._check_spark()
            if self.drains.failed(drain):
                reason = f"the windows that were open in the end are lost: {message.reason}"
                self.results.lives.setdefault(drain.query, {})["lost"] = reason
                self.results.put_life(drain.query)
                if not self.runs(drain.query):
                    self.lost_windows[drain.query] = reason
                self.say(f"query '{drain.query}': {reason}")
        else:
            if staged is not None:
                self._deliver((staged,), {})
                life = self.results.lives[drain.query]
                if "rows before" in life:  # it goes on as something else, which these are not rows of
                    life["rows before"] += len(staged.arrived)
                    self.results.put_life(drain.query)
            self.drains.finish(drain)

    def _started(self, query: str, starts: dict[str, int]) -> None:
        life = self.results.started(query, starts)
        if query in self.results.one_time:  # rows before its start are not older than the watermark was then
            marks = [self.control.stream_queue(name).register_s for name, lo in starts.items() if lo]
            life["after_us"] = micros(max(marks)) if marks else UNKNOWN
        self.results.put_life(query)
        if query in self.progress.graph.queries:  # or it was stopped before it could begin, and ends next
            self.progress.begin(query, {name for name, lo in starts.items() if self.have_ended({name: lo})})
            # What it shares with others may still be about to see the end, and lets it see that too.
            if query not in self.shared and self.have_ended(starts) and not self._waits(query):
                self.put_out_of_nothing(query)
            if query not in self.shared:
                self.misses_from_now(query)
        self.sharing.started(query, starts)

    def join(self, host: str, members: Sequence[tuple[str, Shaped]]) -> None:
        """Queries become members of a shared query: from now on, or from when that begins."""
        tails: dict[str, int] = {}
        if host in self.control.graph.queries:
            tails = {name: self.control.stream_queue(name).offset for name in self.shared.get(host).streams}
        self.shared.join(host, members, tails, after_end=self.have_ended(tails))

    def misses_from_now(self, query: str) -> None:
        """Late rows that a query misses count from now on, for what it runs as."""
        windows = windows_of(self.progress.graph, self.shared.runs_as(query))
        self.results.missing.began(self.results.lives[query], windows)
        self.results.put_life(query)

    def _waits(self, query: str) -> bool:
        """Whether anything waits for a query's operators, be it the end of a stream."""
        own = {*self.progress.graph.members[query]}
        return any(
            reader.cursor < queue_.tail and any(edge.reader in own for edge in reader.edges)
            for queue_ in self.control.queues.values()
            for reader in queue_.readers
        )

    # --- estimates ---

    def _estimate(self) -> None:
        """Now and then tells control what steps have cost lately."""
        if now_s() - self._estimated_s >= ESTIMATE_S and self.monitor.changed:
            self.estimate()

    def estimate(self) -> None:
        """Tells control what steps have cost lately, and who there is."""
        self._estimated_s = now_s()
        self.member_reports.look()
        self.handle(EstimatesChanged(self.now(), self.monitor.estimates(self.progress.graph)))


def now_s() -> float:
    """Seconds since 1970."""
    return time.time()
