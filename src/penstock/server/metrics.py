"""Metrics for Prometheus, of the engine's status as plain data (`Status.as_json`) and of the processes.

    text = exposition(collect(status, processes))

It runs in the HTTP process, for each scrape anew: nothing is counted here. While the engine does not answer,
`status` is None and only the processes are told.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from prometheus_client.exposition import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    Metric,
    SummaryMetricFamily,
)

__all__ = ["CONTENT_TYPE_LATEST", "METRICS", "collect", "exposition"]

Plain: TypeAlias = Mapping[str, Any]

QUERY_STATES = ("scheduled", "running", "held", "failed", "draining", "ended")
DEFAULT_NAMESPACE = "default"


@dataclass(frozen=True, slots=True)
class Figure:
    """One metric: its name without `_total`, what it says, whether it only grows, and how it is read."""

    name: str
    says: str
    value: Callable[[Plain], float | None]
    grows: bool = False


def _of(key: str) -> Callable[[Plain], float | None]:
    return lambda one: one.get(key)


#: One value for each query.
QUERY = (
    Figure("penstock_query_rows", "Rows that the query has put out.", _of("rows"), grows=True),
    Figure(
        "penstock_query_late_rows",
        "Rows that came too late for the query's windows.",
        _of("late_rows"),
        grows=True,
    ),
    Figure(
        "penstock_query_skipped_rows",
        "Rows that the query left out since they failed.",
        _of("skipped_rows"),
        grows=True,
    ),
    Figure(
        "penstock_query_staleness_ratio",
        "Share of the time in which the query's result was out of date.",
        _of("staleness"),
    ),
    Figure(
        "penstock_query_memory_bytes",
        "Bytes that wait for the query and that its operators remember, its share of them.",
        _of("memory_bytes"),
    ),
    Figure("penstock_query_waiting_rows", "Rows that wait for the query.", _of("waiting_rows")),
)
#: One value for each stream.
STREAM = (
    Figure("penstock_stream_rows", "Rows that the stream has brought.", _of("rows"), grows=True),
    Figure(
        "penstock_stream_rows_per_second", "Rows that the stream brings lately, over 10 s.", _of("rate_per_s")
    ),
    Figure("penstock_stream_late_rows", "Rows behind the stream's watermark.", _of("late_rows"), grows=True),
    Figure(
        "penstock_stream_bad_rows", "Rows that do not fit the stream's columns.", _of("bad_rows"), grows=True
    ),
    Figure(
        "penstock_stream_failing",
        "Whether the stream fails and is tried again.",
        lambda one: float("failing" in one),
    ),
    Figure(
        "penstock_stream_waited_for",
        "Whether windows or joins wait for the stream's time.",
        lambda one: float(bool(one.get("waited_for"))),
    ),
)
#: One value of the engine, from its totals.
TOTALS = (
    Figure("penstock_engine_steps", "Steps that the engine has run.", _of("steps"), grows=True),
    Figure("penstock_engine_jobs", "Spark jobs that steps took.", _of("jobs"), grows=True),
    Figure(
        "penstock_engine_large_steps",
        "Steps that many tasks ran, over files.",
        _of("large_steps"),
        grows=True,
    ),
    Figure(
        "penstock_engine_driver_row_bytes",
        "Bytes of rows that the driver had in its hands for steps.",
        _of("driver_row_bytes"),
        grows=True,
    ),
    Figure("penstock_engine_failed_steps", "Steps that failed.", _of("failed_steps"), grows=True),
    Figure(
        "penstock_engine_step_seconds",
        "Seconds from the start of steps to their commit.",
        _of("step_s"),
        grows=True,
    ),
    Figure("penstock_engine_spark_seconds", "Seconds of steps within Spark.", _of("spark_s"), grows=True),
    Figure(
        "penstock_engine_profile_seconds",
        "Seconds of samples that tell operators of one job apart.",
        _of("profile_s"),
        grows=True,
    ),
    Figure(
        "penstock_engine_queue_max_bytes",
        "The most bytes that have waited in queues.",
        _of("max_queue_bytes"),
    ),
)
#: One value of the engine, from its status.
ENGINE = (
    Figure("penstock_engine_queue_bytes", "Bytes that wait in queues.", _of("queued_bytes")),
    Figure("penstock_engine_held_bytes", "Bytes of rows that are in memory.", _of("held_bytes")),
    Figure(
        "penstock_engine_freshness_ratio",
        "Share of the time in which results are up to date, the mean over queries.",
        _of("freshness"),
    ),
)
#: One value for each process.
PROCESS = (
    Figure("penstock_process_up", "Whether the process runs.", lambda one: float(bool(one.get("up")))),
    Figure(
        "penstock_process_restarts", "Times that the process was started again.", _of("restarts"), grows=True
    ),
    Figure(
        "penstock_process_crash_loop",
        "Whether the process exits again and again.",
        lambda one: float(bool(one.get("crash_loop"))),
    ),
)

_LATENCY = "penstock_query_latency_seconds"
_STATE = "penstock_query_state"
_MET, _ASKED, _MEASURED = "penstock_query_qos_met", "penstock_query_qos_asked", "penstock_query_qos_measured"
_LAG = "penstock_stream_watermark_lag_seconds"
_READY = "penstock_engine_ready"
_PART = "penstock_part_failing"


def _exported(figure: Figure) -> str:
    return f"{figure.name}_total" if figure.grows else figure.name


#: The name of every series that is exported.
METRICS = frozenset(
    [_exported(figure) for figures in (QUERY, STREAM, TOTALS, ENGINE, PROCESS) for figure in figures]
    + [_LATENCY, f"{_LATENCY}_sum", f"{_LATENCY}_count", _STATE, _MET, _ASKED, _MEASURED, _LAG, _READY, _PART]
)


def collect(
    status: Plain | None, processes: Mapping[str, Plain] | None = None, namespace: str | None = None
) -> list[Metric]:
    """All metrics; with a namespace, of queries, streams, tables and sinks only those that are in it."""
    found: list[Metric] = []
    for figure in PROCESS:
        labelled = [((name,), one) for name, one in (processes or {}).items()]
        found.append(_family(figure, ("process",), labelled))
    found.append(GaugeMetricFamily(_READY, "Whether the engine answers.", value=float(status is not None)))
    if status is None:
        return found
    for figures, values in ((TOTALS, status["totals"]), (ENGINE, status)):
        found += [_family(figure, (), [((), values)]) for figure in figures]
    queries = _within(status["queries"], namespace)
    found += [_family(figure, ("query", "namespace"), queries) for figure in QUERY]
    found += [_latencies(queries), _states(queries), *_wishes(queries)]
    streams = _within(status["streams"], namespace)
    found += [_family(figure, ("stream", "namespace"), streams) for figure in STREAM]
    found.append(_lags(streams, status["at_s"]))
    found.append(_failing_parts(status, namespace))
    return found


_Labelled: TypeAlias = Sequence[tuple[tuple[str, ...], Plain]]


def _within(those: Mapping[str, Plain], namespace: str | None) -> _Labelled:
    """With the labels of each: its name within its namespace, and that namespace."""
    named = ((_split(name), one) for name, one in those.items())
    return [(labels, one) for labels, one in named if namespace is None or labels[1] == namespace]


def _split(name: str) -> tuple[str, str]:
    namespace, dot, rest = name.partition(".")
    return (rest, namespace) if dot else (name, DEFAULT_NAMESPACE)


def _family(figure: Figure, labels: tuple[str, ...], those: _Labelled) -> Metric:
    kind = CounterMetricFamily if figure.grows else GaugeMetricFamily
    family = kind(figure.name, figure.says, labels=labels)
    for values, one in those:
        value = figure.value(one)
        if value is not None:
            family.add_metric(values, value)
    return family


def _latencies(queries: _Labelled) -> Metric:
    says = "Seconds from the arrival of a result's last row to its commit."
    family = SummaryMetricFamily(_LATENCY, says, labels=("query", "namespace"))
    for (query, namespace), one in queries:
        for quantile, key in (("0.5", "p50_latency_s"), ("0.95", "p95_latency_s")):
            if one.get(key) is not None:
                labels = {"query": query, "namespace": namespace, "quantile": quantile}
                family.add_sample(_LATENCY, labels, one[key])
        family.add_metric((query, namespace), one.get("latency_count", 0), one.get("latency_sum_s", 0.0))
    return family


def _states(queries: _Labelled) -> Metric:
    family = GaugeMetricFamily(
        _STATE, "1 for the state the query is in.", labels=("query", "namespace", "state")
    )
    for labels, one in queries:
        for state in QUERY_STATES:
            family.add_metric((*labels, state), float(one.get("state") == state))
    return family


def _wishes(queries: _Labelled) -> Iterator[Metric]:
    labels = ("query", "namespace", "wish")
    met = GaugeMetricFamily(_MET, "Whether the query lately gets what it asked for.", labels=labels)
    asked = GaugeMetricFamily(
        _ASKED, "What the query asked for: seconds, bytes, rows/s, a share.", labels=labels
    )
    measured = GaugeMetricFamily(_MEASURED, "What the query lately gets of it.", labels=labels)
    for names, one in queries:
        for wish in one.get("wishes", ()):
            values = (*names, wish["wish"])
            asked.add_metric(values, wish["asked"])
            if wish["measured"] is not None:
                measured.add_metric(values, wish["measured"])
                met.add_metric(values, float(wish["verdict"] != "violated"))
    yield from (met, asked, measured)


def _lags(streams: _Labelled, now_s: float) -> Metric:
    says = "Seconds by which the stream's watermark is behind the clock."
    family = GaugeMetricFamily(_LAG, says, labels=("stream", "namespace"))
    for labels, one in streams:
        if one.get("watermark_s") is not None:
            family.add_metric(labels, now_s - one["watermark_s"])
    return family


def _failing_parts(status: Plain, namespace: str | None) -> Metric:
    says = "Whether a stored table or a sink fails and is tried again."
    family = GaugeMetricFamily(_PART, says, labels=("kind", "name", "namespace"))
    for kind in ("table", "sink"):
        for labels, one in _within(status[f"{kind}s"], namespace):
            family.add_metric((kind, *labels), float("failing" in one))
    return family


class _Collected:
    """What `generate_latest` asks."""

    def __init__(self, families: Iterable[Metric]) -> None:
        self._families = list(families)

    def collect(self) -> list[Metric]:
        return self._families


def exposition(families: Iterable[Metric]) -> bytes:
    """The text that Prometheus scrapes, of content type `CONTENT_TYPE_LATEST`."""
    return generate_latest(_Collected(families))
