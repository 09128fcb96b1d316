"""The schedules a file is verified under: policies with their cuts, trains of all sizes, a switch."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

from penstock.policies.parsing import MAKERS, parse

#: Cuts from one unit for everything to one per operator, and ranks that starve one thing or the other.
POLICIES = ("direct", "round-robin", "chain", "fas-mcq", "random")


@dataclass(frozen=True, slots=True)
class Schedule:
    """How one run is scheduled: the policy, the most rows of a step, the workers, and what it switches to.

    The first batch of a stream has so many rows, and each may be half again as large as all before it: so a
    log of any size has some batches to schedule.
    """

    policy: str
    train_rows: int
    workers: int
    switch_to: str | None = None
    first_batch_rows: int = 100

    def __str__(self) -> str:
        switch = f", then {self.switch_to}" if self.switch_to else ""
        return f"{self.policy}{switch}, {self.train_rows:,} rows a step, {self.workers} workers"


def schedules(policies: Sequence[str], seed: int) -> list[Schedule]:
    """One run for each policy, and one that switches from one to another half-way."""
    chance = random.Random(seed)
    found = [
        Schedule(
            policy,
            chance.choice((1, 500, 5_000, 200_000)),
            chance.choice((1, 2)),
            first_batch_rows=chance.choice((20, 300, 5_000)),
        )
        for policy in policies
    ]
    first, second = chance.choice(policies), chance.choice(list(usable()))
    return [*found, Schedule(first, chance.choice((500, 5_000)), 2, second)]


def usable() -> tuple[str, ...]:
    """The named policies that need no oracle."""
    return tuple(name for name in MAKERS if not parse(name).needs_oracle)
