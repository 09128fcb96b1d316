"""Queries that end by windows: which windows those are, and plans that put out each of them as a whole."""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.errors import QueryError
from penstock.model.operators import Aggregate, Join, Sink, Union
from penstock.model.query import PlanNode, Query
from penstock.model.window import Window
from penstock.sql.binding.joins import TICK_S


@dataclass(frozen=True, slots=True)
class Windows:
    """Windows that are so wide; 0 where rows say how wide they are, as in sessions.

    Results are aggregates of them, or `of_rows`: pairs of a join, whose times are anywhere in them.
    """

    width_s: float
    of_rows: bool = False


def in_whole_windows(query: Query) -> Query:
    """The query itself, or one that puts out its windows whole, if it ends by them. QueryError if it cannot.

    Rows of a window then come out in one step. A join is over windows that follow one another, so that each
    pair is of one.
    """
    if query.most_windows is None:
        return query
    found, sink = windows_of(query), query.root
    assert isinstance(sink.operator, Sink)
    held = Union(ordered=True, every_s=found.width_s if found.of_rows else None)
    (below,) = sink.children
    if found.of_rows:
        below = _tumbling(below)
    return replace(query, root=replace(sink, children=(PlanNode(held, (below,), sink.ports),), ports=()))


def windows_of(query: Query) -> Windows:
    """The windows whose results a query puts out; QueryError where they cannot be told."""
    found = _windows(query, query.root)
    if found is None:
        raise QueryError(
            f"query '{query.name}' ends by windows, but has no aggregate, join or DISTINCT over one; "
            "for the rows of a while, write a continuous query WITH (stop = '1 min')"
        )
    return found


def _windows(query: Query, node: PlanNode) -> Windows | None:
    match node.operator:
        case Aggregate(window=Window(kind="time") as window):
            return Windows(window.width)
        case Aggregate(window=Window(kind="session" | "count")):
            return Windows(0.0)
        case Join(relation=None, left=Window() as left, right=Window() as right):
            if _at_one_instant(left) and _at_one_instant(right):  # windows that are the same
                return _of_all(query, node)
            return _of_join(query, node, left, right)
        case _:
            return _of_all(query, node)


def _of_all(query: Query, node: PlanNode) -> Windows | None:
    """The windows of all inputs, which must be alike."""
    found = {one for one in (_windows(query, child) for child in node.children) if one is not None}
    if len(found) > 1:
        raise QueryError(
            f"query '{query.name}' ends by windows, but has several of different width side by side; "
            "let them have the same"
        )
    return next(iter(found), None)


def _of_join(query: Query, node: PlanNode, left: Window, right: Window) -> Windows:
    by_time = left.kind == right.kind == "time"
    if not by_time or left.width != right.width or _of_a_range(left) or any(map(_joins, node.children)):
        raise QueryError(
            f"query '{query.name}' ends by windows, and joins streams over windows that are not the same; "
            "write one [RANGE …] behind both of two streams, or aggregate the join over a window"
        )
    return Windows(left.width, of_rows=True)


def _at_one_instant(window: Window) -> bool:
    return window.kind == "time" and window.width <= TICK_S


def _of_a_range(window: Window) -> bool:
    """Whether it is a range in ON that bounds the time, which ends one tick later than it says."""
    return round(window.width * 1e6) % 1000 == 1


def _joins(node: PlanNode) -> bool:
    """Whether a pair is of a pair: rows of three streams, each two in windows of their own."""
    match node.operator:
        case Aggregate():
            return False
        case Join(relation=None):
            return True
        case _:
            return any(map(_joins, node.children))


def _tumbling(node: PlanNode) -> PlanNode:
    """The plan with the join below over windows that follow one another."""
    operator = node.operator
    if isinstance(operator, Join) and operator.left is not None and operator.right is not None:
        windows = (replace(one, hop=one.width) for one in (operator.left, operator.right))
        left, right = windows
        return replace(node, operator=replace(operator, left=left, right=right))
    return replace(node, children=tuple(_tumbling(child) for child in node.children))
