"""Load balance of workers that own their units: which unit had better move to another worker.

A worker's load is the seconds of work that arrive for its units in a second. One unit at a time moves, from
the busiest worker to the idlest, if that makes the busiest of the two less busy by a margin: a unit's jobs
and what it remembers stay where they are, so that a move costs little, but it must not happen back and forth.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

#: How much of the greater load a move must take away.
MARGIN = 0.1


def better_owner(loads: Sequence[Mapping[int, float]]) -> tuple[int, int] | None:
    """The unit that is to move and the place of its new owner, given each owner's units with their loads."""
    totals = [sum(units.values()) for units in loads]
    if len(totals) < 2:
        return None
    busiest = max(range(len(totals)), key=totals.__getitem__)
    idlest = min(range(len(totals)), key=totals.__getitem__)

    def after(load: float) -> float:
        return max(totals[busiest] - load, totals[idlest] + load)

    unit = min(loads[busiest], key=lambda one: (after(loads[busiest][one]), one), default=None)
    if unit is None or after(loads[busiest][unit]) > totals[busiest] * (1 - MARGIN):
        return None
    return unit, idlest
