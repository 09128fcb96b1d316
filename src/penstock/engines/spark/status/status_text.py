"""A status in a screen: a line for each query, those first that somebody should look at."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from penstock.engines.spark.status.query_states import PartState, QueryState
from penstock.explain.quantities import rate_text
from penstock.model.qos import Judgement, Verdict
from penstock.sql.text.quantities import rough_seconds, shown_bytes

if TYPE_CHECKING:
    from penstock.engines.spark.failing import Failing
    from penstock.engines.spark.status.status import QueryStatus, Status, StreamStatus

#: The most lines for queries, for streams, for what fails and for wishes; of more, those that matter most.
_QUERIES, _STREAMS, _FAILING, _VIOLATED = 20, 6, 6, 3
_WIDTH = 110
_ORDER = (QueryState.failed, QueryState.held, QueryState.draining, QueryState.running)


def status_text(status: Status) -> str:
    """At most 40 lines or so."""
    lines = [
        f"policy {status.policy}, scheduling {status.scheduling}, {len(status.queries)} queries, "
        f"{status.totals.steps:,} steps, {shown_bytes(status.queued_bytes)} queued{freshness_text(status)}"
    ]
    lines += _failing(status)
    streams = sorted(status.streams.values(), key=lambda one: one.state is not PartState.failing)
    table: list[tuple[str, ...]] = [
        (one.name, one.state.value, f"{one.rows:,}", f"{one.late_rows:,}", f"{one.bad_rows:,}", _time(one))
        for one in streams[:_STREAMS]
    ]
    lines += _table(("stream", "state", "rows", "late", "bad", "watermark"), table)
    lines += _more(len(streams) - _STREAMS, "streams")
    urgent = {state: place for place, state in enumerate(_ORDER)}
    queries = sorted(status.queries.values(), key=lambda one: urgent.get(one.state, len(_ORDER)))
    table = [_query(one) for one in queries[:_QUERIES]]
    lines += _table(("query", "state", "rows", "mean latency", "fresh", "waiting", "wishes"), table)
    lines += _more(len(queries) - _QUERIES, "queries")
    lines += _violations(status)
    return "\n".join(lines)


def _time(one: StreamStatus) -> str:
    shown = one.watermark.strftime("%Y-%m-%d %H:%M:%S") if one.watermark is not None else ""
    return f"{shown}, waited for" if one.waited_for else shown


def _query(one: QueryStatus) -> tuple[str, ...]:
    mean_s = one.latencies.mean_s
    return (
        one.name,
        one.state.value,
        f"{one.rows:,}",
        f"{mean_s:.3f} s" if mean_s is not None else "",
        f"{one.freshness:.0%}",
        f"{one.waiting_rows:,}" if one.waiting_rows else "",
        one.verdict.value if one.judged else "",
    )


def _violations(status: Status) -> list[str]:
    """A line for each wish that is violated, with the cause."""
    found = [
        f"query '{one.name}': {judgement_text(wish)}"
        for one in status.queries.values()
        for wish in one.judged
        if wish.verdict is Verdict.violated
    ]
    return _cut(found[:_VIOLATED]) + _more(len(found) - _VIOLATED, "violated wishes")


def judgement_text(one: Judgement) -> str:
    """`latency spare, 120 ms of 2 s`, `freshness violated, 61% of 95%: it is held, and 100 rows wait …`."""
    texts: dict[str, Callable[[float], str]] = {
        "latency": rough_seconds,
        "memory": shown_bytes,
        "throughput": lambda per_s: f"{rate_text(per_s)}/s",
        "freshness": lambda share: f"{share:.0%}",
    }
    shown = texts[one.wish]
    if one.measured is None:
        return f"{one.wish} {one.verdict.value}"
    cause = f": {one.cause}" if one.cause else ""
    return f"{one.wish} {one.verdict.value}, {shown(one.measured)} of {shown(one.asked)}{cause}"


def freshness_text(status: Status) -> str:
    """`, fresh 97% (weighted 99%)`; nothing before a query has begun."""
    fresh, weighted = status.freshness, status.weighted_freshness
    if fresh is None or weighted is None:
        return ""
    return f", fresh {fresh:.0%} (weighted {weighted:.0%})"


def _failing(status: Status) -> list[str]:
    found = problem_lines(status)
    found += [f"query '{one.name}' failed: {one.failure}" for one in status.queries.values() if one.failure]
    return _cut(found[:_FAILING]) + _more(len(found) - _FAILING, "that fail")


def _cut(lines: list[str]) -> list[str]:
    return [line if len(line) <= _WIDTH else f"{line[: _WIDTH - 1]}…" for line in lines]


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
