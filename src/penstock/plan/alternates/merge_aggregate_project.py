"""The rule of that name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from penstock.model.operators import Aggregate, Column, Project
from penstock.model.query import PlanNode
from penstock.model.schema import UNTYPED
from penstock.plan.alternates.safety import project_can_raise
from penstock.plan.alternates.space import Space, inputs_of
from penstock.plan.alternates.texts import plain_column, reads, replaced


def merge_aggregate_project(node: PlanNode, space: Space) -> Iterator[PlanNode]:
    """An aggregate reads what the project below it reads, with the project's expressions in its own.

    From:       aggregate by k: sum(y) AS s over project a AS k, x + 1 AS y
    To:         project a AS k, s over aggregate by a: sum(x + 1) AS s
    Valid when: no column of the project can raise; keys and the window's column are plain columns below,
                no two the same, and none is called like an aggregate.
    Why:        one operator less; and aggregates written over different projects may turn out the same.
    """
    if not isinstance(node.operator, Aggregate):
        return
    aggregate, (lower,) = node.operator, node.children
    if not isinstance(lower.operator, Project):
        return
    schema = space.schemas(lower)[0]
    if not schema.fields or project_can_raise(lower.operator, schema):
        return
    made = {column.name.lower(): column.expression for column in lower.operator.columns}
    if any(not reads(column.expression) <= made.keys() for column in aggregate.aggregates):
        return
    keys = [plain_column(made.get(key.lower(), "1")) for key in aggregate.keys]
    window = aggregate.window
    if window is not None and window.on is not None:
        window = replace(window, on=plain_column(made.get(window.on.lower(), "1")))
        if window.on is None:
            return
    plain = [key for key in keys if key is not None]
    names = [name.lower() for name in (*plain, *(column.name for column in aggregate.aggregates))]
    if len(plain) < len(keys) or len(set(names)) < len(names):
        return
    out = space.schema(node)
    columns = tuple(
        Column(column.name, replaced(column.expression, made), None if field.type == UNTYPED else field.type)
        for column, field in zip(aggregate.aggregates, out.fields[len(keys) :], strict=True)
    )
    merged = space.over(Aggregate(tuple(plain), columns, window), inputs_of(lower)[0], estimate=node.estimate)
    yield space.shaped(merged, out, (*plain, *(column.name for column in columns)))
