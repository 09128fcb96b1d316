"""The rule of that name."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.model.operators import Column, Project
from penstock.model.query import PlanNode
from penstock.model.schema import UNTYPED
from penstock.plan.alternates.safety import project_can_raise
from penstock.plan.alternates.space import Space, inputs_of
from penstock.plan.alternates.texts import reads, replaced


def merge_projects(node: PlanNode, space: Space) -> Iterator[PlanNode]:
    """Two projects in a row become one, with the lower one's expressions in the upper one's.

    From:       project y * 2 AS z over project x + 1 AS y
    To:         project (x + 1) * 2 AS z
    Valid when: no column of the lower one can raise.
    Why:        one operator less. Other rules leave projects behind, to put columns in their places.
    """
    if not isinstance(node.operator, Project):
        return
    (lower,) = node.children
    if not isinstance(lower.operator, Project):
        return
    below = space.schemas(lower)[0]
    if not below.fields or project_can_raise(lower.operator, below):
        return
    made = {column.name.lower(): column.expression for column in lower.operator.columns}
    if any(not reads(column.expression) <= made.keys() for column in node.operator.columns):
        return
    columns = tuple(
        Column(column.name, replaced(column.expression, made), None if field.type == UNTYPED else field.type)
        for column, field in zip(node.operator.columns, space.schema(node).fields, strict=True)
    )
    yield space.over(Project(columns), inputs_of(lower)[0])
