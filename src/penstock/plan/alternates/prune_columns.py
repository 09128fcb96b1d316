"""The rule of that name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from penstock.model.operators import (
    Aggregate,
    Join,
    Project,
    Select,
    Sink,
    Source,
    Split,
    Union,
)
from penstock.model.query import PlanNode
from penstock.model.schema import Schema
from penstock.plan.alternates.narrow import (
    Narrow,
    made_over,
    only,
    renamed_columns,
    renamed_window,
    renaming,
    same_names,
)
from penstock.plan.alternates.needs import asked_of, kept_columns, needs
from penstock.plan.alternates.sides import sides_of
from penstock.plan.alternates.space import Input, Space
from penstock.plan.alternates.texts import renamed


def prune_columns(node: PlanNode, space: Space) -> Iterator[PlanNode]:
    """Columns that nothing above reads are dropped before joins, groups and unions.

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
    narrow: dict[int, Narrow] = {}
    for one in nodes:
        inputs = [
            Narrow(Input(narrow[id(child)].below.node, one.port_of(slot)), narrow[id(child)].names)
            for slot, child in enumerate(one.children)
        ]
        narrow[id(one)] = _narrowed(one, space, inputs, wanted[id(one)])
    made, out = narrow[id(node)], space.schema(node)
    yield space.shaped(made.below.node, out, [made.names[name.lower()] for name in out.names])


def _narrowed(node: PlanNode, space: Space, inputs: Sequence[Narrow], mine: frozenset[str]) -> Narrow:
    """A node over narrow inputs, with the columns that are read of it, sometimes more."""
    match node.operator:
        case Source(schema=schema):
            # A filter comes first: fewer rows are left to project, and other queries may share it.
            return Narrow(Input(node), same_names(schema.names))
        case Select(predicate=predicate):
            select = Select(renamed(predicate, inputs[0].names))
            return made_over(node, select, inputs, space, inputs[0].names)
        case Split(conditions=conditions):
            split = Split(tuple(renamed(condition, inputs[0].names) for condition in conditions))
            return made_over(node, split, inputs, space, inputs[0].names)
        case Project() as project:
            kept = kept_columns(project, mine, space.schemas(node)[0])
            narrow = Project(renamed_columns(kept, node, inputs[0].names, space))
            return made_over(node, narrow, inputs, space, same_names(column.name for column in kept))
        case Sink(columns=()):
            schema = space.schemas(node)[0]
            exact = only(inputs[0], mine, schema, space)
            if exact.names != same_names(schema.names):
                exact = renaming(exact, schema, space)
            return made_over(node, node.operator, [exact], space, exact.names)
        case Sink(columns=columns) as sink:
            sink = replace(sink, columns=renamed_columns(columns, node, inputs[0].names, space))
            return made_over(node, sink, inputs, space, same_names(column.name for column in columns))
        case Union():
            return _union(node, inputs, mine, space)
        case Join():
            return _join(node, _asked(node, inputs, mine, space), space)
        case Aggregate():
            return _aggregate(node, _asked(node, inputs, mine, space), mine, space)


def _aggregate(node: PlanNode, inputs: Sequence[Narrow], mine: frozenset[str], space: Space) -> Narrow:
    aggregate, below = node.operator, inputs[0].names
    assert isinstance(aggregate, Aggregate)
    kept = kept_columns(aggregate, mine, space.schemas(node)[0])
    columns = renamed_columns(kept, node, below, space)
    keys = tuple(below[key.lower()] for key in aggregate.keys)
    taken = {key.lower() for key in keys} | {column.name.lower() for column in columns}
    if len(taken) < len(keys) + len(columns):
        # What the join below calls the key now is the name of an aggregate: give the key its own name again.
        schema = Schema(tuple(f for f in space.schemas(node)[0].fields if f.name.lower() in below))
        return _aggregate(node, [renaming(inputs[0], schema, space)], mine, space)
    operator = Aggregate(keys, columns, renamed_window(aggregate.window, below))
    names = {old.lower(): new for old, new in zip(aggregate.keys, keys, strict=True)}
    return made_over(node, operator, inputs, space, names | same_names(column.name for column in columns))


def _union(node: PlanNode, inputs: Sequence[Narrow], mine: frozenset[str], space: Space) -> Narrow:
    """Each branch with exactly the columns at the places that are read, in order."""
    schemas = space.schemas(node)
    places = [place for place, name in enumerate(schemas[0].names) if name.lower() in mine]
    branches = []
    for narrow, schema in zip(inputs, schemas, strict=True):
        own = Schema(tuple(schema.fields[place] for place in places))
        branches.append(only(narrow, frozenset(name.lower() for name in own.names), own, space))
    first = space.schema(branches[0].below.node).names
    names = {schemas[0].names[place].lower(): now for place, now in zip(places, first, strict=True)}
    return made_over(node, node.operator, branches, space, names)


def _join(node: PlanNode, inputs: Sequence[Narrow], space: Space) -> Narrow:
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
    right = same_names(join.relation_schema.names) if join.relation is not None else inputs[1].names
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
        left=renamed_window(join.left, inputs[0].names),
        right=renamed_window(join.right, right),
    )
    return made_over(node, operator, inputs, space, names)


def _asked(node: PlanNode, inputs: Sequence[Narrow], mine: frozenset[str], space: Space) -> list[Narrow]:
    """The inputs with exactly what the node reads of them."""
    return [
        only(narrow, asked_of(node, slot, mine, space), schema, space)
        for slot, (narrow, schema) in enumerate(zip(inputs, space.schemas(node), strict=True))
    ]
