"""The schedules a file is verified under: policies with their cuts, trains of all sizes, a switch."""

from __future__ import annotations

import inspect
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from penstock.model.scheduling import SCHEDULINGS, Way
from penstock.policies.parsing import MAKERS, parse

#: Cuts from one unit for everything to one per operator, and ranks that starve one thing or the other.
POLICIES = ("direct", "round-robin", "chain", "fas-mcq", "random")


@dataclass(frozen=True, slots=True)
class Switch:
    """Another policy, or another division among threads, while rows flow."""

    setting: Literal["policy", "scheduling"]
    value: str


@dataclass(frozen=True, slots=True)
class Schedule:
    """How one run is scheduled: the policy, the most rows of a step, the workers, and what it switches to.

    `switches` are made one after the other, each once a few steps are through. A first batch of a stream has
    so many rows, and each may be half again as large as all before it: so a log of any size has some batches
    to schedule. `steps` is how they are run, in hand or at large.
    """

    policy: str
    train_rows: int
    workers: int
    switch_to: str | None = None
    first_batch_rows: int = 100
    switches: tuple[Switch, ...] = ()
    steps: Way = "by-size"

    def __str__(self) -> str:
        switch = f", then {self.switch_to}" if self.switch_to else ""
        more = f", {len(self.switches)} switches" if self.switches else ""
        ways = "" if self.steps == "by-size" else f", steps {self.steps}"
        workers = f"{self.workers} worker{'s' if self.workers != 1 else ''}"
        return f"{self.policy}{switch}, {self.train_rows:,} rows a step{ways}, {workers}{more}"


def schedules(policies: Sequence[str], seed: int) -> list[Schedule]:
    """One run for each policy, one that switches to another half-way, and one with steps of both ways."""
    chance = random.Random(seed)
    found = [
        Schedule(
            policy,
            chance.choice((200, 500, 5_000, 200_000)),
            chance.choice((1, 2)),
            first_batch_rows=chance.choice((20, 300, 5_000)),
        )
        for policy in policies
    ]
    first, second = chance.choice(policies), chance.choice(list(usable()))
    switched = Schedule(first, chance.choice((500, 5_000)), 2, second)
    both_ways = Schedule(second, 5_000, 2, first_batch_rows=300, steps="alternately")
    return [*found, switched, both_ways]


def switching(count: int, seed: int) -> Schedule:
    """One run with so many switches of policy, cut, quantum and threads at random."""
    chance = random.Random(f"switches {seed}")
    switches = tuple(_switch(chance) for _ in range(count))
    return Schedule("fcfs", 200, 2, first_batch_rows=50, switches=switches)


def _switch(chance: random.Random) -> Switch:
    if chance.random() < 0.4:
        return Switch("scheduling", chance.choice(SCHEDULINGS))
    policy = chance.choice(usable())
    quanta = [name for name in ("rows", "seconds") if name in inspect.signature(MAKERS[policy]).parameters]
    match chance.choice([*quanta, None]):
        case "rows":
            return Switch("policy", f"{policy}(rows={chance.choice((100, 300, 1000))})")
        case "seconds":
            return Switch("policy", f"{policy}(seconds={chance.choice((0.02, 0.1))})")
        case _:
            return Switch("policy", policy)


def usable() -> tuple[str, ...]:
    """The named policies that need no oracle."""
    return tuple(name for name in MAKERS if not parse(name).needs_oracle)
