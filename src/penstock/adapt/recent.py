"""Lately: how much running totals have grown in the last while, by marks that are set as they grow."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple


class Mark(NamedTuple):
    """What some totals were at a moment."""

    at_s: float
    totals: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Marks:
    """A few marks of totals that only grow, the oldest first: enough to tell what came in the last `span_s`.

    They are set when totals have grown and `step_s` have passed since the last, so that few are kept however
    often that is: one of what totals are, and one of what they were before, since nothing may have come for
    long.
    """

    marks: tuple[Mark, ...]
    span_s: float
    step_s: float

    @property
    def due_s(self) -> float:
        """When the next is to be set."""
        return self.marks[-1].at_s + self.step_s

    def grown(self, before: Mark, now: Mark) -> Marks:
        """With what totals are now, and were when they had grown the last time; what is too old goes."""
        marks = (*self.marks, before, now) if before.at_s >= self.marks[-1].at_s else (*self.marks, now)
        first = _last_before(marks, now.at_s - self.span_s)
        return Marks(marks[first:], self.span_s, self.step_s)

    def start(self, now_s: float, last: Mark) -> Mark:
        """The mark from which on the last while counts; `last` are the totals, and when they grew last.

        It is at least `span_s` ago, by up to `step_s` more if totals grow often, or since the beginning.
        """
        if last.at_s <= now_s - self.span_s:
            return last
        return self.marks[_last_before(self.marks, now_s - self.span_s)]


def _last_before(marks: tuple[Mark, ...], at_s: float) -> int:
    """The place of the last mark up to a time, or of the first."""
    found = 0
    for place, mark in enumerate(marks):
        if mark.at_s <= at_s:
            found = place
    return found
