"""The monitor: what operators cost and yield, fitted to what steps report and profiles find.

A step costs `F + Σ n·c`. Its parts are timed apart (a job over what queues brought, what a stateful operator
does between jobs, a job over what it releases), and the fixed and per-row seconds of each are fitted by least
squares. A part's seconds per row are divided among its operators as a profile of it found; before there is
one, as plans suggest. So a unit's `F` and its operators' costs add up to what its steps take.
How many rows an operator lets pass is counted, in each step or by profiles; and so are bytes.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import sqrt
from statistics import median

from penstock.adapt.fits import FIRST, SURE, Line, Mean, Rate, Ratio
from penstock.adapt.observations import (
    CountSample,
    PartTiming,
    Profile,
    RowCounts,
    RowSizes,
    StepObservation,
    TimeSample,
)
from penstock.model.estimates import Estimate, Estimates
from penstock.model.graph import Graph, Node, Port
from penstock.model.operators import Project, Union, output_count

#: What a step's weight is after the next one, and a sample's after the next.
_FORGET, _FORGET_SAMPLE = 0.97, 0.7
#: Samples that make sure that a share of rows has changed: each is of many rows, and the next may be far off.
_SURE_SAMPLE = 1
#: Fewer than so many steps of a unit, after the first ones, say little.
_ENOUGH = 3
#: The samples of a part's costs that count, and the error of the only one.
_SAMPLES, _SAMPLE_ERROR = 6, 0.25
#: No operator costs less.
_LEAST_S = 1e-9


@dataclass(slots=True)
class _Part:
    """A part of a unit's steps."""

    timing: PartTiming
    line: Line = field(default_factory=Line)


@dataclass(slots=True)
class _Unit:
    """Weighted sums over a unit's steps."""

    steps: int = 0
    weight: float = 0.0
    entered: dict[Port, float] = field(default_factory=dict)
    parts: dict[str, _Part] = field(default_factory=dict)

    @property
    def enough(self) -> bool:
        return self.steps >= FIRST + _ENOUGH

    def add(self, step: StepObservation) -> None:
        """One more step."""
        if any(step.entered.values()):
            self.steps += 1
            keep = 0.0 if self.steps == FIRST + 1 else _FORGET
            self.weight = self.weight * keep + 1
            for port in self.entered:
                self.entered[port] *= keep
            for part in self.parts.values():
                part.line.age(_FORGET)
        for port, rows in step.entered.items():
            self.entered[port] = self.entered.get(port, 0.0) + rows
        for timing in step.timings:
            part = self.parts.setdefault(timing.key, _Part(timing))
            part.line.add(timing.rows, timing.seconds)


@dataclass(slots=True)
class _Costs:
    """Seconds and rows of operators, over what is remembered of units' steps."""

    seconds: dict[str, float] = field(default_factory=dict)
    rows: dict[str, float] = field(default_factory=dict)
    variance: dict[str, float] = field(default_factory=dict)

    def add(self, operator: str, seconds: float, error: float) -> None:
        """An operator's share of a part; `error` is relative."""
        self.seconds[operator] = self.seconds.get(operator, 0.0) + seconds
        self.variance[operator] = self.variance.get(operator, 0.0) + (seconds * error) ** 2

    def of(self, operator: str) -> tuple[float, float] | None:
        """Seconds per row and their relative error."""
        seconds, rows = self.seconds.get(operator, 0.0), self.rows.get(operator, 0.0)
        if seconds <= 0 or rows <= 0:
            return None
        return max(seconds / rows, _LEAST_S), sqrt(self.variance[operator]) / seconds


class Monitor:
    """Fits as steps come, estimates when asked."""

    def __init__(self) -> None:
        self._graph = Graph()
        self._units: dict[tuple[str, ...], _Unit] = {}
        self._running: frozenset[tuple[str, ...]] | None = None
        self._ratios: dict[Port, Ratio] = {}
        self._released: dict[str, Ratio] = {}  # rows out per remembered row that goes out
        self._sizes: dict[Port, Mean] = {}
        self._samples: dict[tuple[tuple[str, ...], str], deque[TimeSample]] = {}
        self._rates: dict[str, Rate] = {}
        self.changed = False

    def recut(self, graph: Graph, units: Iterable[tuple[str, ...]]) -> None:
        """Another graph or cut: what was measured of operators that are gone is forgotten."""
        self._graph, self._running = graph, frozenset(units)
        there = graph.nodes
        self._units = {unit: one for unit, one in self._units.items() if all(name in there for name in unit)}
        self._samples = {key: one for key, one in self._samples.items() if key[0] in self._units}
        self._ratios = {port: one for port, one in self._ratios.items() if port.node in there}
        self._sizes = {port: one for port, one in self._sizes.items() if port.node in there}

    def forget_costs(self) -> None:
        """What steps have taken so far says nothing of those to come: Java was cold."""
        self._units.clear()

    def stepped(self, step: StepObservation) -> None:
        """A step of a unit is done."""
        if not step.timings:
            return
        self._units.setdefault(step.unit, _Unit()).add(step)
        for one in step.passed:
            self._pass(one, step)
        self._weigh(step.weighed, _FORGET)
        self.changed = True

    def profiled(self, profile: Profile) -> None:
        """A part of a unit was sampled."""
        if profile.counted is not None:
            self._count(profile.counted)
        timed = profile.timed
        if timed is not None:
            self._samples.setdefault((timed.unit, timed.key), deque(maxlen=_SAMPLES)).append(timed)
        self.changed = True

    def arrived(self, stream: str, rows: int, at_s: float) -> None:
        """Rows came on a stream."""
        self._rates.setdefault(stream, Rate()).add(rows, at_s)

    def _count(self, counted: CountSample) -> None:
        for one in counted.passed:
            if one.released:
                ratio = self._released.setdefault(one.operator, Ratio())
                ratio.add(one.released, one.rows_out.get(0, 0), _FORGET_SAMPLE, _SURE_SAMPLE)
            elif not one.later:
                self._observe(one, _FORGET_SAMPLE, _SURE_SAMPLE)
        self._weigh(counted.weighed, _FORGET_SAMPLE)

    def _pass(self, one: RowCounts, step: StepObservation) -> None:
        if not one.later:
            self._observe(one, _FORGET)
            return
        rows_in: float | None = one.rows_in
        rows_out: float | None = one.rows_out.get(0, 0)
        if rows_in is None:
            rows_in = self._reaching(step, one.operator)
        if one.released and not one.rows_out:
            known = self._released.get(one.operator)
            share = known.value if known is not None else None
            rows_out = one.released * share if share is not None else None
        self._ratios.setdefault(Port(one.operator), Ratio()).add_later(rows_in, rows_out, _FORGET)

    def _observe(self, one: RowCounts, keep: float, sure: int = SURE) -> None:
        for port, rows in one.rows_out.items():
            self._ratios.setdefault(Port(one.operator, port), Ratio()).add(one.rows_in or 0, rows, keep, sure)

    def _weigh(self, weighed: Iterable[RowSizes], keep: float) -> None:
        for one in weighed:
            if one.rows:
                self._sizes.setdefault(one.port, Mean()).add(one.rows, one.bytes, keep)

    def _reaching(self, step: StepObservation, operator: str) -> float | None:
        """Rows of a step that come to an operator, by what was measured of those below it."""
        if any(name not in self._graph.nodes for name in step.unit):
            return None
        passing = {name: self._passing(self._graph.nodes[name]) for name in step.unit}
        below = {port.node for port in self._graph.nodes[operator].inputs}
        for name in reversed(step.unit):
            if name in below:
                below.update(port.node for port in self._graph.nodes[name].inputs)
        if any(passing[name].selectivity_error is None for name in step.unit if name in below):
            return None
        return _flow(self._graph, step.unit, step.entered, passing).get(operator, 0.0)

    def rates(self, at_s: float) -> dict[str, float]:
        """Rows per second of the streams of which that is known."""
        return {name: rate.at(at_s) for name, rate in self._rates.items() if rate.per_s > 0}

    def estimates(self, graph: Graph, at_s: float = 0.0) -> Estimates:
        """What is believed now of the operators of a graph."""
        self.changed = False
        known = {
            unit: one
            for unit, one in self._units.items()
            if one.enough and all(name in graph.nodes for name in unit)
        }
        names = {name for unit in known for name in unit}
        names |= {port.node for port in self._ratios if port.node in graph.nodes}
        passing = {name: self._passing(graph.nodes[name]) for name in names}
        now, before, fixed = _Costs(), _Costs(), {}
        for unit, one in known.items():
            runs = self._running is None or unit in self._running
            fixed[unit] = self._divide(graph, unit, one, passing, now if runs else before)
        operators = {}
        for name, estimate in passing.items():
            cost = now.of(name) or before.of(name)
            if cost is not None:
                estimate = replace(estimate, cost_s=cost[0], cost_error=cost[1])
            operators[name] = self._sized(graph, name, estimate)
        # What an earlier cut's steps took, perhaps while Java was cold, would tell against cutting so again.
        running = {unit: one for unit, one in fixed.items() if self._running is None or unit in self._running}
        fixed_s = median((running or fixed).values()) if fixed else 0.0
        return Estimates(operators, self.rates(at_s), fixed_s, fixed=running)

    def _passing(self, node: Node) -> Estimate:
        """What the plan says of an operator, with the share of rows that it was seen to let pass."""
        planned = node.estimate or Estimate()
        if isinstance(node.operator, Project | Union):
            return replace(planned, selectivity=1.0, selectivity_error=0.0)
        ratios = [self._ratios.get(Port(node.name, port)) for port in range(output_count(node.operator))]
        seen = [ratio for ratio in ratios if ratio is not None and ratio.value is not None]
        if len(seen) < len(ratios):
            return planned
        values = [ratio.value or 0.0 for ratio in seen]
        total = sum(values)
        variance = sum((value * ratio.error) ** 2 for value, ratio in zip(values, seen, strict=True))
        return replace(
            planned,
            selectivity=total,
            ports=tuple(values) if planned.ports or len(values) > 1 else (),
            selectivity_error=sqrt(variance) / total if total else 1.0,
        )

    def _sized(self, graph: Graph, name: str, estimate: Estimate) -> Estimate:
        ins = [self._sizes[port].value for port in graph.nodes[name].inputs if port in self._sizes]
        ports = [Port(name, port) for port in range(output_count(graph.nodes[name].operator))]
        outs = [self._sizes[port] for port in ports if port in self._sizes]
        rows = sum(one.rows for one in outs)
        return replace(
            estimate,
            in_bytes=sum(ins) / len(ins) if ins else estimate.in_bytes,
            out_bytes=sum(one.bytes for one in outs) / rows if rows else estimate.out_bytes,
        )

    def _divide(
        self, graph: Graph, unit: tuple[str, ...], one: _Unit, passing: Mapping[str, Estimate], into: _Costs
    ) -> float:
        """Divides a unit's seconds among its operators; what is left is what a step costs by itself."""
        flow = _flow(graph, unit, one.entered, passing)
        fixed_s = 0.0
        for key, part in one.parts.items():
            samples = self._samples.get((unit, key), ())
            hint = median(sample.row_s for sample in samples) if samples else None
            start_s, row_s, slope_error = part.line.fit(hint, 0.5 if part.timing.is_job else 0.0)
            fixed_s += start_s * part.line.weight
            for operator, (share, share_error) in _shares(part.timing, flow, passing, samples).items():
                error = sqrt(slope_error**2 + share_error**2)
                into.add(operator, row_s * part.line.rows * share, error)
        for name, rows in flow.items():
            into.rows[name] = into.rows.get(name, 0.0) + rows
        return fixed_s / one.weight


def _flow(
    graph: Graph, unit: tuple[str, ...], entered: Mapping[Port, float], passing: Mapping[str, Estimate]
) -> dict[str, float]:
    """Rows that come to each operator of a unit, of those that entered it."""
    members = set(unit)
    flow = dict.fromkeys(unit, 0.0)
    for port, rows in entered.items():
        for edge in graph.edges.get(port.node, ()):
            if edge.port == port and edge.reader in members:
                flow[edge.reader] += rows
    for name in unit:
        for edge in graph.edges[name]:
            if edge.reader in members and not graph.is_ordered(edge.reader):
                flow[edge.reader] += flow[name] * passing[name].yield_of(edge.port.output)
    return flow


def _shares(
    timing: PartTiming,
    flow: Mapping[str, float],
    passing: Mapping[str, Estimate],
    samples: Iterable[TimeSample],
) -> dict[str, tuple[float, float]]:
    """Each operator's share of a part's seconds, and the share's relative error."""
    if len(timing.operators) == 1:
        return {timing.operators[0]: (1.0, 0.0)}
    rows = {name: flow[name] for name in timing.operators}
    if timing.releases is not None:  # it is the rows that come out of it that cost
        rows[timing.releases] *= passing[timing.releases].selectivity
    found = [_normal({name: rows[name] * _row_s(name, one) for name in rows}) for one in samples]
    if not found:
        planned = _normal({name: rows[name] * passing[name].cost_s for name in rows})
        return {name: (share, 1.0) for name, share in planned.items()}
    middle = _normal({name: median(one[name] for one in found) for name in rows})
    shares = {}
    for name, share in middle.items():
        off = sqrt(sum((one[name] - share) ** 2 for one in found) / max(len(found) - 1, 1) / len(found))
        least = _SAMPLE_ERROR / len(found)
        shares[name] = share, max(off / share, least) if share > 0 else 1.0
    return shares


def _row_s(operator: str, sample: TimeSample) -> float:
    return sample.seconds.get(operator, 0.0) / max(sample.rows.get(operator, 0), 1)


def _normal(parts: Mapping[str, float]) -> dict[str, float]:
    total = sum(parts.values())
    return {name: part / total if total > 0 else 1 / len(parts) for name, part in parts.items()}
