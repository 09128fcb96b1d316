"""The rule of that name."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

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
    Union,
)
from penstock.model.query import PlanNode
from penstock.model.schema import UNTYPED, Schema
from penstock.model.window import Window
from penstock.plan.alternates.needs import asked_of, kept_columns, needs
from penstock.plan.alternates.sides import sides_of
from penstock.plan.alternates.space import Input, Space
from penstock.plan.alternates.texts import renamed
from penstock.sql.expressions import quoted


class _Narrow(NamedTuple):
    """An input with fewer columns, and what each of those left (in lower case) is called now."""

    below: Input
    names: Mapping[str, str]


def prune_columns(node: PlanNode, space: Space) -> Iterator[PlanNode]:
    """Columns that nothing above reads are dropped at their stream, and before joins, groups and unions.

    From:       project a over join over (source A of 20 columns, source B of 20 columns)
    To:         the same over projects that keep what the join and the project read
    Valid when: always. What a select, a window, a key or a condition reads counts as read; so does a
                column whose expression can raise. A union keeps the same places in every branch, a split
                what any port's reader wants, and what a join calls its columns is put right above it.
    Why:        rows are smaller where they are exchanged and kept. Useful at the root: all of a node's own
                columns stay.
    """
    nodes = tuple(node.post_order())
    if any(not space.schema(one).fields for one in nodes):
        return
    wanted = needs(node, space)
    narrow: dict[int, _Narrow] = {}
    for one in nodes:
        inputs = [
            _Narrow(Input(narrow[id(child)].below.node, one.port_of(slot)), narrow[id(child)].names)
            for slot, child in enumerate(one.children)
        ]
        narrow[id(one)] = _narrowed(one, space, inputs, wanted[id(one)])
    made, out = narrow[id(node)], space.schema(node)
    yield space.shaped(made.below.node, out, [made.names[name.lower()] for name in out.names])


def _narrowed(node: PlanNode, space: Space, inputs: Sequence[_Narrow], mine: frozenset[str]) -> _Narrow:
    """A node over narrow inputs, with the columns that are read of it, sometimes more."""
    match node.operator:
        case Source(schema=schema):
            return _only(_Narrow(Input(node), _same_names(schema.names)), mine, schema, space)
        case Select(predicate=predicate):
            select = Select(renamed(predicate, inputs[0].names))
            return _made(node, select, inputs, space, inputs[0].names)
        case Split(conditions=conditions):
            split = Split(tuple(renamed(condition, inputs[0].names) for condition in conditions))
            return _made(node, split, inputs, space, inputs[0].names)
        case Project() as project:
            if isinstance(node.children[0].operator, Source):
                # It keeps what is read already: no second project below it.
                inputs = [_Narrow(Input(node.children[0]), _same_names(space.schemas(node)[0].names))]
            kept = kept_columns(project, mine, space.schemas(node)[0])
            narrow = Project(_columns(kept, node, inputs[0].names, space))
            return _made(node, narrow, inputs, space, _same_names(column.name for column in kept))
        case Sink(columns=()):
            schema = space.schemas(node)[0]
            exact = _only(inputs[0], mine, schema, space)
            if exact.names != _same_names(schema.names):
                exact = _renaming(exact, schema, space)
            return _made(node, node.operator, [exact], space, exact.names)
        case Sink(columns=columns) as sink:
            sink = replace(sink, columns=_columns(columns, node, inputs[0].names, space))
            return _made(node, sink, inputs, space, _same_names(column.name for column in columns))
        case Union():
            return _union(node, inputs, mine, space)
        case Join():
            return _join(node, _asked(node, inputs, mine, space), space)
        case Aggregate():
            return _aggregate(node, _asked(node, inputs, mine, space), mine, space)


def _aggregate(node: PlanNode, inputs: Sequence[_Narrow], mine: frozenset[str], space: Space) -> _Narrow:
    aggregate, below = node.operator, inputs[0].names
    assert isinstance(aggregate, Aggregate)
    kept = kept_columns(aggregate, mine, space.schemas(node)[0])
    columns = _columns(kept, node, below, space)
    keys = tuple(below[key.lower()] for key in aggregate.keys)
    taken = {key.lower() for key in keys} | {column.name.lower() for column in columns}
    if len(taken) < len(keys) + len(columns):
        # What the join below calls the key now is the name of an aggregate: give the key its own name again.
        schema = Schema(tuple(f for f in space.schemas(node)[0].fields if f.name.lower() in below))
        return _aggregate(node, [_renaming(inputs[0], schema, space)], mine, space)
    operator = Aggregate(keys, columns, _on(aggregate.window, below))
    names = {old.lower(): new for old, new in zip(aggregate.keys, keys, strict=True)}
    return _made(node, operator, inputs, space, names | _same_names(column.name for column in columns))


def _union(node: PlanNode, inputs: Sequence[_Narrow], mine: frozenset[str], space: Space) -> _Narrow:
    """Each branch with exactly the columns at the places that are read, in order."""
    schemas = space.schemas(node)
    places = [place for place, name in enumerate(schemas[0].names) if name.lower() in mine]
    branches = []
    for narrow, schema in zip(inputs, schemas, strict=True):
        own = Schema(tuple(schema.fields[place] for place in places))
        branches.append(_only(narrow, frozenset(name.lower() for name in own.names), own, space))
    first = space.schema(branches[0].below.node).names
    names = {schemas[0].names[place].lower(): now for place, now in zip(places, first, strict=True)}
    return _made(node, node.operator, branches, space, names)


def _join(node: PlanNode, inputs: Sequence[_Narrow], space: Space) -> _Narrow:
    join = node.operator
    assert isinstance(join, Join)
    before = sides_of(join, space.schemas(node))
    after = sides_of(join, tuple(space.schema(one.below.node) for one in inputs))
    assert before is not None
    assert after is not None
    now_left = {own.lower(): out for out, own in zip(after.out.names, after.left.values(), strict=False)}
    now_right = {
        own.lower(): out
        for out, own in zip(after.out.names[len(after.left) :], after.right.values(), strict=True)
    }
    right = _same_names(join.relation_schema.names) if join.relation is not None else inputs[1].names
    names = {
        **{
            old: now_left[inputs[0].names[own.lower()].lower()]
            for old, own in before.left.items()
            if own.lower() in inputs[0].names
        },
        **{
            old: now_right[right[own.lower()].lower()]
            for old, own in before.right.items()
            if own.lower() in right
        },
    }
    operator = replace(
        join,
        condition=renamed(join.condition, names),
        left=_on(join.left, inputs[0].names),
        right=_on(join.right, right),
    )
    return _made(node, operator, inputs, space, names)


def _asked(node: PlanNode, inputs: Sequence[_Narrow], mine: frozenset[str], space: Space) -> list[_Narrow]:
    """The inputs with exactly what the node reads of them."""
    return [
        _only(narrow, asked_of(node, slot, mine, space), schema, space)
        for slot, (narrow, schema) in enumerate(zip(inputs, space.schemas(node), strict=True))
    ]


def _only(narrow: _Narrow, wanted: frozenset[str], schema: Schema, space: Space) -> _Narrow:
    """The input with the wanted columns of its old schema and no others, in that order."""
    fields = tuple(field for field in schema.fields if field.name.lower() in wanted)
    now = [narrow.names[field.name.lower()] for field in fields]
    if list(space.schema(narrow.below.node).names) == now:
        return _Narrow(
            narrow.below, {field.name.lower(): name for field, name in zip(fields, now, strict=True)}
        )
    return _renaming(narrow, Schema(fields), space)


def _renaming(narrow: _Narrow, schema: Schema, space: Space) -> _Narrow:
    """The input with these columns, called as they were at first."""
    columns = tuple(
        Column(
            field.name,
            quoted(narrow.names[field.name.lower()]),
            None if field.type == UNTYPED else field.type,
        )
        for field in schema.fields
    )
    return _Narrow(Input(space.over(Project(columns), narrow.below)), _same_names(schema.names))


def _made(
    node: PlanNode, operator: Operator, inputs: Sequence[_Narrow], space: Space, names: Mapping[str, str]
) -> _Narrow:
    """The node with another operator; itself if nothing changed."""
    below = [one.below for one in inputs]
    if operator == node.operator and all(
        one.node is child for one, child in zip(below, node.children, strict=True)
    ):
        return _Narrow(Input(node), names)
    name = node.name if isinstance(operator, Sink) else None
    return _Narrow(Input(space.over(operator, *below, estimate=node.estimate, name=name)), names)


def _columns(
    columns: Sequence[Column], node: PlanNode, names: Mapping[str, str], space: Space
) -> tuple[Column, ...]:
    """The columns over an input whose names have changed, with the types they had."""
    out = space.schema(node)
    made = []
    for column in columns:
        text, field = renamed(column.expression, names), out.get(column.name)
        changed = text != column.expression and field is not None and field.type != UNTYPED
        made.append(Column(column.name, text, field.type if changed and field else column.type))
    return tuple(made)


def _on(window: Window | None, names: Mapping[str, str]) -> Window | None:
    return window if window is None or window.on is None else replace(window, on=names[window.on.lower()])


def _same_names(names: Iterator[str] | Sequence[str]) -> dict[str, str]:
    return {name.lower(): name for name in names}
