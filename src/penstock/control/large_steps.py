"""Which steps are run at large: by many tasks that read and write files, instead of in the driver's hand.

A step at large costs about a second before its first row, and then uses all cores. So it is worth that where
far more waits than one step in hand takes, and nobody asks for latency.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from penstock.model.scheduling import Way
from penstock.policies.quantum import Quantum

if TYPE_CHECKING:
    from penstock.control.units import UnitState


class LargeSteps(msgspec.Struct, frozen=True):
    """How steps are run, on how many cores, and how much a step at large takes."""

    way: Way = "in-hand"
    cores: int = 1
    #: What a step at large costs beyond one in hand, whatever it processes.
    extra_s: float = 1.0
    most_rows: int = 100_000_000
    most_bytes: float = 16 << 30

    def chosen(self, unit: UnitState, step: int, quantum: Quantum) -> bool:
        """Whether this step of a unit is to be run at large; `quantum` is what it would take in hand."""
        if not unit.may_be_large or unit.finishing:
            return False
        match self.way:
            case "in-hand":
                return False
            case "at-large":
                return True
            case "alternately":
                return step % 2 == 0
            case "by-size":
                return self._pays(unit, quantum)

    def _pays(self, unit: UnitState, quantum: Quantum) -> bool:
        """Whether all that waits takes so much longer in hand."""
        partition = unit.partition
        most = partition.most_rows
        # Anything but the engine's own limit that says how much a step takes means a step in hand.
        is_bounded = partition.policy.quantum != Quantum() or quantum != partition.quantum
        if most is None or is_bounded or partition.sizes or unit.latency_s is not None:
            return False
        spared_s = unit.pending * unit.cost.row_s * (1 - 1 / self.cores)
        return unit.pending > 2 * most and spared_s > self.extra_s


#: All steps are in hand: what virtual time knows.
IN_HAND = LargeSteps()
