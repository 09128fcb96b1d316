"""Statements applied to a catalog: a new catalog and an answer. Running queries is an engine's business."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, assert_never

from sqlglot import exp

from penstock.errors import QueryError, SqlError, closest
from penstock.model.operators import Aggregate, Join, Sink, Split
from penstock.model.qos import QoS
from penstock.model.query import PlanNode, Query
from penstock.sql.answer import Answer
from penstock.sql.binding.catalog import Catalog, Delivery, Stream, Table, View
from penstock.sql.binding.relation import Relation
from penstock.sql.binding.select import bind_condition, bind_query, bind_select
from penstock.sql.comparing import (
    UNREADABLE,
    Differences,
    columns_of,
    keeps_plan,
    of_functions,
    of_queries,
    of_sinks,
    of_streams,
    of_tables,
    of_views,
    schema_of,
    stays,
    unchangeable_query,
)
from penstock.sql.expressions.texts import quoted
from penstock.sql.partitions import with_partition
from penstock.sql.plans import planned, read_by
from penstock.sql.reading.reader import read
from penstock.sql.reading.statements import (
    AlterQuery,
    AlterStream,
    CreateFunction,
    CreatePlanned,
    CreateQuery,
    CreateSink,
    CreateStream,
    CreateTable,
    CreateView,
    Describe,
    Drop,
    Explain,
    Moment,
    SetPartition,
    SetPolicy,
    SetScheduling,
    Show,
    SplitStream,
    Statement,
    StopQuery,
    SubmitPlan,
)
from penstock.sql.showing import shown
from penstock.sql.streams import altered, stream_of
from penstock.sql.text.dialect import parse_expression
from penstock.sql.text.places import Span, error
from penstock.sql.users import users_of
from penstock.sql.whole_windows import in_whole_windows

__all__ = ["Answer", "Step", "apply", "run", "steps"]

_NAME = re.compile(r"[\w][\w.-]{0,127}")


#: Reads the text of a plan document.
ReadPlan: TypeAlias = Callable[[str], Query]


@dataclass(frozen=True, slots=True)
class Step:
    """One thing that a statement does: the catalog before and after it, and what it says.

    `CREATE OR REPLACE` does what it comes to, which may be several things, of which the last one answers.
    """

    statement: Statement
    answer: Answer
    before: Catalog
    after: Catalog
    answers: bool = True


def run(
    sql: str, catalog: Catalog | None = None, now_s: float = 0.0, plans: ReadPlan | None = None
) -> tuple[Catalog, list[Answer]]:
    """All statements of a text, one after the other; SqlError at the first that is wrong."""
    catalog, answers = catalog or Catalog(), []
    for statement in read(sql):
        for step in steps(catalog, statement, sql, now_s, plans):
            catalog = step.after
            if step.answers:
                answers.append(step.answer)
    return catalog, answers


def steps(
    catalog: Catalog, statement: Statement, sql: str, now_s: float = 0.0, plans: ReadPlan | None = None
) -> Iterator[Step]:
    """What a statement of that text does to a catalog; relative times count from `now_s`."""
    if isinstance(statement, SubmitPlan):
        if plans is None:
            raise error(sql, statement.span, "plans cannot be submitted here; write a CREATE QUERY")
        statement = CreatePlanned(statement.span, plans(statement.document))
    comes_to, text = _At(catalog, sql, now_s).comes_to(statement)
    for place, one in enumerate(comes_to):
        after, answer = _applied(catalog, one, sql, now_s)
        last = place == len(comes_to) - 1
        yield Step(one, replace(answer, text=text or answer.text) if last else answer, catalog, after, last)
        catalog = after
    if not comes_to:
        yield Step(statement, Answer(text), catalog, catalog)


def apply(catalog: Catalog, statement: Statement, sql: str, now_s: float = 0.0) -> tuple[Catalog, Answer]:
    """The catalog after a statement of that text, and the answer; relative times count from `now_s`."""
    answer = Answer("")
    for step in steps(catalog, statement, sql, now_s):
        catalog, answer = step.after, step.answer
    return catalog, answer


def _applied(catalog: Catalog, statement: Statement, sql: str, now_s: float) -> tuple[Catalog, Answer]:
    at = _At(catalog, sql, now_s)
    match statement:
        case CreateStream():
            return at.create_stream(statement)
        case CreateTable():
            return at.create_table(statement)
        case CreateView():
            return at.create_view(statement)
        case CreateFunction():
            return at.create_function(statement)
        case SplitStream():
            return at.split(statement)
        case CreateQuery():
            return at.create_query(statement)
        case CreatePlanned():
            return at.create_planned(statement)
        case CreateSink():
            return at.create_sink(statement)
        case AlterStream():
            return altered(catalog, statement, sql, now_s)
        case AlterQuery():
            return at.alter(statement)
        case StopQuery():
            return at.stop(statement)
        case Drop():
            return at.drop(statement)
        case Show(what=what):
            return catalog, shown(catalog, what)
        case Describe():
            return catalog, at.describe(statement)
        case Explain():
            return catalog, at.explain(statement)
        case SetPolicy():
            return replace(catalog, policy=statement.policy), Answer(f"policy is {statement.policy}")
        case SetScheduling():
            said = Answer(f"scheduling is {statement.scheduling}")
            return replace(catalog, scheduling=statement.scheduling), said
        case SetPartition():
            return with_partition(catalog, statement, sql)
        case SubmitPlan():
            raise AssertionError("its document is read before")
        case _:
            assert_never(statement)


class _At:
    """One statement's catalog and text."""

    def __init__(self, catalog: Catalog, sql: str, now_s: float) -> None:
        self._catalog, self._sql, self._now_s = catalog, sql, now_s

    def comes_to(self, one: Statement) -> tuple[tuple[Statement, ...], str]:
        """What `CREATE OR REPLACE` of something that exists comes to, and what it says; others are that."""
        match one:
            case CreateQuery(or_replace=True) if (
                name := _called(one.name, self._catalog.queries)
            ) is not None:
                return self._replaced_query(replace(one, name=name))
            case CreateSink(or_replace=True) if (name := _called(one.name, self._catalog.sinks)) is not None:
                return self._replaced_sink(replace(one, name=name))
        return (one,), ""

    def _replaced_query(self, one: CreateQuery) -> tuple[tuple[Statement, ...], str]:
        if one.name in self._catalog.stopped:
            raise self._error(one.span, f"query '{one.name}' is stopped; drop it first, and create it anew")
        differences = of_queries(self._catalog, self._having_query(one)[0], one.name)
        if not differences:
            return (), f"query '{one.name}' is that already"
        if differences.fixed:
            raise self._error(one.span, unchangeable_query(one.name, differences))
        found: list[Statement] = []
        if differences.select:
            found.append(AlterQuery(one.span, one.name, select=one.select, text=one.text))
        if differences.wishes:
            found.append(AlterQuery(one.span, one.name, differences.wishes))
        return tuple(found), f"query '{one.name}' altered: {differences}"

    def _replaced_sink(self, one: CreateSink) -> tuple[tuple[Statement, ...], str]:
        differences = of_sinks(self._catalog.sinks[one.name], self._sink(one))
        if not differences:
            return (), f"sink '{one.name}' is that already"
        anew = (Drop(one.span, "sink", one.name), replace(one, or_replace=False))
        return anew, f"sink '{one.name}' replaced: {differences}"

    def create_stream(self, one: CreateStream) -> tuple[Catalog, Answer]:
        """A stream under a new name."""
        if self._exists(one.name, one.span, one.if_not_exists):
            return self._as_it_is(one.name, lambda: stream_of(one, self._sql))
        stream = stream_of(one, self._sql)
        return self._catalog.having("streams", one.name, stream), Answer(f"stream '{one.name}' created")

    def _as_it_is(self, name: str, made: Callable[[], Stream | Table | View]) -> tuple[Catalog, Answer]:
        """What exists stays; how it differs from what is asked for is said."""
        old = self._catalog.find(name)
        try:
            match old, made():
                case Stream() as was, Stream() as now:
                    differences = of_streams(was, now)
                case Table() as was, Table() as now:
                    differences = of_tables(was, now)
                case View() as was, View() as now:
                    differences = of_views(was, now)
                case _, now:
                    kind, other = (type(one).__name__.lower() for one in (old, now))
                    differences = Differences(fixed=(f"{kind} -> {other}",))
        except SqlError:  # it is not asked for, so nothing is refused
            differences = UNREADABLE
        return self._catalog, Answer(stays(f"'{name}'", differences))

    def create_table(self, one: CreateTable) -> tuple[Catalog, Answer]:
        """A stored table under a new name."""
        table = Table(one.name, one.schema, one.format, one.options)
        if self._exists(one.name, one.span, one.if_not_exists):
            return self._as_it_is(one.name, lambda: table)
        return self._catalog.having("tables", one.name, table), Answer(f"table '{one.name}' created")

    def create_function(self, one: CreateFunction) -> tuple[Catalog, Answer]:
        """A function in Python; whether it is where it should be is up to whoever runs it."""
        known = _called(one.name, self._catalog.functions)
        if known is not None:
            if one.if_not_exists:
                differences = of_functions(self._catalog.functions[known], one.function)
                return self._catalog, Answer(stays(f"function '{known}'", differences))
            raise self._error(one.span, f"function '{known}' exists already; drop it, or choose another name")
        self._check_name(one.name, one.span)
        catalog = self._catalog.having("functions", one.name, one.function)
        return catalog, Answer(f"function '{one.name}' created")

    def create_view(self, one: CreateView) -> tuple[Catalog, Answer]:
        """A named plan; it is bound now, so that a mistake shows where it was made."""
        if one.or_replace and (name := _called(one.name, self._catalog.views)) is not None:
            return self._replaced_views({name: self._view(replace(one, name=name))})
        if self._exists(one.name, one.span, one.if_not_exists):
            return self._as_it_is(one.name, lambda: self._view(one))
        view = self._view(one)
        return self._catalog.having("views", one.name, view), Answer(f"view '{one.name}' created")

    def _view(self, one: CreateView) -> View:
        """A view is never made from itself."""
        bound = bind_select(self._sql, one.select, self._catalog.without("views", one.name))
        return View(one.name, bound.relation, bound.reads)

    def _replaced_views(self, views: Mapping[str, View]) -> tuple[Catalog, Answer]:
        """Other views under the same names; what was made from those before keeps its plan."""
        known = self._catalog.views
        changed = {
            name: one for name, one in views.items() if name not in known or of_views(known[name], one)
        }
        named = ", ".join(f"'{name}'" for name in views)
        views_ = "view" if len(views) == 1 else "views"
        if not changed:
            return self._catalog, Answer(
                f"{views_} {named} {'is' if len(views) == 1 else 'are'} that already"
            )
        catalog = self._catalog
        for name, view in changed.items():
            catalog = catalog.having("views", name, view)
        return catalog, Answer(f"{views_} {named} replaced{keeps_plan(self._catalog, changed)}")

    def split(self, one: SplitStream) -> tuple[Catalog, Answer]:
        """A view for each part, all on one split."""
        relation = self._splittable(one)
        conditions: list[str] = []
        for _, tree in one.outputs:
            if tree is not None:
                conditions.append(bind_condition(self._sql, tree, relation, one.source, self._catalog))
            else:
                # NULL is not true: such a row satisfies none of the others and belongs here.
                conditions.append(" AND ".join(f"NOT coalesce({other}, FALSE)" for other in conditions))
        node = relation.above(Split(tuple(conditions)))
        views: dict[str, View] = {}
        for port, (name, _) in enumerate(one.outputs):
            known = _called(name, self._catalog.views) if one.or_replace else None
            if known is None:
                self._exists(name, one.span, quiet=False)
            part = replace(relation, node=node, port=port, window=None)
            views[known or name] = View(known or name, part, frozenset((one.source,)))
        if any(name in self._catalog.views for name in views):
            return self._replaced_views(views)
        catalog = self._catalog
        for name, view in views.items():
            catalog = catalog.having("views", name, view)
        return catalog, Answer(f"stream '{one.source}' split into {', '.join(views)}")

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
        known = _called(one.name, self._catalog.queries)
        if known is not None and one.if_not_exists:
            return self._query_as_it_is(replace(one, name=known))
        self._check_query(one.name, one.span)
        catalog, query = self._having_query(one)
        kind = "one-time query" if one.one_time else "query"
        return catalog, Answer(f"{kind} '{one.name}' created", query=query)

    def _check_query(self, name: str, span: Span) -> None:
        if _called(name, self._catalog.queries) is not None:
            raise self._error(
                span, f"query '{name}' exists already; stop and drop it, or choose another name"
            )
        self._check_name(name, span)

    def _query_as_it_is(self, one: CreateQuery) -> tuple[Catalog, Answer]:
        try:
            differences = of_queries(self._catalog, self._having_query(one)[0], one.name)
        except SqlError:  # it is not asked for, so nothing is refused
            differences = UNREADABLE
        return self._catalog, Answer(stays(f"query '{one.name}'", differences))

    def _having_query(self, one: CreateQuery) -> tuple[Catalog, Query]:
        query, reads = self._query(one)
        catalog = self._catalog.having("queries", one.name, query).having("reads", one.name, reads)
        catalog = catalog.without("moments", one.name).having("selects", one.name, one.text)
        if one.start is not None or one.stop is not None:
            catalog = catalog.having("moments", one.name, (one.start, one.stop))
        return catalog, query

    def create_planned(self, one: CreatePlanned) -> tuple[Catalog, Answer]:
        """A query whose plan was made elsewhere."""
        name = one.query.name
        self._check_query(name, one.span)
        try:
            query = planned(one.query, self._catalog, self._now_s)
        except ValueError as problem:
            raise self._error(one.span, f"query '{name}': {problem}") from None
        catalog = self._catalog.having("queries", name, query).having("reads", name, read_by(query.root))
        times = tuple(
            None if at is None else Moment(at, False) for at in (one.query.start_s, one.query.stop_s)
        )
        if any(times):
            catalog = catalog.having("moments", name, times)
        kind = "one-time query" if query.one_time else "query"
        return catalog, Answer(f"{kind} '{name}' created", query=query)

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
        query = Query(
            one.name, root, one.qos, start_s, stop_s, back_s, one.one_time, one.on_error, one.windows
        )
        if one.on_error == "skip" and any(_joins_streams(node) for node in root.post_order()):
            raise self._error(
                one.span,
                f"query '{one.name}' joins streams, and on_error = 'skip' is only for queries "
                "that do not; leave it out",
            )
        try:
            return in_whole_windows(query), bound.reads
        except QueryError as problem:
            raise self._error(one.span, str(problem)) from None

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
        known = _called(one.name, self._catalog.sinks)
        if known is not None:
            if one.if_not_exists:
                return self._sink_as_it_is(one, self._catalog.sinks[known])
            raise self._error(one.span, f"sink '{one.name}' exists already; drop it, or choose another name")
        self._check_name(one.name, one.span)
        return self._catalog.having("sinks", one.name, self._sink(one)), Answer(f"sink '{one.name}' created")

    def _sink(self, one: CreateSink) -> Delivery:
        query = self._known_query(one.query, one.query_span)
        return Delivery(one.name, query.name, one.format, one.options)

    def _sink_as_it_is(self, one: CreateSink, old: Delivery) -> tuple[Catalog, Answer]:
        try:
            differences = of_sinks(old, self._sink(one))
        except SqlError:  # it is not asked for, so nothing is refused
            differences = UNREADABLE
        return self._catalog, Answer(stays(f"sink '{one.name}'", differences))

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
        if query.most_windows is not None or query.name in self._catalog.stopped:
            what = (
                "is evaluated once"
                if query.one_time
                else "ends by windows"
                if query.windows
                else "is stopped"
            )
            raise self._error(one.span, f"query '{query.name}' {what}; create another")
        if query.on_error == "skip":
            raise self._error(
                one.span,
                f"query '{query.name}' has on_error = 'skip'; its SELECT cannot be changed; create another",
            )
        bound = bind_query(self._sql, select, self._catalog)
        root = bound.relation.above(Sink(query.name))
        old, new = (columns_of(plan) for plan in (query.root, root))
        if old != new:
            raise self._error(
                one.span,
                f"query '{query.name}' puts out ({old}), not ({new}); keep that, or create another query",
            )
        changed = replace(query, root=root)
        catalog = self._catalog.having("queries", query.name, changed)
        catalog = catalog.having("selects", query.name, one.text)
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
        users = users_of(self._catalog, one.kind, name)
        if users:
            raise self._error(one.span, f"{one.kind} '{name}' is used by {users[0]}; drop that first")
        catalog = self._catalog.without(kind, name)
        if one.kind == "query":
            catalog = catalog.without("reads", name).without("moments", name).without("selects", name)
            catalog = replace(catalog, stopped=catalog.stopped - {name})
        return catalog, Answer(f"{one.kind} '{name}' dropped")

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
                schema = schema_of(query.root)
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


def _called(name: str, known: Iterable[str]) -> str | None:
    """The name as it was given first; upper and lower case are the same."""
    return next((one for one in known if one.lower() == name.lower()), None)


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


def _asked(changes: Mapping[str, float | None]) -> dict[str, Any]:
    """The wishes as given; one that is taken back is as if it had never been said."""
    default = QoS()
    return {name: getattr(default, name) if value is None else value for name, value in changes.items()}


def _joins_streams(node: PlanNode) -> bool:
    return isinstance(node.operator, Join) and node.operator.relation is None
