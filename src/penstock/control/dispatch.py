"""Decisions: which unit runs next on which worker.

As long as a worker is free, a partition reads its inbox, takes its most urgent unit and starts a step over
a train of batches. Nothing here is polled: a unit is looked at when it was noted, because rows came for it,
its own step is done, what it waited for is over, or its priority has expired.
"""

from __future__ import annotations

from penstock.control.alarms import Alarms
from penstock.control.balance import better_owner
from penstock.control.board import Board
from penstock.control.commands import AskTimestamp, Command, RunStep, Take
from penstock.control.lifecycle import State
from penstock.control.merging import blocking_inputs, propagate
from penstock.control.partitions import Partition, at_most
from penstock.control.queues import Queue
from penstock.control.threads import ThreadScheduler
from penstock.control.units import STEP_SHARE, UnitState
from penstock.errors import ControlError
from penstock.policies.costs import input_rates, load
from penstock.policies.quantum import Quantum

#: Seconds that a step may take under HMTS, where others count on a worker being free again soon; a step is
#: not preempted, so that is what bounds their waiting.
LONG_STEP_S = 0.25
SUSPENDED, READY, RUNNING = State.SUSPENDED, State.READY, State.RUNNING


class Dispatcher:
    """Workers and what runs on them."""

    def __init__(self, board: Board, alarms: Alarms) -> None:
        self._board = board
        self._alarms = alarms
        self._threads = ThreadScheduler()
        self.idle = list(range(board.threads.workers - 1, -1, -1))
        self.running: dict[int, tuple[UnitState, int, tuple[Take, ...]]] = {}
        self._parked: dict[int, list[UnitState]] = {}  # units that wait for one they share state with
        self.patient: set[int] = set()  # units whose rows wait for more to come
        self._long: set[int] = set()  # long steps that run
        self._kept_short: dict[int, UnitState] = {}  # whose step would be long while enough of those run
        self._kept_out: dict[int, list[Partition]] = {}  # partitions that wait for their own worker
        self._waiting: dict[int, UnitState] = {}  # ordered units with rows that wait for time stamps
        self._asked: dict[str, float] = {}
        self._steps = 0

    def schedule(self, now_s: float, out: list[Command]) -> None:
        """Starts steps until no worker is free or nothing is ready."""
        partitions = self._board.partitions
        if not partitions:
            return
        stirred = partitions[0].stirred
        if len(partitions) == 1:
            partition = partitions[0]
            while self.idle and partition.running < partition.threads:
                unit = self._choose(partition, now_s, out)
                if unit is None:
                    break
                self._start(unit, self.idle.pop(), out)
            stirred.clear()
            return
        for partition in stirred:
            self._threads.join(partition)
        stirred.clear()
        while self.idle:
            chosen = self._threads.next()
            if chosen is None:
                return
            self._run_one(chosen, now_s, out)

    def _run_one(self, partition: Partition, now_s: float, out: list[Command]) -> None:
        """Starts a step of the partition the thread scheduler chose, if its thread and worker are free."""
        if partition.running >= partition.threads:
            return  # it joins the line again when its step is done
        if partition.worker is not None and partition.worker not in self.idle:
            # A step from before the last change is on it.
            self._kept_out.setdefault(partition.worker, []).append(partition)
            return
        unit = self._choose(partition, now_s, out)
        if unit is not None:
            worker = self.idle[-1] if partition.worker is None else partition.worker
            self.idle.remove(worker)
            self._start(unit, worker, out)

    def _choose(self, partition: Partition, now_s: float, out: list[Command]) -> UnitState | None:
        """The most urgent unit of a partition that may run now."""
        if partition.inbox:
            self._read_inbox(partition, now_s, out)
        bounds_steps = self._board.threads.kind == "hmts"
        unit: UnitState | None = partition.ready.pop()
        while unit is not None:
            if bounds_steps:
                unit.look(partition.policy.tau)  # more rows may wait than when it became ready
            blocker = next((other for other in unit.conflicts if other.step), None)
            if blocker is not None:
                self._parked.setdefault(blocker.index, []).append(unit)
            elif self._must_wait(unit):
                self._kept_short[unit.index] = unit
            else:
                break
            unit.state = SUSPENDED
            unit = partition.ready.pop()
        return unit

    def _must_wait(self, unit: UnitState) -> bool:
        """Whether a step of the unit would be one long step too many: under HMTS one worker has none."""
        threads = self._board.threads
        bounded = threads.kind == "hmts" and threads.workers > 1
        return bounded and len(self._long) >= threads.workers - 1 and unit.is_long(LONG_STEP_S)

    def _read_inbox(self, partition: Partition, now_s: float, out: list[Command]) -> None:
        inbox, partition.inbox = partition.inbox, []
        ready, priority, tau = partition.ready, partition.rank.priority, partition.policy.tau
        for unit in inbox:
            unit.in_inbox = False
            if unit.step:
                continue
            if unit.ordered:
                for reader in blocking_inputs(unit.readers):
                    propagate(reader.queue, self._board.feeding)
            if not unit.held and unit.look(tau):
                until_s = unit.waits_until() if unit.may_wait else 0.0
                if until_s > now_s:
                    ready.discard(unit)
                    unit.state = SUSPENDED
                    self.patient.add(unit.index)
                    self._alarms.set(unit.index, until_s, out)
                    continue
                self.patient.discard(unit.index)
                ready.put(unit, priority(unit, now_s), unit.oldest_s, unit.order)
                unit.state = READY
                if partition.expires:
                    self._alarms.set(unit.index, partition.rank.expires_s(unit, now_s), out)
                continue
            self.patient.discard(unit.index)
            if unit.entry is not None:
                ready.discard(unit)
                unit.state = SUSPENDED
            if unit.ordered:
                self._ask(unit, now_s, out)

    def _start(self, unit: UnitState, worker: int, out: list[Command]) -> None:
        partition = unit.partition
        quantum = partition.quantum
        if partition.sizes:
            chosen = partition.rank.quantum(unit, partition.policy.quantum)
            quantum = at_most(chosen, partition.most_rows)
        step = self._steps = self._steps + 1
        if self._board.threads.kind == "hmts":
            if not unit.is_measured:
                quantum = at_most(quantum, self._board.first_rows)
            if unit.is_long(LONG_STEP_S):
                self._long.add(step)
                quantum = at_most(quantum, unit.rows_within(LONG_STEP_S))
        if unit.latency_s is not None:
            quantum = at_most(quantum, unit.rows_within(STEP_SHARE * unit.latency_s))
        large = self._board.large
        at_large = large.chosen(unit, step, quantum)
        if at_large and large.way == "by-size":
            takes = unit.take(Quantum(large.most_rows), large.most_bytes)
        else:
            takes = unit.take(quantum, partition.most_bytes)
        unit.step = step
        unit.state = RUNNING
        partition.running += 1
        if partition.in_turns:
            partition.turn = unit.next_turn()
        self.running[step] = (unit, worker, takes)
        out.append(RunStep(step, unit.index, worker, takes, at_large))

    def release(self, step: int, cost_s: float, *, switching: bool) -> tuple[UnitState, tuple[Take, ...]]:
        """Frees a step's worker, and has its unit and those that waited for it looked at again."""
        try:
            unit, worker, takes = self.running.pop(step)
        except KeyError:
            raise ControlError(f"step {step} is not running") from None
        if worker < self._board.threads.workers:
            self.idle.append(worker)
        if step in self._long:
            self._long.discard(step)
            for other in self._kept_short.values():
                other.partition.note(other)
            self._kept_short = {}
        partition = unit.partition
        partition.running -= 1
        partition.stirred.append(partition)
        partition.pass_s += cost_s / partition.priority
        if self._kept_out:
            partition.stirred.extend(self._kept_out.pop(worker, ()))
        unit.step = 0
        unit.state = SUSPENDED
        sole = unit.sole
        if sole is None or sole.claimed < sole.queue.tail or switching:
            partition.note(unit)
        if self._parked:
            for other in self._parked.pop(unit.index, ()):
                other.partition.note(other)
        if self._waiting:
            self.wake_waiting()
        return unit, takes

    # --- time stamps ---

    def wake_waiting(self) -> None:
        """Looks again at units that wait for time stamps: something happened that may have raised them."""
        for unit in self._waiting.values():
            unit.partition.note(unit)
        self._waiting.clear()

    def _ask(self, unit: UnitState, now_s: float, out: list[Command]) -> None:
        """Asks the idle streams that make an ordered unit's rows wait how far their time has come."""
        for reader in blocking_inputs(unit.readers):
            self._waiting[unit.index] = unit
            for stream in self._idle_streams(reader.queue):
                if self._asked.get(stream) != now_s:  # once is enough until time has passed
                    self._asked[stream] = now_s
                    out.append(AskTimestamp(stream))

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

    # --- load ---

    def balance(self) -> None:
        """Where workers own their units, has at most one move to a worker that is less busy."""
        board = self._board
        if board.threads.kind != "owned":
            return
        rates = input_rates(board.graph, board.estimates)
        loads = [
            {unit.index: load(board.estimates, rates, unit.place.unit.operators) for unit in partition.units}
            for partition in board.partitions
        ]
        found = better_owner(loads)
        if found is not None and not board.units[found[0]].step:
            board.move(board.units[found[0]], board.partitions[found[1]])

    # --- time and change ---

    def wake(self, index: int) -> None:
        """Looks again at a unit whose priority has expired."""
        unit = self._board.units.get(index)
        if unit is not None:
            unit.partition.note(unit)

    def settle_in(self) -> None:
        """The board was exchanged: all waiting starts afresh; steps of units that stayed run on."""
        self._threads = ThreadScheduler()
        self._parked, self._waiting, self._kept_out, self._kept_short = {}, {}, {}, {}
        self.patient = set()
        busy = {worker for _, worker, _ in self.running.values()}
        self.idle = [n for n in range(self._board.threads.workers - 1, -1, -1) if n not in busy]
