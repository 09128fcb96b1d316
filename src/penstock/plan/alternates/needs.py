"""Which columns of each node of a plan something above reads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

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
from penstock.model.schema import Schema
from penstock.model.window import Window
from penstock.plan.alternates.safety import any_can_raise, arguments
from penstock.plan.alternates.sides import sides_of
from penstock.plan.alternates.space import Space
from penstock.plan.alternates.texts import all_read, lower_names, reads


def needs(root: PlanNode, space: Space) -> Mapping[int, frozenset[str]]:
    """The columns that are read of each node, by its id, in lower case; all of the root, one at least."""
    wanted: dict[int, frozenset[str]] = {id(root): lower_names(space.schema(root))}
    for node in reversed([*root.post_order()]):
        for slot, child in enumerate(node.children):
            asked = asked_of(node, slot, wanted[id(node)], space)
            wanted[id(child)] = wanted.get(id(child), frozenset()) | asked
    return wanted


def asked_of(node: PlanNode, slot: int, mine: frozenset[str], space: Space) -> frozenset[str]:
    """What a node reads of one of its inputs if `mine` is what is read of it."""
    schemas = space.schemas(node)
    asked = frozenset(_asked(node.operator, slot, mine, schemas))
    return asked or _least(schemas[slot])


def kept_columns(operator: Project | Aggregate, mine: frozenset[str], below: Schema) -> tuple[Column, ...]:
    """The columns that are read, or can raise; one at least."""
    project = isinstance(operator, Project)
    columns = operator.columns if isinstance(operator, Project) else operator.aggregates
    kept = tuple(
        column
        for column in columns
        if column.name.lower() in mine
        or any_can_raise((column.expression,) if project else arguments(column.expression), below)
    )
    return kept or columns[:1]


def _asked(operator: Operator, slot: int, mine: frozenset[str], schemas: tuple[Schema, ...]) -> Iterable[str]:
    match operator:
        case Select(predicate=predicate):
            return mine | reads(predicate)
        case Split(conditions=conditions):
            return mine | all_read(conditions)
        case Project() as project:
            return all_read(column.expression for column in kept_columns(project, mine, schemas[0]))
        case Sink(columns=columns):
            return all_read(column.expression for column in columns) if columns else mine
        case Union():
            places = zip(schemas[0].names, schemas[slot].names, strict=True)
            return {own.lower() for name, own in places if name.lower() in mine}
        case Join() as join:
            sides = sides_of(join, schemas)
            assert sides is not None
            names, window = (sides.left, join.left) if slot == 0 else (sides.right, join.right)
            asked = mine | reads(join.condition)
            return {own.lower() for name, own in names.items() if name in asked} | _on(window)
        case Aggregate(keys=keys, window=window) as aggregate:
            read = all_read(column.expression for column in kept_columns(aggregate, mine, schemas[0]))
            return read | {key.lower() for key in keys} | _on(window)
        case Source():
            return ()


def _on(window: Window | None) -> set[str]:
    return {window.on.lower()} if window is not None and window.on is not None else set()


def _least(schema: Schema) -> frozenset[str]:
    """The smallest column: a row must have one, even if only rows are counted."""
    return frozenset((min(schema.fields, key=lambda field: field.bytes).name.lower(),))
