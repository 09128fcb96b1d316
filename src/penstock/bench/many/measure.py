"""All samples, in turns, and how Penstock's compare with the others'."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from statistics import median

from penstock.bench.many.mixes import Mix
from penstock.bench.many.sample import Asked, Sample
from penstock.bench.many.sides import SIDES

#: How many queries the picture shows.
CURVE = (1, 10, 50, 100, 250, 1000)
#: Seconds that a sample may take before it counts as one that the side cannot finish.
LIMIT_S = 1200.0

Progress = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Settings:
    """What to measure, how long and how often."""

    mix: Mix = "filters"
    queries: int = 250
    seconds: float = 60.0
    rows_per_s: int = 1000
    repeats: int = 1
    curve: tuple[int, ...] = ()
    limit_s: float = LIMIT_S


def measure(settings: Settings, progress: Progress = lambda _: None) -> dict[str, object]:
    """Samples of all sides in turns: of the number of queries asked for, and of the points of the curve.

    Ctrl-C ends it early, with what there is.
    """
    samples: list[Sample] = []
    try:
        for repeat in range(settings.repeats):
            sides = [*SIDES, "batch"] if settings.mix == "filters" else [*SIDES]
            for side in sides:
                progress(f"{settings.queries} {settings.mix}, {side}, {repeat + 1} of {settings.repeats}")
                samples.append(_sample(settings, side, settings.queries, progress))
        for queries in settings.curve:
            for side in SIDES:
                if queries == settings.queries:
                    continue
                progress(f"{queries} {settings.mix}, {side}")
                if _is_beyond(samples, side, queries):
                    untried = Sample(side, settings.mix, queries, failed="not tried: it did not finish fewer")
                    samples.append(untried)
                else:
                    samples.append(_sample(settings, side, queries, progress))
    except KeyboardInterrupt:
        if not samples:
            raise
        progress("interrupted; this is what was measured")
    return {
        "bench": "many-queries",
        "settings": asdict(settings),
        "samples": [asdict(sample) for sample in samples],
        "ratios": ratios(samples, settings.queries),
    }


def _is_beyond(samples: Sequence[Sample], side: str, queries: int) -> bool:
    """Whether a side could not finish fewer queries."""
    return any(one.side == side and one.failed and one.queries < queries for one in samples)


def ratios(samples: Sequence[Sample], queries: int) -> dict[str, float | None]:
    """Ours over theirs, by medians; none where a side did not finish."""

    def middle(side: str, field: str) -> float | None:
        found = [getattr(one, field) for one in samples if one.side == side and one.queries == queries]
        known = [value for value in found if value is not None]
        return float(median(known)) if known else None

    def ratio(side: str, field: str) -> float | None:
        ours, theirs = middle("penstock", field), middle(side, field)
        return ours / theirs if ours is not None and theirs else None

    return {
        "latency_vs_queries": ratio("queries", "mean_latency_s"),
        "latency_vs_foreachbatch": ratio("foreachbatch", "mean_latency_s"),
        "throughput_vs_queries": ratio("queries", "rows_per_s"),
        "throughput_vs_foreachbatch": ratio("foreachbatch", "rows_per_s"),
        "throughput_vs_batch_limit": ratio("batch", "rows_per_s"),
    }


def _sample(settings: Settings, side: str, queries: int, progress: Progress) -> Sample:
    """One sample, from a process of its own."""
    asked = Asked(side, settings.mix, queries, settings.seconds, settings.rows_per_s)
    command = [sys.executable, "-m", "penstock.bench.many.sample", json.dumps(asdict(asked))]
    found, last = Sample(side, settings.mix, queries), ""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        assert process.stdout is not None
        timer = threading.Timer(settings.limit_s, process.kill)
        timer.start()
        try:
            for line in process.stdout:
                if line.startswith("{"):
                    found = Sample(**json.loads(line))
                else:
                    last = line.strip()
                    progress(f"  {last}")
        finally:
            timer.cancel()
            process.kill()
    if not found.whole and found.failed is None:
        found.failed = f"did not finish within {settings.limit_s:g} s; the last it said was: {last}"
    return found
