"""A status in a screen: a line for each query, those first that somebody should look at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from penstock.engines.spark.status.query_states import PartState, QueryState
from penstock.sql.text.quantities import shown_bytes

if TYPE_CHECKING:
    from penstock.engines.spark.failing import Failing
    from penstock.engines.spark.status.status import QueryStatus, Status

#: The most lines for queries, for streams and for what fails; of more, those that matter most.
_QUERIES, _STREAMS, _FAILING = 20, 6, 6
_WIDTH = 110
_ORDER = (QueryState.failed, QueryState.held, QueryState.draining, QueryState.running)


def status_text(status: Status) -> str:
    """At most 40 lines or so."""
    lines = [
        f"policy {status.policy}, {len(status.queries)} queries, {status.totals.steps:,} steps, "
        f"{shown_bytes(status.queued_bytes)} queued"
    ]
    lines += _failing(status)
    streams = sorted(status.streams.values(), key=lambda one: one.state is not PartState.failing)
    table: list[tuple[str, ...]] = [
        (one.name, one.state.value, f"{one.rows:,}", f"{one.late_rows:,}", f"{one.bad_rows:,}")
        for one in streams[:_STREAMS]
    ]
    lines += _table(("stream", "state", "rows", "late", "bad"), table)
    lines += _more(len(streams) - _STREAMS, "streams")
    urgent = {state: place for place, state in enumerate(_ORDER)}
    queries = sorted(status.queries.values(), key=lambda one: urgent.get(one.state, len(_ORDER)))
    table = [_query(one) for one in queries[:_QUERIES]]
    lines += _table(("query", "state", "rows", "mean latency", "stale", "waiting", "met"), table)
    lines += _more(len(queries) - _QUERIES, "queries")
    return "\n".join(lines)


def _query(one: QueryStatus) -> tuple[str, ...]:
    mean_s, met = one.latencies.mean_s, one.met()
    return (
        one.name,
        one.state.value,
        f"{one.rows:,}",
        f"{mean_s:.3f} s" if mean_s is not None else "",
        f"{one.staleness:.0%}",
        f"{one.waiting_rows:,}" if one.waiting_rows else "",
        "" if met is None else "yes" if met else "no",
    )


def _failing(status: Status) -> list[str]:
    found = problem_lines(status)
    found += [f"query '{one.name}' failed: {one.failure}" for one in status.queries.values() if one.failure]
    shown = [line if len(line) <= _WIDTH else f"{line[: _WIDTH - 1]}…" for line in found[:_FAILING]]
    return shown + _more(len(found) - _FAILING, "that fail")


def problem_lines(status: Status) -> list[str]:
    """What fails by itself, and streams of which something is wrong, each in a line with the reason."""
    found = [failing_line(name, failing, status.at_s) for name, failing in status.failing.items()]
    return found + [f"stream {one.name}: {one.problem}" for one in status.streams.values() if one.problem]


def failing_line(name: str, failing: Failing, now_s: float) -> str:
    """What fails, why, since when, and when it is tried again."""
    again_s, for_s = max(0.0, failing.next_try_s - now_s), max(0.0, now_s - failing.since_s)
    reason = next(iter(failing.reason.splitlines()), "")
    return f"{name} fails: {reason} (for {for_s:.0f} s, tried {failing.tries}×, again in {again_s:.0f} s)"


def _more(count: int, what: str) -> list[str]:
    return [f"… and {count} more {what}"] if count > 0 else []


def _table(head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> list[str]:
    if not rows:
        return []
    widths = [min(40, max(len(row[place]) for row in (head, *rows))) for place in range(len(head))]
    made = []
    for row in (head, *rows):
        cells = [
            cell[:width].ljust(width) if place < 2 else cell[:width].rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        made.append("  ".join(cells).rstrip())
    return made
