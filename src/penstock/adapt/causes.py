"""Causes: why a query does not get what it asked for, in one plain sentence with figures.

What is known at that moment is looked through in the order in which it explains most: the query is held or
has failed; its streams bring too little; a stream brings more than usual; rows wait, and which operator takes
the time; a step alone takes longer than was asked for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from penstock.explain.quantities import micros_text, rate_text, ratio_text
from penstock.model.qos import Judgement, Verdict
from penstock.sql.text.quantities import rough_seconds, shown_bytes

#: A stream that brings so many times its usual rate has a burst.
_BURST = 1.5


@dataclass(frozen=True, slots=True)
class WaitingRows:
    """Rows that wait for a query at one place, and for how long the oldest has."""

    place: str
    rows: int
    bytes: float
    for_s: float


@dataclass(frozen=True, slots=True)
class OperatorLoad:
    """An operator: what a row costs there, and seconds of work that its rows make in each second."""

    operator: str
    row_s: float
    load: float


@dataclass(frozen=True, slots=True)
class StreamRates:
    """A stream: rows per second lately, and on average."""

    stream: str
    lately_per_s: float
    mean_per_s: float


@dataclass(frozen=True, slots=True)
class WindowMemory:
    """What a stateful operator keeps of its windows."""

    operator: str
    bytes: float


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What is known of a query at a moment, or of its life; `selectivity` is its rows out for each row in.

    `most` are the bytes that waited and that were remembered when it held most. Of a query that has `ended`
    nothing is told as it is now.
    """

    held: bool = False
    failure: str | None = None
    waiting: Sequence[WaitingRows] = ()
    work: Sequence[OperatorLoad] = ()
    streams: Sequence[StreamRates] = ()
    remembered: Sequence[WindowMemory] = ()
    fixed_s: float = 0.0
    selectivity: float = 1.0
    most: tuple[float, float] = (0.0, 0.0)
    ended: bool = False


def with_causes(judgements: Sequence[Judgement], found: Circumstances) -> tuple[Judgement, ...]:
    """The judgements, each with the cause if it is violated."""
    return tuple(
        replace(one, cause=cause(one, found)) if one.verdict is Verdict.violated else one
        for one in judgements
    )


def cause(judgement: Judgement, found: Circumstances) -> str:
    """Why a wish is violated."""
    if judgement.wish == "memory":
        return _memory(found)
    if found.failure is not None or found.held:
        failed = f"it has failed ({_first_line(found.failure)})" if found.failure is not None else ""
        return _joined(failed or "it is held", _waits(found, ", and "), "")
    if judgement.wish == "throughput":
        expected = sum(one.lately_per_s for one in found.streams) * found.selectivity
        if found.streams and expected < judgement.asked:
            return _too_little(found, expected)
    return _slow(judgement, found)


def _memory(found: Circumstances) -> str:
    """The place that holds most."""
    queue = max(found.waiting, key=lambda one: one.bytes, default=None)
    state = max(found.remembered, key=lambda one: one.bytes, default=None)
    if state is not None and (queue is None or state.bytes >= queue.bytes):
        return f"windows of {state.operator} hold {shown_bytes(state.bytes)}"
    if queue is None:
        queued, remembered = found.most
        return f"when it held most, {shown_bytes(queued)} waited and windows had {shown_bytes(remembered)}"
    held = "; it has failed" if found.failure is not None else "; it is held" if found.held else ""
    return f"{shown_bytes(queue.bytes)} wait {_there(queue)}{held}"


def _too_little(found: Circumstances, expected: float) -> str:
    names = " and ".join(one.stream for one in found.streams)
    brings = "stream {} brings" if len(found.streams) == 1 else "streams {} bring"
    rate = sum(one.lately_per_s for one in found.streams)
    return (
        f"{brings.format(names)} {rate_text(rate)} rows/s, and {ratio_text(found.selectivity)} of them "
        f"come out: {rate_text(expected)} results/s"
    )


def _slow(judgement: Judgement, found: Circumstances) -> str:
    bursts = [one for one in found.streams if one.lately_per_s > _BURST * one.mean_per_s > 0]
    burst = max(bursts, key=lambda one: one.lately_per_s / one.mean_per_s, default=None)
    waits = _waits(found)
    if burst is not None and waits:
        return (
            f"a burst: stream {burst.stream} brings {rate_text(burst.lately_per_s)} rows/s, "
            f"{rate_text(burst.mean_per_s)} on average; {waits}"
        )
    step = f"a step takes {rough_seconds(found.fixed_s)} before its first row" if found.fixed_s else ""
    if not waits and judgement.wish == "latency" and step:
        turn = "" if 2 * found.fixed_s > (judgement.measured or 0.0) else "it waits for its turn: "
        return f"{turn}{step}"
    if not waits:
        waits = step if found.ended else _joined("no row waits now", step, ", and ")
    return _joined(waits, _busiest(found), "; " if waits else "") or "no step of it is known"


def _waits(found: Circumstances, before: str = "") -> str:
    """Where the oldest rows wait."""
    rows = [one for one in found.waiting if one.rows]
    oldest = max(rows, key=lambda one: one.for_s, default=None)
    if oldest is None:
        return ""
    rows_wait = "1 row waits" if oldest.rows == 1 else f"{oldest.rows:,} rows wait"
    return f"{before}{rows_wait} {_there(oldest)}"


def _there(one: WaitingRows) -> str:
    return f"{one.place}, the oldest for {rough_seconds(one.for_s)}"


def _busiest(found: Circumstances) -> str:
    """The operator that takes most of the time."""
    busiest = max(found.work, key=lambda one: one.load, default=None)
    total = sum(one.load for one in found.work)
    if busiest is None or not total:
        return ""
    return (
        f"{busiest.load / total:.0%} of its work is {busiest.operator}, {micros_text(busiest.row_s)} µs a row"
    )


def _joined(first: str, second: str, between: str) -> str:
    return f"{first}{between}{second}" if second else first


def _first_line(text: str | None) -> str:
    return next(iter((text or "").splitlines()), "")
