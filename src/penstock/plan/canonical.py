"""Plans in canonical form, so that operators that compute the same thing are equal.

Columns are called by what they are: those of a stream keep their names, computed ones are named after their
expression; the columns of projections and aggregates are sorted, the sides of a symmetric join ordered. What
the query calls its columns, and in which order, is left to its sink, where it costs nothing. So queries that
differ in aliases, in the order of columns or in the way a predicate is written share all their operators.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

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
    output_schema,
    widened,
)
from penstock.model.query import PlanNode, Query
from penstock.model.schema import Schema
from penstock.model.window import Window
from penstock.plan.alternates.safety import below_order
from penstock.sql.expressions.canonical import canonical as canonical_text
from penstock.sql.expressions.texts import plain_column, quoted, substituted

#: Numbers, strings, and names of columns that were computed from some.
_CONSTANTS = re.compile(r"\b\d+(\.\d+)?\b|\\?'[^']*\\?'|\bc_[0-9a-f]{10}\b")


@dataclass(frozen=True, slots=True)
class Form:
    """A node in canonical form, the port that is read, and what the original's columns are called there.

    Forms are ordered by `order` first, which is blind to constants: so plans that differ in them alone have
    their parts in the same order.
    """

    node: PlanNode
    port: int
    schema: Schema
    names: Mapping[str, str]
    digest: str
    order: str


def canonical(query: Query) -> Query:
    """The query with its plan in canonical form."""
    return replace(query, root=forms(query.root)[id(query.root)].node)


def forms(root: PlanNode) -> dict[int, Form]:
    """The canonical form of each node of a plan, by the identity of the node."""
    known, in_order = Forms(), below_order(root)
    return {id(node): known.of(node, in_order) for node in root.post_order()}


class Forms:
    """Canonical forms of the nodes of many plans that have parts in common: each is worked out once."""

    def __init__(self) -> None:
        # By identity and by whether order matters; the node is kept, since only that keeps its identity.
        self._known: dict[tuple[int, bool], tuple[PlanNode, Form, Schema]] = {}

    def of(self, root: PlanNode, in_order: frozenset[int]) -> Form:
        """The form of a node of a plan; `in_order` are the plan's nodes whose rows' order matters above.

        Sides and branches of those stay as they are: rows of one instant would change places.
        """
        if (id(root), id(root) in in_order) not in self._known:
            for node in root.post_order():
                if (id(node), id(node) in in_order) not in self._known:
                    self._add(node, in_order)
        return self._known[id(root), id(root) in in_order][1]

    def _add(self, node: PlanNode, in_order: frozenset[int]) -> None:
        kept = id(node) in in_order
        below = [self._known[id(child), id(child) in in_order] for child in node.children]
        schemas = tuple(schema for _, _, schema in below)
        inputs = tuple(
            replace(form, port=node.port_of(slot)) if isinstance(child.operator, Split) else form
            for slot, (child, form, _) in enumerate(below)
        )
        schema = output_schema(node.operator, schemas)
        self._known[id(node), kept] = node, _form(node, inputs, schema, schemas, kept), schema


def _form(
    node: PlanNode, inputs: tuple[Form, ...], schema: Schema, below: tuple[Schema, ...], kept: bool
) -> Form:
    match node.operator:
        case Source():
            return _made(node, node.operator, (), dict(zip(schema.names, schema.names, strict=True)))
        case Select(predicate=predicate):
            text = _text(predicate, inputs[0])
            if text == "TRUE":
                return inputs[0]
            return _made(node, Select(text), inputs, inputs[0].names)
        case Project(columns=columns):
            return _project(node, columns, inputs[0])
        case Split(conditions=conditions):
            return _made(
                node, Split(tuple(_text(one, inputs[0]) for one in conditions)), inputs, inputs[0].names
            )
        case Union():
            return _union(node, node.operator, inputs, below, kept)
        case Join(relation=None):
            return _join(node, node.operator, inputs, below, kept)
        case Join():
            return _join_relation(node, node.operator, inputs[0], below[0])
        case Aggregate():
            return _aggregate(node, node.operator, inputs[0])
        case Sink():
            return _sink(node, node.operator, inputs[0], below[0])
    raise AssertionError(node.operator)


def _text(text: str, of: Form, names: Mapping[str, str] | None = None, schema: Schema | None = None) -> str:
    renamed = {old: quoted(new) for old, new in (names or of.names).items() if old != new}
    return canonical_text(substituted(text, renamed), schema or of.schema)


def _made(node: PlanNode, operator: Operator, inputs: tuple[Form, ...], names: Mapping[str, str]) -> Form:
    ports = tuple(one.port for one in inputs)
    made = PlanNode(
        operator, tuple(one.node for one in inputs), ports if any(ports) else (), estimate=node.estimate
    )
    schema = output_schema(operator, tuple(one.schema for one in inputs))
    digest = _digest((operator, tuple((one.digest, one.port) for one in inputs)))
    order = _digest((_CONSTANTS.sub("?", repr(operator)), tuple((one.order, one.port) for one in inputs)))
    return Form(made, 0, schema, names, digest, order)


def _digest(of: object) -> str:
    return hashlib.blake2b(repr(of).encode(), digest_size=8).hexdigest()


def _named_after(text: str) -> str:
    return f"c_{_digest(text)[:10]}"


def _project(node: PlanNode, columns: tuple[Column, ...], below: Form) -> Form:
    kept: dict[str, Column] = {}
    names: dict[str, str] = {}
    for column in columns:
        text = _text(column.expression, below)
        plain = plain_column(text)
        name = plain or _named_after(text)
        names[column.name] = name
        field = below.schema.get(plain) if plain else None
        kept[name] = Column(name, text, field.type if field is not None else column.type)
    if set(kept) == set(below.schema.names):
        return replace(below, names=names)
    return _made(node, Project(tuple(kept[name] for name in sorted(kept))), (below,), names)


def _union(
    node: PlanNode, union: Union, inputs: tuple[Form, ...], below: tuple[Schema, ...], kept: bool
) -> Form:
    """Branches sorted, and their columns in the order and by the names that the first of them has."""
    pairs = list(zip(inputs, below, strict=True))
    if not kept and not union.ordered:
        pairs.sort(key=lambda pair: _key(pair[0]))
    first, first_schema = pairs[0]
    taken: dict[str, int] = {}
    for place, name in enumerate(first_schema.names):
        taken.setdefault(first.names[name], place)
    if len(taken) == len(first_schema.names):
        titles = [name for name in first.schema.names if name in taken]
        order = [taken[name] for name in titles]
    else:
        order = list(range(len(first_schema.names)))  # one column stands in two places
        titles = [f"u_{place}" for place in order]
    branches = tuple(_branch(node, form, schema, order, titles) for form, schema in pairs)
    names = {below[0].names[place]: title for place, title in zip(order, titles, strict=True)}
    return _made(node, union, branches, names)


def _branch(node: PlanNode, form: Form, schema: Schema, order: list[int], titles: list[str]) -> Form:
    wanted = [form.names[schema.names[place]] for place in order]
    if tuple(wanted) == form.schema.names and wanted == titles:
        return form
    columns = [
        Column(title, quoted(name), form.schema.get(name).type)  # type: ignore[union-attr]
        for title, name in zip(titles, wanted, strict=True)
    ]
    made = _made(node, Project(tuple(columns)), (form,), {title: title for title in titles})
    return replace(made, node=replace(made.node, estimate=None))


def _join(
    node: PlanNode, join: Join, inputs: tuple[Form, ...], below: tuple[Schema, ...], kept: bool
) -> Form:
    (left, right), sides = inputs, below
    old_left, old_right = _sides(sides)
    swapped = join.type == "right" or (join.type in ("inner", "full") and _key(right) < _key(left))
    if swapped and not kept:
        left, right = right, left
        old_left, old_right = old_right, old_left
        join = replace(
            join, left=join.right, right=join.left, type="left" if join.type == "right" else join.type
        )
    schema = widened(left.schema, right.schema)
    behind = dict(zip(right.schema.names, schema.names[len(left.schema.fields) :], strict=True))
    names = {shown: left.names[name] for name, shown in old_left.items()}
    names |= {shown: behind[right.names[name]] for name, shown in old_right.items()}
    operator = replace(
        join,
        condition=_text(join.condition, left, names, schema),
        left=_window(join.left, left),
        right=_window(join.right, right),
    )
    return _made(node, operator, (left, right), names)


def _key(form: Form) -> tuple[str, str, int]:
    return form.order, form.digest, form.port


def _sides(below: tuple[Schema, ...]) -> tuple[dict[str, str], dict[str, str]]:
    """What each column of either side is called behind the join."""
    shown = widened(*below).names
    left = dict(zip(below[0].names, shown, strict=False))
    return left, dict(zip(below[1].names, shown[len(left) :], strict=True))


def _window(window: Window | None, below: Form) -> Window | None:
    if window is None or window.on is None:
        return window
    return replace(window, on=below.names[window.on])


def _join_relation(node: PlanNode, join: Join, below: Form, original: Schema) -> Form:
    old_left, old_right = _sides((original, join.relation_schema))
    schema = widened(below.schema, join.relation_schema)
    behind = dict(zip(join.relation_schema.names, schema.names[len(below.schema.fields) :], strict=True))
    names = {shown: below.names[name] for name, shown in old_left.items()}
    names |= {shown: behind[name] for name, shown in old_right.items()}
    operator = replace(join, condition=_text(join.condition, below, names, schema))
    return _made(node, operator, (below,), names)


def _aggregate(node: PlanNode, aggregate: Aggregate, below: Form) -> Form:
    names = {key: below.names[key] for key in aggregate.keys}
    kept: dict[str, Column] = {}
    for column in aggregate.aggregates:
        text = column.expression if column.expression == "window()" else _text(column.expression, below)
        name = _named_after(text)
        names[column.name] = name
        kept[name] = Column(name, text, column.type)
    operator = Aggregate(
        tuple(sorted({below.names[key] for key in aggregate.keys})),
        tuple(kept[name] for name in sorted(kept)),
        _window(aggregate.window, below),
    )
    return _made(node, operator, (below,), names)


def _sink(node: PlanNode, sink: Sink, below: Form, original: Schema) -> Form:
    shown = sink.columns or tuple(Column(name, quoted(name)) for name in original.names)
    columns = tuple(
        Column(
            column.name,
            text,
            column.type or field.type if (field := below.schema.get(plain or "")) else column.type,
        )
        for column in shown
        for text in [_text(column.expression, below)]
        for plain in [plain_column(text)]
    )
    if tuple((column.name, plain_column(column.expression)) for column in columns) == tuple(
        (name, name) for name in below.schema.names
    ):
        columns = ()
    return _made(
        node, replace(sink, columns=columns), (below,), {column.name: column.name for column in columns}
    )
