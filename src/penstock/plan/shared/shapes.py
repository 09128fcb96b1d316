"""Shapes: plans without their constants, so that queries that differ in nothing else run as one.

The members of a shared query stand in its *roster*, a relation with a row for each: its number and its
constants. A join with the roster, as far down in the plan as a constant is asked for, makes of each row one
for every member that wants it. From there on the member's number belongs to every key, and constants that
are asked for further up travel with the rows.

    SELECT id, v * 2 AS w FROM rows WHERE v > 50
    SELECT id, v * __c1 AS c1, __m FROM rows JOIN roster ON v > __c0   -- c0 and c1 have longer names
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from penstock.model.operators import (
    Aggregate,
    Column,
    Join,
    Operator,
    Project,
    Select,
    Sink,
    Split,
    Union,
    is_ordered,
    is_stateful,
    output_schema,
    widened,
)
from penstock.model.query import PlanNode, Query
from penstock.model.schema import Field, Schema
from penstock.plan.alternates.safety import by_count
from penstock.plan.canonical import forms
from penstock.sql.expressions.constants import Constant, Value, lifted
from penstock.sql.expressions.python_calls import calls_without, with_columns
from penstock.sql.expressions.texts import columns as columns_of
from penstock.sql.expressions.texts import conjunction, conjuncts, quoted, substituted
from penstock.sql.text.dialect import parse_expression
from penstock.sql.typing.expression_types import type_of

#: The column with a member's number.
MEMBER = "__m"


@dataclass(frozen=True, slots=True)
class Shape:
    """A plan over a roster that has no name yet, what its constants are, and a name for all of that.

    `instant` says that all that operators remember is marked with its member: one that comes later meets
    nothing from before it came.
    """

    root: PlanNode
    constants: Schema
    instant: bool
    digest: str

    def query(self, name: str) -> Query:
        """The query that runs the members of the roster of that name."""
        return under_name(Query(name, self.root), name)


@dataclass(frozen=True, slots=True)
class Shaped:
    """A query as a member of a shape: its constants, and what it calls its result's columns."""

    shape: Shape
    constants: tuple[Value, ...]
    titles: tuple[str, ...]


def shaped(query: Query) -> Shaped | None:
    """The query's shape; None if it has no constants, or they are where members cannot be told apart.

    The query is to be in canonical form, so that it does not matter how it was written.
    """
    plan = Lifting().plan(query)
    try:
        tagging = _Tagging(plan)
        root = tagging.plan(plan.root)
    except _UnsharedError:
        return None
    if root is None:
        return None
    form = forms(root)[id(root)]
    constants = tuple(sorted(plan.constants, key=lambda constant: constant.name))
    schema = Schema(tuple(Field(constant.name, constant.type) for constant in constants))
    shape = Shape(form.node, schema, tagging.instant, form.digest)
    return Shaped(shape, tuple(constant.value for constant in constants), plan.titles)


def on_top(query: Query) -> Shaped:
    """Any query as a member of a shape without constants: the roster stands right below its sink."""
    root = query.root
    sink = root.operator
    assert isinstance(sink, Sink)
    (below,) = root.children
    schemas: dict[int, Schema] = {}
    for node in root.post_order():
        schemas[id(node)] = output_schema(node.operator, tuple(schemas[id(child)] for child in node.children))
    names = schemas[id(below)].names
    shown = sink.columns or tuple(Column(name, quoted(name)) for name in names)
    roster = Join("TRUE", relation="", relation_schema=Schema((Field(MEMBER, "int"),)), roster=True)
    columns = tuple(replace(column, name=f"c{n}") for n, column in enumerate(shown))
    made = PlanNode(Sink("", (*columns, *_plain((MEMBER,)))), (PlanNode(roster, root.children, root.ports),))
    form = forms(made)[id(made)]
    return Shaped(
        Shape(form.node, Schema(()), False, form.digest), (), tuple(column.name for column in shown)
    )


def under_name(query: Query, name: str) -> Query:
    """A shared query under another name, with the roster of that name."""

    def named(operator: Operator) -> Operator:
        match operator:
            case Join(roster=True):
                return replace(operator, relation=name)
            case Sink():
                return replace(operator, query=name)
            case _:
                return operator

    return replace(query, name=name, root=mapped(query.root, named))


def mapped(root: PlanNode, change: Callable[[Operator], Operator]) -> PlanNode:
    """The plan with other operators at the same places."""
    made: dict[int, PlanNode] = {}
    for node in root.post_order():
        children = tuple(made[id(child)] for child in node.children)
        made[id(node)] = replace(node, operator=change(node.operator), children=children)
    return made[id(root)]


def rewritten(operator: Operator, change: Callable[[str], str]) -> Operator:
    """The operator with other expressions; those of a split belong to the streams it makes, and stay."""

    def columns(given: tuple[Column, ...]) -> tuple[Column, ...]:
        return tuple(
            one if one.expression == "window()" else replace(one, expression=change(one.expression))
            for one in given
        )

    match operator:
        case Select(predicate=predicate):
            return Select(change(predicate))
        case Project(columns=given):
            return Project(columns(given))
        case Aggregate(aggregates=given):
            return replace(operator, aggregates=columns(given))
        case Sink(columns=given):
            return replace(operator, columns=columns(given))
        case Join(condition=condition):
            return replace(operator, condition=change(condition))
        case _:
            return operator


class _UnsharedError(Exception):
    """Members could not be told apart."""


@dataclass(slots=True)
class Lifted:
    """A plan whose constants are columns, which each node asks for (by the node's identity)."""

    root: PlanNode
    own: dict[int, frozenset[str]]
    constants: list[Constant]
    titles: tuple[str, ...]


class Lifting:
    """Takes the constants out of all expressions of a plan."""

    def __init__(self) -> None:
        self._constants: list[Constant] = []

    def plan(self, query: Query) -> Lifted:
        """The plan without constants, its result's columns named by their numbers."""
        made: dict[int, PlanNode] = {}
        schemas: dict[int, Schema] = {}
        own: dict[int, frozenset[str]] = {}
        for node in query.root.post_order():
            inputs = tuple(schemas[id(child)] for child in node.children)
            schemas[id(node)] = output_schema(node.operator, inputs)
            before = len(self._constants)
            operator = self._operator(node.operator, inputs)
            children = tuple(made[id(child)] for child in node.children)
            made[id(node)] = replace(node, operator=operator, children=children, name=None)
            own[id(made[id(node)])] = frozenset(one.name for one in self._constants[before:])
        root, schema = made[id(query.root)], schemas[id(query.root)]
        if not isinstance(root.operator, Sink):
            root = PlanNode(Sink(query.name), (root,))
            own[id(root)] = frozenset()
        assert isinstance(root.operator, Sink)
        shown = root.operator.columns or tuple(Column(name, quoted(name)) for name in schema.names)
        columns = tuple(replace(column, name=f"c{n}") for n, column in enumerate(shown))
        named = replace(root, operator=Sink("", columns))
        own[id(named)] = own[id(root)]
        return Lifted(named, own, self._constants, tuple(column.name for column in shown))

    def _operator(self, operator: Operator, inputs: tuple[Schema, ...]) -> Operator:
        schema = inputs[0] if inputs else Schema()
        if isinstance(operator, Join):
            right = operator.relation_schema if operator.relation is not None else inputs[1]
            schema = widened(schema, right)
        return rewritten(operator, lambda text: self._text(text, schema))

    def _text(self, text: str, schema: Schema) -> str:
        found = lifted(text, schema)
        names = {one.name for one in self._constants}
        renamed = {}
        for constant in found.constants:
            name, count = constant.name, 0
            while name in names:  # of the same expression elsewhere
                count += 1
                name = f"{constant.name}_{count}"
            names.add(name)
            renamed[constant.name] = name
            self._constants.append(replace(constant, name=name))
        return substituted(found.text, {old: new for old, new in renamed.items() if old != new})


@dataclass(frozen=True, slots=True)
class _Made:
    """A node of the new plan: the columns it has to offer, all that come out, and whether it is tagged.

    Behind a join with the roster rows are tagged: each belongs to a member. `called` are the calls of
    functions in Python that have been made, and the columns with what they returned.
    """

    node: PlanNode
    offered: Schema
    schema: Schema
    tagged: bool
    called: Mapping[str, str] = field(default_factory=dict)


class _Tagging:
    """Puts joins with the roster into a plan, and members' numbers into all that is above them."""

    def __init__(self, plan: Lifted) -> None:
        self._own = plan.own
        self._types = {constant.name: constant.type for constant in plan.constants}
        self._above: dict[int, frozenset[str]] = {}  # constants that are asked for above a node
        self._made: dict[int, _Made] = {}
        self.instant = True

    def plan(self, root: PlanNode) -> PlanNode | None:
        """The plan over a roster; None if it asks for no constant."""
        nodes = [*root.post_order()]
        self._find_asked(nodes)
        for node in nodes:
            self._made[id(node)] = self._place(node)
        made = self._made[id(root)]
        return made.node if made.tagged else None

    def _find_asked(self, nodes: list[PlanNode]) -> None:
        wants: dict[int, bool] = {}
        for node in nodes:
            wants[id(node)] = bool(self._own[id(node)]) or any(wants[id(child)] for child in node.children)
        self._above = {id(node): frozenset() for node in nodes}
        for node in reversed(nodes):
            asked = self._above[id(node)] | self._own[id(node)]
            for slot, child in enumerate(node.children):
                if slot == 0 or not _left_carries(node.operator, wants[id(node.children[0])]):
                    self._above[id(child)] |= asked

    def _place(self, node: PlanNode) -> _Made:
        inputs = [self._made[id(child)] for child in node.children]
        asks, tagged = bool(self._own[id(node)]), any(one.tagged for one in inputs)
        match node.operator:
            case Select(predicate=predicate) if asks and not tagged:
                return self._selected(node, inputs[0], predicate)
            case Union() if tagged:
                return self._union(node, inputs)
            case Join(type="inner") as join if asks and not tagged:
                return self._behind(node, join, inputs)
            case Join(relation=None) as join if asks or tagged:
                return self._join(node, join, inputs)
            case _ if asks and not tagged:
                below = self._roster(inputs[0], node.ports, "TRUE", self._asked(node))
                return self._over(replace(node, ports=()), self._carried(node), [below])
        return self._over(node, self._carried(node), inputs)

    def _asked(self, node: PlanNode) -> frozenset[str]:
        return self._above[id(node)] | self._own[id(node)]

    def _carried(self, node: PlanNode) -> tuple[str, ...]:
        """What goes on with the rows that come out of a node."""
        return (MEMBER, *sorted(self._above[id(node)]))

    def _over(self, node: PlanNode, carried: tuple[str, ...], inputs: list[_Made]) -> _Made:
        """An operator over one input, tagged or not, or over several that are not."""
        operator, tagged = node.operator, any(one.tagged for one in inputs)
        if tagged:
            if is_ordered(operator) and len(inputs) > 1:
                raise _UnsharedError  # it has queues within, and a shared query is one unit
            match operator:
                case Project(columns=columns):
                    operator = Project((*columns, *_plain(carried)))
                case Sink(columns=columns):
                    operator = replace(operator, columns=(*columns, *_plain((MEMBER,))))
                case Aggregate(keys=keys, window=window):
                    if by_count(window):
                        raise _UnsharedError
                    operator = replace(operator, keys=(*keys, *carried))
                case Split():
                    raise _UnsharedError
        elif is_stateful(operator):
            self.instant = False
        called = inputs[0].called if len(inputs) == 1 else {}
        if called:
            operator = rewritten(operator, lambda text: with_columns(text, called))
        offered = output_schema(node.operator, tuple(one.offered for one in inputs))
        made = replace(node, operator=operator, children=tuple(one.node for one in inputs))
        schema = output_schema(operator, tuple(one.schema for one in inputs))
        return _Made(made, offered, schema, tagged, called if isinstance(operator, Select) else {})

    def _roster(self, below: _Made, ports: tuple[int, ...], predicate: str, asked: frozenset[str]) -> _Made:
        """Rows once for each member that wants them."""
        fields = [Field(MEMBER, "int"), *(Field(name, self._types[name]) for name in sorted(asked))]
        join = Join(predicate, relation="", relation_schema=Schema(tuple(fields)), roster=True)
        schema = output_schema(join, (below.schema,))
        return _Made(PlanNode(join, (below.node,), ports), below.offered, schema, True, below.called)

    def _selected(self, node: PlanNode, below: _Made, predicate: str) -> _Made:
        """A selection by constants; one below that has none is better done in the same go."""
        ports = node.ports
        if isinstance(below.node.operator, Select):
            predicate = conjunction([*conjuncts(below.node.operator.predicate), *conjuncts(predicate)])
            child = below.node.children[0]
            ports, below = below.node.ports, replace(below, node=child)
        below, ports, predicate = self._called(below, ports, predicate, self._own[id(node)])
        return self._roster(below, ports, predicate, self._asked(node))

    def _called(
        self, below: _Made, ports: tuple[int, ...], predicate: str, own: frozenset[str]
    ) -> tuple[_Made, tuple[int, ...], str]:
        """Functions in Python are called before the roster: once for each row, and not for each member.

        That is so for the first condition that has constants: what follows it is asked only of rows that
        satisfy it, and may raise for others.
        """
        parts = conjuncts(predicate)
        first = next(place for place, part in enumerate(parts) if own.intersection(columns_of(part)))
        calls = calls_without(parts[first], own)
        if not calls:
            return below, ports, predicate
        if first:
            select = Select(conjunction(parts[:first]))
            below, ports = replace(below, node=PlanNode(select, (below.node,), ports)), ()
        names = {call: f"__f{n}" for n, call in enumerate(calls)}
        computed = tuple(
            Column(name, call, type_of(parse_expression(call), below.schema)) for call, name in names.items()
        )
        made = self._projected(below, ports, (*_plain(below.schema.names), *computed))
        return (
            replace(made, called=names),
            (),
            conjunction(with_columns(part, names) for part in parts[first:]),
        )

    def _behind(self, node: PlanNode, join: Join, inputs: list[_Made]) -> _Made:
        """Pairs by what members have in common; which of them each member wants is asked of the pairs."""
        parts = conjuncts(join.condition)
        theirs = [part for part in parts if self._own[id(node)].intersection(columns_of(part))]
        common = conjunction(part for part in parts if part not in theirs)
        pairs = self._over(replace(node, operator=replace(join, condition=common)), (), inputs)
        return self._roster(pairs, (), conjunction(theirs), self._asked(node))

    def _union(self, node: PlanNode, inputs: list[_Made]) -> _Made:
        """All branches are tagged, with their columns at the same places."""
        carried, branches = self._carried(node), []
        for slot, one in enumerate(inputs):
            ports = _port(node, slot)
            if not one.tagged:
                one, ports = self._roster(one, ports, "TRUE", self._above[id(node)]), ()
            branches.append(self._projected(one, ports, _plain((*one.offered.names, *carried))))
        return self._over(replace(node, ports=()), carried, branches)

    def _projected(self, below: _Made, ports: tuple[int, ...], columns: tuple[Column, ...]) -> _Made:
        project = Project(columns)
        schema = output_schema(project, (below.schema,))
        return _Made(PlanNode(project, (below.node,), ports), below.offered, schema, below.tagged)

    def _join(self, node: PlanNode, join: Join, inputs: list[_Made]) -> _Made:
        """Pairs of one member's rows. What an outer join may put out by itself must be of a member."""
        if by_count(join.left) or by_count(join.right) or is_ordered(join):
            raise _UnsharedError
        carried = self._carried(node)
        if join.type != "inner":
            inputs = [
                one
                if one.tagged
                else self._roster(one, _port(node, slot), "TRUE", self._above[id(node.children[slot])])
                for slot, one in enumerate(inputs)
            ]
            node = replace(node, ports=())
        condition, columns = join.condition, list(widened(inputs[0].schema, inputs[1].schema).names)
        if all(one.tagged for one in inputs):
            theirs = columns[len(inputs[0].schema.names) + inputs[1].schema.names.index(MEMBER)]
            condition = conjunction([*conjuncts(condition), f"{MEMBER} = {quoted(theirs)}"])
        else:
            self.instant = False
        made = replace(
            node, operator=replace(join, condition=condition), children=tuple(one.node for one in inputs)
        )
        offered = widened(inputs[0].offered, inputs[1].offered)
        schema = output_schema(made.operator, tuple(one.schema for one in inputs))
        pairs = _Made(made, offered, schema, tagged=True)
        if join.type in ("inner", "left"):
            return pairs
        either = tuple(
            Column(name, f"coalesce({quoted(name)}, {quoted(f'right_{name}')})", self._type(name))
            for name in carried
        )
        return self._projected(pairs, (), (*_plain(offered.names), *either))

    def _type(self, name: str) -> str:
        return "int" if name == MEMBER else self._types[name]


def _left_carries(operator: Operator, left_wants: bool) -> bool:
    """Whether a join's right input need not bring constants, since the left one does."""
    return isinstance(operator, Join) and (
        operator.type == "left" or (operator.type == "inner" and left_wants)
    )


def _plain(names: Iterable[str]) -> tuple[Column, ...]:
    return tuple(Column(name, quoted(name)) for name in names)


def _port(node: PlanNode, slot: int) -> tuple[int, ...]:
    return (node.port_of(slot),) if node.port_of(slot) else ()
