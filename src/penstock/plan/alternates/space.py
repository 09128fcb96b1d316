"""Where rewrites make nodes: equal nodes are one object, so each is typed, rewritten and costed once."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, TypeAlias

from penstock.model.estimates import Estimate
from penstock.model.operators import Column, Operator, Project, Select, Sink, output_schema
from penstock.model.query import PlanNode
from penstock.model.schema import UNTYPED, Schema
from penstock.plan.alternates.texts import quoted
from penstock.plan.conjunctions import conjunction
from penstock.plan.costing import Costing, Known


class Input(NamedTuple):
    """What an operator reads: an output port of a node."""

    node: PlanNode
    port: int = 0


Rule: TypeAlias = Callable[["PlanNode", "Space"], Iterator[PlanNode]]


class Space:
    """All nodes of all alternates of one plan.

    With `any_order`, rules also yield what costs as much or more and differs in order only: another query
    may run just that.
    """

    def __init__(
        self,
        rates: Mapping[str, float] | None = None,
        measured: Known | None = None,
        *,
        any_order: bool = False,
    ) -> None:
        self.any_order = any_order
        self.costing = Costing(rates, measured)
        self._nodes: dict[object, PlanNode] = {}
        self._schemas: dict[int, Schema] = {}
        self._rewrites: dict[object, tuple[tuple[Rule, PlanNode], ...]] = {}
        self._nodes_of: dict[int, tuple[PlanNode, ...]] = {}

    def over(
        self,
        operator: Operator,
        *inputs: Input,
        estimate: Estimate | None = None,
        name: str | None = None,
    ) -> PlanNode:
        """An operator over these inputs."""
        ports = tuple(one.port for one in inputs) if any(one.port for one in inputs) else ()
        return self._one(PlanNode(operator, tuple(one.node for one in inputs), ports, name, estimate))

    def adopt(self, root: PlanNode) -> PlanNode:
        """A plan made elsewhere: the same object unless it holds equal nodes twice."""
        made: dict[int, PlanNode] = {}
        for node in root.post_order():
            children = tuple(made[id(child)] for child in node.children)
            made[id(node)] = self._one(
                node if _same(children, node.children) else replace(node, children=children)
            )
        return made[id(root)]

    def replaced(self, root: PlanNode, old: PlanNode, new: PlanNode) -> PlanNode:
        """The plan with one node exchanged wherever it is read.

        What stands above is another computation from then on and loses its name; only a sink keeps it.
        """
        made: dict[int, PlanNode] = {}
        for node in self.nodes(root):
            if node is old:
                made[id(node)] = new
                continue
            children = tuple(made[id(child)] for child in node.children)
            made[id(node)] = node if _same(children, node.children) else self.rebuilt(node, children)
        return made[id(root)]

    def rebuilt(self, node: PlanNode, children: tuple[PlanNode, ...]) -> PlanNode:
        """The same operator, reading the same ports of other children."""
        name = node.name if isinstance(node.operator, Sink) else None
        return self._one(replace(node, children=children, name=name))

    def nodes(self, root: PlanNode) -> tuple[PlanNode, ...]:
        """All nodes of a plan, children first."""
        known = self._nodes_of.get(id(root))
        if known is None:
            known = self._nodes_of[id(root)] = tuple(root.post_order())
        return known

    def schema(self, node: PlanNode) -> Schema:
        """What a node puts out."""
        known = self._schemas.get(id(node))
        if known is None:
            known = output_schema(node.operator, self.schemas(node))
            self._schemas[id(node)] = known
        return known

    def schemas(self, node: PlanNode) -> tuple[Schema, ...]:
        """What a node reads."""
        return tuple(self.schema(child) for child in node.children)

    def select(self, parts: Sequence[str], below: Input, estimate: Estimate | None = None) -> Input:
        """The rows that satisfy all parts, in that order; the input itself if there is none.

        An estimate that comes from elsewhere keeps its cost and selectivity; the bytes are those found here.
        """
        if not parts:
            return below
        if estimate is not None:
            row_bytes = float(self.schema(below.node).row_bytes)
            estimate = replace(estimate, in_bytes=row_bytes, out_bytes=row_bytes)
        return Input(self.over(Select(conjunction(tuple(parts))), below, estimate=estimate))

    def shaped(self, below: PlanNode, schema: Schema, sources: Sequence[str] | None = None) -> PlanNode:
        """The node with exactly these columns, each from that of `sources` at its place, or of its name."""
        sources = sources or schema.names
        if tuple(sources) == schema.names and self.schema(below) == schema:
            return below
        columns = tuple(
            Column(field.name, quoted(source), None if field.type == UNTYPED else field.type)
            for field, source in zip(schema.fields, sources, strict=True)
        )
        return self.over(Project(columns), Input(below))

    def rewrites(self, rules: tuple[Rule, ...], node: PlanNode) -> tuple[tuple[Rule, PlanNode], ...]:
        """What these rules make of a node, found once."""
        key = rules, id(node), self.any_order
        known = self._rewrites.get(key)
        if known is None:
            known = tuple((rule, new) for rule in rules for new in rule(node, self) if new is not node)
            self._rewrites[key] = known
        return known

    def _one(self, node: PlanNode) -> PlanNode:
        # By the children's identity, not by their value: comparing whole trees would take for ever.
        children = tuple((id(child), node.port_of(slot)) for slot, child in enumerate(node.children))
        return self._nodes.setdefault((self._bare(node), children, node.name, node.estimate), node)

    def _bare(self, node: PlanNode) -> Operator:
        """The operator without types that go without saying: those of plain columns."""
        operator = node.operator
        if not isinstance(operator, Project):
            return operator
        types = {quoted(field.name): field.type for field in self.schemas(node)[0].fields}
        if not any(
            column.type is not None and types.get(column.expression) == column.type
            for column in operator.columns
        ):
            return operator
        return Project(
            tuple(
                Column(column.name, column.expression)
                if types.get(column.expression) == column.type
                else column
                for column in operator.columns
            )
        )


def inputs_of(node: PlanNode) -> tuple[Input, ...]:
    """What a node reads, with the ports."""
    return tuple(Input(child, node.port_of(slot)) for slot, child in enumerate(node.children))


def _same(some: tuple[PlanNode, ...], others: tuple[PlanNode, ...]) -> bool:
    return all(a is b for a, b in zip(some, others, strict=True))
