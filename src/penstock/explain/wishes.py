"""What a query's owner asked for, in people's words."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from penstock.explain.quantities import rate_text
from penstock.model.qos import QoS
from penstock.model.query import Query
from penstock.sql.text.quantities import shown_bytes, shown_seconds


def wishes(qos: QoS) -> str:
    """What a query asks for, in people's words."""
    said = []
    if qos.latency_s is not None:
        said.append(f"results within {shown_seconds(qos.latency_s)} ± {qos.tolerance:.0%}")
    if qos.memory_bytes is not None:
        said.append(f"at most {shown_bytes(qos.memory_bytes)} of memory")
    if qos.throughput_per_s is not None:
        said.append(f"at least {rate_text(qos.throughput_per_s)} rows/s")
    if qos.freshness is not None:
        said.append(f"fresh {qos.freshness:.0%} of the time")
    if qos.weight != 1.0:
        said.append(f"weight {qos.weight:g}")
    return ", ".join(said) or "none"


def life(query: Query) -> Iterator[str]:
    """When it runs, if that is not at once and for ever, and what does not hold it."""
    if query.one_time:
        yield "one time"
    if query.start_s is not None:
        yield f"starts {_moment(query.start_s)}"
    if query.back_s:
        yield f"looks {shown_seconds(round(query.back_s))} back"
    if query.on_error == "skip":
        yield "leaves out rows that it cannot process"
    if query.windows:
        yield f"stops after {query.windows} window{'s' if query.windows > 1 else ''}"
    if query.stop_s is not None:
        yield f"stops {_moment(query.stop_s)}"


def _moment(seconds: float) -> str:
    return f"{datetime.fromtimestamp(round(seconds), UTC):%Y-%m-%d %H:%M:%S} UTC"
