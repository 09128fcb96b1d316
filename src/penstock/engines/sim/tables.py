"""Tables: what happens to every row at every operator, computed once from the log.

A *lane* is the sequence of rows that reach a port from one leaf by one way; since a row's fate depends on
its lineage alone, a lane is the same in every schedule, and only how lanes interleave differs. For a unit,
the operators' tables are composed into one: `cost[k]`, seconds for the first `k` rows of the entry lane,
and for each exit, how many rows those become. A step over rows `[lo, hi)` is then a subtraction.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from penstock.engines.sim.draws import Floats, Ints, Keys, mix, mix_one, salt, uniform
from penstock.engines.sim.workload import Workload
from penstock.model.graph import Edge, Graph, Port
from penstock.model.operators import Aggregate
from penstock.model.window import Window
from penstock.policies.layout import UnitPlace

Number = TypeVar("Number", np.float64, np.int64)
Numbers: TypeAlias = memoryview  # of float64 or int64: a Python number per look-up, eight bytes each


@dataclass(frozen=True, slots=True)
class Lane:
    """The rows of a lane: when each entered the system, its time stamp, its offset in its stream, its key."""

    leaf: str
    arrived_s: Floats
    times_s: Floats
    offsets: Ints
    keys: Keys
    row_bytes: float

    def __len__(self) -> int:
        return len(self.keys)


@dataclass(frozen=True, slots=True)
class Fate:
    """What an operator does to a lane: seconds for, and rows out of each port from, the first `k` rows."""

    cost_s: Floats
    out: tuple[Ints, ...]


@dataclass(frozen=True, slots=True)
class Exit:
    """Rows of a unit that go on: the port, the lane there, and how many the first `k` entry rows become."""

    port: Port
    lane: int
    rows: Lane
    count: Numbers
    sink: str = ""


@dataclass(slots=True)
class UnitTable:
    """One entry lane of a unit, and the steps that were run over it: `lo, hi, base, step` of each in a row.

    Row `k` of a step was done at `base + cost[k + 1]`.
    """

    rows: int
    cost: Numbers
    exits: tuple[Exit, ...]
    sinks: tuple[Exit, ...]
    steps: array[float] = field(default_factory=lambda: array("d"))


class Tables:
    """All lanes and fates of a graph under a workload. Made as they are asked for; nothing is made twice."""

    def __init__(self, workload: Workload) -> None:
        self._workload = workload
        self._graph = Graph()
        self._lanes: dict[Port, list[Lane]] = {}
        self._fates: dict[str, list[Fate]] = {}

    def use(self, graph: Graph) -> None:
        """Goes on with a graph in which the nodes kept from the last one are the same."""
        for name in self._graph.nodes:
            if graph.nodes.get(name) != self._graph.nodes[name]:
                for port in [port for port in self._lanes if port.node == name]:
                    del self._lanes[port]
                self._fates.pop(name, None)
        self._graph = graph

    def lanes(self, port: Port) -> list[Lane]:
        """The lanes that reach a port."""
        if port not in self._lanes:
            if self._graph.is_source(port.node):
                self._lanes[port] = [self._source_lane(port.node)]
            else:
                self._make(port.node)
        return self._lanes[port]

    def fates(self, name: str) -> list[Fate]:
        """What an operator does to each of its input lanes."""
        if name not in self._fates:
            self._make(name)
        return self._fates[name]

    def first_lane(self, edge: Edge) -> int:
        """The number, among all input lanes of the reader, of the first that comes by this edge."""
        inputs = self._graph.nodes[edge.reader].inputs
        return sum(len(self.lanes(port)) for port in inputs[: edge.slot])

    def unit_tables(self, place: UnitPlace, entry: Edge) -> list[UnitTable]:
        """A unit's composed tables for what comes by one edge, one per lane."""
        return [self._compose(place, entry, lane) for lane in range(len(self.lanes(entry.port)))]

    def _source_lane(self, stream: str) -> Lane:
        arrivals = self._workload.arrivals[stream]
        offsets = np.arange(arrivals.rows)
        keys = mix(offsets.astype(np.uint64), salt(self._workload.seed, "stream", stream))
        edges = self._graph.edges[stream]
        truth = self._workload.truth_of(self._graph, edges[0].reader) if edges else None
        size = truth.in_bytes if truth else 0.0
        return Lane(stream, arrivals.arrival_of_rows(), arrivals.times_s, offsets, keys, size)

    def _make(self, name: str) -> None:
        node, truth = self._graph.nodes[name], self._workload.truth_of(self._graph, name)
        with_ = salt(self._workload.seed, "operator", name)
        distribution = self._workload.cost_of(self._graph, name)
        ports = max(1, len(truth.ports))
        fates: list[Fate] = []
        lanes_out: list[list[Lane]] = [[] for _ in range(ports)]
        for slot, port in enumerate(node.inputs):
            for lane in self.lanes(port):
                costs = distribution.draw(lane.keys, with_, slot)
                counts = [self._outputs(name, slot, lane, mix_one(with_, 100 + p), p) for p in range(ports)]
                fates.append(Fate(_cumulated(costs), tuple(_cumulated(count) for count in counts)))
                for p, count in enumerate(counts):
                    lanes_out[p].append(_derived(lane, count, mix_one(with_, 200 + p), truth.out_bytes))
        self._fates[name] = fates
        for p in range(ports):
            self._lanes[Port(name, p)] = lanes_out[p]

    def _outputs(self, name: str, slot: int, lane: Lane, with_: np.uint64, port: int) -> Ints:
        """How many rows each row becomes: whole ones always, the fraction as a chance."""
        operator = self._graph.nodes[name].operator
        if (
            isinstance(operator, Aggregate)
            and operator.window is not None
            and operator.window.kind in ("time", "count")
        ):
            return _windows_closed(operator.window, lane)
        if name in self._workload.yields:
            return self._workload.yields[name][slot]
        share = self._workload.truth_of(self._graph, name).yield_of(port)
        whole = int(share)
        chance = uniform(lane.keys, with_) < share - whole
        counts: Ints = whole + chance.astype(np.int64)
        return counts

    def _compose(self, place: UnitPlace, entry: Edge, lane: int) -> UnitTable:
        rows = len(self.lanes(entry.port)[lane])
        cost = np.zeros(rows + 1)
        exits: list[Exit] = []
        sinks: list[Exit] = []
        todo = [(entry.reader, self.first_lane(entry) + lane, np.arange(rows + 1))]
        while todo:
            name, at, reached = todo.pop()
            fate = self.fates(name)[at]
            cost += fate.cost_s[reached]
            passed = [out[reached] for out in fate.out]
            for edge in self._graph.sinks[name]:
                rows_out = self.lanes(edge.port)[at]
                sinks.append(Exit(edge.port, at, rows_out, _numbers(passed[edge.port.output]), edge.reader))
            for port in dict.fromkeys(edge.port for edge in self._graph.edges[name]):
                if port in place.exits:
                    exits.append(Exit(port, at, self.lanes(port)[at], _numbers(passed[port.output])))
            for edge in self._graph.edges[name]:
                if edge in place.direct:
                    todo.append((edge.reader, self.first_lane(edge) + at, passed[edge.port.output]))
        return UnitTable(rows, _numbers(cost), tuple(exits), tuple(sinks))


def _cumulated(values: NDArray[Number]) -> NDArray[Number]:
    total = np.zeros(len(values) + 1, dtype=values.dtype)
    np.cumsum(values, out=total[1:])
    return total


def _numbers(values: NDArray[Number]) -> Numbers:
    return np.ascontiguousarray(values).data


def _derived(lane: Lane, counts: Ints, with_: np.uint64, row_bytes: float) -> Lane:
    keys = np.repeat(mix(lane.keys, with_), counts)
    if counts.max(initial=0) > 1:
        first = np.repeat(np.cumsum(counts) - counts, counts)
        keys = mix(keys + (np.arange(len(keys)) - first).astype(np.uint64), with_)
    return Lane(
        lane.leaf,
        np.repeat(lane.arrived_s, counts),
        np.repeat(lane.times_s, counts),
        np.repeat(lane.offsets, counts),
        keys,
        row_bytes,
    )


def _windows_closed(window: Window, lane: Lane) -> Ints:
    """One row per window that a row closes; a lane has windows of its own."""
    positions = np.arange(1, len(lane) + 1) if window.kind == "count" else lane.times_s
    closed = np.array([window.closed_by(float(position)) for position in positions], dtype=np.int64)
    return np.diff(np.maximum.accumulate(closed), prepend=0)
