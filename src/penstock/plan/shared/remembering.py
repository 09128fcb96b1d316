"""How long a shared query remembers rows that belong to no member in particular.

A member that comes later must not meet rows from before it came. Where rows are marked with members' numbers
it does not. Others, as of windows whose results only a HAVING tells members apart by, are met until the last
window is closed that holds one. After that two shared queries of one shape that have read equally far
remember the same, whenever they began.
"""

from __future__ import annotations

from penstock.model.operators import Aggregate, Join, Project, Source, is_stateful
from penstock.model.query import PlanNode
from penstock.model.window import Window
from penstock.sql.expressions.texts import quoted


def remembered_s(root: PlanNode) -> float | None:
    """For how long after its time a row matters, by the streams' time; None if there is no end to it.

    Rows that come out of a window have times of their own, up to its width later: hence the sum of all
    widths.
    """
    tagged: set[int] = set()
    total_s = 0.0
    for node in root.post_order():
        operator, inputs = node.operator, [id(child) in tagged for child in node.children]
        if any(inputs) or (isinstance(operator, Join) and operator.roster):
            tagged.add(id(node))
        if is_stateful(operator) and not all(inputs):
            widths = [_width_s(window, below) for window, below in _windows(node, inputs)]
            if not widths or None in widths:
                return None
            total_s += sum(width for width in widths if width is not None)
    return total_s


def _windows(node: PlanNode, tagged: list[bool]) -> list[tuple[Window | None, PlanNode]]:
    """The windows of rows that belong to no member, and where those come from."""
    match node.operator:
        case Aggregate(window=window):
            return [(window, node.children[0])]
        case Join(left=left, right=right, relation=None):
            sides = zip((left, right), node.children, tagged, strict=True)
            return [(window, below) for window, below, is_tagged in sides if not is_tagged]
        case _:
            return []


def _width_s(window: Window | None, below: PlanNode) -> float | None:
    if window is None or window.kind != "time" or window.end_of_query is not None:
        return None
    if window.on is not None and not _is_time(below, window.on):
        return None
    return window.width


def _is_time(node: PlanNode, column: str) -> bool:
    """Whether a column is the time that its rows came with."""
    match node.operator:
        case Source(time=time):
            return time == column
        case Project(columns=columns) if all(
            one.expression != quoted(column) for one in columns if one.name == column
        ):
            return False
        case operator if is_stateful(operator):
            return False
    return all(_is_time(child, column) for child in node.children)
