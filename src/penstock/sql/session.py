"""Statements applied to a catalog: a new catalog and an answer. Running queries is an engine's business."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import inf
from typing import Any, assert_never

from sqlglot import exp

from penstock.errors import SqlError, closest
from penstock.model.operators import Aggregate, Join, Sink, Split, output_schema
from penstock.model.qos import QoS
from penstock.model.query import PlanNode, Query
from penstock.model.schema import Schema
from penstock.sql.binding.catalog import RATE, Catalog, Delivery, Stream, Table, View
from penstock.sql.binding.relation import Relation
from penstock.sql.binding.select import bind_condition, bind_query, bind_select
from penstock.sql.expressions.texts import quoted
from penstock.sql.reading.reader import read
from penstock.sql.reading.statements import (
    AlterQuery,
    CreateQuery,
    CreateSink,
    CreateStream,
    CreateTable,
    CreateView,
    Describe,
    Drop,
    Explain,
    Moment,
    SetPolicy,
    Show,
    SplitStream,
    Statement,
    StopQuery,
)
from penstock.sql.text.dialect import parse_expression
from penstock.sql.text.places import Span, error
from penstock.sql.text.quantities import per_second, shown_bytes, shown_seconds

_NAME = re.compile(r"[\w][\w.-]{0,127}")


@dataclass(frozen=True, slots=True)
class Answer:
    """What a statement says back: a line, and a table where it shows something.

    `query` is one that was created or is to be explained. `about` says what was asked for, if something
    was: `queries`, `streams` and so on, or `plan`; whoever runs queries knows more about some of these.
    """

    text: str
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    query: Query | None = None
    about: str = ""


def run(sql: str, catalog: Catalog | None = None, now_s: float = 0.0) -> tuple[Catalog, list[Answer]]:
    """All statements of a text, one after the other; SqlError at the first that is wrong."""
    catalog, answers = catalog or Catalog(), []
    for statement in read(sql):
        catalog, answer = apply(catalog, statement, sql, now_s)
        answers.append(answer)
    return catalog, answers


def apply(catalog: Catalog, statement: Statement, sql: str, now_s: float = 0.0) -> tuple[Catalog, Answer]:
    """The catalog after a statement of that text, and the answer; relative times count from `now_s`."""
    at = _At(catalog, sql, now_s)
    match statement:
        case CreateStream():
            return at.create_stream(statement)
        case CreateTable():
            return at.create_table(statement)
        case CreateView():
            return at.create_view(statement)
        case SplitStream():
            return at.split(statement)
        case CreateQuery():
            return at.create_query(statement)
        case CreateSink():
            return at.create_sink(statement)
        case AlterQuery():
            return at.alter(statement)
        case StopQuery():
            return at.stop(statement)
        case Drop():
            return at.drop(statement)
        case Show():
            return catalog, at.show(statement)
        case Describe():
            return catalog, at.describe(statement)
        case Explain():
            return catalog, at.explain(statement)
        case SetPolicy():
            return replace(catalog, policy=statement.policy), Answer(f"policy is {statement.policy}")
        case _:
            assert_never(statement)


class _At:
    """One statement's catalog and text."""

    def __init__(self, catalog: Catalog, sql: str, now_s: float) -> None:
        self._catalog, self._sql, self._now_s = catalog, sql, now_s

    def create_stream(self, one: CreateStream) -> tuple[Catalog, Answer]:
        """A stream under a new name."""
        if self._exists(one.name, one.span, one.if_not_exists):
            return self._catalog, Answer(f"'{one.name}' exists already")
        endless, rate = self._endless(one), self._rate(one)
        stream = Stream(one.name, one.schema, one.time, one.delay_s, one.format, one.options, endless, rate)
        return self._catalog.having("streams", one.name, stream), Answer(f"stream '{one.name}' created")

    def _endless(self, one: CreateStream) -> bool:
        text = one.options.get("endless", "true").lower()
        if text not in ("true", "false"):
            raise self._error(
                one.span, f"option 'endless' of stream '{one.name}' is '{text}'; it is true or false"
            )
        return text == "true"

    def _rate(self, one: CreateStream) -> float:
        text = one.options.get("rate")
        if text is None:
            return RATE
        try:
            rate = per_second(text)
        except ValueError as problem:
            raise self._error(one.span, f"option 'rate' of stream '{one.name}': {problem}") from None
        if not 0 < rate < inf:
            raise self._error(
                one.span, f"option 'rate' of stream '{one.name}' is {text}; it must be more than 0 and finite"
            )
        return rate

    def create_table(self, one: CreateTable) -> tuple[Catalog, Answer]:
        """A stored table under a new name."""
        if self._exists(one.name, one.span, one.if_not_exists):
            return self._catalog, Answer(f"'{one.name}' exists already")
        table = Table(one.name, one.schema, one.format, one.options)
        return self._catalog.having("tables", one.name, table), Answer(f"table '{one.name}' created")

    def create_view(self, one: CreateView) -> tuple[Catalog, Answer]:
        """A named plan; it is bound now, so that a mistake shows where it was made."""
        if self._exists(one.name, one.span, one.if_not_exists):
            return self._catalog, Answer(f"'{one.name}' exists already")
        bound = bind_select(self._sql, one.select, self._catalog)
        view = View(one.name, bound.relation, bound.reads)
        return self._catalog.having("views", one.name, view), Answer(f"view '{one.name}' created")

    def split(self, one: SplitStream) -> tuple[Catalog, Answer]:
        """A view for each part, all on one split."""
        relation = self._splittable(one)
        conditions: list[str] = []
        for _, tree in one.outputs:
            if tree is not None:
                conditions.append(bind_condition(self._sql, tree, relation, one.source))
            else:
                # NULL is not true: such a row satisfies none of the others and belongs here.
                conditions.append(" AND ".join(f"NOT coalesce({other}, FALSE)" for other in conditions))
        node = relation.above(Split(tuple(conditions)))
        catalog = self._catalog
        for port, (name, _) in enumerate(one.outputs):
            self._exists(name, one.span, quiet=False)
            part = replace(relation, node=node, port=port, window=None)
            catalog = catalog.having("views", name, View(name, part, frozenset((one.source,))))
        names = ", ".join(name for name, _ in one.outputs)
        return catalog, Answer(f"stream '{one.source}' split into {names}")

    def _splittable(self, one: SplitStream) -> Relation:
        found = self._catalog.find(one.source)
        if found is None:
            near = closest(one.source, self._catalog.readable())
            raise self._error(one.span, f"there is no stream or view '{one.source}' to split.{near}")
        if isinstance(found, Table):
            raise self._error(
                one.span, f"'{found.name}' is a stored table; only a stream or a view can be split"
            )
        if isinstance(found, View):
            return found.relation
        return bind_select(*_all_of(found.name), self._catalog).relation

    def create_query(self, one: CreateQuery) -> tuple[Catalog, Answer]:
        """A query under a new name."""
        if one.name.lower() in (name.lower() for name in self._catalog.queries):
            if one.if_not_exists:
                return self._catalog, Answer(f"query '{one.name}' exists already")
            raise self._error(
                one.span, f"query '{one.name}' exists already; stop and drop it, or choose another name"
            )
        self._check_name(one.name, one.span)
        query, reads = self._query(one)
        catalog = self._catalog.having("queries", one.name, query).having("reads", one.name, reads)
        kind = "one-time query" if one.one_time else "query"
        return catalog, Answer(f"{kind} '{one.name}' created", query=query)

    def _query(self, one: CreateQuery) -> tuple[Query, frozenset[str]]:
        bound = bind_query(self._sql, one.select, self._catalog)
        root = bound.relation.above(Sink(one.name))
        if one.one_time and not any(_windowed(node) for node in root.post_order()):
            raise self._error(
                one.span,
                f"one-time query '{one.name}' has no aggregate, join or DISTINCT over a window; for the rows "
                "of a while, write a continuous query WITH (stop = '1 min')",
            )
        start_s, back_s = self._start(one.start)
        stop_s = self._absolute(one.stop) if one.stop is not None else None
        query = Query(one.name, root, one.qos, start_s, stop_s, back_s, one.one_time, one.on_error)
        if one.on_error == "skip" and any(_joins_streams(node) for node in root.post_order()):
            raise self._error(
                one.span,
                f"query '{one.name}' joins streams, and on_error = 'skip' is only for queries "
                "that do not; leave it out",
            )
        return query, bound.reads

    def _start(self, start: Moment | None) -> tuple[float | None, float]:
        """When to start, and how far back to look: a time in the past means starting now with old rows."""
        if start is None:
            return None, 0.0
        at_s = self._absolute(start)
        return (None, self._now_s - at_s) if at_s < self._now_s else (at_s, 0.0)

    def _absolute(self, moment: Moment) -> float:
        return self._now_s + moment.seconds if moment.relative else moment.seconds

    def create_sink(self, one: CreateSink) -> tuple[Catalog, Answer]:
        """A way out for a query's results."""
        if one.name.lower() in (name.lower() for name in self._catalog.sinks):
            if one.if_not_exists:
                return self._catalog, Answer(f"sink '{one.name}' exists already")
            raise self._error(one.span, f"sink '{one.name}' exists already; drop it, or choose another name")
        self._check_name(one.name, one.span)
        query = self._known_query(one.query, one.query_span)
        sink = Delivery(one.name, query.name, one.format, one.options)
        return self._catalog.having("sinks", one.name, sink), Answer(f"sink '{one.name}' created")

    def alter(self, one: AlterQuery) -> tuple[Catalog, Answer]:
        """Other wishes for a query that may be running."""
        query = self._known_query(one.name, one.span)
        if one.select is not None:
            return self._redefine(one, query, one.select)
        qos = replace(query.qos, **_asked(one.changes))
        changed = replace(query, qos=qos)
        return self._catalog.having("queries", query.name, changed), Answer(f"query '{query.name}' altered")

    def _redefine(self, one: AlterQuery, query: Query, select: exp.Expr) -> tuple[Catalog, Answer]:
        """Another SELECT with the same columns, since who reads the results has seen those."""
        if query.one_time or query.name in self._catalog.stopped:
            what = "is evaluated once" if query.one_time else "is stopped"
            raise self._error(one.span, f"query '{query.name}' {what}; create another")
        if query.on_error == "skip":
            raise self._error(
                one.span,
                f"query '{query.name}' has on_error = 'skip'; its SELECT cannot be changed; create another",
            )
        bound = bind_query(self._sql, select, self._catalog)
        root = bound.relation.above(Sink(query.name))
        old, new = (_columns(plan) for plan in (query.root, root))
        if old != new:
            raise self._error(
                one.span,
                f"query '{query.name}' puts out ({old}), not ({new}); keep that, or create another query",
            )
        changed = replace(query, root=root)
        catalog = self._catalog.having("queries", query.name, changed)
        return catalog.having("reads", query.name, bound.reads), Answer(
            f"query '{query.name}' altered", query=changed
        )

    def stop(self, one: StopQuery) -> tuple[Catalog, Answer]:
        """The query stays in the catalog until it is dropped."""
        query = self._known_query(one.name, one.span)
        if query.name in self._catalog.stopped:
            raise self._error(one.span, f"query '{query.name}' is stopped already")
        catalog = replace(self._catalog, stopped=self._catalog.stopped | {query.name})
        return catalog, Answer(
            f"query '{query.name}' {'stops when it is drained' if one.drain else 'stopped'}"
        )

    def drop(self, one: Drop) -> tuple[Catalog, Answer]:
        """Something that nothing else uses."""
        kind = "queries" if one.kind == "query" else f"{one.kind}s"
        known = getattr(self._catalog, kind)
        name = next((key for key in known if key.lower() == one.name.lower()), None)
        if name is None:
            if one.if_exists:
                return self._catalog, Answer(f"there is no {one.kind} '{one.name}'")
            other = self._catalog.find(one.name) if one.kind in ("stream", "table", "view") else None
            if other is not None:
                kind = type(other).__name__.lower()
                raise self._error(
                    one.span, f"'{other.name}' is a {kind}; write DROP {kind.upper()} {other.name}"
                )
            raise self._error(one.span, f"there is no {one.kind} '{one.name}'.{closest(one.name, known)}")
        users = self._users(one.kind, name)
        if users:
            raise self._error(one.span, f"{one.kind} '{name}' is used by {users[0]}; drop that first")
        catalog = self._catalog.without(kind, name)
        if one.kind == "query":
            catalog = replace(catalog.without("reads", name), stopped=catalog.stopped - {name})
        return catalog, Answer(f"{one.kind} '{name}' dropped")

    def _users(self, kind: str, name: str) -> list[str]:
        if kind == "sink":
            return []
        if kind == "query":
            return [f"sink '{sink.name}'" for sink in self._catalog.sinks.values() if sink.query == name]
        views = [f"view '{view.name}'" for view in self._catalog.views.values() if name in view.of]
        return views + [f"query '{query}'" for query, reads in self._catalog.reads.items() if name in reads]

    def show(self, one: Show) -> Answer:
        """A table of all of a kind."""
        catalog = self._catalog
        columns: tuple[str, ...]
        rows: list[tuple[str, ...]]
        match one.what:
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
                rows = [
                    (v.name, str(v.relation.schema), ", ".join(sorted(v.of))) for v in catalog.views.values()
                ]
            case "queries":
                columns = ("query", "columns", "wishes", "state")
                rows = [
                    (
                        q.name,
                        str(_schema_of(q)),
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
            case _:
                columns, rows = ("policy",), [(catalog.policy or "",)]
        return Answer(f"{len(rows)} {one.what}", columns, tuple(rows), about=one.what)

    def describe(self, one: Describe) -> Answer:
        """The columns of something."""
        query = next((q for q in self._catalog.queries.values() if q.name.lower() == one.name.lower()), None)
        found = self._catalog.find(one.name)
        match found:
            case View(relation=relation):
                schema = relation.schema
            case Stream(schema=own) | Table(schema=own):
                schema = own
            case _ if query is not None:
                schema = _schema_of(query)
            case _:
                known = (*self._catalog.readable(), *self._catalog.queries)
                raise self._error(
                    one.span, f"there is nothing called '{one.name}'.{closest(one.name, known)}"
                )
        rows = tuple((field.name, field.type) for field in schema.fields)
        return Answer(one.name, ("column", "type"), rows)

    def explain(self, one: Explain) -> Answer:
        """The query to explain; how is up to whoever asked."""
        if isinstance(one.target, str):
            query = self._known_query(one.target, one.span)
        else:
            query, _ = self._query(one.target)
        return Answer(f"plan of '{query.name}'", query=query, about="plan")

    def _known_query(self, name: str, span: Span) -> Query:
        query = next((q for q in self._catalog.queries.values() if q.name.lower() == name.lower()), None)
        if query is None:
            raise self._error(span, f"there is no query '{name}'.{closest(name, self._catalog.queries)}")
        return query

    def _exists(self, name: str, span: Span, quiet: bool) -> bool:
        self._check_name(name, span)
        found = self._catalog.find(name)
        if found is None:
            return False
        if quiet:
            return True
        kind = type(found).__name__.lower()
        raise self._error(span, f"'{name}' is a {kind} already; drop it, or choose another name")

    def _check_name(self, name: str, span: Span) -> None:
        if not _NAME.fullmatch(name):
            raise self._error(
                span,
                f"'{name}' cannot be a name; use up to 128 letters, digits, '_', '-' and '.'",
            )

    def _error(self, span: Span, what: str) -> SqlError:
        return error(self._sql, Span(span.start, span.end), what)


def _all_of(name: str) -> tuple[str, Any]:
    sql = f"SELECT * FROM {quoted(name)}"
    return sql, parse_expression(sql)


def _windowed(node: PlanNode) -> bool:
    match node.operator:
        case Aggregate(window=window):
            return window is not None
        case Join(left=left):
            return left is not None
    return False


def _schema_of(query: Query) -> Schema:
    schemas: dict[int, Schema] = {}
    for node in query.root.post_order():
        schemas[id(node)] = output_schema(node.operator, tuple(schemas[id(child)] for child in node.children))
    return schemas[id(query.root)]


def _asked(changes: Mapping[str, float | None]) -> dict[str, Any]:
    """The wishes as given; one that is taken back is as if it had never been said."""
    default = QoS()
    return {name: getattr(default, name) if value is None else value for name, value in changes.items()}


def _joins_streams(node: PlanNode) -> bool:
    return isinstance(node.operator, Join) and node.operator.relation is None


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


def _columns(root: PlanNode) -> str:
    """The columns of a plan's result, as text."""
    schemas: dict[int, Schema] = {}
    for node in root.post_order():
        schemas[id(node)] = output_schema(node.operator, tuple(schemas[id(child)] for child in node.children))
    return ", ".join(f"{field.name} {field.type}" for field in schemas[id(root)].fields)
