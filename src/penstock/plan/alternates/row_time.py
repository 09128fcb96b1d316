"""Which column of a node has the time its rows came with."""

from __future__ import annotations

from penstock.model.operators import Join, Project, Select, Source, Split, Union
from penstock.model.query import PlanNode
from penstock.plan.alternates.space import Space
from penstock.plan.alternates.texts import plain_column


def row_time(node: PlanNode, space: Space) -> str | None:
    """The column, in lower case; None if there is none, or none that is known."""
    match node.operator:
        case Source(time=time):
            return time.lower() if time is not None else None
        case Select() | Split() | Join(relation=str()):
            return row_time(node.children[0], space)
        case Project(columns=columns):
            below = row_time(node.children[0], space)
            plain = {column.name.lower(): plain_column(column.expression) for column in columns}
            return next((name for name, read in plain.items() if read and read.lower() == below), None)
        case Union():
            first, *others = (_place(child, space) for child in node.children)
            same = first is not None and all(other == first for other in others)
            return space.schema(node).names[first].lower() if same and first is not None else None
        case _:
            return None  # an aggregate's window, or the later of a join's two


def _place(node: PlanNode, space: Space) -> int | None:
    time = row_time(node, space)
    names = [name.lower() for name in space.schema(node).names]
    return names.index(time) if time in names else None
