"""Namespaces: a text is read as one team's, and what comes back names nothing of another's.

In namespace `team` the stream `orders` is the engine's `team.orders`; a stream of another namespace that is
granted is written `other.orders` (`default.orders` for those of the library, whose names have no prefix). A
statement is renamed (`renaming`) and applied to a catalog that holds only what the namespace may see: so what
it cannot see is unknown to it, in every suggestion and error. What that changes is put back into the whole.

Without a scope everything is as the library has it. The scope `default` sees all names without a dot.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from penstock.errors import PenstockError, QueryError, SqlError
from penstock.model.query import Query
from penstock.model.quotas import Quotas, Usage, exceeded
from penstock.sql.binding.catalog import Catalog
from penstock.sql.reading.statements import (
    AlterStream,
    CreateQuery,
    CreateSink,
    CreateStream,
    CreateTable,
    CreateView,
    Drop,
    Explain,
    SetPartition,
    SetPolicy,
    SetScheduling,
    SplitStream,
    Statement,
)
from penstock.sql.renaming import renamed, renamed_plan
from penstock.sql.session import Answer, ReadPlan, Step, steps
from penstock.sql.text.places import error

DEFAULT = "default"
_KINDS = (
    "streams",
    "tables",
    "views",
    "queries",
    "sinks",
    "functions",
    "reads",
    "partitions",
    "moments",
    "selects",
)
#: The columns of a SHOW that hold names.
_NAMED = {"streams": (0,), "tables": (0,), "views": (0, 2), "queries": (0,), "sinks": (0, 1)}
_DOTTED = re.compile(r"(?<![\w./-])[\w-]+\.[\w-]+(?:\.[\w-]+)*")
_Thing = TypeVar("_Thing")


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose text it is, and which streams of others it may read (the engine's names, in small letters)."""

    namespace: str = DEFAULT
    granted: frozenset[str] = frozenset()
    quotas: Quotas = field(default_factory=Quotas)
    #: Of a text that was accepted once: what was granted then may have been revoked since.
    accepted: bool = False

    @property
    def prefix(self) -> str:
        """What the engine's names of own things begin with."""
        return "" if self.namespace == DEFAULT else f"{self.namespace}."

    def owns(self, name: str) -> bool:
        """Whether the engine's name is that of something of this namespace."""
        return name.lower().startswith(self.prefix) if self.prefix else "." not in name

    def sees(self, stream: str) -> bool:
        """Whether a stream, by the engine's name, may be read."""
        return self.accepted or self.owns(stream) or stream.lower() in self.granted

    def internal(self, name: str) -> str:
        """The engine's name for what this namespace calls so; none if it may not see it."""
        first, dot, rest = name.partition(".")
        if not dot:
            return f"{self.prefix}{name}"
        if first.lower() == self.namespace:
            return f"{self.prefix}{rest}"
        if first.lower() == DEFAULT:
            return rest if self.sees(rest) else name
        return f"{first.lower()}.{rest}"

    def reads_dotted(self, name: str) -> bool:
        """Whether `a.b` in FROM is looked up; in `default` only what is granted, else refused as ever."""
        return self.namespace != DEFAULT or self.accepted or self.internal(name).lower() in self.granted

    def plain(self, name: str) -> str:
        """What this namespace calls something, by the engine's name."""
        if self.owns(name):
            return name[len(self.prefix) :]
        return name if "." in name else f"{DEFAULT}.{name}"


def steps_in(
    scope: Scope | None,
    catalog: Catalog,
    statement: Statement,
    sql: str,
    now_s: float = 0.0,
    plans: ReadPlan | None = None,
) -> Iterator[Step]:
    """What a namespace's statement does to the whole catalog; statements are in the engine's names."""
    if scope is None:
        yield from steps(catalog, statement, sql, now_s, plans)
        return
    _check(scope, statement, sql)
    ours = renamed(statement, scope)
    if isinstance(ours, Drop | AlterStream):
        _check_owned(scope, catalog, ours, sql)
        seen = restricted(catalog, Scope(scope.namespace))  # what is granted is there to be read only
    else:
        seen = restricted(catalog, scope)
    for step in steps(seen, ours, sql, now_s, scoped_plans(scope, plans)):
        whole = _merged(catalog, step.before, step.after)
        yield replace(step, before=catalog, after=whole)
        catalog = whole


def apply_in(
    scope: Scope | None, catalog: Catalog, statement: Statement, sql: str, now_s: float = 0.0
) -> tuple[Statement, Catalog, Answer]:
    """The statement in the engine's names, the catalog after it, and the answer, still in those names."""
    answer = Answer("")
    for step in steps_in(scope, catalog, statement, sql, now_s):
        statement, catalog, answer = step.statement, step.after, step.answer
    return statement, catalog, answer


def scoped_plans(scope: Scope | None, plans: ReadPlan | None) -> ReadPlan | None:
    """Reads plans as a namespace's: what they name are its own things, and streams that it may read."""
    if scope is None or plans is None:
        return plans

    def read(document: str) -> Query:
        query = plans(document)
        if "." in query.name:
            raise QueryError(f"'{query.name}' cannot be a name; use letters, digits, '_' and '-', no dot")
        return renamed_plan(query, scope)

    return read


def restricted(catalog: Catalog, scope: Scope) -> Catalog:
    """What a namespace may see: its own, and the streams that were granted to it.

    Partitions are the whole engine's, and seen in `default` if they hold nothing of others.
    """
    partitions = {} if scope.prefix else catalog.partitions
    return replace(
        catalog,
        streams={name: one for name, one in catalog.streams.items() if scope.sees(name)},
        tables=_owned(catalog.tables, scope),
        views=_owned(catalog.views, scope),
        queries=_owned(catalog.queries, scope),
        sinks=_owned(catalog.sinks, scope),
        functions=_owned(catalog.functions, scope),
        reads=_owned(catalog.reads, scope),
        moments=_owned(catalog.moments, scope),
        selects=_owned(catalog.selects, scope),
        stopped=frozenset(name for name in catalog.stopped if scope.owns(name)),
        partitions={
            name: one for name, one in partitions.items() if all(scope.owns(query) for query in one.queries)
        },
    )


def check_quotas(scope: Scope | None, before: Catalog, after: Catalog) -> None:
    """Refuses a text after which a namespace has more queries, or weightier ones, than it may.

    One that has too many, since its quotas were lowered, may still drop some and alter others.
    """
    if scope is None:
        return
    was, now = usage(before, scope), usage(after, scope)
    if now.queries <= was.queries:
        now = replace(now, queries=0)
    if now.weight <= was.weight:
        now = replace(now, weight=0.0)
    for problem in exceeded(scope.namespace, scope.quotas, now):
        raise QueryError(problem)


def usage(catalog: Catalog, scope: Scope) -> Usage:
    """How many queries of a namespace there are that were not stopped, and what they weigh."""
    running = [
        query for name, query in catalog.queries.items() if scope.owns(name) and name not in catalog.stopped
    ]
    return Usage(queries=len(running), weight=sum(query.qos.weight for query in running))


def shown_answers(scope: Scope | None, answers: Iterable[Answer], sql: str, catalog: Catalog) -> list[Answer]:
    """Answers in the namespace's own names."""
    return [answer if scope is None else _shown(scope, answer, sql, catalog) for answer in answers]


@contextmanager
def shown_errors(scope: Scope | None, sql: str, catalog: Catalog) -> Iterator[None]:
    """What is refused is refused in the namespace's own names; the text and the place stay as they are."""
    try:
        yield
    except SqlError as problem:
        if scope is not None:
            what = shown_text(scope, problem.what, sql, catalog)
            problem.args = (str(problem).replace(problem.what, what, 1),)
            problem.what = what
        raise
    except PenstockError as problem:
        if scope is not None:
            problem.args = (shown_text(scope, str(problem), sql, catalog),)
        raise


def shown_text(scope: Scope, text: str, sql: str, catalog: Catalog) -> str:
    """A text of the engine's without the prefix of own names, and without names of others.

    What the user wrote stays: whether something of another has such a name must not be seen from it.
    """
    written = sql.lower()
    everything = {name.lower() for kind in _KINDS for name in getattr(catalog, kind)}

    def own(found: re.Match[str]) -> str:
        name = found.group().lower()
        if name in written:
            return found.group()
        if scope.prefix and name.startswith(scope.prefix):
            return found.group()[len(scope.prefix) :]
        foreign = name in everything and not scope.owns(name) and name not in scope.granted
        return "another's" if foreign else found.group()

    return _DOTTED.sub(own, text)


def _shown(scope: Scope, answer: Answer, sql: str, catalog: Catalog) -> Answer:
    named = _NAMED.get(answer.about, ())

    def cell(place: int, text: str) -> str:
        if place in named:
            return ", ".join(scope.plain(name) for name in text.split(", ")) if text else text
        return text if named else shown_text(scope, text, sql, catalog)

    rows = tuple(tuple(cell(place, text) for place, text in enumerate(row)) for row in answer.rows)
    columns = answer.columns == ("column", "type")  # of DESCRIBE: what somebody has called so
    return replace(
        answer,
        text=shown_text(scope, answer.text, sql, catalog),
        rows=answer.rows if columns else rows,
    )


def _check(scope: Scope, statement: Statement, sql: str) -> None:
    """What cannot be asked for in a namespace."""
    match statement:
        case SetPolicy() | SetScheduling() | SetPartition() | Drop(kind="partition") if scope.prefix:
            raise error(
                sql,
                statement.span,
                "policy, scheduling and partitions are the whole engine's; an admin sets them, in the "
                "namespace default",
            )
        case SplitStream(outputs=outputs):
            names = [name for name, _ in outputs]
        case CreateStream(name=name) | CreateTable(name=name) | CreateView(name=name) | CreateSink(name=name):
            names = [name]
        case CreateQuery(name=name) | Explain(target=CreateQuery(name=name)):
            names = [name]
        case _:
            names = []
    for name in names:
        if "." in name:
            raise error(
                sql, statement.span, f"'{name}' cannot be a name; use letters, digits, '_' and '-', no dot"
            )


def _check_owned(scope: Scope, catalog: Catalog, one: Drop | AlterStream, sql: str) -> None:
    """Nobody drops or alters what another owns, nor drops or adds columns to what another reads."""
    if scope.accepted or (isinstance(one, Drop) and one.kind != "stream"):
        return
    name = next((name for name in catalog.streams if name.lower() == one.name.lower()), None)
    if name is None or not scope.sees(name):
        return
    if not scope.owns(name):
        raise error(
            sql, one.span, f"stream '{scope.plain(name)}' is of another namespace; only that changes it"
        )
    if isinstance(one, AlterStream) and not one.columns:
        return
    views = any(name in view.of and not scope.owns(key) for key, view in catalog.views.items())
    if views or any(name in reads and not scope.owns(key) for key, reads in catalog.reads.items()):
        raise error(
            sql,
            one.span,
            f"stream '{one.name}' is read in a namespace that it is granted to; what reads it must be "
            "dropped there first",
        )


def _owned(things: Mapping[str, _Thing], scope: Scope) -> dict[str, _Thing]:
    return {name: one for name, one in things.items() if scope.owns(name)}


def _merged(whole: Catalog, seen: Catalog, after: Catalog) -> Catalog:
    """The whole with what has changed in the part that was seen; the same whole if nothing has."""
    if after is seen:
        return whole
    changed: dict[str, Any] = {}
    for kind in _KINDS:
        old, part, new = getattr(whole, kind), getattr(seen, kind), getattr(after, kind)
        if new is not part:
            changed[kind] = {name: one for name, one in old.items() if name not in part or name in new} | new
    return replace(
        whole,
        stopped=(whole.stopped - seen.stopped) | after.stopped,
        policy=after.policy,
        scheduling=after.scheduling,
        **changed,
    )
