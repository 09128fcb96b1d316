"""What it costs threads to hand rows to each other, and to find out what to run next.

StreamAPAS' engines differ in nothing else. A row is put into a buffer and taken out, at a price that depends
on whether the buffer is one worker's own; a buffer that becomes occupied or empty is signalled; a worker
takes a unit from a ready queue, and may have slept until then.

    Workload(arrivals, handing_over=HandingOver(own, across, ready_s=1e-7, wake_s=2e-5))

Of a thread for each operator, as PIPES has them, many more run than there are processors: a worker is then a
processor, and going from one partition's unit to another's is a switch of threads.

Who puts and takes pays, in its step. The threads that feed the streams do nothing else: what they need for a
row delays it, and is counted with the step that takes it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from penstock.control.commands import RunStep
from penstock.control.events import Output
from penstock.control.machine import Control
from penstock.control.units import UnitState
from penstock.engines.sim.tables import UnitTable
from penstock.model.graph import Port


@dataclass(frozen=True, slots=True)
class Way:
    """Seconds for a row into one kind of buffer and out of it, and for the two signals of an empty one."""

    put_s: float = 0.0
    take_s: float = 0.0
    available_s: float = 0.0
    unavailable_s: float = 0.0


@dataclass(frozen=True, slots=True)
class HandingOver:
    """The ways rows go, within a worker and across threads.

    With `pooled` every buffer is between threads, since any worker takes any unit, and a unit that becomes
    ready is handed to a worker that waits, if one does: its step begins with a switch of threads. Unless
    inputs are `apart`, all of a unit's are synchronised as soon as one comes from another thread (StreamAPAS'
    V1). `ready_s` is for taking a unit from the ready queue and putting it back, `wake_s` for a thread that
    has slept, `switch_s` for a worker that goes on with a unit of another partition.
    """

    own: Way = Way()
    across: Way = Way()
    pooled: bool = False
    apart: bool = True
    ready_s: float = 0.0
    wake_s: float = 0.0
    switch_s: float = 0.0


class HandedOver:
    """Counts that for one run. Which worker owns a unit is looked up when the unit is first cut."""

    def __init__(self, costs: HandingOver, control: Control, workers: int) -> None:
        self._costs = costs
        self._control = control
        self._busy_until_s = [-1.0] * workers
        self._partitions: list[int | None] = [None] * workers  # whose unit each worker ran last
        self.switches = 0  # steps that began with another thread than the one that ran before
        self._across_in: dict[int, list[bool]] = {}  # by unit and reader: whether its rows cross threads
        self._across_out: dict[Port, bool] = {}

    def use(self, units: Iterable[UnitState]) -> None:
        """The units from now on: finds which buffers are between threads."""
        units = list(units)
        feeders: dict[Port, set[int | None]] = {}
        for unit in units:
            for port in unit.place.exits:
                feeders.setdefault(port, set()).add(unit.partition.number)
        self._across_out = {}
        for unit in units:
            mine = {unit.partition.number}
            crosses = [
                self._costs.pooled or feeders.get(reader.queue.port, set()) != mine for reader in unit.readers
            ]
            if not self._costs.apart and any(crosses):
                crosses = [True] * len(crosses)
            self._across_in[unit.index] = crosses
            for reader, across in zip(unit.readers, crosses, strict=True):
                port = reader.queue.port
                self._across_out[port] = across or self._across_out.get(port, False)

    @property
    def synchronised(self) -> int:
        """Over how many buffers rows go from thread to thread, or are taken to."""
        return sum(sum(crosses) for crosses in self._across_in.values())

    def table(self, unit: UnitState, reader: int, table: UnitTable) -> UnitTable:
        """A unit's table with what its rows cost on their way in and out."""
        way = self._way_in(unit, reader)
        per_row_s = way.take_s
        if self._is_stream(unit.readers[reader].queue.port):
            per_row_s += way.put_s
        cost = np.asarray(table.cost) + per_row_s * np.arange(table.rows + 1)
        for exit_ in table.exits:
            cost += self._way_out(exit_.port).put_s * np.asarray(exit_.count)
        return replace(table, cost=np.ascontiguousarray(cost).data)

    def before(self, command: RunStep, now_s: float) -> float:
        """What a step costs before its first row: from the ready queue to a thread that runs."""
        costs, busy = self._costs, self._busy_until_s
        goes_on = busy[command.worker] == now_s
        if goes_on and costs.pooled:  # but another one that waited would have had it at once
            goes_on = all(until_s > now_s for worker, until_s in enumerate(busy) if worker != command.worker)
        partition = self._control.units[command.unit].partition.number
        before, self._partitions[command.worker] = self._partitions[command.worker], partition
        if not goes_on:
            self.switches += 1
            return costs.ready_s + costs.wake_s
        if costs.switch_s and partition != before:
            self.switches += 1
            return costs.ready_s + costs.switch_s
        return costs.ready_s

    def after(self, command: RunStep, outputs: Iterable[Output]) -> float:
        """The signals of a step: buffers that it leaves empty, and those that it is the first to fill."""
        unit = self._control.units[command.unit]
        seconds = 0.0
        for reader in {take.reader for take in command.takes}:
            queue = unit.readers[reader].queue
            if unit.readers[reader].claimed == queue.tail:
                way = self._way_in(unit, reader)
                seconds += way.unavailable_s + (way.available_s if self._is_stream(queue.port) else 0.0)
        for port in {output.port for output in outputs}:
            queue = self._control.queues[port]
            if any(reader.claimed == queue.tail for reader in queue.readers):
                seconds += self._way_out(port).available_s
        return seconds

    def ended(self, command: RunStep, at_s: float) -> None:
        """Until when a worker is busy."""
        self._busy_until_s[command.worker] = at_s

    def _way_in(self, unit: UnitState, reader: int) -> Way:
        return self._costs.across if self._across_in[unit.index][reader] else self._costs.own

    def _way_out(self, port: Port) -> Way:
        return self._costs.across if self._across_out[port] else self._costs.own

    def _is_stream(self, port: Port) -> bool:
        return self._control.graph.is_source(port.node)
