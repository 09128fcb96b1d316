"""Forecast: what a cut costs, so that two cuts can be compared before one is changed for the other.

All rows that arrive in a second are taken to wait at the streams at once. The units then run one after the
other, the steepest first, each over all that waits for it, until nothing is left. What is added up over that
time is what the cut is to keep small: bytes in queues, or results that are not there yet. So a step's fixed
cost counts, and a cut with more units must be worth it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from penstock.model.estimates import Estimates
from penstock.model.graph import Graph, Port
from penstock.policies.costs import input_rates, load, unit_cost
from penstock.policies.layout import UnitPlace

#: What a cut is to keep small: bytes in queues, results that are waited for, or operators that stall.
Objective: TypeAlias = Literal["memory", "latency", "stalls"]

#: Fewer rows than this count as none.
_NOTHING = 1e-9


@dataclass(frozen=True, slots=True)
class Gain:
    """By which share of what it cost a new cut is better, and how many of its units are new."""

    share: float
    new_units: int


@dataclass(frozen=True, slots=True)
class Recutting:
    """When a cut is changed for a better one.

    A new unit takes `unit_s` to plan, while its rows wait. What is gained by each second of `horizon_s` must
    be that much, and more than a `margin`, so that estimates that waver do not make the cut waver.
    """

    margin: float = 0.1
    horizon_s: float = 60.0
    unit_s: float = 0.3

    def pays(self, gain: Gain) -> bool:
        """Whether the new cut is worth the change."""
        return gain.share >= self.margin + gain.new_units * self.unit_s / self.horizon_s


def gain(
    graph: Graph,
    estimates: Estimates,
    old: Sequence[UnitPlace],
    new: Sequence[UnitPlace],
    objective: Objective,
) -> Gain:
    """What the new cut is better by, if estimates are right."""
    before = forecast(graph, estimates, old, objective)
    after = forecast(graph, estimates, new, objective)
    known = set(old)
    return Gain(1 - after / before if before > 0 else 0.0, sum(place not in known for place in new))


def forecast(graph: Graph, estimates: Estimates, places: Sequence[UnitPlace], objective: Objective) -> float:
    """What a cut costs: byte seconds, result seconds, or stalled operators."""
    if objective == "stalls":
        return _stalls(graph, estimates, places)
    return _Burst(graph, estimates, places).area(objective)


def _stalls(graph: Graph, estimates: Estimates, places: Sequence[UnitPlace]) -> float:
    """Operators that stall, each with the share of its rows that falls behind; and what steps cost anyway.

    All operators of a unit that has more work than time stall, also those that could keep up by themselves.
    """
    rates = input_rates(graph, estimates)
    total = 0.0
    for place in places:
        work = load(estimates, rates, place.unit.operators)
        behind = 1 - 1 / work if work > 1 else 0.0
        total += len(place.unit.operators) * behind + unit_cost(graph, estimates, rates, place).fixed_s
    return total


@dataclass(frozen=True, slots=True)
class _Step:
    """A step: seconds, rows put into queues, results, and what it gains in a second."""

    seconds: float
    put_out: Mapping[Port, float]
    results: float
    slope: float


class _Burst:
    """The rows of a second on their way."""

    def __init__(self, graph: Graph, estimates: Estimates, places: Sequence[UnitPlace]) -> None:
        self._graph, self._estimates, self._places = graph, estimates, places
        rates = input_rates(graph, estimates)
        self._fixed_s = [unit_cost(graph, estimates, rates, place).fixed_s for place in places]
        self._waiting: list[dict[Port, float]] = [{} for _ in places]
        self._readers: dict[Port, list[int]] = {}
        for unit, place in enumerate(places):
            for port in dict.fromkeys(edge.port for edge in place.entries):
                self._readers.setdefault(port, []).append(unit)
                if graph.is_source(port.node):
                    self._waiting[unit][port] = rates[port.node]

    def area(self, objective: Objective) -> float:
        """The time until all rows are through, each moment weighted with what waits then."""
        steps: list[tuple[float, float, float]] = []  # seconds, bytes before, results
        ready = {unit: self._step(unit, objective) for unit, rows in enumerate(self._waiting) if rows}
        while ready:
            before = self._bytes()
            unit = max(ready, key=lambda one: (ready[one].slope, -one))
            step = ready.pop(unit)
            self._waiting[unit] = {}
            for port, rows in step.put_out.items():
                if rows > _NOTHING:
                    for reader in self._readers.get(port, ()):
                        self._waiting[reader][port] = self._waiting[reader].get(port, 0.0) + rows
                        ready[reader] = self._step(reader, objective)
            steps.append((step.seconds, before, step.results))
        if objective == "memory":
            return sum(seconds * before for seconds, before, _ in steps)
        left, total = sum(results for *_, results in steps), 0.0
        for seconds, _, results in steps:
            total += seconds * left
            left -= results
        return total

    def _step(self, unit: int, objective: Objective) -> _Step:
        """A step over all that waits for a unit."""
        graph, estimates, place = self._graph, self._estimates, self._places[unit]
        flow: dict[str, float] = dict.fromkeys(place.unit.operators, 0.0)
        for edge in place.entries:
            flow[edge.reader] += self._waiting[unit].get(edge.port, 0.0)
        seconds, results, put_out = self._fixed_s[unit], 0.0, dict.fromkeys(place.exits, 0.0)
        for name in place.unit.operators:
            estimate = estimates.of(name)
            seconds += flow[name] * estimate.cost_s
            for port in put_out:
                if port.node == name:
                    put_out[port] += flow[name] * estimate.yield_of(port.output)
            for edge in graph.sinks[name]:
                results += flow[name] * estimate.yield_of(edge.port.output)
            for edge in graph.edges[name]:
                if edge in place.direct:
                    flow[edge.reader] += flow[name] * estimate.yield_of(edge.port.output)
        gained = results
        if objective == "memory":
            gained = self._bytes_of(self._waiting[unit]) - self._bytes_of(put_out)
        seconds = max(seconds, 1e-12)
        return _Step(seconds, put_out, results, gained / seconds)

    def _bytes(self) -> float:
        """Bytes in all queues; rows that several units have yet to read are there once."""
        most: dict[Port, float] = {}
        for waiting in self._waiting:
            for port, rows in waiting.items():
                most[port] = max(most.get(port, 0.0), rows)
        return self._bytes_of(most)

    def _bytes_of(self, rows: Mapping[Port, float]) -> float:
        return sum(count * self._row_bytes(port) for port, count in rows.items())

    def _row_bytes(self, port: Port) -> float:
        if self._graph.is_source(port.node):
            edge = next(edge for edge in self._graph.edges[port.node] if edge.port == port)
            return self._estimates.of(edge.reader).in_bytes
        return self._estimates.of(port.node).out_bytes
