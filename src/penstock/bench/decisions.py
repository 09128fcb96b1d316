"""What one scheduling decision costs, with few and with very many ready units.

A decision is everything control does between two steps: take in the finished one, queue what it put out,
rank again what changed, choose, and form the next train. All units are always ready: the one that ran gets a
row back. Another row goes to a unit chosen at random, so that ranks change all over the place; but not under
the policies that read every waiting row, whose cost is that of the rows and not of the units.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from penstock.control.commands import Command, RunStep
from penstock.control.events import BatchArrived, PolicyChanged, QueriesSubmitted, StepFinished
from penstock.control.machine import Control
from penstock.control.units import UnitState
from penstock.model.batch import Batch
from penstock.model.estimates import Estimate
from penstock.model.operators import Select, Source
from penstock.model.query import PlanNode, Query
from penstock.policies.parsing import MAKERS, parse
from penstock.policies.ranks.base import TrueRow

UNITS = (100, 10_000, 100_000)


@dataclass(frozen=True, slots=True)
class Measured:
    """One policy with so many ready units."""

    policy: str
    units: int
    us_per_decision: float


def measure(
    policies: tuple[str, ...] = tuple(MAKERS),
    sizes: tuple[int, ...] = UNITS,
    decisions: int = 5_000,
    progress: Callable[[int, int], None] | None = None,
) -> list[Measured]:
    """Each policy at each size: the best of three stretches, since noise only ever adds."""
    measured: list[Measured] = []
    for size in sizes:
        ready = _ReadyUnits(size)
        # Those that read every waiting row come first: rows pile up where policies do not take turns.
        for policy in sorted(policies, key=lambda text: not parse(text).needs_oracle):
            if progress is not None:
                progress(len(measured), len(sizes) * len(policies))
            measured.append(Measured(policy, size, round(ready.microseconds(policy, decisions), 3)))
    return sorted(measured, key=lambda one: policies.index(one.policy))


class _ReadyUnits:
    """A control with so many units, all of which always have rows waiting; the policy changes meanwhile."""

    def __init__(self, size: int) -> None:
        self._control = Control(oracle=_oracle)
        self._control.handle(QueriesSubmitted(0.0, _queries(size)))
        self._now_s = 0.0
        self._offsets = [0] * size
        self._rng = np.random.default_rng(2)
        self._step: RunStep
        for stream in range(2 * size):
            self._arrive(stream % size)

    def microseconds(self, policy: str, decisions: int) -> float:
        reads_rows = parse(policy).needs_oracle
        text = policy if reads_rows or "(" in policy else f"{policy}(rows=1)"
        self._control.handle(PolicyChanged(self._now_s, text))
        best = float("inf")
        for _ in range(3):
            others = self._rng.integers(len(self._offsets), size=decisions).tolist()
            gc.collect()
            begun = time.process_time()
            for other in others:
                stream = int(self._step.takes[0].batches[0].leaf[1:])
                self._follow(self._control.handle(StepFinished(self._now_s, self._step.step, 1e-3)))
                self._arrive(stream)
                if not reads_rows:
                    self._arrive(other)
            best = min(best, time.process_time() - begun)
        return best / decisions * 1e6

    def _arrive(self, stream: int) -> None:
        self._now_s += 1e-6
        name, offset = f"s{stream}", self._offsets[stream]
        self._offsets[stream] += 1
        batch = Batch(1, 100.0, self._now_s, self._now_s, self._now_s, name, offset, offset + 1)
        self._follow(self._control.handle(BatchArrived(self._now_s, name, batch)))

    def _follow(self, commands: list[Command]) -> None:
        for command in commands:
            if type(command) is RunStep:
                self._step = command


def _queries(count: int) -> tuple[Query, ...]:
    """One-operator queries, each on its own stream, no two of the same cost."""
    rng = np.random.default_rng(1)
    costs, shares = rng.uniform(1e-4, 1e-2, count), rng.uniform(0.1, 0.9, count)
    return tuple(
        Query(
            f"q{n}",
            PlanNode(
                Select("x > 0"),
                (PlanNode(Source(f"s{n}")),),
                name=f"f{n}",
                estimate=Estimate(float(costs[n]), float(shares[n])),
            ),
        )
        for n in range(count)
    )


def _oracle(unit: UnitState) -> Iterator[TrueRow]:
    for reader in unit.readers:
        for batch in reader.unclaimed():
            yield TrueRow(unit.cost.row_s * (1 + batch.lo % 7), 1.0, 50.0)
