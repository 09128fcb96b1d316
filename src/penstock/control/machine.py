"""Control: events in, commands out.

An event changes the board and leaves notes in the inboxes of the partitions it concerns; then changes that
can be made are made, and steps are started as long as a worker is free. That is all.

    control = Control("chain")
    for event in events:
        for command in control.handle(event):
            ...
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import inf
from typing import Any

from penstock.control import events as ev
from penstock.control.alarms import Alarms
from penstock.control.changes import Changes
from penstock.control.commands import Command, Commit
from penstock.control.dispatch import Dispatcher
from penstock.control.large_steps import IN_HAND, LargeSteps
from penstock.control.lifecycle import State
from penstock.control.partitions import Partition
from penstock.control.queues import Queue, Reader
from penstock.control.restoring import standing
from penstock.control.running_apart import RunningApart
from penstock.control.standing import Standing
from penstock.control.thread_plans import ThreadPlan
from penstock.control.units import Oracle, UnitState
from penstock.errors import ControlError
from penstock.model.batch import Batch
from penstock.model.estimates import Estimates
from penstock.model.graph import Graph, Port
from penstock.policies.policy import Policy

NEVER = float("-inf")
FAILURES = 3  # steps of one unit that may fail in a row before its queries are suspended


class Control:
    """The state machine. `handle` is its only way in and its return value the only way out.

    `most_rows` and `most_bytes` are what the engine can take in one step: no train has more, unless it is a
    single row, whatever the policy's quantum. `first_rows` bounds the first steps of a unit under HMTS, until
    it is known what its rows cost, since a long step cannot be taken back. `large` says which steps are run
    by many tasks: those may take more. Without `recuts` the cut stays as it is when estimates drift, for
    whoever wants to compare.
    """

    def __init__(
        self,
        policy: str = "fcfs",
        *,
        threads: ThreadPlan | None = None,
        estimates: Estimates | None = None,
        oracle: Oracle | None = None,
        most_rows: int | None = None,
        most_bytes: float = inf,
        first_rows: int | None = None,
        recuts: bool = True,
        large: LargeSteps = IN_HAND,
    ) -> None:
        if most_rows is not None and most_rows < 1:
            raise ControlError(f"steps of at most {most_rows} rows: it must be at least 1")
        if most_bytes <= 0:
            raise ControlError(f"steps of at most {most_bytes} bytes: it must be above 0")
        self.now_s = NEVER  # the time of the last event
        self._alarms = alarms = Alarms()
        changes = Changes(
            policy,
            threads or ThreadPlan(),
            estimates or Estimates(),
            oracle,
            most_rows,
            most_bytes,
            alarms,
            first_rows=first_rows,
            large=large,
            recuts=recuts,
        )
        self._changes = changes
        self._running_apart = RunningApart()
        self._board = changes.board
        self._dispatch = Dispatcher(changes.board, alarms)
        self._places = 0  # batches put into queues so far
        self._out: list[Command] = []
        self._handlers: dict[type, Callable[[Any], None]] = {
            ev.BatchArrived: self._batch_arrived,
            ev.StreamEnded: self._stream_ended,
            ev.StreamDropped: lambda event: self._board.drop_stream(event.stream),
            ev.TimestampAdvanced: self._timestamp_advanced,
            ev.StepFinished: self._step_finished,
            ev.StepFailed: self._step_failed,
            ev.QueriesSubmitted: self._queries_submitted,
            ev.QueryStopped: lambda event: changes.stop(event, self._out),
            ev.SettleAsked: changes.settle,
            ev.ChangeWithdrawn: changes.withdraw,
            ev.MembersChanged: self._members_changed,
            ev.QuerySuspended: lambda event: changes.suspend([event.query]),
            ev.QueryResumed: lambda event: changes.resume(event.query),
            ev.WeightChanged: lambda event: changes.weigh(event.query, event.weight, event.subscribers),
            ev.LatencyChanged: changes.ask_latency,
            ev.RowsWanted: self._rows_wanted,
            ev.PolicyChanged: lambda event: changes.use_policy(event.policy),
            ev.ThreadsChanged: lambda event: changes.use_threads(event.threads),
            ev.EstimatesChanged: self._estimates_changed,
            ev.Restored: self._restored,
            ev.Ticked: self._ticked,
        }

    def handle(self, event: ev.Event) -> list[Command]:
        """Takes in one event and returns what is to be done. A refused event changes nothing."""
        now_s = event.at_s
        if now_s < self.now_s:
            raise ControlError(f"an event at {now_s} s after one at {self.now_s} s: time runs forward only")
        out = self._out = []
        self._handlers[type(event)](event)
        self.now_s = now_s
        if self._alarms.next_s <= now_s:
            self._wake(now_s, out)
        changes = self._changes
        if (changes.switch is not None or changes.waiting) and changes.advance(out):
            self._settle_in()
        if self._dispatch.idle:
            self._dispatch.schedule(now_s, out)
        return out

    def _settle_in(self) -> None:
        """The board was exchanged."""
        self._dispatch.settle_in()
        for queue in list(self._board.queues.values()):
            if queue.ended:
                self._end_downstream(queue)

    # --- rows ---

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
        for reader in queue.readers:
            unit = reader.unit
            if not unit.in_inbox and not unit.step:  # one that runs is looked at when its step is done
                partition = unit.partition
                # The rank of a unit that is ready already need not depend on new rows.
                if unit.entry is None or partition.rerank or len(unit.readers) > 1:
                    partition.note(unit)
        self._dispatch.wake_waiting()

    def _stream_ended(self, event: ev.StreamEnded) -> None:
        self._end(self._board.source(event.stream))
        self._dispatch.wake_waiting()

    def _end(self, queue: Queue) -> None:
        queue.ended, queue.register_s = True, float("inf")
        for reader in queue.readers:
            reader.unit.partition.note(reader.unit)
        self._end_downstream(queue)

    def _end_downstream(self, queue: Queue) -> None:
        """A queue has ended once all that feeds it has ended and is read."""
        for reader in queue.readers:
            for port in reader.unit.place.exits:
                fed = self._board.queues[port]
                if not fed.ended and all(_is_read(r) for rs in self._board.feeding[port] for r in rs):
                    self._end(fed)

    def _timestamp_advanced(self, event: ev.TimestampAdvanced) -> None:
        queue = self._board.source(event.stream)
        queue.register_s = max(queue.register_s, event.time_s)
        self._dispatch.wake_waiting()

    # --- steps ---

    def _step_finished(self, event: ev.StepFinished) -> None:
        switching = self._changes.switch is not None
        unit, takes = self._dispatch.release(event.step, event.cost_s, switching=switching)
        unit.failures = 0
        if unit.spare_s is not None:
            unit.debt_s = max(0.0, event.cost_s - unit.spare_s)
        unit.broken = False
        for take in takes:
            unit.readers[take.reader].done()
        for output in event.outputs:
            self._push(self._board.queues[output.port], output.batch)
        sinks = unit.place.sinks
        if sinks:
            frontier = {batch.leaf: batch.hi for take in takes for batch in take.batches}
            self._out.append(Commit(event.step, frontier))
        for reader in unit.readers:
            if reader.queue.ended:
                self._end_downstream(reader.queue)
        if unit.finishing and not unit.is_inside_batch:
            self._changes.holds_changed()
        if self._running_apart:
            for edge in sinks:
                query = self._board.graph.nodes[edge.reader].operator.query  # type: ignore[union-attr]
                if query in self._running_apart:
                    self._running_apart.stepped(query, event.cost_s)

    def _step_failed(self, event: ev.StepFailed) -> None:
        unit, _ = self._dispatch.release(event.step, 0.0, switching=True)
        for reader in unit.readers:
            reader.undo()
        unit.failures += 1
        if unit.failures == FAILURES:
            unit.failures, unit.broken = 0, True
            users = [q for n in unit.place.unit.operators for q in self._board.graph.users[n]]
            self._changes.fail(list(dict.fromkeys(users)), event.reason, self._out)
        if unit.finishing and not unit.is_inside_batch:  # what it has claimed of the batch went back
            self._changes.holds_changed()

    # --- the rest ---

    def _queries_submitted(self, event: ev.QueriesSubmitted) -> None:
        if event.recalled:
            self._places += 1
        self._changes.submit(event, self._places, self._out)

    def _estimates_changed(self, event: ev.EstimatesChanged) -> None:
        self._changes.use_estimates(event)
        self._dispatch.balance()
        self._running_apart.decide(self._board.policy, event.estimates.fixed_s, self._out)

    def _members_changed(self, event: ev.MembersChanged) -> None:
        self._running_apart.told(event)
        self._board.weigh_members(event.query, event.members)

    def _rows_wanted(self, event: ev.RowsWanted) -> None:
        for unit in self._board.units.values():
            unit.wanted_s = event.at_s
            unit.partition.note(unit)

    def _restored(self, event: ev.Restored) -> None:
        if self.now_s != NEVER:
            raise ControlError("only a new control can be restored: `Restored` must be its first event")
        self._changes.restore(event, self._out)
        self._places = sum(len(contents.batches) for contents in event.queues)
        self._settle_in()

    def _wake(self, now_s: float, out: list[Command]) -> None:
        for key in self._alarms.due(now_s, out):
            if isinstance(key, str):
                self._changes.wake(key)
            else:
                self._dispatch.wake(key)

    def _ticked(self, event: ev.Ticked) -> None:
        """Nothing but time has passed; `handle` wakes what is due."""

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
    def rows_wait_for_more(self) -> bool:
        """Whether rows wait for others to come, since those who get the results grant it."""
        return bool(self._dispatch.patient)

    @property
    def threads_asked(self) -> ThreadPlan:
        """The thread plan that was asked for last; it may be about to come into force."""
        return self._changes.threads_asked

    @property
    def threads(self) -> ThreadPlan:
        """The thread plan that runs."""
        return self._board.threads

    @property
    def estimates(self) -> Estimates:
        """What operators are believed to cost and yield."""
        return self._board.estimates

    @property
    def units(self) -> Mapping[int, UnitState]:
        """The units that run, by number."""
        return self._board.units

    @property
    def partitions(self) -> list[Partition]:
        """The partitions that run, by number."""
        return self._board.partitions

    def is_held(self, query: str) -> bool:
        """Whether a query is suspended."""
        return query in self._board.suspended

    @property
    def switching(self) -> bool:
        """Whether a change waits for the affected units."""
        return self._changes.switch is not None

    @property
    def idle(self) -> bool:
        """Whether nothing runs and nothing could before something new happens.

        Rows may still wait: of suspended queries, for more than τ of them, for time stamps. Once all streams
        have ended only the first are left.
        """
        return not self._dispatch.running and self._changes.switch is None and not self._dispatch.patient

    @property
    def queues(self) -> Mapping[Port, Queue]:
        """The queues that some unit reads, by the port they stand at."""
        return self._board.queues

    def standing(self) -> Standing:
        """Where everything stands, for `Restored`; `standing` says how to keep only what differs."""
        return standing(self._board)

    def positions(self, query: str) -> Mapping[str, int]:
        """The offset of each of a query's streams from which on rows have not yet passed its operators."""
        return self._board.positions([query])[query]

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
            for batch in reader.unfinished()
        )

    def operator_state(self, name: str) -> State:
        """MavStream's state of an operator: that of its busiest unit."""
        states = [unit.state for unit in self.units.values() if name in unit.place.unit.members]
        return max(states, default=State.STOPPED)


def _is_read(reader: Reader) -> bool:
    """Whether all that will ever come to a reader has been processed."""
    return reader.queue.ended and reader.cursor >= reader.queue.tail and not reader.unit.step
