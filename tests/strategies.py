"""Hypothesis strategies for whole query graphs, small enough to be drawn by the hundred.

All numbers are small multiples of powers of two, so that sums and products of them are exact, ties included.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hypothesis import strategies as st

from penstock.model.estimates import Estimate, Estimates
from penstock.model.graph import Graph
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
)
from penstock.model.query import PlanNode, Query
from penstock.model.schema import Schema
from penstock.model.window import Window
from penstock.plan.sharing import initial_estimates, merge

Kind = Literal[
    "select", "project", "split", "aggregate", "lookup", "union", "join", "ordered-union", "ordered-join"
]
MERGES: tuple[Kind, ...] = ("union", "join", "ordered-union", "ordered-join")
KINDS: tuple[Kind, ...] = ("select", "project", "split", "aggregate", "lookup", *MERGES)

WINDOW = Window.rows(16)
SOURCE_BYTES = 128.0


def operator_of(kind: Kind, number: int) -> Operator:
    """An operator of that kind, different from those of other numbers; unions are all alike."""
    match kind:
        case "select":
            return Select(f"x > {number}")
        case "project":
            return Project((Column("x", f"x + {number}", "int"),))
        case "split":
            return Split((f"x > {number}", f"x <= {number}"))
        case "aggregate":
            return Aggregate((), (Column("x", f"max(x + {number})", "int"),), WINDOW)
        case "lookup":
            return Join(f"x = y + {number}", relation="rooms", relation_schema=Schema.of(y="int"))
        case "union" | "ordered-union":
            return Union(ordered=kind == "ordered-union")
        case "join" | "ordered-join":
            return Join(f"x > {number}", WINDOW, WINDOW, ordered=kind == "ordered-join")


@dataclass(frozen=True, slots=True)
class Shape:
    """One operator to add: what it does, what it reads (counted back from the newest), what it costs.

    Only merges read both; a `queried` one puts results out even if another operator reads it.
    """

    kind: Kind
    reads: tuple[int, int]
    cost_s: float
    selectivity: float
    out_bytes: float
    queried: bool


COSTS_S = st.sampled_from([2.0**-20, 2.0**-14, 2.0**-10, 3 * 2.0**-10, 2.0**-6])
SELECTIVITIES = (0.0, 0.25, 0.5, 0.75, 1.0, 2.0)
SIZES = st.sampled_from([16.0, 32.0, 64.0, 128.0])
RATES = st.sampled_from([1.0, 16.0, 256.0])


def shapes(
    kinds: tuple[Kind, ...] = KINDS, selectivities: tuple[float, ...] = SELECTIVITIES
) -> st.SearchStrategy[Shape]:
    """Operators that read something recent, so that graphs grow deep as well as wide."""
    return st.builds(
        Shape,
        kind=st.sampled_from(kinds),
        reads=st.tuples(st.integers(0, 5), st.integers(0, 5)),
        cost_s=COSTS_S,
        selectivity=st.sampled_from(selectivities),
        out_bytes=SIZES,
        queried=st.booleans(),
    )


@st.composite
def graphs(
    draw: st.DrawFn,
    *,
    kinds: tuple[Kind, ...] = KINDS,
    selectivities: tuple[float, ...] = SELECTIVITIES,
    max_sources: int = 3,
    max_operators: int = 12,
    forks: bool = True,
) -> tuple[Graph, Estimates]:
    """A graph of several queries that share streams and operators, and estimates for it.

    Every operator leads to a result; some put one out half-way. With `forks` off nothing is read twice, so
    that paths only meet.
    """
    rates = draw(st.lists(RATES, min_size=1, max_size=max_sources))
    added = draw(st.lists(shapes(kinds, selectivities), min_size=1, max_size=max_operators))
    growth = _Growth([PlanNode(Source(f"s{n}", Schema.of(x="int"))) for n in range(len(rates))], forks)
    for shape in added:
        growth.add(shape)
    graph = merge(Graph(), growth.queries())
    return graph, Estimates(initial_estimates(graph), {f"s{n}": rate for n, rate in enumerate(rates)})


class _Growth:
    """Plans under construction: all nodes so far, and which of them still need a reader or a sink."""

    def __init__(self, streams: list[PlanNode], forks: bool) -> None:
        self.nodes = streams
        self.forks = forks
        self.schemas = {id(stream): Schema.of(x="int") for stream in streams}
        self.unread = dict[int, PlanNode]()
        self.queried = dict[int, PlanNode]()

    def add(self, shape: Shape) -> None:
        below = [self.nodes[-1 - back % len(self.nodes)] for back in shape.reads]
        if shape.kind not in MERGES:
            del below[1:]
        elif not self.forks and below[0] is below[1]:
            return
        schemas = tuple(self.schemas[id(child)] for child in below)
        node = _node(shape, len(self.schemas), below, schemas)
        self.schemas[id(node)] = output_schema(node.operator, schemas)
        if not self.forks:
            self.nodes = [other for other in self.nodes if not any(other is child for child in below)]
        self.nodes.append(node)
        for child in below:
            self.unread.pop(id(child), None)
        (self.queried if shape.queried else self.unread)[id(node)] = node

    def queries(self) -> list[Query]:
        roots = [*self.queried.values(), *self.unread.values()] or self.nodes[:1]
        return [_query(f"q{number}", root) for number, root in enumerate(roots)]


def _node(shape: Shape, number: int, below: list[PlanNode], schemas: tuple[Schema, ...]) -> PlanNode:
    operator = operator_of(shape.kind, number)
    if isinstance(operator, Union) and len({len(schema.fields) for schema in schemas}) > 1:
        operator = operator_of("ordered-join" if operator.ordered else "join", number)
    sizes = [child.estimate.out_bytes if child.estimate else SOURCE_BYTES for child in below]
    estimate = Estimate(
        cost_s=shape.cost_s,
        selectivity=shape.selectivity,
        in_bytes=sum(sizes) / len(sizes),
        out_bytes=shape.out_bytes,
        ports=(shape.selectivity / 2,) * 2 if isinstance(operator, Split) else (),
    )
    # Which half of a split is read varies with the reader, so that both are, and each by several.
    ports = tuple(number % 2 if isinstance(child.operator, Split) else 0 for child in below)
    return PlanNode(operator, tuple(below), ports, f"{shape.kind}{number}", estimate)


def _query(name: str, root: PlanNode) -> Query:
    if isinstance(root.operator, Split):
        root = PlanNode(Sink(name), (root,), (1,), f"{name}.sink")
    return Query(name, root)
