"""Partitions: which units a thread runs, and by which policy (HMTS' second level; StreamAPAS' workers)."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

from penstock.control.ready import ReadySet
from penstock.policies.policy import Policy
from penstock.policies.quantum import Quantum
from penstock.policies.ranks.base import Rank

if TYPE_CHECKING:
    from penstock.control.units import UnitState


class Partition:
    """The units one thread runs (in a pool: several threads), their ready set and their instruction queue.

    The inbox is StreamAPAS' instruction queue: units to look at again, because rows came, or they are new,
    gone or of another priority. It is served before the ready set, and only by the partition's own thread.
    """

    __slots__ = (
        "expires", "in_turns", "inbox", "most_bytes", "most_rows", "name", "number", "pass_s", "policy",
        "priority", "quantum", "queued", "rank", "ready", "rerank", "running", "size", "sizes", "stirred",
        "threads", "turn", "units", "worker",
    )  # fmt: skip

    def __init__(
        self,
        number: int,
        policy: Policy,
        priority: float,
        threads: int,
        worker: int | None,
        stirred: list[Partition],
        most_rows: int | None = None,
        most_bytes: float = inf,
        name: str = "",
    ) -> None:
        self.number, self.name = number, name
        self.policy = policy
        self.rank = policy.rank
        self.expires = type(policy.rank).expires_s is not Rank.expires_s  # whether priorities ever do
        self.in_turns = "turn" in policy.rank.reads
        self.sizes = type(policy.rank).quantum is not Rank.quantum  # whether the rank chooses the quantum
        self.most_rows, self.most_bytes = most_rows, most_bytes
        self.quantum = at_most(policy.quantum, most_rows)
        self.priority = priority
        self.threads = threads
        self.worker = worker
        self.stirred = stirred  # all partitions with something in their inbox
        self.units: list[UnitState] = []
        self.ready = ReadySet()
        self.inbox: list[UnitState] = []
        self.rerank = False  # whether new rows change the priority of a unit that is ready already
        self.running = 0
        self.turn = -1
        self.size = 1
        self.pass_s = 0.0
        self.queued = False  # whether the thread scheduler has it in line

    def note(self, unit: UnitState) -> None:
        """Instructs the partition to look at the unit before it decides next."""
        if not unit.in_inbox:
            unit.in_inbox = True
            if not self.inbox:
                self.stirred.append(self)
            self.inbox.append(unit)


def at_most(quantum: Quantum, most_rows: int | None) -> Quantum:
    """The quantum, with no more than that many rows."""
    if most_rows is None or (quantum.rows is not None and quantum.rows <= most_rows):
        return quantum
    return Quantum(most_rows, quantum.seconds)
