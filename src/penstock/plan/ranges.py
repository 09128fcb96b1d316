"""What each number of a plan may be: QoS, estimates, windows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import inf, isfinite

from penstock.model.estimates import Estimate
from penstock.model.qos import QoS
from penstock.model.window import Window


@dataclass(frozen=True, slots=True)
class Range:
    """The values a number may take, and how to say so. No range holds NaN."""

    words: str
    holds: Callable[[float], bool]


POSITIVE = Range("greater than 0 and finite", lambda value: 0 < value < inf)
NOT_NEGATIVE = Range("0 or more and finite", lambda value: 0 <= value < inf)
SHARE = Range("greater than 0 and at most 1", lambda value: 0 < value <= 1)
TOLERANCE = Range("at least 0 and less than 1", lambda value: 0 <= value < 1)

QOS: Mapping[str, Range] = {
    "latency_s": POSITIVE,
    "memory_bytes": POSITIVE,
    "throughput_per_s": POSITIVE,
    "freshness": SHARE,
    "weight": SHARE,
    "tolerance": TOLERANCE,
}
ESTIMATE: Mapping[str, Range] = {
    "cost_s": NOT_NEGATIVE,
    "selectivity": NOT_NEGATIVE,
    "in_bytes": NOT_NEGATIVE,
    "out_bytes": NOT_NEGATIVE,
}


def check_qos(qos: QoS) -> Iterator[str]:
    """Complaints about a QoS."""
    for name, allowed in QOS.items():
        yield from _check(f"qos.{name}", getattr(qos, name), allowed)


def check_start(start_s: float | None) -> Iterator[str]:
    """Complaints about a time to start."""
    yield from _check("start_s", start_s, NOT_NEGATIVE)


def check_estimate(estimate: Estimate) -> Iterator[str]:
    """Complaints about an estimate's numbers."""
    for name, allowed in ESTIMATE.items():
        yield from _check(f"estimate.{name}", getattr(estimate, name), allowed)
    for port, selectivity in enumerate(estimate.ports):
        yield from _check(f"estimate.ports[{port}]", selectivity, NOT_NEGATIVE)


def check_window(field: str, window: Window) -> Iterator[str]:
    """Complaints about a window that stands in that field of its operator."""
    for name in ("begin", "end", "hop", "end_of_query"):
        value = getattr(window, name)
        if value is None:
            continue
        if not isfinite(value):
            yield f"has {field}.{name} {value}; it must be a finite number"
        elif window.kind == "count" and (value < 0 or value != int(value)):
            yield f"has {field}.{name} {value}, but a window by count needs whole row numbers from 0"
    if window.width <= 0:
        yield f"has {field} from {window.begin} to {window.end}; a window must end after it begins"
    if window.step <= 0:
        yield f"has {field}.hop {window.hop}; it must be greater than 0 (leave it out to hop by the width)"
    if window.step > window.width:
        yield (
            f"has {field}.hop {window.hop}, more than the width {window.width}, so the rows between two "
            "windows would be lost; hop by at most the width"
        )
    if window.end_of_query is not None and window.end_of_query <= window.begin:
        yield (
            f"has {field}.end_of_query {window.end_of_query}, but the first window begins at "
            f"{window.begin}; the query must end after that"
        )


def _check(name: str, value: float | None, allowed: Range) -> Iterator[str]:
    if value is not None and not allowed.holds(value):
        yield f"has {name} {value}; it must be {allowed.words}"
