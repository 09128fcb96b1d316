"""Panes: windows of different lengths over the same rows fold them once.

A pane is a stretch of time of which each of these windows holds all or nothing. Rows are folded into panes,
in one aggregate that all of these queries have in common, and panes into each query's windows.

    SELECT k, avg(v) FROM rows GROUP BY window(t, '10 seconds'), k
    SELECT k, avg(v) FROM rows GROUP BY window(t, '1 minute', '20 seconds'), k

share panes of ten seconds. A row that is later than the watermark allows may find its pane closed and a
window open: it goes past the panes (`Aggregate.carries_late`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import gcd

from penstock.model.operators import Aggregate, Column, Operator, Project, output_schema
from penstock.model.query import PlanNode, Query
from penstock.model.schema import Schema
from penstock.model.window import Window
from penstock.plan.regrouping import WINDOW_TYPE, Regrouping, regrouping
from penstock.sql.expressions.texts import quoted

#: A pane is at least this part of the shortest step, or there would be more panes than rows they save.
_LEAST_PART = 4
_PANE_WINDOW = "pane_window"


@dataclass(frozen=True, slots=True)
class _Found:
    """An aggregate over a window of time that can be computed in parts."""

    node: PlanNode
    aggregate: Aggregate
    window: Window
    parts: tuple[Regrouping, ...]
    schema: Schema

    @property
    def lengths_us(self) -> tuple[int, int, int]:
        """Microseconds that panes must divide."""
        return _micros(self.window.width), _micros(self.window.step), _micros(self.window.begin)


def with_panes(queries: Sequence[Query]) -> list[Query]:
    """These queries, which begin together, with common panes where their windows have some."""
    groups: dict[object, list[_Found]] = {}
    known = _Identities()
    for query in queries:
        for node, schema in _schemas(query.root).values():
            found = _found(node, schema)
            if found is not None:
                below = known.of(node.children[0])
                key = below, node.ports, found.aggregate.keys, found.window.on, found.aggregate.since
                groups.setdefault(key, []).append(found)
    made: dict[int, PlanNode] = {}
    for group in groups.values():
        made |= _paned(group)
    if not made:
        return list(queries)
    return [replace(query, root=_replaced(query.root, made)) for query in queries]


def _found(node: PlanNode, schema: Schema) -> _Found | None:
    aggregate = node.operator
    if not isinstance(aggregate, Aggregate) or aggregate.window is None or aggregate.window.kind != "time":
        return None
    if aggregate.window.end_of_query is not None or _aggregates(node.children[0]):
        return None
    parts = []
    for column, field in zip(aggregate.aggregates, schema.fields[len(aggregate.keys) :], strict=True):
        part = regrouping(column, field, f"pane_{_digest(column.expression)}")
        if part is None:
            return None
        parts.append(part)
    return _Found(node, aggregate, aggregate.window, tuple(parts), schema)


def _paned(group: Sequence[_Found]) -> dict[int, PlanNode]:
    """What stands for each aggregate of a group, if there are several windows to fold rows for."""
    members, pane_us = _alike(group)
    if len({one.lengths_us for one in members}) < 2:
        return {}
    first = members[0]
    partial = {column.name: column for one in members for part in one.parts for column in part.partial}
    window = Column(_PANE_WINDOW, "window()", WINDOW_TYPE)
    panes = Aggregate(
        first.aggregate.keys,
        (*(partial[name] for name in sorted(partial)), window),
        Window.seconds(pane_us / 1e6, on=first.window.on),
        first.aggregate.since,
        carries_late=True,
    )
    below = PlanNode(panes, first.node.children, first.node.ports)
    return {id(one.node): _over(one, below) for one in members}


def _alike(group: Sequence[_Found]) -> tuple[list[_Found], int]:
    """Those that have panes in common which are long enough, and how long those are."""
    ordered = sorted(group, key=lambda one: one.lengths_us[1])
    shortest = pane_us = ordered[0].lengths_us[1]
    members = []
    for one in ordered:
        smaller = gcd(pane_us, *one.lengths_us)
        if smaller * _LEAST_PART >= shortest:
            pane_us = smaller
            members.append(one)
    return members, pane_us


def _over(one: _Found, panes: PlanNode) -> PlanNode:
    """An aggregate's windows made of panes, also where each is one pane: a late row's is not part of it."""
    merged = Aggregate(
        one.aggregate.keys,
        tuple({column.name: column for part in one.parts for column in part.merged}.values()),
        replace(one.window, on=None),
        one.aggregate.since,
    )
    top = PlanNode(merged, (panes,))
    results = [part.result for part in one.parts]
    shown = [*(quoted(key) for key in one.aggregate.keys), *results]
    columns = tuple(
        Column(field.name, text, field.type) for field, text in zip(one.schema.fields, shown, strict=True)
    )
    return PlanNode(Project(columns), (top,))


def _aggregates(root: PlanNode) -> bool:
    """Whether there is an aggregate in a plan: one over another's windows has its panes from there."""
    return any(isinstance(node.operator, Aggregate) for node in root.post_order())


class _Identities:
    """Numbers for what nodes compute: equal ones have the same."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[Operator, tuple[int, ...], tuple[int, ...]], int] = {}
        self._known: dict[int, tuple[PlanNode, int]] = {}  # the node is kept, to keep its identity

    def of(self, root: PlanNode) -> int:
        """The number of a node."""
        for node in root.post_order():
            if id(node) not in self._known:
                below = tuple(self._known[id(child)][1] for child in node.children)
                key = node.operator, below, node.ports
                self._known[id(node)] = node, self._numbers.setdefault(key, len(self._numbers))
        return self._known[id(root)][1]


def _schemas(root: PlanNode) -> dict[int, tuple[PlanNode, Schema]]:
    found: dict[int, tuple[PlanNode, Schema]] = {}
    for node in root.post_order():
        inputs = tuple(found[id(child)][1] for child in node.children)
        found[id(node)] = node, output_schema(node.operator, inputs)
    return found


def _replaced(root: PlanNode, by: Mapping[int, PlanNode]) -> PlanNode:
    made: dict[int, PlanNode] = {}
    for node in root.post_order():
        children = tuple(made[id(child)] for child in node.children)
        new = by.get(id(node))
        if new is None:
            same = all(a is b for a, b in zip(children, node.children, strict=True))
            made[id(node)] = node if same else replace(node, children=children)
        else:
            made[id(node)] = new
    return made[id(root)]


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=5).hexdigest()


def _micros(seconds: float) -> int:
    return round(seconds * 1_000_000)
