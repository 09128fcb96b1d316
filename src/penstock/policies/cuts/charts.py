"""Chart partitioning: the one method behind Chain and Stream Mill's cuts for latency and for memory.

A chart falls over time, as operators work: bytes still held, or results still owed. From the start, the end
point to which the chart falls most steeply makes one partition; repeat from there. A partitioned chart is a
list with its steepest stretch *last*: work is always added at the start, and a list grows at its end.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from operator import attrgetter

#: Keeps the slope of work that takes no time finite and above all others.
_LEAST_SECONDS = 1e-300


@dataclass(frozen=True, slots=True)
class Stretch:
    """Operators that run as one: the seconds they take and how far the chart falls meanwhile.

    The slope is kept rather than recomputed, so that scaling both does not change it by a rounding error: the
    order of stretches, which says what runs first, rests on it.
    """

    operators: tuple[str, ...]
    seconds: float
    fall: float
    slope: float

    @classmethod
    def of(cls, operators: Iterable[str], seconds: float, fall: float) -> Stretch:
        """A stretch that falls evenly."""
        return cls(tuple(operators), seconds, fall, fall / max(seconds, _LEAST_SECONDS))

    def scaled(self, share: float) -> Stretch:
        """The same for `share` rows in place of one: as steep, but shorter or longer."""
        return replace(self, seconds=self.seconds * share, fall=self.fall * share)


def prepend(head: Stretch, chart: list[Stretch]) -> list[Stretch]:
    """Puts work before a partitioned chart, in place, and partitions it again.

    The head takes in what follows as long as that is at least as steep as the head has become. The rest was
    in order already, so no more can change: O(1) amortised, each stretch being taken in once.
    """
    operators, seconds, fall, slope = list(head.operators), head.seconds, head.fall, head.slope
    while chart and chart[-1].slope >= slope:
        following = chart.pop()
        operators.extend(following.operators)
        seconds += following.seconds
        fall += following.fall
        slope = fall / max(seconds, _LEAST_SECONDS)
    chart.append(Stretch(tuple(operators), seconds, fall, slope))
    return chart


def side_by_side(stretches: Iterable[Stretch]) -> list[Stretch]:
    """One partitioned chart of several, as of a fork's branches: the steepest runs first.

    No work comes before what it depends on, for within each chart later stretches are strictly less steep.
    """
    return sorted(stretches, key=attrgetter("slope"))


def partition(path: Iterable[Stretch]) -> list[Stretch]:
    """The partitions of a chart drawn from start to end: its lower envelope, steepest last."""
    chart: list[Stretch] = []
    for stretch in reversed(list(path)):
        prepend(stretch, chart)
    return chart
