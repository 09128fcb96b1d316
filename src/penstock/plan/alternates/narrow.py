"""Inputs with fewer columns than they had, and what those that are left are called."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from penstock.model.operators import Column, Operator, Project, Sink
from penstock.model.query import PlanNode
from penstock.model.schema import UNTYPED, Schema
from penstock.model.window import Window
from penstock.plan.alternates.space import Input, Space
from penstock.plan.alternates.texts import quoted, renamed


class Narrow(NamedTuple):
    """An input with fewer columns, and what each of those left (in lower case) is called now."""

    below: Input
    names: Mapping[str, str]


def only(narrow: Narrow, wanted: frozenset[str], schema: Schema, space: Space) -> Narrow:
    """The input with the wanted columns of its old schema and no others, in that order."""
    fields = tuple(field for field in schema.fields if field.name.lower() in wanted)
    now = [narrow.names[field.name.lower()] for field in fields]
    if list(space.schema(narrow.below.node).names) == now:
        return Narrow(
            narrow.below, {field.name.lower(): name for field, name in zip(fields, now, strict=True)}
        )
    return renaming(narrow, Schema(fields), space)


def renaming(narrow: Narrow, schema: Schema, space: Space) -> Narrow:
    """The input with these columns, called as they were at first."""
    columns = tuple(
        Column(
            field.name,
            quoted(narrow.names[field.name.lower()]),
            None if field.type == UNTYPED else field.type,
        )
        for field in schema.fields
    )
    return Narrow(Input(space.over(Project(columns), narrow.below)), same_names(schema.names))


def made_over(
    node: PlanNode, operator: Operator, inputs: Sequence[Narrow], space: Space, names: Mapping[str, str]
) -> Narrow:
    """The node with another operator; itself if nothing changed."""
    below = [one.below for one in inputs]
    if operator == node.operator and all(
        one.node is child for one, child in zip(below, node.children, strict=True)
    ):
        return Narrow(Input(node), names)
    name = node.name if isinstance(operator, Sink) else None
    return Narrow(Input(space.over(operator, *below, estimate=node.estimate, name=name)), names)


def renamed_columns(
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


def renamed_window(window: Window | None, names: Mapping[str, str]) -> Window | None:
    """The window by the column's new name."""
    return window if window is None or window.on is None else replace(window, on=names[window.on.lower()])


def same_names(names: Iterable[str]) -> dict[str, str]:
    """Columns that are called what they were."""
    return {name.lower(): name for name in names}
