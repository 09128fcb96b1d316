"""Whether a query gets what it asked for: measured over the last minute and over its life, with causes."""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.adapt.causes import Circumstances, StreamRates, with_causes
from penstock.engines.spark.results.measures import QueryMeasures
from penstock.engines.spark.status.running import Running
from penstock.model.qos import Judgement, Measured, QoS, Verdict, overall


@dataclass(frozen=True, slots=True)
class Standing:
    """What is known of a query that has begun.

    `waiting_stale_s` is how long its result is stale by now because of rows that wait; `waiting_s` how old
    the first of them is that makes a result, both expected.
    """

    measures: QueryMeasures
    memory_bytes: float
    waiting_stale_s: float = 0.0
    waiting_s: float = 0.0


def measured_lately(qos: QoS, one: Standing, now_s: float) -> Measured:
    """Over the last minute; memory as it is now.

    Results that are not there yet take at least as long as their rows have waited by now. As long as that is
    fine by what was asked, and nothing came out in the last minute, nothing is known of latency.
    """
    lately = one.measures.lately(now_s)
    latency_s = lately.mean_latency_s
    if latency_s is not None:
        latency_s = max(latency_s, one.waiting_s)
    elif qos.latency_s is not None and one.waiting_s > qos.latency_s * (1 + qos.tolerance):
        latency_s = one.waiting_s
    return Measured(latency_s, one.memory_bytes, lately.rows_per_s, lately.freshness(one.waiting_stale_s))


def measured_in_life(one: Standing, end_s: float) -> Measured:
    """Since it began; the most memory that it was seen to hold."""
    life, most_bytes = one.measures.life(end_s), max(sum(one.measures.most_bytes), one.memory_bytes)
    return Measured(life.mean_latency_s, most_bytes, life.rows_per_s, life.freshness(one.waiting_stale_s))


def judged(qos: QoS, got: Measured, known: Circumstances, running: Running | None) -> tuple[Judgement, ...]:
    """Each wish, and the cause where it is violated: by what is known of the query and of what runs it."""
    judgements = qos.judged(got)
    if running is not None and overall(judgements) is Verdict.violated:
        known = replace(
            known,
            waiting=running.queues,
            work=running.work,
            streams=[_on_average(one) for one in running.bringing] if known.ended else running.bringing,
            remembered=running.remembered,
            fixed_s=running.fixed_s,
        )
    return with_causes(judgements, known)


def _on_average(one: StreamRates) -> StreamRates:
    """What a stream brought while it was there."""
    return replace(one, lately_per_s=one.mean_per_s)
