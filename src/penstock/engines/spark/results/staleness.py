"""Rows that wait: how long a result is out of date already, while what would change it is not yet committed.

A query's result is stale from the arrival of the first row that changes it until the change is committed. Of
rows that wait nobody knows which of them do; each does with a chance, the query's measured selectivity. So
the span is an expectation: with `N` rows of selectivity `S` waiting, some row matters with the chance
`1 - (1 - S)^N`, and the first of them is the more likely an old one the greater `S` is. Once rows are
processed they wait no more: what they changed is counted as it was, and what they did not change is gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from penstock.model.batch import Batch
from penstock.model.estimates import Estimates
from penstock.model.graph import Graph

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Waiting:
    """Batches of one queue that one unit has not finished: at which node, and for which operators."""

    node: str
    operators: tuple[str, ...]
    batches: tuple[Batch, ...]

    @cached_property
    def bytes(self) -> float:
        """How large they are."""
        return sum(batch.bytes for batch in self.batches)

    @cached_property
    def arrived_s(self) -> Floats:
        """When each batch's oldest row came in."""
        return np.array([batch.arrived_s for batch in self.batches], dtype=np.float64)

    @cached_property
    def rows(self) -> Floats:
        """How many rows each batch has."""
        return np.array([batch.rows for batch in self.batches], dtype=np.float64)

    def rows_between(self, starts: Mapping[str, int], ends: Mapping[str, int]) -> Floats:
        """How many rows of each batch stem from a range of offsets; evenly spread where a batch is cut."""
        if all(batch.lo >= starts.get(batch.leaf, 0) for batch in self.batches) and not ends:
            return self.rows
        kept = np.ones(len(self.batches))
        for place, batch in enumerate(self.batches):
            lo, hi = max(batch.lo, starts.get(batch.leaf, 0)), min(batch.hi, ends.get(batch.leaf, batch.hi))
            kept[place] = max(0, hi - lo) / (batch.hi - batch.lo) if batch.hi > batch.lo else 1.0
        return self.rows * kept


def expected_stale_s(
    arrived_s: Floats, rows: Floats, chances: Floats, fresh_to_s: float, now_s: float
) -> float:
    """For how long a result is stale by now, on average, because of rows that wait.

    `chances` are each row's to change the result. What is before `fresh_to_s` was counted already.
    """
    order = np.argsort(arrived_s, kind="stable")
    rows, chances = rows[order], np.clip(chances[order], 0.0, 1.0)
    spans_s = np.maximum(now_s - np.maximum(arrived_s[order], fresh_to_s), 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        nothing = np.where(rows > 0, rows * np.log1p(-chances), 0.0)  # log of: no row of the batch matters
    before = np.concatenate(([0.0], np.cumsum(nothing)[:-1])) if len(nothing) else nothing
    return float((np.exp(before) * -np.expm1(nothing) * spans_s).sum())


def selectivity(rows_out: float, rows_in: float, believed: float) -> float:
    """Rows out for each row in, as measured; what is believed beforehand counts as one row."""
    return (rows_out + min(believed, 1.0)) / (rows_in + 1.0)


@dataclass(frozen=True, slots=True)
class Passing:
    """What is believed of rows on their way through the operators of one query.

    `reaching` is how many rows there are behind each node for one that enters, `leaving` how many of the
    result for one that enters an operator.
    """

    reaching: Mapping[str, float]
    leaving: Mapping[str, float]

    def chance(self, waiting: Waiting, measured: float, own: set[str]) -> float:
        """A waiting row's to change the result, by the measured selectivity of the whole query.

        What has got half-way has passed something already, so it is the more likely to.
        """
        if not own.intersection(waiting.operators):
            return 0.0
        return min(1.0, measured / max(self.reaching.get(waiting.node, 1.0), 1e-12))

    def of_stream(self, graph: Graph) -> float:
        """Rows of the result for each row that comes in, as believed."""
        entering = [
            self.leaving[name]
            for name in self.leaving
            if any(graph.is_source(port.node) for port in graph.nodes[name].inputs)
        ]
        return max(entering, default=1.0)


def passing(graph: Graph, members: Iterable[str], estimates: Estimates) -> Passing:
    """How rows pass the operators of a query, by estimates; operators inputs first."""
    reaching: dict[str, float] = {}
    leaving: dict[str, float] = {}
    own = [name for name in members if name in graph.nodes]
    working = set(own).intersection(graph.operators)
    for name in sorted(own, key=graph.position.__getitem__):
        if name in working:
            most = max((reaching.get(port.node, 1.0) for port in graph.nodes[name].inputs), default=1.0)
            reaching[name] = min(1.0, most * estimates.of(name).selectivity)
        else:
            reaching[name] = 1.0
    for name in sorted(working, key=graph.position.__getitem__, reverse=True):
        further = [leaving[edge.reader] for edge in graph.edges[name] if edge.reader in leaving]
        leaving[name] = estimates.of(name).selectivity * max(further, default=1.0)
    return Passing(reaching, leaving)


def waiting_stale_s(
    waiting: Sequence[tuple[Waiting, float]],
    starts: Mapping[str, int],
    ends: Mapping[str, int],
    fresh_to_s: float,
    now_s: float,
) -> float:
    """For how long a query is stale by now, expected: what waits for it, each with a row's chance."""
    if not waiting:
        return 0.0
    arrived_s = np.concatenate([one.arrived_s for one, _ in waiting])
    rows = np.concatenate([one.rows_between(starts, ends) for one, _ in waiting])
    chances = np.concatenate([np.full(len(one.batches), chance) for one, chance in waiting])
    return expected_stale_s(arrived_s, rows, chances, fresh_to_s, now_s)
