"""Statements with other names in them: of what they are about, and of what their SELECTs read.

Trees are copied and keep their places, so that errors still point into the user's text.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol, assert_never

from sqlglot import exp

from penstock.model.functions import calls_renamed, is_identity
from penstock.model.operators import (
    Aggregate,
    Column,
    Join,
    Operator,
    Project,
    Select,
    Sink,
    Source,
    Split,
)
from penstock.model.query import PlanNode, Query
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
    SetPartition,
    SetPolicy,
    SetScheduling,
    Show,
    SplitStream,
    Statement,
    StopQuery,
    SubmitPlan,
)
from penstock.sql.typing.functions.catalogue import find


class Names(Protocol):
    """What names become."""

    def internal(self, name: str) -> str:
        """The engine's name for what somebody calls so, with a dot or without."""
        ...

    def reads_dotted(self, name: str) -> bool:
        """Whether `a.b` in FROM is a name to be looked up; if not, it is left as it was written."""
        ...


def renamed(statement: Statement, names: Names) -> Statement:
    """The statement with the engine's names."""
    match statement:
        case CreateStream() | CreateTable() | AlterStream() | StopQuery() | Describe() | SetPartition():
            return replace(statement, name=names.internal(statement.name))
        case Drop(kind=kind):
            return (
                statement if kind == "partition" else replace(statement, name=names.internal(statement.name))
            )
        case CreateFunction(function=function):
            return replace(statement, function=replace(function, name=names.internal(function.name)))
        case CreateQuery() | CreateView():
            return replace(
                statement, name=names.internal(statement.name), select=_select(statement.select, names)
            )
        case AlterQuery(select=select):
            changed = _select(select, names) if select is not None else None
            return replace(statement, name=names.internal(statement.name), select=changed)
        case CreateSink():
            return replace(
                statement, name=names.internal(statement.name), query=names.internal(statement.query)
            )
        case SplitStream(source=source, outputs=outputs):
            return replace(
                statement,
                source=names.internal(source),
                outputs=tuple(
                    (names.internal(name), _condition(tree, source, names)) for name, tree in outputs
                ),
            )
        case Explain(target=target):
            if isinstance(target, str):
                return replace(statement, target=names.internal(target))
            query = renamed(target, names)
            assert isinstance(query, CreateQuery)
            return replace(statement, target=query)
        case CreatePlanned(query=query):
            return replace(statement, query=renamed_plan(query, names))
        case Show() | SetPolicy() | SetScheduling() | SubmitPlan():  # a plan is renamed when it is read
            return statement
        case _:
            assert_never(statement)


def renamed_plan(query: Query, names: Names) -> Query:
    """A query that came as a plan, with the engine's names for itself and for what it reads.

    Names of its operators are left out: those are the whole engine's.
    """
    made: dict[int, PlanNode] = {}
    for node in query.root.post_order():
        children = tuple(made[id(child)] for child in node.children)
        operator = _calls(_operator(node.operator, names), names)
        made[id(node)] = replace(node, operator=operator, children=children, name=None)
    return replace(query, name=names.internal(query.name), root=made[id(query.root)])


def _operator(one: Operator, names: Names) -> Operator:
    match one:
        case Source(stream=stream):
            return replace(one, stream=names.internal(stream))
        case Sink(query=query):
            return replace(one, query=names.internal(query))
        case Join(relation=str(relation), roster=False):
            return replace(one, relation=names.internal(relation))
        case _:
            return one


def _calls(one: Operator, names: Names) -> Operator:
    """The operator with other names for the functions in Python that it calls."""

    def text(expression: str) -> str:
        return calls_renamed(expression, names.internal)

    def columns(those: tuple[Column, ...]) -> tuple[Column, ...]:
        return tuple(replace(column, expression=text(column.expression)) for column in those)

    match one:
        case Select(predicate=predicate):
            return replace(one, predicate=text(predicate))
        case Split(conditions=conditions):
            return replace(one, conditions=tuple(map(text, conditions)))
        case Join(condition=condition):
            return replace(one, condition=text(condition))
        case Project(columns=computed) | Sink(columns=computed):
            return replace(one, columns=columns(computed))
        case Aggregate(aggregates=aggregates):
            return replace(one, aggregates=columns(aggregates))
        case _:
            return one


def _select(tree: exp.Expr, names: Names) -> exp.Expr:
    """A copy in which FROM has the engine's names; columns are qualified by the plain ones, as aliases.

    A name that WITH has given hides one of ours where it is seen: in later ones of WITH, and in the query.
    """
    tree = tree.copy()
    waiting: list[tuple[exp.Expr, frozenset[str]]] = [(tree, frozenset())]
    while waiting:
        node, hidden = waiting.pop()
        clause = node.args.get("with_")
        if clause is not None:
            for one in clause.expressions:
                waiting.append((one.this, hidden))
                hidden |= {one.alias.lower()}
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            _rename(node, node.this, hidden, names)
        if isinstance(node, exp.Anonymous):
            _rename_call(node, names)
        waiting.extend((child, hidden) for child in node.iter_expressions() if child is not clause)
    return tree


def _rename(table: exp.Table, last: exp.Identifier, hidden: frozenset[str], names: Names) -> None:
    first = table.args.get("db")
    if table.args.get("catalog") or (first is None and last.name.lower() in hidden):
        return
    written = f"{first.name}.{last.name}" if first is not None else last.name
    if first is not None and not names.reads_dotted(written):
        return
    if first is None and names.internal(written) == written:
        return
    name = exp.Identifier(this=names.internal(written), quoted=True)
    name.meta.update(last.meta)
    if first is not None and "start" in first.meta:
        name.meta["start"] = first.meta["start"]
    table.set("this", name)
    table.set("db", None)
    plain = exp.Identifier(this=last.name.rsplit(".", 1)[-1], quoted=True)
    alias = table.args.get("alias")
    if alias is None:
        table.set("alias", exp.TableAlias(this=plain))
    elif not alias.this:
        alias.set("this", plain)


def _rename_call(call: exp.Anonymous, names: Names) -> None:
    """What is none of Spark's functions is one that was created."""
    if find(call.name) is None and not is_identity(call.name):
        call.set("this", exp.Identifier(this=names.internal(call.name), quoted=True))


def _condition(tree: exp.Expr | None, source: str, names: Names) -> exp.Expr | None:
    """A condition in which the engine's name qualifies columns where the written one does."""
    if tree is None:
        return None
    tree = tree.copy()
    plain = source.rsplit(".", 1)[-1].lower()
    for column in tree.find_all(exp.Column):
        if len(column.parts) > 1 and column.parts[0].name.lower() == plain:
            column.parts[0].set("this", names.internal(source))
    for call in tree.find_all(exp.Anonymous):
        _rename_call(call, names)
    return tree
