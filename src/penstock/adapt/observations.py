"""What the monitor is told: by each step, and by jobs that profile a part of one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from penstock.model.graph import Port


@dataclass(frozen=True, slots=True)
class PartTiming:
    """A part of a step that was timed by itself: its name within the unit, the operators that it runs, the
    rows that went in, and seconds. `releases` is the operator whose rows begin it, if they are not a queue's.
    What is no Spark job, such as writing a file, takes as long for few rows as for many, unless it is seen
    not to.
    """

    key: str
    operators: tuple[str, ...]
    rows: int
    seconds: float
    releases: str | None = None
    is_job: bool = True


@dataclass(frozen=True, slots=True)
class RowCounts:
    """Rows that an operator took in and put out, by port; None if nobody knows how many went in.

    `later` is whether rows come out in another step than they went in. Then `released` are the rows that it
    remembered and now makes its output of; how many come out of these may not be known.
    """

    operator: str
    rows_in: int | None
    rows_out: Mapping[int, int]
    later: bool = False
    released: int = 0

    @property
    def is_whole(self) -> bool:
        """Whether nothing of it is unknown."""
        return self.rows_in is not None and (not self.released or bool(self.rows_out))


@dataclass(frozen=True, slots=True)
class RowSizes:
    """The size of some rows of a port, as a queue holds them."""

    port: Port
    rows: int
    bytes: float


@dataclass(frozen=True, slots=True)
class StepObservation:
    """One step of a unit: rows from each queue, and all that is known of its parts without asking further."""

    unit: tuple[str, ...]
    entered: Mapping[Port, int]
    timings: tuple[PartTiming, ...]
    passed: tuple[RowCounts, ...] = ()
    weighed: tuple[RowSizes, ...] = ()


@dataclass(frozen=True, slots=True)
class CountSample:
    """A sample: rows and bytes between the operators of a part."""

    passed: tuple[RowCounts, ...]
    weighed: tuple[RowSizes, ...] = ()


@dataclass(frozen=True, slots=True)
class TimeSample:
    """A sample: what the rows of a part cost, divided among its operators, without what any job costs.

    `rows` are those that reached each operator, or that the one of `releases` put out; `part_rows` went
    into the whole of it.
    """

    unit: tuple[str, ...]
    key: str
    seconds: Mapping[str, float]
    rows: Mapping[str, int]
    part_rows: int
    releases: str | None = None

    @property
    def row_s(self) -> float:
        """Seconds per row that goes in."""
        return sum(self.seconds.values()) / max(self.part_rows, 1)


@dataclass(frozen=True, slots=True)
class Profile:
    """What a sample of a unit's part said; nothing, if it failed or had too few rows. And what it took, in
    processor seconds."""

    counted: CountSample | None = None
    timed: TimeSample | None = None
    seconds: float = 0.0
