"""Everything in turns, several times over: medians, their spread, and what StreamAPAS says of them."""

from __future__ import annotations

import gc
import os
import platform
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median, stdev
from typing import Any, TypeAlias

from penstock import __version__
from penstock.bench.scheduling.claims import Claim, is_less
from penstock.bench.transport.measures import MEASURES

#: What a step costs on Spark before its first row: the least of what `bench drift` and others have seen.
STEP_S = 0.03

Progress: TypeAlias = Callable[[int, int], None]
#: What was measured of each, repeat by repeat, in microseconds.
Samples: TypeAlias = Mapping[str, Sequence[float]]


@dataclass(frozen=True, slots=True)
class Settings:
    """How many batches go through each, and how often."""

    handles: int = 20_000
    repeats: int = 9

    @staticmethod
    def quick() -> Settings:
        """Seconds instead of a minute."""
        return Settings(handles=3_000, repeats=3)


def measure(settings: Settings, progress: Progress = lambda *_: None) -> dict[str, Any]:
    """All of it, in another order in each repeat, so that nothing is always measured beside the same."""
    samples: dict[str, list[float]] = {name: [] for name in MEASURES}
    total, done = settings.repeats * len(MEASURES), 0
    for repeat in range(settings.repeats):
        names = list(MEASURES)
        random.Random(repeat).shuffle(names)
        for name in names:
            samples[name].append(_once(name, settings.handles))
            done += 1
            progress(done, total)
    return concluded(settings, samples)


def _once(name: str, handles: int) -> float:
    """Microseconds; the first tenth is to warm up."""
    MEASURES[name](max(handles // 10, 500))
    gc.collect()
    gc.disable()
    try:
        return MEASURES[name](handles) * 1e6
    finally:
        gc.enable()


def concluded(settings: Settings, samples: Samples) -> dict[str, Any]:
    """Everything as `--json` prints it."""
    return {
        "bench": "transport",
        "settings": asdict(settings),
        "measured_on": measured_on(),
        "samples": {name: list(values) for name, values in samples.items()},
        "table": table(samples),
        "claims": [claim.as_json() for claim in claims(samples)],
        "handles": handles(samples),
    }


def measured_on() -> str:
    """Which interpreter, on how many cores."""
    implementation = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{implementation}, {os.cpu_count()} cores, Penstock {__version__}"


def table(samples: Samples) -> list[dict[str, Any]]:
    """A line for each: the median, and the standard deviation between repeats."""
    return [
        {"name": name, "us": median(values), "us_std": stdev(values) if len(values) > 1 else 0.0}
        for name, values in samples.items()
    ]


def handles(samples: Samples) -> list[dict[str, Any]]:
    """What a batch costs from one thread to another that waits for it, and what share of a step that is.

    It is put and taken with both signals, its operator goes through the ready queue, and a thread wakes.
    """
    middle = {name: median(values) for name, values in samples.items()}
    ways = (
        ("synch, pool of 3", "synch", "ready queue, shared: 3 threads"),
        ("V1, pool of 3", "V1", "ready queue, shared: 3 threads"),
        ("V1, owned", "V1", "ready queue, shared: 1 threads"),
        ("V2, lock-free, owned", "V2, lock-free", "ready queue, own"),
    )
    found = []
    for way, layer, queue in ways:
        us = middle[f"layer, {layer}: with signals"] + middle[queue] + middle["waking a thread"]
        found.append({"way": way, "us": us, "share_of_step": us * 1e-6 / STEP_S})
    return found


def claims(samples: Samples) -> list[Claim]:
    """What the paper says of buffers, signals and queues, where they can be looked at by themselves."""
    values: dict[str, list[float | None]] = {name: list(found) for name, found in samples.items()}
    for kind in ("V1", "V2, lock-free"):
        pairs = zip(
            samples[f"layer, {kind}: with signals"], samples[f"layer, {kind}: without signals"], strict=True
        )
        values[f"{kind}: signals"] = [max(with_ - without, 1e-3) for with_, without in pairs]
    pair, through = "one puts, one gets", "one puts, one takes"
    said = (
        (
            "a lock-free buffer costs half of a locked one",
            f"buffer, lock-free: {pair}",
            f"buffer, locked: {pair}",
            0.5,
        ),
        (
            "a buffer for a single producer costs no more than a lock-free one",
            f"buffer, single-producer: {pair}",
            f"buffer, lock-free: {pair}",
            1.0,
        ),
        ("V2's signals cost less than V1's", "V2, lock-free: signals", "V1: signals", 1.0),
        (
            "V1 costs less than a lock for every call",
            f"layer, V1: {through}",
            f"layer, synch: {through}",
            1.0,
        ),
        (
            "a worker's own ready queue costs less than one of three workers",
            "ready queue, own",
            "ready queue, shared: 3 threads",
            1.0,
        ),
    )
    return [is_less(text, values, ours, theirs, factor) for text, ours, theirs, factor in said]


def costs(measured: Mapping[str, Any]) -> dict[str, Any]:
    """What `experiments/handing_over.json` holds: medians, and where they are from."""
    return {
        "measured_on": f"{measured['measured_on']}, medians of {measured['settings']['repeats']}",
        "us": {line["name"]: round(line["us"], 4) for line in measured["table"]},
    }
