"""What there is to say about one query: its plan, the plans considered, and what others run of it already."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from penstock.explain.names import own_names, shown_operator, shown_schema
from penstock.model.graph import Graph
from penstock.model.operators import Sink, Source
from penstock.model.query import PlanNode, Query
from penstock.model.schema import Schema
from penstock.plan.admission import Admission
from penstock.plan.alternates.generator import Alternate
from penstock.plan.costing import Costed, Costing
from penstock.plan.schemas import derived_schemas


@dataclass(frozen=True, slots=True)
class OperatorExplained:
    """An operator of a query's plan as it runs in the graph.

    `text` and `schema` have the query's own names. `shared_with` are the queries that ran it before this one
    came; without any it is new. Of each of `inputs` the port of the same place in `ports` is read.
    """

    name: str
    kind: str
    text: str
    schema: Schema
    costed: Costed
    inputs: tuple[str, ...]
    ports: tuple[int, ...]
    shared_with: tuple[str, ...]

    @property
    def is_work(self) -> bool:
        """Whether it is scheduled; streams and sinks are not."""
        return self.kind not in ("source", "sink")

    @property
    def rate_out(self) -> float:
        """Rows per second that come out, of all ports together."""
        return sum(flow.rate for flow in self.costed.outputs)


@dataclass(frozen=True, slots=True)
class PlanConsidered:
    """One of the plans a query could run by: its cost, and what of it others run already.

    `operators` and `shared` count what is scheduled, so neither streams nor the sink. `rules` made it from
    the plan as written, in this order.
    """

    cpu_s_per_s: float
    new_cpu_s_per_s: float
    memory_bytes: float
    operators: int
    shared: int
    rules: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class QueryExplained:
    """A query: as it was written, as it was chosen to run, and what it costs alone and beside the others.

    `operators` come inputs first, the sink last; of the plans `considered` the chosen one comes first.
    `registered` unless it was only to be explained. `together` are the queries that run as one with it, since
    they differ in constants, itself among them; the graph knows them all as `runs_as`.
    """

    written: Query
    chosen: Query
    schema: Schema
    operators: tuple[OperatorExplained, ...]
    considered: tuple[PlanConsidered, ...]
    registered: bool
    cpu_s_per_s: float
    memory_bytes: float
    runs_as: str = ""
    together: tuple[str, ...] = ()

    @property
    def work(self) -> tuple[OperatorExplained, ...]:
        """The operators that are scheduled: all but streams and the sink."""
        return tuple(one for one in self.operators if one.is_work)

    @property
    def added(self) -> tuple[OperatorExplained, ...]:
        """The operators that no query ran before."""
        return tuple(one for one in self.work if not one.shared_with)

    @property
    def new_cpu_s_per_s(self) -> float:
        """What this query adds to what runs, in processor seconds per second."""
        return sum(one.costed.cpu_s_per_s for one in self.added)


def described(
    query: Query, admission: Admission, before: Graph, rates: Mapping[str, float], *, registered: bool = False
) -> QueryExplained:
    """A query that was admitted to a graph, with what is to be said of it beside those there before."""
    members = admission.graph.members[query.name]
    nodes = plan_nodes(admission.graph, members)
    costing = Costing(rates)
    names = own_names(admission.considered[0].root)
    schemas = {id(node): schema for node, schema in derived_schemas(nodes[members[-1]])}
    operators = []
    for name, node in nodes.items():
        shown = schemas[id(node)]
        operators.append(
            OperatorExplained(
                name=name,
                kind=node.operator.kind,
                text=shown_operator(node.operator, names),
                schema=shown if isinstance(node.operator, Sink) else shown_schema(shown, names),
                costed=costing.of(node),
                inputs=tuple(child.name or "" for child in node.children),
                ports=tuple(node.port_of(slot) for slot in range(len(node.children))),
                shared_with=before.users.get(name, ()),
            )
        )
    return QueryExplained(
        written=query,
        chosen=admission.query,
        schema=operators[-1].schema,
        operators=tuple(operators),
        considered=tuple(_considered(one, before) for one in admission.considered),
        registered=registered,
        cpu_s_per_s=sum(one.costed.cpu_s_per_s for one in operators),
        memory_bytes=sum(one.costed.memory_bytes for one in operators),
    )


def _considered(one: Alternate, before: Graph) -> PlanConsidered:
    streams = [node.operator for node in one.root.post_order() if isinstance(node.operator, Source)]
    running = {before.nodes[name].operator for name in before.sources}
    return PlanConsidered(
        cpu_s_per_s=one.cost.cpu_s_per_s,
        new_cpu_s_per_s=one.new_cost_s,
        memory_bytes=one.cost.memory_bytes,
        operators=len(one.cost.operators) - len(streams) - 1,
        shared=one.shared - sum(stream in running for stream in streams),
        rules=one.rules,
    )


def plan_nodes(graph: Graph, names: Iterable[str]) -> Mapping[str, PlanNode]:
    """These nodes of the graph, inputs first, as nodes of plans."""
    made: dict[str, PlanNode] = {}
    for name in names:
        node = graph.nodes[name]
        ports = tuple(port.output for port in node.inputs)
        below = tuple(made[port.node] for port in node.inputs)
        made[name] = PlanNode(node.operator, below, ports if any(ports) else (), name, node.estimate)
    return made
