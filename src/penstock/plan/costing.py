"""What a plan costs before it runs: from its operators, its schemas and the rates of its streams alone.

An operator's estimate has the papers' quantities: seconds per row that enters (processing capacity is one
over that), rows out per row in, and bytes per row. A plan's cost is the processor time it takes per second,
`Σ rate_in · cost`; of two that take the same, the one whose windows hold less is the better. What a plan says
of an operator, because someone knew or measured it, is used as it is; the rest comes from the table below.
The table need not be right, it needs to put plans in order: measurements replace it while the query runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import TypeAlias

from penstock.model.estimates import Estimate
from penstock.model.operators import (
    Aggregate,
    Column,
    Join,
    Operator,
    Project,
    Select,
    Sink,
    Source,
    Split,
    Union,
    output_schema,
)
from penstock.model.query import PlanNode
from penstock.model.schema import Schema
from penstock.model.window import Window
from penstock.plan.conjunctions import conjuncts
from penstock.plan.selectivity import (
    EQUALITY,
    PAIR_EQUALITY,
    is_equality,
    pair_selectivity,
    selectivity,
    size,
)

#: Rows per second of a stream of which nothing is known.
DEFAULT_RATE = 1000.0
#: Bytes of a row of which nothing is known.
DEFAULT_BYTES = 100.0

# Seconds, per row: of generated code on one core, in round numbers.
SELECT_S = 1e-7
PROJECT_S = 1e-7
UNION_S = 5e-8
RELATION_S = 5e-7  # to look one key up
JOIN_S = 2e-6  # to exchange a row and put it into its window
AGGREGATE_S = 1e-6  # to exchange a row and find its group
FOLD_S = 5e-8  # to fold a row into one aggregate of one window
CANDIDATE_S = 5e-8  # to look at one row of the other window
NODE_S = 2e-8  # to evaluate one node of an expression
BYTE_S = 5e-10  # to pass a byte on
STATE_BYTE_S = 2e-9  # to exchange a byte and keep it

#: Different values a key has: as many as make an equality let one in ten pass.
KEY_VALUES = 1 / EQUALITY
#: Rows of a stored relation that a row meets without an equality.
RELATION_ROWS = 100.0
#: Seconds that a window without an end is taken to hold, and that a stream lasts that ends: a small file.
WHOLE_STREAM_S = 60.0


@dataclass(frozen=True, slots=True)
class Flow:
    """What runs along one edge of a plan: rows per second, their columns, and how often they come in bulk.

    `lasts_s` is for how long rows come: for ever, unless all streams end.
    """

    rate: float
    schema: Schema
    every_s: float = 1.0
    lasts_s: float = inf

    @property
    def row_bytes(self) -> float:
        """The size of an average row."""
        return float(self.schema.row_bytes) if self.schema.fields else DEFAULT_BYTES


@dataclass(frozen=True, slots=True)
class Costed:
    """One operator at its place: its estimate, rows per second in, what comes out, and what it remembers."""

    estimate: Estimate
    rate_in: float
    outputs: tuple[Flow, ...]
    memory_bytes: float = 0.0

    @property
    def cpu_s_per_s(self) -> float:
        """Processor seconds it takes per second."""
        return self.rate_in * self.estimate.cost_s


@dataclass(frozen=True, slots=True)
class PlanCost:
    """A whole plan: processor seconds per second, bytes its windows hold, and each operator's part."""

    cpu_s_per_s: float
    memory_bytes: float
    operators: tuple[tuple[PlanNode, Costed], ...] = ()

    @property
    def key(self) -> tuple[float, float]:
        """To rank plans by: memory decides only where the processor time is the same."""
        return float(f"{self.cpu_s_per_s:.9g}"), self.memory_bytes


#: What was measured of operators like this one, if anything.
Known: TypeAlias = Callable[[PlanNode], Estimate | None]


class Costing:
    """Costs of nodes at given rates, each node once: alternate plans share most of theirs."""

    def __init__(self, rates: Mapping[str, float] | None = None, measured: Known | None = None) -> None:
        self._rates = rates or {}
        self._measured = measured or (lambda _: None)
        self._known: dict[int, tuple[PlanNode, Costed]] = {}

    def of(self, node: PlanNode) -> Costed:
        """One node, with all below it."""
        known = self._known.get(id(node))
        if known is None:
            if not all(id(child) in self._known for child in node.children):
                for below in node.post_order():
                    if below is not node:
                        self.of(below)
            known = self._known[id(node)] = node, self._cost(node)
        return known[1]

    def plan(self, root: PlanNode) -> PlanCost:
        """The whole plan; an operator that is read twice costs once."""
        operators = tuple((node, self.of(node)) for node in root.post_order())
        return PlanCost(
            sum(costed.cpu_s_per_s for _, costed in operators),
            sum(costed.memory_bytes for _, costed in operators),
            operators,
        )

    def _cost(self, node: PlanNode) -> Costed:
        if isinstance(node.operator, Source):
            rate = self._rates.get(node.operator.stream, DEFAULT_RATE)
            lasts_s = inf if node.operator.endless else WHOLE_STREAM_S
            flow = Flow(rate, node.operator.schema, lasts_s=lasts_s)
            nothing = Estimate(0.0, 1.0, flow.row_bytes, flow.row_bytes)
            return Costed(node.estimate or nothing, flow.rate, (flow,))
        inputs = [
            self._known[id(child)][1].outputs[node.port_of(slot)] for slot, child in enumerate(node.children)
        ]
        return estimate(node.operator, inputs, node.estimate or self._measured(node))


def estimated(
    root: PlanNode, rates: Mapping[str, float] | None = None, measured: Known | None = None
) -> PlanNode:
    """The same plan, with an estimate at each operator that had none."""
    costing = Costing(rates, measured)
    made: dict[int, PlanNode] = {}
    for node in root.post_order():
        children = tuple(made[id(child)] for child in node.children)
        known = node.estimate
        if known is None and not isinstance(node.operator, Source | Sink):
            known = costing.of(node).estimate
        unchanged = known is node.estimate and all(
            a is b for a, b in zip(children, node.children, strict=True)
        )
        made[id(node)] = node if unchanged else replace(node, children=children, estimate=known)
    return made[id(root)]


def estimate(operator: Operator, inputs: Sequence[Flow], known: Estimate | None = None) -> Costed:
    """One operator over these inputs; `known` is believed where it is given."""
    rate = sum(flow.rate for flow in inputs)
    in_bytes = sum(flow.rate * flow.row_bytes for flow in inputs) / rate if rate else DEFAULT_BYTES
    out = Flow(0.0, output_schema(operator, tuple(flow.schema for flow in inputs)), inputs[0].every_s)
    cost_s, passing, memory_bytes, every_s = _guess(operator, inputs, in_bytes)
    guess = Estimate(cost_s, passing, in_bytes, out.row_bytes)
    if isinstance(operator, Split):
        guess = replace(guess, ports=tuple(selectivity(condition) for condition in operator.conditions))
    made = known or guess
    ports = len(operator.conditions) if isinstance(operator, Split) else 1
    lasts_s = max(flow.lasts_s for flow in inputs)
    outputs = tuple(Flow(rate * made.yield_of(port), out.schema, every_s, lasts_s) for port in range(ports))
    return Costed(made, rate, outputs, memory_bytes)


def _guess(operator: Operator, inputs: Sequence[Flow], in_bytes: float) -> tuple[float, float, float, float]:
    """Seconds per row, rows out per row in, bytes remembered, and seconds between two bulks of output."""
    passed_on, every_s = in_bytes * BYTE_S, inputs[0].every_s
    match operator:
        case Select(predicate=predicate):
            return SELECT_S + passed_on + _tested(predicate), selectivity(predicate), 0.0, every_s
        case Project(columns=columns):
            return PROJECT_S + passed_on + _computed(columns), 1.0, 0.0, every_s
        case Split(conditions=conditions):
            tests = sum(NODE_S * size(condition) for condition in conditions)
            passing = sum(selectivity(condition) for condition in conditions)
            return SELECT_S + passed_on + tests, passing, 0.0, every_s
        case Union():
            return UNION_S + passed_on, 1.0, 0.0, min(flow.every_s for flow in inputs)
        case Join(relation=str()) as join:
            cost_s, passing = _relation_join(join)
            return cost_s + passed_on, passing, 0.0, every_s
        case Join() as join:
            return (*_window_join(join, inputs[0], inputs[1], in_bytes), every_s)
        case Aggregate() as aggregate:
            return _aggregate(aggregate, inputs[0])
        case Source() | Sink():
            return 0.0, 1.0, 0.0, every_s


def _tested(predicate: str) -> float:
    """Seconds to evaluate a conjunction, which ends at the first part that is not true."""
    seconds, reached = 0.0, 1.0
    for part in conjuncts(predicate):
        seconds += reached * NODE_S * size(part)
        reached *= selectivity(part)
    return seconds


def _computed(columns: Sequence[Column]) -> float:
    return sum(NODE_S * (size(column.expression) - 1) for column in columns)


def _relation_join(join: Join) -> tuple[float, float]:
    conditions = conjuncts(join.condition)
    others = [part for part in conditions if not is_equality(part)]
    met = 1.0 if len(others) < len(conditions) else RELATION_ROWS
    passing = met
    for part in others:
        passing *= selectivity(part)
    tests = met * (CANDIDATE_S + sum(NODE_S * size(part) for part in others))
    return RELATION_S + tests, max(1.0, passing) if join.type != "inner" else passing


def _window_join(join: Join, left: Flow, right: Flow, in_bytes: float) -> tuple[float, float, float]:
    """Every row looks at the rows of the other window that meet the equalities, then at the rest of them."""
    held = _held(join.left, left), _held(join.right, right)
    rate = left.rate + right.rate
    # A pair is found once, when its later row comes; in hopping windows once in each that holds both.
    windows = max(_overlap(join.left), _overlap(join.right))
    pairs = (left.rate * held[1] + right.rate * held[0]) * windows / rate if rate else 0.0
    candidates, passing, tests = pairs, pairs, 0.0
    for part in conjuncts(join.condition):
        passing *= pair_selectivity(part)
        if is_equality(part):
            candidates *= PAIR_EQUALITY
        else:
            tests += NODE_S * size(part)
    cost_s = JOIN_S + in_bytes * STATE_BYTE_S + candidates * (CANDIDATE_S + tests)
    if rate and join.type in ("left", "full"):
        passing = max(passing, left.rate / rate)
    if rate and join.type in ("right", "full"):
        passing = max(passing, right.rate / rate)
    return cost_s, passing, held[0] * left.row_bytes + held[1] * right.row_bytes


def _aggregate(aggregate: Aggregate, rows: Flow) -> tuple[float, float, float, float]:
    """A row per group and window; a window has at most as many groups as rows."""
    window, rate = aggregate.window, rows.rate
    match window:
        case None:
            width_s = every_s = WHOLE_STREAM_S
        case Window(kind="given"):
            width_s = every_s = rows.every_s
        case Window(kind="session"):
            width_s = every_s = 2 * window.end
        case Window(kind="count"):
            width_s, every_s = (window.width / rate, window.step / rate) if rate else (1.0, 1.0)
        case _:
            width_s, every_s = window.width, window.step
    on = window.on if window is not None and window.kind == "given" else None
    keys = sum(key != on for key in aggregate.keys)
    groups = min(max(rate * width_s, 1e-9), KEY_VALUES**keys)
    overlap = max(width_s / every_s, 1.0)
    folded = len(aggregate.aggregates) * FOLD_S + _computed(aggregate.aggregates)
    cost_s = AGGREGATE_S + rows.row_bytes * STATE_BYTE_S + overlap * folded
    group_bytes = 8.0 * (len(aggregate.keys) + len(aggregate.aggregates))
    return cost_s, groups / every_s / rate if rate else 0.0, groups * overlap * group_bytes, every_s


def _held(window: Window | None, rows: Flow) -> float:
    """Rows in a window of a join. Rows that were aggregated come a window at a time, all of one instant."""
    if window is None:
        return rows.rate * WHOLE_STREAM_S
    if window.kind == "count":
        return min(window.width, rows.rate * WHOLE_STREAM_S)
    on = rows.schema.get(window.on) if window.on is not None else None
    at_once_s = rows.every_s if on is not None and on.type.startswith("struct") else 0.0
    return rows.rate * min(max(window.width, at_once_s), rows.lasts_s)


def _overlap(window: Window | None) -> float:
    return window.width / window.hop if window is not None and window.hop else 1.0
