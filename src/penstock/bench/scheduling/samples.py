"""What a run of a policy comes to, and what is concluded from many: tables and claims."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import mean, stdev
from typing import Any

from penstock.bench.scheduling.claims import Claim, is_least, is_less

#: What is measured of a run, and how it is called.
MEASURES = {
    "mean_latency_s": "mean latency",
    "p95_latency_s": "p95",
    "mean_bytes": "memory",
    "most_bytes": "most memory",
    "staleness": "staleness",
    "weighted_staleness": "weighted",
    "output_deviation": "deviation",
    "steps": "steps",
    "busy": "busy",
}


@dataclass(frozen=True, slots=True)
class Sample:
    """One run of one policy; `failed` says why nothing is known.

    Stale and queued time counts until all rows are through, and is told per second of feeding, so that nobody
    gains by leaving work for later. `busy` is the share of its workers' time that steps took.
    """

    policy: str
    repeat: int
    failed: str | None = None
    mean_latency_s: float | None = None
    p95_latency_s: float | None = None
    mean_bytes: float | None = None
    most_bytes: float | None = None
    staleness: float | None = None
    weighted_staleness: float | None = None
    output_deviation: float | None = None
    steps: int | None = None
    busy: float | None = None
    taken_s: float | None = None
    rows_out: int | None = None
    units: int | None = None


def table(samples: Sequence[Sample]) -> list[dict[str, Any]]:
    """A line for each policy: means over repeats, and `<name>_std`, their spread; the least latency first."""
    lines = []
    for policy in dict.fromkeys(sample.policy for sample in samples):
        mine = [sample for sample in samples if sample.policy == policy and sample.failed is None]
        line: dict[str, Any] = {"policy": policy, "runs": len(mine)}
        for measure_ in (*MEASURES, "units"):
            values = [float(value) for one in mine if (value := getattr(one, measure_)) is not None]
            line[measure_] = mean(values) if values else None
            line[f"{measure_}_std"] = stdev(values) if len(values) > 1 else 0.0
        lines.append(line)
    return sorted(lines, key=lambda line: line["mean_latency_s"] or float("inf"))


def values_of(samples: Sequence[Sample], measure_: str) -> dict[str, list[float | None]]:
    """One measure of each policy, repeat by repeat."""
    found: dict[str, list[float | None]] = {}
    for sample in sorted(samples, key=lambda one: one.repeat):
        found.setdefault(sample.policy, []).append(getattr(sample, measure_))
    return found


def claims(samples: Sequence[Sample]) -> list[Claim]:
    """What the papers say of policies, held against the samples."""
    stale, weighted = values_of(samples, "staleness"), values_of(samples, "weighted_staleness")
    others = ("rate-based", "round-robin", "fcfs")
    found = [is_less(f"fas-mcq is less stale than {other}", stale, "fas-mcq", other) for other in others]
    found += [
        is_less(f"fas-mcq is less stale by weight than {other}", weighted, "fas-mcq", other)
        for other in others
    ]
    latency, memory = values_of(samples, "mean_latency_s"), values_of(samples, "mean_bytes")
    quick, small = ("path-capacity", "latency-chart"), ("segment", "chain", "memory-chart")
    found.append(is_least("path-capacity or latency-chart has the least latency", latency, quick))
    # On chains both order by results per second; nothing that is cut differently makes them differ.
    rest = {name: values for name, values in latency.items() if name != "rate-based"}
    found.append(is_least("the same, rate-based left out, which decides as latency-chart does", rest, quick))
    found.append(is_least("segment, chain or memory-chart has the least memory", memory, small))
    return found
