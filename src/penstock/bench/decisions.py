"""What one scheduling decision costs, with few and with very many ready units.

A decision is everything control does between two steps: take in the finished one, queue what it put out,
rank again what changed, choose, and form the next train. Every unit always has rows waiting, so all of them
are ready, and each decision is followed by an arrival that makes another unit's rank change.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from penstock.control.commands import RunStep
from penstock.control.events import BatchArrived, QueriesSubmitted, StepFinished
from penstock.control.machine import Control
from penstock.control.units import UnitState
from penstock.model.batch import Batch
from penstock.model.estimates import Estimate
from penstock.model.operators import Select, Source
from penstock.model.query import PlanNode, Query
from penstock.policies.parsing import MAKERS, parse
from penstock.policies.ranks.base import TrueRow

UNITS = (100, 1_000, 10_000, 100_000)


@dataclass(frozen=True, slots=True)
class Measured:
    """One policy with so many ready units."""

    policy: str
    units: int
    us_per_decision: float


def measure(
    policies: tuple[str, ...] = tuple(MAKERS),
    sizes: tuple[int, ...] = UNITS,
    decisions: int = 20_000,
    progress: Callable[[int, int], None] | None = None,
) -> Iterator[Measured]:
    """Each policy at each size: the best of three stretches, since noise only ever adds."""
    queries = _queries(max(sizes))
    done, total = 0, len(policies) * len(sizes)
    for policy in policies:
        for size in sizes:
            if progress is not None:
                progress(done, total)
            yield Measured(policy, size, round(_microseconds(policy, queries[:size], decisions), 3))
            done += 1


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


def _microseconds(policy: str, queries: tuple[Query, ...], decisions: int) -> float:
    oracle = _oracle if parse(policy).needs_oracle else None
    control = Control(f"{policy}(rows=1)" if oracle is None else policy, oracle=oracle)
    started = [c for c in control.handle(QueriesSubmitted(0.0, queries)) if isinstance(c, RunStep)]
    for number in range(len(queries)):
        for again in range(2):
            at_s = (2 * number + again) * 1e-6
            started += [c for c in control.handle(_arrival(number, again, at_s)) if isinstance(c, RunStep)]
    now_s, command = 1.0, started[-1]
    offsets = [2] * len(queries)
    best = float("inf")
    for _ in range(3):
        gc.collect()
        begun = time.process_time()
        for _ in range(decisions):
            now_s += 1e-6
            number = int(command.takes[0].batches[0].leaf[1:])
            commands = control.handle(StepFinished(now_s, command.step, 1e-3))
            command = commands[-1]  # type: ignore[assignment]
            # The unit that ran gets a row back, so that all stay ready.
            control.handle(_arrival(number, offsets[number], now_s))
            offsets[number] += 1
        best = min(best, time.process_time() - begun)
    return best / decisions * 1e6


def _arrival(stream: int, offset: int, at_s: float) -> BatchArrived:
    name = f"s{stream}"
    return BatchArrived(at_s, name, Batch(1, 100.0, at_s, at_s, at_s, name, offset, offset + 1))


def _oracle(unit: UnitState) -> Iterator[TrueRow]:
    for reader in unit.readers:
        for batch in reader.queue.slice(reader.claimed, reader.queue.tail):
            yield TrueRow(unit.cost.row_s * (1 + batch.lo % 7), 1.0, 50.0)
