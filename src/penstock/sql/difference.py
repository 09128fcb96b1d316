"""What a file of statements would change of what there is: the file says what there is to be.

A file that is applied again and again evolves: what is new in it is created, what differs is altered, and
what is in it no more runs on, unless it is pruned. Comments and spaces change nothing. The text of a
difference does all of it, in the order in which it can be done; what cannot be done is refused here, where
the file says it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, TypeAlias

from penstock.sql.binding.catalog import Catalog
from penstock.sql.comparing import (
    Differences,
    keeps_plan,
    of_functions,
    of_partitions,
    of_queries,
    of_sinks,
    of_streams,
    of_tables,
    of_views,
    unchangeable_query,
)
from penstock.sql.expressions.texts import quoted
from penstock.sql.reading.reader import read, read_with_places
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
    Drop,
    Kind,
    SetPartition,
    SplitStream,
    Statement,
    StopQuery,
    SubmitPlan,
)
from penstock.sql.renaming import renamed
from penstock.sql.scoping import Scope, restricted, scoped_plans, steps_in
from penstock.sql.session import ReadPlan, steps
from penstock.sql.streams import check_unread
from penstock.sql.text.places import Span, error

Action: TypeAlias = Literal["create", "alter", "drop", "keep"]
#: Asks whether a statement that leaves such a catalog could be run; raises SqlError if not.
Check: TypeAlias = Callable[[Statement, Catalog], None]

#: What may stand between its words: spaces and comments.
_GAP = r"(?:\s|--[^\n]*\n|/\*.*?\*/)+"
_IF_NOT_EXISTS = re.compile(f"{_GAP}IF{_GAP}NOT{_GAP}EXISTS{_GAP}", re.IGNORECASE | re.DOTALL)
_SIGNS: Mapping[str, str] = {"create": "+", "alter": "~", "drop": "-", "keep": "-"}
_KINDS: Mapping[Kind, str] = {
    "stream": "streams",
    "table": "tables",
    "view": "views",
    "query": "queries",
    "sink": "sinks",
    "partition": "partitions",
    "function": "functions",
}
#: How wishes are written, by the fields of QoS.
_WISHES = {
    "latency_s": "latency = '{} s'",
    "memory_bytes": "memory = '{} B'",
    "throughput_per_s": "throughput = '{}/s'",
    "freshness": "freshness = {}",
    "weight": "weight = {}",
    "tolerance": "tolerance = {}",
}
#: What is dropped first: nothing that another still needs.
_DROPPED: tuple[Kind, ...] = ("sink", "partition", "query", "view", "function", "table", "stream")


@dataclass(frozen=True, slots=True)
class Change:
    """One line of a difference. `keep` is something that the file does not have, and that goes on."""

    action: Action
    kind: str
    name: str
    detail: str = ""

    def __str__(self) -> str:
        return change_line(self.action, self.kind, self.name, self.detail)


def change_line(action: str, kind: str, name: str, detail: str) -> str:
    """A change for people: `~ query q: weight 1 -> 0.5`."""
    said = " ".join(part for part in (_SIGNS.get(action, action), kind, name) if part)
    if not detail:
        return said
    return f"{said} ({detail})" if action == "keep" else f"{said}: {detail}"


@dataclass(frozen=True, slots=True)
class Changes:
    """A difference: what changes, the statements that do it, and whether they were run."""

    changes: tuple[Change, ...] = ()
    sql: str = ""
    applied: bool = False

    def __bool__(self) -> bool:
        return bool(self.sql)

    def __str__(self) -> str:
        return "\n".join(str(one) for one in self.changes) or "nothing changes"

    def as_json(self) -> dict[str, Any]:
        """For scripts."""
        return {"changes": [asdict(one) for one in self.changes], "applied": self.applied}


def difference(
    catalog: Catalog,
    sql: str,
    *,
    prune: bool = False,
    now_s: float = 0.0,
    plans: ReadPlan | None = None,
    check: Check | None = None,
    scope: Scope | None = None,
) -> Changes:
    """How a catalog differs from what a text says; SqlError at what is wrong, or cannot be changed.

    With `prune` what the text does not have is dropped, and the text must have all that it names. With a
    `scope` both the text and the difference are one namespace's, in its names.
    """
    seen = catalog if scope is None else restricted(catalog, scope)
    wanted = _Wanted(seen, sql, prune, now_s, plans, check, scope)
    lines, texts = wanted.changed()
    for kind, name in wanted.removed():
        if scope is not None and (not scope.owns(name) or (kind == "partition" and scope.prefix)):
            continue
        if prune or wanted.is_dropped(kind, name):
            lines.append(Change("drop", kind, name))
            texts.append(f"DROP {kind.upper()} {quoted(wanted.plain(name))}")
        else:
            lines.append(Change("keep", kind, name, _goes_on(catalog, kind, name)))
    text = "".join(f"{one};\n" for one in texts)
    for statement in read(text):  # what is wrong with all of it together shows here, and nothing happened
        for step in steps_in(scope, catalog, statement, text, now_s, plans):
            catalog = step.after
    return Changes(tuple(replace(one, name=wanted.plain(one.name)) for one in lines), text)


class _Wanted:
    """What a text says there is to be."""

    def __init__(
        self,
        catalog: Catalog,
        sql: str,
        prune: bool,
        now_s: float,
        plans: ReadPlan | None,
        check: Check | None,
        scope: Scope | None,
    ) -> None:
        self._old, self._sql, self._scope = catalog, sql, scope
        self._statements: list[tuple[Statement, Span]] = []
        plans = scoped_plans(scope, plans)
        for statement, place in read_with_places(sql):
            if scope is not None:
                statement = renamed(statement, scope)
            if isinstance(statement, SubmitPlan) and plans is not None:
                self._statements.append((CreatePlanned(statement.span, plans(statement.document)), place))
            else:
                self._statements.append((_as_known(statement, catalog), place))
        self.new = _without(catalog, self._statements) if not prune else self._begun(catalog)
        for statement, _ in self._statements:
            for step in steps(self.new, statement, sql, now_s, plans):
                self.new = step.after
                if check is not None:
                    check(step.statement, self.new)
        self._prune = prune
        self._altered: set[tuple[Kind, str]] = set()  # streams, of which all is said at once

    def _begun(self, catalog: Catalog) -> Catalog:
        """What there is before the text if it has to have all: settings, and what others have granted."""
        begun = Catalog(policy=catalog.policy, scheduling=catalog.scheduling)
        if self._scope is None:
            return begun
        granted = {name: one for name, one in catalog.streams.items() if not self._scope.owns(name)}
        return replace(begun, streams=granted)

    def plain(self, name: str) -> str:
        """What the text calls something."""
        return name if self._scope is None else self._scope.plain(name)

    def changed(self) -> tuple[list[Change], list[str]]:
        """What begins or becomes something else, in the order of the text, and the statements for it."""
        lines: list[Change] = []
        texts: list[str] = []
        done: set[tuple[Kind, str]] = set()
        for statement, place in self._statements:
            for kind, written in _named(statement):
                name = _called(written, getattr(self.new, _KINDS[kind]))
                if name is None:  # it is dropped again
                    continue
                known = name in getattr(self._old, _KINDS[kind])
                if (kind, name) in done:
                    continue
                done.add((kind, name))
                found = self._line(kind, name, statement.span) if known else Change("create", kind, name)
                if found is not None:
                    lines.append(found)
            texts += self._texts(statement, place, lines)
        for setting, was, now in (
            ("policy", self._old.policy, self.new.policy),
            ("scheduling", self._old.scheduling, self.new.scheduling),
        ):
            if was != now and now is not None:
                lines.append(Change("alter", setting, "", f"{was or 'none'} -> {now}"))
                # Partitions need their scheduling, so that this comes first.
                texts.insert(0, f"SET {setting} = '{now}'")
        return lines, texts

    def _line(self, kind: Kind, name: str, span: Span) -> Change | None:
        """How something that exists is to change; None: not at all."""
        old, new = self._old, self.new
        match kind:
            case "stream":
                differences = of_streams(old.streams[name], new.streams[name])
                if differences.columns and not differences.fixed:
                    check_unread(old, name, self._sql, span)
            case "table":
                differences = of_tables(old.tables[name], new.tables[name])
            case "view":
                differences = of_views(old.views[name], new.views[name])
            case "sink":
                differences = of_sinks(old.sinks[name], new.sinks[name])
            case "function":
                differences = of_functions(old.functions[name], new.functions[name])
            case "partition":
                differences = of_partitions(old.partitions[name], new.partitions[name])
            case _:
                return self._query_line(name, span)
        if differences.fixed:
            raise error(self._sql, span, _unchangeable(kind, name, differences, new))
        if not differences:
            return None
        detail = str(differences)
        if kind == "view":
            detail += keeps_plan(self._left(), [name])
        return Change("alter", kind, name, detail)

    def _query_line(self, name: str, span: Span) -> Change | None:
        old, new = self._old, self.new
        differences = of_queries(old, new, name)
        stopped = name in old.stopped
        if name in new.stopped and not stopped:
            differences = replace(differences, texts=(*differences.texts, "stopped"))
        elif stopped and differences:
            said = (
                f"query '{name}' is stopped and cannot become that: {differences}; drop it, and apply again"
            )
            raise error(self._sql, span, said)
        elif stopped and name not in new.stopped:
            return Change("keep", "query", name, "it is stopped; drop it, and it begins anew")
        if differences.fixed:
            raise error(self._sql, span, unchangeable_query(name, differences))
        query = old.queries[name]
        if differences.select and (query.most_windows is not None or query.on_error == "skip"):
            ends = "it is evaluated once" if query.one_time else "it ends by windows"
            why = "it has on_error = 'skip'" if query.most_windows is None else ends
            said = f"the SELECT of query '{name}' cannot be changed, since {why}"
            raise error(self._sql, span, f"{said}; drop it first, or choose another name")
        return Change("alter", "query", name, str(differences)) if differences else None

    def _left(self) -> Catalog:
        """What goes on that the text does not have: others are made anew by it."""
        mine = {one for statement, _ in self._statements for one in _named(statement)}
        reads = {name: of for name, of in self._old.reads.items() if ("query", name) not in mine}
        views = {name: of for name, of in self._old.views.items() if ("view", name) not in mine}
        return Catalog() if self._prune else Catalog(views=views, reads=reads)

    def _texts(self, statement: Statement, place: Span, lines: Sequence[Change]) -> Iterator[str]:
        """A statement of the text as it is run, if it is about something that changes."""
        known = {(one.kind, one.name): one.action for one in lines if one.action != "keep"}
        about = [
            (kind, name)
            for kind, written in _named(statement)
            if (name := _called(written, getattr(self.new, _KINDS[kind]))) is not None
        ]
        found = [known.get(one) for one in about]
        if not any(found):
            return
        text = self._sql[place.start : place.end]
        creates = all(action == "create" for action in found)
        match statement:
            case CreateStream() | AlterStream() if not creates:
                if about[0] not in self._altered:
                    self._altered.add(about[0])
                    yield from self._stream_texts(about[0][1])
            case CreatePlanned(query=query) if not creates:
                yield self._wishes_text(query.name, statement.span)
            case CreateQuery() | CreateView() | CreateSink() | SplitStream() if not creates:
                yield _replacing(text, statement)
            case SetPartition(name=name) if not creates:
                yield from (f"DROP PARTITION IF EXISTS {quoted(self.plain(name))}", text)
            case _:
                yield text

    def _wishes_text(self, name: str, span: Span) -> str:
        """A query that was submitted as a plan has no SELECT that another could take the place of."""
        differences = of_queries(self._old, self.new, name)
        if differences.select:
            said = f"the plan of query '{name}' cannot be changed while it is there"
            raise error(self._sql, span, f"{said}; drop it first, or choose another name")
        wishes = (
            _WISHES[one].format(repr(value)) if value is not None else f"{_WISHES[one].split()[0]} = NULL"
            for one, value in differences.wishes.items()
        )
        return f"ALTER QUERY {quoted(self.plain(name))} SET ({', '.join(wishes)})"

    def _stream_texts(self, name: str) -> Iterator[str]:
        differences = of_streams(self._old.streams[name], self.new.streams[name])
        if differences.columns:
            columns = ", ".join(f"{quoted(one.name)} {one.type}" for one in differences.columns)
            yield f"ALTER STREAM {quoted(self.plain(name))} ADD COLUMNS ({columns})"
        if differences.options:
            options = (
                f"{quoted(option)} = {'NULL' if text is None else _literal(text)}"
                for option, text in differences.options.items()
            )
            yield f"ALTER STREAM {quoted(self.plain(name))} SET ({', '.join(options)})"

    def is_dropped(self, kind: Kind, name: str) -> bool:
        """Whether the text itself says that something is to go."""
        return any(
            isinstance(one, Drop) and (one.kind, one.name.lower()) == (kind, name.lower())
            for one, _ in self._statements
        ) and name not in getattr(self.new, _KINDS[kind])

    def removed(self) -> Iterator[tuple[Kind, str]]:
        """What there is and the text does not have, in the order in which it can be dropped."""
        mine = {(kind, name.lower()) for statement, _ in self._statements for kind, name in _named(statement)}
        for kind in _DROPPED:
            old, new = getattr(self._old, _KINDS[kind]), getattr(self.new, _KINDS[kind])
            names = reversed(old)  # views are made from views before them
            yield from ((kind, name) for name in names if name not in new or (kind, name.lower()) not in mine)


def _named(statement: Statement) -> Iterator[tuple[Kind, str]]:
    """What a statement says something about that there is to be."""
    match statement:
        case CreateStream(name=name) | AlterStream(name=name):
            yield "stream", name
        case CreateTable(name=name):
            yield "table", name
        case CreateFunction(name=name):
            yield "function", name
        case CreateView(name=name):
            yield "view", name
        case SplitStream(outputs=outputs):
            yield from (("view", name) for name, _ in outputs)
        case CreateQuery(name=name) | AlterQuery(name=name) | StopQuery(name=name):
            yield "query", name
        case CreatePlanned(query=query):
            yield "query", query.name
        case CreateSink(name=name):
            yield "sink", name
        case SetPartition(name=name):
            yield "partition", name
        case _:
            pass


def _as_known(statement: Statement, catalog: Catalog) -> Statement:
    """A statement with the names as they were given first; upper and lower case are the same."""
    match statement:
        case SplitStream(outputs=outputs):
            parts = tuple((_called(name, catalog.views) or name, condition) for name, condition in outputs)
            return replace(statement, outputs=parts)
        case CreateStream() | CreateTable() | CreateView() | CreateQuery() | CreateSink() | SetPartition():
            ((kind, name),) = _named(statement)
            return replace(statement, name=_called(name, getattr(catalog, _KINDS[kind])) or name)
        case CreateFunction(function=function):
            known = _called(function.name, catalog.functions) or function.name
            return replace(statement, function=replace(function, name=known))
    return statement


def _without(catalog: Catalog, statements: Sequence[tuple[Statement, Span]]) -> Catalog:
    """The catalog without what the statements create: they say what that is to be."""
    for statement, _ in statements:
        if isinstance(statement, AlterQuery | AlterStream | StopQuery | Drop):
            continue
        for kind, written in _named(statement):
            name = _called(written, getattr(catalog, _KINDS[kind]))
            if name is not None:
                catalog = catalog.without(_KINDS[kind], name)
                if kind == "query":
                    catalog = catalog.without("reads", name).without("moments", name).without("selects", name)
                    catalog = replace(catalog, stopped=catalog.stopped - {name})
    return catalog


def _called(name: str, known: Mapping[str, Any]) -> str | None:
    return next((one for one in known if one.lower() == name.lower()), None)


def _goes_on(catalog: Catalog, kind: Kind, name: str) -> str:
    if kind == "query" and name not in catalog.stopped:
        return "runs on; --prune stops it"
    return "stays; --prune drops it"


def _unchangeable(kind: Kind, name: str, differences: Differences, wanted: Catalog) -> str:
    what = ", ".join(differences.fixed)
    if kind in ("table", "function"):
        return f"{kind} '{name}' cannot be changed: {what}; drop it first, or choose another name"
    users = [query for query, one in wanted.reads.items() if name in one]
    first = f", and query '{users[0]}' that reads it," if users else ""
    return f"stream '{name}' cannot be changed so: {what}; drop it{first} first, or choose another name"


def _replacing(text: str, statement: Statement) -> str:
    """The text of a statement that replaces what there is, however it was written."""
    replaces = getattr(statement, "or_replace", False)
    if replaces:
        return text
    verb = "SPLIT" if isinstance(statement, SplitStream) else "CREATE"
    rest = text[len(verb) :]
    if getattr(statement, "if_not_exists", False):
        rest = _IF_NOT_EXISTS.sub(" ", rest, count=1)
    return f"{verb} OR REPLACE{rest}"


def _literal(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
