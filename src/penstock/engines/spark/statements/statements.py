"""Statements: what a text asks for is applied whole or not at all, in memory, in the commit log and on disk.

1. The text is read and applied to the catalog, which is a value; formats, options and columns are checked.
2. What can go wrong outside is done: paths are looked up, tables read, directories made. Nobody sees it yet,
   and it is undone if anything is refused.
3. The queries are planned for what runs at a moment, the ground.
4. Within a commit the registrar looks whether that is still what runs, and then changes memory and log. If
   other queries have come or gone meanwhile, the plans are made again. Only a defect could make the last part
   fail; it would stop the engine.

All but the last run in the thread of whoever calls, one text after the other: steps go on meanwhile.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

from penstock.engines.spark.functions.registry import Functions
from penstock.engines.spark.results.sinks import registry as sinks
from penstock.engines.spark.results.sinks.base import Sink
from penstock.engines.spark.results.sinks.columns import result_columns
from penstock.engines.spark.results.sinks.disk import remove_directories
from penstock.engines.spark.results.sinks.files import FileSink
from penstock.engines.spark.statements.checks import check
from penstock.engines.spark.statements.confinement import Confined, reworded
from penstock.engines.spark.statements.inputs import Inputs, NewInputs
from penstock.engines.spark.statements.outputs import Places
from penstock.errors import EngineError, FunctionError, PenstockError, QueryError, SinkError, SourceError
from penstock.model.estimates import Estimates
from penstock.model.query import Query
from penstock.plan import document
from penstock.plan.shared.together import Admitted, Running
from penstock.sql.binding.catalog import Catalog, Stream
from penstock.sql.reading.reader import read
from penstock.sql.reading.statements import (
    AlterQuery,
    AlterStream,
    CreateFunction,
    CreatePlanned,
    CreateQuery,
    CreateStream,
    Describe,
    Explain,
    SetPartition,
    SetPolicy,
    Show,
    Statement,
)
from penstock.sql.scoping import Scope, check_quotas, shown_errors, steps_in
from penstock.sql.session import Answer, Step
from penstock.sql.text.places import error

#: Seconds that a statement waits for what had a name before to be gone.
PATIENCE_S = 30.0
_PAUSE_S = 0.01
#: How often plans are made anew because queries come and go.
_TRIES = 3

_CREATES = CreateQuery | CreatePlanned


class StillThereError(EngineError):
    """Something is dropped and about to be gone, and until then nothing else can have its name."""


class OvertakenError(EngineError):
    """Plans were made for what does not run like that any more."""


@dataclass(frozen=True, slots=True)
class Ground:
    """What plans are made for: what runs, the rates of streams, and a number that tells operators apart.

    Rates and what was measured of operators change all the time; no plan is wrong for that.
    """

    running: Running
    rates: Mapping[str, float] = field(compare=False)
    since: int
    estimates: Estimates = field(compare=False, default_factory=Estimates)

    def is_as(self, other: Ground) -> bool:
        """Whether plans for the one are plans for the other; a graph never changes, it is replaced."""
        same = self.running.graph is other.running.graph
        return same and self == replace(other, running=replace(other.running, graph=self.running.graph))


class Planner(Protocol):
    """What the registrar does about a text; `ground` and `apply` within a commit."""

    def ground(self, asked: Asked) -> Ground:
        """What the plans of a text are to be made for."""
        ...

    def plan(self, asked: Asked, ground: Ground) -> Admitted:
        """The plans."""
        ...

    def apply(self, prepared: Prepared, ground: Ground, found: Admitted) -> list[Answer]:
        """Does what the text asks for."""
        ...


@dataclass(frozen=True, slots=True)
class Asked:
    """A text that makes sense: what its statements do, one after the other."""

    sql: str
    at_s: float
    before: Catalog
    after: Catalog
    steps: tuple[Step, ...]
    namespace: str | None = None

    @property
    def changes(self) -> bool:
        """Whether anything is asked for but answers."""
        return any(not isinstance(one.statement, Show | Describe | Explain) for one in self.steps)

    @property
    def created(self) -> Mapping[str, Query]:
        """The queries that begin, as the text leaves them."""
        return {
            name: query
            for name, query in self.after.queries.items()
            if any(isinstance(s, _CREATES) and one.name == name for s, one in self._queries())
        }

    @property
    def altered(self) -> Sequence[Query]:
        """The queries that were there before and are to be something else, one after the other."""
        created = self.created
        return [one for s, one in self._queries() if isinstance(s, AlterQuery) and one.name not in created]

    @property
    def policies(self) -> Iterator[str]:
        """The policies that are set, for all or for a partition."""
        kinds = SetPolicy | SetPartition
        named = (one.statement.policy for one in self.steps if isinstance(one.statement, kinds))
        return (policy for policy in named if policy is not None)

    @property
    def partitioned(self) -> Iterator[str]:
        """The operators that are put into partitions."""
        statements = (one.statement for one in self.steps)
        return (name for one in statements if isinstance(one, SetPartition) for name in one.operators or ())

    def _queries(self) -> list[tuple[Statement, Query]]:
        return [(one.statement, one.answer.query) for one in self.steps if one.answer.query is not None]

    def new(self, kind: str) -> Mapping[str, Any]:
        """The streams, tables, sinks or functions that the text creates and does not drop again."""
        before, after = getattr(self.before, kind), getattr(self.after, kind)
        known = {} if kind != "streams" else self.altered_streams
        return {name: one for name, one in after.items() if before.get(name) is not one and name not in known}

    @property
    def altered_streams(self) -> Mapping[str, Stream]:
        """The streams that were there before and are to be read in another way."""
        statements = [one.statement for one in self.steps if one.after is not one.before]
        created = {one.name.lower() for one in statements if isinstance(one, CreateStream)}
        altered = {one.name.lower() for one in statements if isinstance(one, AlterStream)} - created
        return {name: one for name, one in self.after.streams.items() if name.lower() in altered}


@dataclass(frozen=True, slots=True)
class Prepared:
    """A text with all that it needs from outside, which nobody knows of yet."""

    asked: Asked
    inputs: NewInputs
    sinks: Mapping[str, Sink]


class Statements:
    """Runs texts. `commit` does something within a commit."""

    def __init__(
        self,
        places: Places,
        inputs: Inputs,
        catalog: Callable[[], Catalog],
        planner: Planner,
        commit: Callable[[Callable[[], Any]], Any],
        functions: Functions,
        confined: Confined | None = None,
    ) -> None:
        self._places, self._inputs, self._catalog, self._functions = places, inputs, catalog, functions
        self._planner, self._commit, self.confined = planner, commit, confined
        self._one_at_a_time = threading.Lock()

    def execute(self, sql: str, scope: Scope | None = None) -> list[Answer]:
        """Runs the statements of a text: all of them, or none if one is refused.

        Answers are in the engine's names, errors in those of the scope.
        """
        try:
            return self._executed(sql, scope)
        except PenstockError as problem:
            raise reworded(self.confined, problem) from problem.__cause__

    def drafted(self, sql: str, scope: Scope | None = None) -> Query:
        """The query that an EXPLAIN of one that is not there is about; nothing waits for it."""
        catalog, at_s = self._catalog(), time.time()
        with shown_errors(scope, sql, catalog):
            for statement in read(sql):
                for step in steps_in(scope, catalog, statement, sql, at_s, document.read):
                    if (query := step.answer.query) is not None:
                        result_columns(query)
                        return query
        raise QueryError("there is nothing to explain; write a SELECT")

    def _executed(self, sql: str, scope: Scope | None) -> list[Answer]:
        with self._one_at_a_time, shown_errors(scope, sql, self._catalog()):
            asked = self._understood(sql, scope)
            with ExitStack() as undo:
                answers = self._applied(self._prepared(asked, undo))
                undo.pop_all()
            return answers

    def _understood(self, sql: str, scope: Scope | None) -> Asked:
        at_s = time.time()
        before = catalog = self._catalog()
        found = []
        namespace = scope.namespace if scope is not None else None
        for statement in read(sql):
            for step in steps_in(scope, catalog, statement, sql, at_s, document.read):
                self.confine(step.statement, step.before, step.after, sql, namespace)
                catalog = step.after
                check(step.statement, catalog, sql, self._places.base)
                found.append(step)
        check_quotas(scope, before, catalog)
        return Asked(sql, at_s, before, catalog, tuple(found), namespace)

    def confine(
        self, statement: Statement, before: Catalog, after: Catalog, sql: str, namespace: str | None
    ) -> None:
        """Before any option is looked at: some are paths that are read at once."""
        if self.confined is not None:
            try:
                self.confined.check(before, after, namespace)
            except (SourceError, SinkError, FunctionError) as problem:
                raise error(sql, statement.span, str(problem)) from None

    def _prepared(self, asked: Asked, undo: ExitStack) -> Prepared:
        self._try_functions(asked)
        queries = [*asked.created.values(), *asked.altered]
        inputs = self._inputs.prepare(
            asked.new("streams"), asked.new("tables"), queries, asked.after, asked.altered_streams, undo
        )
        made: dict[str, Sink] = {}
        for name, delivery in asked.new("sinks").items():
            columns = result_columns(asked.after.queries[delivery.query])
            try:
                sink = made[name] = sinks.make(delivery, self._places.base, columns)
                if isinstance(sink, FileSink):
                    undo.callback(remove_directories, sink.prepare())
            except SinkError as problem:
                said = str(problem)
                raise SinkError(said if f"'{name}'" in said else f"sink '{name}': {said}") from problem
        return Prepared(asked, inputs, made)

    def _try_functions(self, asked: Asked) -> None:
        """Each new function is loaded in a worker; Spark knows it then, whatever becomes of the text."""
        new = asked.new("functions")
        for one in asked.steps:
            function = new.get(one.statement.name) if isinstance(one.statement, CreateFunction) else None
            if function is None:
                continue
            try:
                if function.target is None and not self._functions.has_body(function):
                    raise FunctionError(
                        f"function '{function.name}' is REGISTERED, but no program has; call "
                        "engine.register, or say where it is: AS 'module:function'"
                    )
                self._functions.try_out(function)
            except FunctionError as problem:
                raise error(asked.sql, one.statement.span, str(problem)) from problem
        self._functions.follow(new.values())

    def _applied(self, prepared: Prepared) -> list[Answer]:
        until_s = time.monotonic() + PATIENCE_S
        tries = 0
        while True:
            try:
                if tries < _TRIES:
                    return self._planned_beside(prepared)
                answers: list[Answer] = self._commit(partial(self._planned_within, prepared))
                return answers
            except OvertakenError:
                tries += 1
            except StillThereError:
                if time.monotonic() > until_s:
                    raise
                time.sleep(_PAUSE_S)

    def _planned_beside(self, prepared: Prepared) -> list[Answer]:
        """Plans while everything goes on."""
        planner, asked = self._planner, prepared.asked
        ground: Ground = self._commit(partial(planner.ground, asked))
        found = planner.plan(asked, ground)
        answers: list[Answer] = self._commit(partial(planner.apply, prepared, ground, found))
        return answers

    def _planned_within(self, prepared: Prepared) -> list[Answer]:
        """Plans while nothing else can change: queries come and go too often otherwise."""
        ground = self._planner.ground(prepared.asked)
        return self._planner.apply(prepared, ground, self._planner.plan(prepared.asked, ground))
