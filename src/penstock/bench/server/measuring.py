"""Samples of both sides in turns: what each can take at most, and what half of that costs."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from penstock.bench.server.sides import SIDES, Side, SideName, running
from penstock.bench.server.worker import Load
from penstock.bench.server.workload import Size
from penstock.errors import ExperimentError

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Settings:
    """What to measure, how long and how often."""

    size: Size = field(default_factory=Size)
    seconds: float = 20.0
    warm_up_s: float = 15.0
    repeats: int = 3


@dataclass(frozen=True, slots=True)
class Phase:
    """What happened, and the processor time that it took."""

    load: Load
    engine_cpu_s: float
    http_cpu_s: float
    load_cpu_s: float

    @property
    def cpu_s_per_million(self) -> float:
        """Of the engine and its JVM, for a million rows that were committed."""
        return self.engine_cpu_s / (self.load.rows / 1e6)

    @property
    def http_cpu_s_per_million(self) -> float:
        """The same of the HTTP process."""
        return self.http_cpu_s / (self.load.rows / 1e6)


@dataclass(frozen=True, slots=True)
class Sample:
    """One run of one side: as fast as it takes rows, at half of that, and the same with nobody following."""

    side: SideName
    half_rows_per_s: float
    capacity: Phase
    half: Phase
    unfollowed: Phase


def measure(settings: Settings, progress: Progress) -> list[Sample]:
    """Server, program, server, …; the program gets as many rows per second as the server before it."""
    samples: list[Sample] = []
    half: float | None = None
    try:
        for repeat in range(settings.repeats):
            half = None
            for side in SIDES:
                progress(f"{side}, {repeat + 1} of {settings.repeats}")
                samples.append(_sample(side, settings, half, progress))
                half = samples[-1].half_rows_per_s
    except KeyboardInterrupt:
        if len(samples) < len(SIDES):
            raise
        progress("interrupted; this is what was measured")
    return samples


def _sample(name: SideName, settings: Settings, half: float | None, progress: Progress) -> Sample:
    with (
        tempfile.TemporaryDirectory(prefix="penstock-bench-", ignore_cleanup_errors=True) as root,
        running(name, settings.size, Path(root)) as side,
    ):
        _phase(side, settings.warm_up_s, None)
        capacity = _phase(side, settings.seconds, None)
        progress(f"  {capacity.load.rows_per_s:,.0f} rows/s at most")
        rate = half if half is not None else capacity.load.rows_per_s / 2
        followed = _phase(side, settings.seconds, rate)
        progress(f"  at {rate:,.0f} rows/s: {followed.cpu_s_per_million:.1f} CPU s per million rows")
        side.load.ask("unsubscribe")
        return Sample(name, rate, capacity, followed, _phase(side, settings.seconds, rate))


def _phase(side: Side, seconds: float, rows_per_s: float | None) -> Phase:
    before = side.cpu_times()
    load = side.load.push(seconds, rows_per_s)
    after = side.cpu_times()
    if not load.exact:
        raise ExperimentError(
            f"{side.name}: subscribers got {load.rows_received} rows of {load.rows_expected}, or others; "
            "nothing that was measured counts"
        )
    return Phase(
        load,
        after.engine_s - before.engine_s - load.own_cpu_s,
        after.http_s - before.http_s,
        after.load_s - before.load_s if side.http is not None else load.own_cpu_s,
    )
