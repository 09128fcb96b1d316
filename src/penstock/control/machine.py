"""Control: events in, commands out.

An event changes the board and leaves notes in the inboxes of the partitions it concerns; then, as long as a
worker is free, a partition reads its inbox, takes its most urgent unit and starts a step. That is all.

    control = Control("chain")
    for event in events:
        for command in control.handle(event):
            ...
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from penstock.control import events as ev
from penstock.control.board import Board
from penstock.control.commands import (
    AskTimestamp,
    Command,
    Commit,
    QueryEnded,
    QueryFailed,
    QueryStarted,
    Recut,
    RunStep,
    Take,
    WakeAt,
)
from penstock.control.lifecycle import State
from penstock.control.merging import blocking_inputs, propagate
from penstock.control.partitions import Partition, ThreadPlan, check_groups, divide
from penstock.control.queues import Queue, Reader
from penstock.control.switching import Change, Switch, begin
from penstock.control.threads import ThreadScheduler
from penstock.control.units import Oracle, UnitState
from penstock.errors import ControlError, PolicyError, QueryError, closest
from penstock.model.batch import Batch
from penstock.model.estimates import Estimates
from penstock.model.graph import Graph
from penstock.model.query import Query
from penstock.plan.sharing import initial_estimates, merge, remove
from penstock.policies.layout import lay_out
from penstock.policies.parsing import parse
from penstock.policies.policy import Policy
from penstock.policies.ranks.base import Rank

FAILURES = 3  # steps of one unit that may fail in a row before its queries are suspended


class Control:
    """The state machine. `handle` is its only way in and its return value the only way out."""

    def __init__(
        self,
        policy: str = "fcfs",
        *,
        threads: ThreadPlan | None = None,
        estimates: Estimates | None = None,
        oracle: Oracle | None = None,
    ) -> None:
        self.now_s = 0.0
        self._oracle = oracle
        self._board = Board(self._parse(policy), threads or ThreadPlan(), estimates or Estimates(), oracle)
        self._known = self._board.estimates.operators
        self._threads = ThreadScheduler()
        self._idle = list(range(self._board.threads.workers - 1, -1, -1))
        self._running: dict[int, tuple[UnitState, int, tuple[Take, ...]]] = {}
        self._parked: dict[int, list[UnitState]] = {}  # units that wait for one they share state with
        self._kept_out: dict[int, list[Partition]] = {}  # partitions that wait for their own worker
        self._changes: deque[Callable[[], Change]] = deque()
        self._switch: Switch | None = None
        self._planned = Graph()  # what the graph will be when all changes are made
        self._scheduled: list[Query] = []
        self._waiting: dict[int, UnitState] = {}  # ordered units with rows that wait for time stamps
        self._asked: dict[str, float] = {}
        self._wakes: dict[int, UnitState] = {}
        self._asleep_until_s = float("inf")
        self._steps = 0
        self._places = 0
        self._out: list[Command] = []
        self._handlers: dict[type, Callable[[Any], None]] = {
            ev.BatchArrived: self._batch_arrived,
            ev.StreamEnded: self._stream_ended,
            ev.TimestampAdvanced: self._timestamp_advanced,
            ev.StepFinished: self._step_finished,
            ev.StepFailed: self._step_failed,
            ev.QueriesSubmitted: self._queries_submitted,
            ev.QueryStopped: self._query_stopped,
            ev.QuerySuspended: self._query_suspended,
            ev.QueryResumed: self._query_resumed,
            ev.WeightChanged: self._weight_changed,
            ev.PolicyChanged: self._policy_changed,
            ev.ThreadsChanged: self._threads_changed,
            ev.PriorityChanged: self._priority_changed,
            ev.EstimatesChanged: self._estimates_changed,
            ev.Ticked: self._ticked,
        }

    def handle(self, event: ev.Event) -> list[Command]:
        """Takes in one event and returns what is to be done. A refused event changes nothing."""
        if event.at_s < self.now_s:
            raise ControlError(
                f"an event at {event.at_s} s after one at {self.now_s} s: time runs forward only"
            )
        out = self._out = []
        self.now_s = event.at_s
        self._handlers[type(event)](event)
        if self._asleep_until_s <= event.at_s:
            self._wake()
        if self._changes or self._switch is not None:
            self._advance_switch()
        if self._idle:
            self._schedule()
        return out

    # --- what happens to rows ---

    def _batch_arrived(self, event: ev.BatchArrived) -> None:
        queue = self._board.source(event.stream)
        if queue.ended:
            raise ControlError(f"a batch arrived on stream '{event.stream}', which has ended")
        self._push(queue, event.batch)

    def _push(self, queue: Queue, batch: Batch) -> None:
        self._places += 1
        queue.push(batch, self._places)
        if not queue.readers:
            queue.free()
            return
        for reader in queue.readers:
            unit = reader.unit
            if not unit.in_inbox:
                partition = unit.partition
                if unit.entry is None or partition.rerank or len(unit.readers) > 1:
                    partition.note(unit)
        if self._waiting:
            self._wake_waiting()

    def _stream_ended(self, event: ev.StreamEnded) -> None:
        queue = self._board.source(event.stream)
        queue.ended, queue.register_s = True, float("inf")
        self._note_readers(queue)
        self._end_downstream(queue)
        self._wake_waiting()

    def _end_downstream(self, queue: Queue) -> None:
        """A queue has ended once all that feeds it has ended and is read."""
        for reader in queue.readers:
            for port in reader.unit.place.exits:
                fed = self._board.queues[port]
                if not fed.ended and all(_is_read(r) for rs in self._board.feeding[port] for r in rs):
                    fed.ended, fed.register_s = True, float("inf")
                    self._note_readers(fed)
                    self._end_downstream(fed)

    def _timestamp_advanced(self, event: ev.TimestampAdvanced) -> None:
        queue = self._board.source(event.stream)
        queue.register_s = max(queue.register_s, event.time_s)
        self._wake_waiting()

    def _wake_waiting(self) -> None:
        """Looks again at units that wait for time stamps: something happened that may have raised them."""
        for unit in self._waiting.values():
            unit.partition.note(unit)
        self._waiting.clear()

    def _note_readers(self, queue: Queue) -> None:
        for reader in queue.readers:
            reader.unit.partition.note(reader.unit)

    # --- what happens to steps ---

    def _step_finished(self, event: ev.StepFinished) -> None:
        unit, takes = self._release(event.step)
        unit.failures = 0
        for reader in unit.readers:
            if reader.claimed != reader.cursor:
                reader.done()
        self._threads.charge(unit.partition, event.cost_s)
        if unit.spare_s is not None:
            unit.debt_s = max(0.0, event.cost_s - unit.spare_s)
        queues = self._board.queues
        for output in event.outputs:
            queue = queues.get(output.port)
            if queue is not None:
                self._push(queue, output.batch)
        if unit.place.sinks:
            frontier = {batch.leaf: batch.hi for take in takes for batch in take.batches}
            self._out.append(Commit(event.step, frontier))
        for reader in unit.readers:
            if reader.queue.ended:
                self._end_downstream(reader.queue)
        if self._waiting:
            self._wake_waiting()

    def _step_failed(self, event: ev.StepFailed) -> None:
        unit, _ = self._release(event.step)
        for reader in unit.readers:
            reader.undo()
        unit.partition.note(unit)
        unit.failures += 1
        if unit.failures < FAILURES:
            return
        unit.failures = 0
        for query in dict.fromkeys(
            q for n in unit.place.unit.operators for q in self._board.graph.users.get(n, ())
        ):
            self._board.suspended.add(query)
            self._out.append(QueryFailed(query, event.reason))
        self._holds_changed()

    def _release(self, step: int) -> tuple[UnitState, tuple[Take, ...]]:
        """Frees the step's worker, and looks again at its unit and at those that waited for it."""
        try:
            unit, worker, takes = self._running.pop(step)
        except KeyError:
            raise ControlError(f"step {step} is not running") from None
        if worker < self._board.threads.workers:
            self._idle.append(worker)
        unit.step = 0
        unit.partition.running -= 1
        unit.partition.stirred.append(unit.partition)
        if self._kept_out:
            unit.partition.stirred.extend(self._kept_out.pop(worker, ()))
        unit.state = State.SUSPENDED
        if unit.sole is None or unit.sole.claimed < unit.sole.queue.tail or self._switch is not None:
            unit.partition.note(unit)
        if self._parked:
            for other in self._parked.pop(unit.index, ()):
                other.partition.note(other)
        return unit, takes

    # --- decisions ---

    def _schedule(self) -> None:
        partitions = self._board.partitions
        if not partitions:
            return
        stirred = partitions[0].stirred
        if len(partitions) == 1:
            partition = partitions[0]
            while self._idle and partition.running < partition.threads:
                unit = self._choose(partition)
                if unit is None:
                    break
                self._start(unit, self._idle.pop())
            stirred.clear()
            return
        for partition in stirred:
            self._threads.join(partition)
        stirred.clear()
        while self._idle:
            chosen = self._threads.next()
            if chosen is None:
                return
            self._run_one(chosen)

    def _run_one(self, partition: Partition) -> None:
        """Starts a step of the partition the thread scheduler chose, if its thread and worker are free."""
        if partition.running >= partition.threads:
            return  # it joins the line again when its step is done
        if partition.worker not in (None, *self._idle):  # a step from before the last change is on it
            assert partition.worker is not None
            self._kept_out.setdefault(partition.worker, []).append(partition)
            return
        unit = self._choose(partition)
        if unit is None:
            return
        worker = self._idle[-1] if partition.worker is None else partition.worker
        self._idle.remove(worker)
        self._start(unit, worker)

    def _choose(self, partition: Partition) -> UnitState | None:
        """The most urgent unit of a partition that may run now."""
        if partition.inbox:
            self._read_inbox(partition)
        while True:
            unit: UnitState | None = partition.ready.pop()
            if unit is None or not unit.conflicts:
                return unit
            blocker = next((other for other in unit.conflicts if other.step), None)
            if blocker is None:
                return unit
            unit.state = State.SUSPENDED
            self._parked.setdefault(blocker.index, []).append(unit)

    def _read_inbox(self, partition: Partition) -> None:
        policy, ready, now_s = partition.policy, partition.ready, self.now_s
        rank, tau = policy.rank, policy.tau
        expires = type(rank).expires_s is not Rank.expires_s
        inbox = partition.inbox
        partition.inbox = []
        for unit in inbox:
            unit.in_inbox = False
            if unit.step:
                continue
            if unit.ordered:
                for reader in blocking_inputs(unit.readers):
                    propagate(reader.queue, self._board.feeding)
            if not unit.held and unit.look(tau):
                ready.put(unit, rank.priority(unit, now_s), unit.oldest_s, unit.order)
                unit.state = State.READY
                if expires:
                    self._wake_at(unit, rank.expires_s(unit, now_s))
            else:
                ready.discard(unit)
                if unit.state is State.READY:
                    unit.state = State.SUSPENDED
                if unit.ordered:
                    self._ask(unit)

    def _start(self, unit: UnitState, worker: int) -> None:
        partition = unit.partition
        policy = partition.policy
        takes = unit.take(policy.rank.quantum(unit, policy.quantum))
        step = self._steps = self._steps + 1
        unit.step = step
        unit.state = State.RUNNING
        partition.running += 1
        partition.turn += 1 + (unit.seat - partition.turn - 1) % partition.size
        self._running[step] = (unit, worker, takes)
        self._out.append(RunStep(step, unit.index, worker, takes))

    def _ask(self, unit: UnitState) -> None:
        """Asks the idle streams that make an ordered unit's rows wait how far their time has come."""
        for reader in blocking_inputs(unit.readers):
            self._waiting[unit.index] = unit
            for stream in self._idle_streams(reader.queue):
                if self._asked.get(stream) != self.now_s:  # once is enough until time has passed
                    self._asked[stream] = self.now_s
                    self._out.append(AskTimestamp(stream))

    def _idle_streams(self, queue: Queue) -> dict[str, None]:
        feeding = self._board.feeding.get(queue.port)
        if feeding is None:
            return {queue.port.node: None}
        streams: dict[str, None] = {}
        for readers in feeding:
            for reader in readers:
                if reader.cursor >= reader.queue.tail:
                    streams.update(self._idle_streams(reader.queue))
        return streams

    # --- time ---

    def _wake_at(self, unit: UnitState, at_s: float) -> None:
        unit.wake_s = at_s
        if at_s == float("inf"):
            self._wakes.pop(unit.index, None)
            return
        self._wakes[unit.index] = unit
        if at_s < self._asleep_until_s:
            self._asleep_until_s = at_s
            self._out.append(WakeAt(at_s))

    def _wake(self) -> None:
        due = [unit for unit in self._wakes.values() if unit.wake_s <= self.now_s]
        for unit in due:
            del self._wakes[unit.index]
            if unit.state is not State.STOPPED:
                unit.partition.note(unit)
        starting = [q for q in self._scheduled if q.start_s is not None and q.start_s <= self.now_s]
        if starting:
            self._scheduled = [q for q in self._scheduled if q not in starting]
            self._submit(tuple(starting))
        later = [unit.wake_s for unit in self._wakes.values()]
        later += [q.start_s for q in self._scheduled if q.start_s is not None]
        self._asleep_until_s = min(later, default=float("inf"))
        if later:
            self._out.append(WakeAt(self._asleep_until_s))

    def _ticked(self, event: ev.Ticked) -> None:
        """Nothing but time has passed; `handle` wakes what is due."""

    # --- what happens to queries and policies ---

    def _queries_submitted(self, event: ev.QueriesSubmitted) -> None:
        merged = merge(self._planned, event.queries)  # refuses what cannot be before anything changes
        if not self._planned.queries:
            check_groups(merged, self._board.threads)
        later = [q for q in event.queries if q.start_s is not None and q.start_s > self.now_s]
        if not later:
            self._add(merged, event.queries)
            return
        for query in later:
            self._scheduled.append(query)
            assert query.start_s is not None
            if query.start_s < self._asleep_until_s:
                self._asleep_until_s = query.start_s
                self._out.append(WakeAt(query.start_s))
        self._submit(tuple(q for q in event.queries if q not in later))

    def _submit(self, queries: tuple[Query, ...]) -> None:
        if queries:
            self._add(merge(self._planned, queries), queries)

    def _add(self, graph: Graph, queries: tuple[Query, ...]) -> None:
        self._planned = graph
        names = tuple(query.name for query in queries)
        self._changes.append(lambda: self._change(graph=graph, starting=names))

    def _query_stopped(self, event: ev.QueryStopped) -> None:
        if any(query.name == event.query for query in self._scheduled):
            self._scheduled = [query for query in self._scheduled if query.name != event.query]
            self._out.append(QueryEnded(event.query, {}))
            return
        graph = self._planned = remove(self._planned, event.query)
        self._changes.append(lambda: self._change(graph=graph, ending=event.query, drain=event.drain))

    def _check_query(self, name: str) -> None:
        known = self._planned.queries
        if name not in known:
            raise QueryError(f"no query '{name}'.{closest(name, known)}")

    def _query_suspended(self, event: ev.QuerySuspended) -> None:
        self._check_query(event.query)
        self._board.suspended.add(event.query)
        self._holds_changed()

    def _query_resumed(self, event: ev.QueryResumed) -> None:
        self._check_query(event.query)
        self._board.suspended.discard(event.query)
        self._holds_changed()
        self._changes.append(self._change)  # its units kept the cut they had

    def _holds_changed(self) -> None:
        """A held unit cannot be emptied, so a switch under way must be thought over."""
        self._board.refresh_holds()
        if self._switch is not None:
            for unit in self._board.units.values():
                for reader in unit.readers:
                    reader.limit = None
            self._begin_switch(self._switch.change)

    def _weight_changed(self, event: ev.WeightChanged) -> None:
        self._check_query(event.query)
        if not 0 < event.weight <= 1:
            raise QueryError(
                f"weight {event.weight} of query '{event.query}': it must be above 0 and at most 1"
            )
        self._board.weights[event.query] = event.weight
        self._board.refresh_holds()

    def _policy_changed(self, event: ev.PolicyChanged) -> None:
        policy = self._parse(event.policy)
        self._changes.append(lambda: self._change(policy=policy))

    def _threads_changed(self, event: ev.ThreadsChanged) -> None:
        check_groups(self._planned, event.threads)
        for group in event.threads.groups:
            self._parse(group.policy or self._board.policy.text)
        self._changes.append(lambda: self._change(threads=event.threads))

    def _priority_changed(self, event: ev.PriorityChanged) -> None:
        if not 0 <= event.partition < len(self._board.partitions):
            raise ControlError(f"no partition {event.partition}; there are {len(self._board.partitions)}")
        if event.priority <= 0:
            raise ControlError(f"priority {event.priority}: it must be above 0")
        self._board.partitions[event.partition].priority = event.priority

    def _estimates_changed(self, event: ev.EstimatesChanged) -> None:
        self._known = event.estimates.operators
        if event.recut:
            self._changes.append(lambda: self._change(estimates=event.estimates))
        else:
            self._board.estimates = self._with_initial(event.estimates, self._board.graph)
            self._board.refresh_costs()

    def _parse(self, text: str) -> Policy:
        policy = parse(text)
        if policy.needs_oracle and self._oracle is None:
            raise PolicyError(
                f"policy '{policy.text}' needs the true cost of every row, which only the simulator knows; "
                "choose another policy"
            )
        return policy

    def _change(self, **different: Any) -> Change:
        board = self._board
        now: dict[str, Any] = {
            "graph": board.graph,
            "policy": board.policy,
            "threads": board.threads,
            "estimates": board.estimates,
        }
        wanted = now | different
        wanted["estimates"] = self._with_initial(wanted["estimates"], wanted["graph"])
        return Change(**wanted)

    def _with_initial(self, estimates: Estimates, graph: Graph) -> Estimates:
        """What plans say of their operators counts until something better is known."""
        operators = {**initial_estimates(graph), **self._known}
        return Estimates(operators, estimates.rates, estimates.fixed_s)

    def _advance_switch(self) -> None:
        """Begins the next change, or ends the one under way, until one has to wait."""
        while True:
            if self._switch is None:
                if not self._changes:
                    return
                self._begin_switch(self._changes.popleft()())
            assert self._switch is not None
            if not self._switch.ready():
                return
            self._end_switch(self._switch)

    def _begin_switch(self, change: Change) -> None:
        board = self._board
        held = [unit.place.unit for unit in board.units.values() if unit.held]
        frozen = tuple(unit for unit in held if all(name in change.graph.nodes for name in unit.operators))
        shares = divide(change.graph, change.estimates, change.policy, change.threads, self._parse, frozen)
        layout = lay_out(change.graph, tuple(dict.fromkeys(unit for share in shares for unit in share.units)))
        self._switch = Switch(change, shares, layout, discard=change.ending in board.suspended)
        begin(self._switch, board.graph, board.units.values())
        for unit in self._switch.affected:
            unit.partition.note(unit)

    def _end_switch(self, switch: Switch) -> None:
        board, change = self._board, switch.change
        ends = {} if change.ending is None else board.position(change.ending)
        board.exchange(switch)
        self._switch = None
        self._threads = ThreadScheduler()
        self._parked, self._waiting, self._kept_out = {}, {}, {}
        busy = {worker for _, worker, _ in self._running.values()}
        self._idle = [worker for worker in range(board.threads.workers - 1, -1, -1) if worker not in busy]
        for queue in list(board.queues.values()):
            if queue.ended:
                self._end_downstream(queue)
        self._out.append(Recut({index: unit.place.unit.operators for index, unit in board.units.items()}))
        for query in change.starting:
            self._out.append(QueryStarted(query, board.position(query)))
        if change.ending is not None:
            board.suspended.discard(change.ending)
            board.weights.pop(change.ending, None)
            self._out.append(QueryEnded(change.ending, ends))

    # --- look-ups ---

    @property
    def graph(self) -> Graph:
        """The graph that runs."""
        return self._board.graph

    @property
    def policy(self) -> Policy:
        """The policy that runs."""
        return self._board.policy

    @property
    def units(self) -> Mapping[int, UnitState]:
        """The units that run, by number."""
        return self._board.units

    @property
    def partitions(self) -> list[Partition]:
        """The partitions that run, by number."""
        return self._board.partitions

    @property
    def switching(self) -> bool:
        """Whether a change waits for the affected units."""
        return self._switch is not None

    def stream_queue(self, stream: str) -> Queue:
        """The queue at a stream."""
        return self._board.source(stream)

    def queued_bytes(self) -> float:
        """Bytes in all queues."""
        return sum(queue.bytes for queue in self._board.queues.values())

    def queued_rows(self) -> int:
        """Rows that some reader has not finished, over all readers."""
        return sum(
            batch.rows
            for queue in self._board.queues.values()
            for reader in queue.readers
            for batch in queue.slice(reader.cursor, queue.tail)
        )

    def operator_state(self, name: str) -> State:
        """MavStream's state of an operator: that of its busiest unit."""
        states = [unit.state for unit in self.units.values() if name in unit.place.unit.members]
        return max(states, default=State.STOPPED)


def _is_read(reader: Reader) -> bool:
    """Whether all that will ever come to a reader has been processed."""
    return reader.queue.ended and reader.cursor >= reader.queue.tail and not reader.unit.step
