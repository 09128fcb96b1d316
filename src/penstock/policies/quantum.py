"""Quanta: how much one step may take."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Quantum:
    """At most so many rows, or so many seconds for each operator of the unit; None for all that waits.

    A step takes at least one row, and may take a part of a batch. What it overruns its seconds by is deducted
    from the unit's next turn, as long as the fixed cost of a step fills no more than half of what is left.
    """

    rows: int | None = None
    seconds: float | None = None

    def scaled(self, weight: float) -> Quantum:
        """The quantum of a unit that counts `weight` times."""
        return Quantum(
            None if self.rows is None else max(1, round(self.rows * weight)),
            None if self.seconds is None else self.seconds * weight,
        )


EVERYTHING = Quantum()
