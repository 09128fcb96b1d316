"""The rule of that name."""

from __future__ import annotations

from collections.abc import Iterator

from penstock.model.operators import Project, Select
from penstock.model.query import PlanNode
from penstock.plan.alternates.safety import project_can_raise
from penstock.plan.alternates.space import Input, Space, inputs_of
from penstock.plan.alternates.texts import reads, replaced
from penstock.plan.conjunctions import conjuncts


def push_select_through_project(node: PlanNode, space: Space) -> Iterator[PlanNode]:
    """A select goes below a project, with the project's expressions in place of its columns.

    From:       select y > 1 over project x + 1 AS y
    To:         project x + 1 AS y over select x + 1 > 1
    Valid when: no column of the project can raise. The predicate may: it sees the same rows as before.
    Why:        columns are computed for fewer rows, and the select comes nearer to its stream.
    """
    if not isinstance(node.operator, Select):
        return
    (lower,) = node.children
    if not isinstance(lower.operator, Project):
        return
    schema = space.schemas(lower)[0]
    if not schema.fields or project_can_raise(lower.operator, schema):
        return
    made = {column.name.lower(): column.expression for column in lower.operator.columns}
    parts = conjuncts(node.operator.predicate)
    if any(not reads(part) <= made.keys() for part in parts):
        return
    below = space.select([replaced(part, made) for part in parts], inputs_of(lower)[0], node.estimate)
    yield space.over(lower.operator, Input(below.node), estimate=lower.estimate)
