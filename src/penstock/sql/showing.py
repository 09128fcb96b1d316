"""SHOW: a table of all that there is of a kind."""

from __future__ import annotations

from penstock.model.functions import called
from penstock.model.query import Query
from penstock.sql.answer import Answer
from penstock.sql.binding.catalog import Catalog
from penstock.sql.comparing import schema_of
from penstock.sql.text.quantities import shown_bytes, shown_seconds


def shown(catalog: Catalog, what: str) -> Answer:
    """A table of all of a kind."""
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]]
    match what:
        case "streams":
            columns = ("stream", "columns", "time", "watermark", "format")
            rows = [
                (
                    s.name,
                    str(s.schema),
                    s.time or "",
                    f"{shown_seconds(s.delay_s)} behind" if s.time else "",
                    s.format,
                )
                for s in catalog.streams.values()
            ]
        case "tables":
            columns = ("table", "columns", "format")
            rows = [(t.name, str(t.schema), t.format) for t in catalog.tables.values()]
        case "views":
            columns = ("view", "columns", "made from")
            rows = [(v.name, str(v.relation.schema), ", ".join(sorted(v.of))) for v in catalog.views.values()]
        case "queries":
            columns = ("query", "columns", "wishes", "state")
            rows = [
                (
                    q.name,
                    str(schema_of(q.root)),
                    _wishes(q),
                    "stopped" if q.name in catalog.stopped else "registered",
                )
                for q in catalog.queries.values()
            ]
        case "sinks":
            columns = ("sink", "query", "format", "options")
            rows = [
                (s.name, s.query, s.format, ", ".join(f"{k} = '{v}'" for k, v in s.options.items()))
                for s in catalog.sinks.values()
            ]
        case "functions":
            columns = ("function", "kind", "at", "timeout", "memory", "called by")
            rows = [
                (
                    str(f),
                    "aggregate" if f.aggregate else "of one row",
                    f.target or "registered from Python",
                    shown_seconds(f.timeout_s),
                    shown_bytes(f.memory_bytes),
                    ", ".join(q.name for q in catalog.queries.values() if f.identity in called(q.root)),
                )
                for f in catalog.functions.values()
            ]
        case "partitions":
            columns = ("partition", "runs", "policy", "priority")
            rows = [
                (p.name, ", ".join((*p.queries, *p.operators)), p.policy or "", f"{p.priority:g}")
                for p in catalog.partitions.values()
            ]
        case _:
            columns, rows = ("policy",), [(catalog.policy or "",)]
    return Answer(_counted(len(rows), what), columns, tuple(rows), about=what)


def _counted(count: int, what: str) -> str:
    one = f"{what.removesuffix('ies')}y" if what.endswith("ies") else what.removesuffix("s")
    return f"{count} {one if count == 1 else what}"


def _wishes(query: Query) -> str:
    qos = query.qos
    shown = {
        "latency": shown_seconds(qos.latency_s) if qos.latency_s is not None else None,
        "memory": shown_bytes(qos.memory_bytes) if qos.memory_bytes is not None else None,
        "throughput": f"{qos.throughput_per_s:g}/s" if qos.throughput_per_s is not None else None,
        "freshness": f"{qos.freshness:.0%}" if qos.freshness is not None else None,
        "weight": f"{qos.weight:g}" if qos.weight != 1.0 else None,
        "on_error": query.on_error if query.on_error != "hold" else None,
    }
    return ", ".join(f"{name} {text}" for name, text in shown.items() if text is not None)
