"""Samples of all sides in turns, over backlogs of two sizes."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from penstock.bench.scale import stepping, throughput
from penstock.bench.scale.backlog import Backlog, write
from penstock.bench.scale.processes import samples_of

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Settings:
    """How many rows, how often, and where Spark is; without a master on this machine's cores."""

    rows: tuple[int, ...] = (2_000_000, 20_000_000)
    warm_up_rows: int = 200_000
    repeats: int = 3
    master: str | None = None

    @classmethod
    def quick(cls) -> Settings:
        """Fewer rows."""
        return cls((500_000, 2_000_000))


@dataclass(frozen=True, slots=True)
class Samples:
    """Everything that was measured."""

    throughput: tuple[throughput.Sample, ...]
    steps: tuple[stepping.Sample, ...]


def measure(settings: Settings, progress: Progress = lambda _: None) -> Samples:
    """All samples, over files that are made once. Ctrl-C ends it early, with what there is."""
    runs: list[throughput.Sample] = []
    steps: list[stepping.Sample] = []
    with tempfile.TemporaryDirectory(prefix="penstock-bench-", ignore_cleanup_errors=True) as root:
        progress("making the files")
        small = write(Path(root) / "small", settings.warm_up_rows)
        backlogs = [write(Path(root) / str(rows), rows) for rows in settings.rows]
        try:
            _throughput(settings, small, backlogs, runs, progress)
            _steps(settings, small, backlogs, steps, progress)
        except KeyboardInterrupt:
            if not runs:
                raise
            progress("interrupted; this is what was measured")
    return Samples(tuple(runs), tuple(steps))


def _throughput(
    settings: Settings,
    small: Backlog,
    backlogs: Sequence[Backlog],
    found: list[throughput.Sample],
    progress: Progress,
) -> None:
    """One process for all."""
    progress("throughput")
    asked = {"repeats": settings.repeats, "master": settings.master}
    for one in samples_of("throughput", asked, [small, *backlogs], progress):
        sample = throughput.Sample(**one)
        found.append(sample)
        progress(f"    {sample.rows_per_s:,.0f} rows/s")


def _steps(
    settings: Settings,
    small: Backlog,
    backlogs: Sequence[Backlog],
    found: list[stepping.Sample],
    progress: Progress,
) -> None:
    """A process for each sample."""
    for backlog in backlogs:
        for repeat in range(settings.repeats):
            for side in stepping.SIDES:
                progress(f"steps of {backlog.rows:,} rows, {side}, {repeat + 1} of {settings.repeats}")
                asked = {"side": side, "master": settings.master}
                for one in samples_of("stepping", asked, [small, backlog], progress):
                    sample = replace(stepping.Sample(**one), repeat=repeat)
                    found.append(sample)
                    progress(f"    {sample.step_s:.2f} s, {sample.driver_bytes / 1e6:,.0f} MB")
