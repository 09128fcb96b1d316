"""What each number of a plan may be: QoS, estimates, windows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import inf, isfinite

from penstock.model.estimates import Estimate
from penstock.model.operators import Join, is_ordered
from penstock.model.qos import QoS
from penstock.model.query import Query
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


def check_life(query: Query) -> Iterator[str]:
    """Complaints about when a query starts and stops."""
    for name in ("start_s", "stop_s", "back_s"):
        yield from _check(name, getattr(query, name), NOT_NEGATIVE)
    if query.stop_s is not None and query.stop_s <= (query.start_s or 0.0):
        yield f"has stop_s {query.stop_s}; it must be after its start"
    if query.windows < 0:
        yield f"has windows {query.windows}; it ends after 1 or more, or with 0 not by windows"


def check_on_error(query: Query) -> Iterator[str]:
    """Complaints about a query that is to leave out rows."""
    if query.on_error == "hold":
        return
    for node in query.root.post_order():
        operator = node.operator
        if isinstance(operator, Join) and operator.relation is None:
            yield "joins streams; on_error = 'skip' is for queries without such a join: leave it out"
        elif is_ordered(operator):
            yield "takes rows in time order; on_error = 'skip' is for queries that do not: leave it out"


def check_estimate(estimate: Estimate) -> Iterator[str]:
    """Complaints about an estimate's numbers."""
    for name, allowed in ESTIMATE.items():
        yield from _check(f"estimate.{name}", getattr(estimate, name), allowed)
    for port, selectivity in enumerate(estimate.ports):
        yield from _check(f"estimate.ports[{port}]", selectivity, NOT_NEGATIVE)


def check_window(field: str, window: Window) -> Iterator[str]:
    """Complaints about a window that stands in that field of its operator."""
    if window.kind in ("session", "given"):
        yield from _check_unmoved(field, window)
        return
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


def _check_unmoved(field: str, window: Window) -> Iterator[str]:
    """Complaints about a window that is where the rows put it."""
    if (window.begin, window.hop, window.end_of_query) != (0.0, None, None):
        yield f"has {field}.begin, hop or end_of_query, but a {window.kind} window is where its rows put it"
    if window.kind == "given" and window.on is None:
        yield f"has {field} of kind given without the column it is given in; name it as {field}.on"
    if window.kind == "session":
        yield from _check(f"{field}.end", window.end, POSITIVE)


def _check(name: str, value: float | None, allowed: Range) -> Iterator[str]:
    if value is not None and not allowed.holds(value):
        yield f"has {name} {value}; it must be {allowed.words}"
