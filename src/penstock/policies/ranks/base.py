"""What every rank has in common: what it may read of a unit, and what it says of it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import ClassVar, Literal, NamedTuple, Protocol, TypeAlias

from penstock.policies.costs import UnitCost
from penstock.policies.gains import Gains
from penstock.policies.quantum import Quantum

#: What a priority may depend on: estimates of cost, rows waiting, how long they wait, whose turn it is, the
#: weight the owner gave, the true cost of each waiting row (which only a simulator knows).
Reading: TypeAlias = Literal["cost", "pending", "age", "turn", "weight", "rows"]


class TrueRow(NamedTuple):
    """What one waiting row will really cost and yield; only a simulator can tell."""

    cost_s: float
    outputs: float
    freed_bytes: float


class RankedUnit(Protocol):
    """What a rank may read of a ready unit."""

    @property
    def cost(self) -> UnitCost:
        """What it costs and yields per row."""

    @property
    def gains(self) -> Gains:
        """What the queries it serves would have of its next step, by their weights."""

    @property
    def pending(self) -> int:
        """Rows that wait in its queues."""

    @property
    def oldest_s(self) -> float:
        """When the oldest waiting row entered the system."""

    @property
    def place_in_line(self) -> int:
        """Which of all batches put into queues so far its oldest waiting one was."""

    @property
    def place_among_ready(self) -> float:
        """Which of all units that became ready it was."""

    def next_turn(self) -> int:
        """The number of its next turn when units take turns, leaves first."""

    def true_rows(self) -> Iterator[TrueRow]:
        """Its waiting rows in order, as they really are."""


class Rank(ABC):
    """A way to order ready units: the greatest priority runs first, ties by arrival."""

    reads: ClassVar[frozenset[Reading]]

    @abstractmethod
    def priority(self, unit: RankedUnit, now_s: float) -> float:
        """How urgent the unit is."""

    def quantum(self, unit: RankedUnit, base: Quantum) -> Quantum:  # noqa: ARG002
        """How much its next step may take, given the policy's own quantum."""
        return base

    def counts_subscribers(self) -> bool:
        """Whether a query's weight counts once for each of its subscribers."""
        return False

    def named_operators(self) -> tuple[str, ...]:
        """The operators it knows by name."""
        return ()

    def expires_s(self, unit: RankedUnit, now_s: float) -> float:  # noqa: ARG002
        """When the priority must be looked at again though nothing happened."""
        return math.inf
