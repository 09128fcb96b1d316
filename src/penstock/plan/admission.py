"""A new query enters the graph: the plan that adds least to what runs, in canonical form, merged."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from penstock.errors import QueryError
from penstock.model.graph import Graph, Port
from penstock.model.operators import Operator
from penstock.model.query import PlanNode, Query
from penstock.plan.alternates.generator import Alternate, alternates
from penstock.plan.alternates.safety import below_order
from penstock.plan.canonical import Forms, canonical
from penstock.plan.costing import Known, estimated
from penstock.plan.sharing import merge
from penstock.plan.validate import validate


@dataclass(frozen=True, slots=True)
class Admission:
    """The graph with the query, the plans that were considered (the chosen one first), and what it shares."""

    graph: Graph
    query: Query
    considered: tuple[Alternate, ...]
    shared: tuple[str, ...]
    added: tuple[str, ...]


def admit(
    graph: Graph,
    query: Query,
    rates: Mapping[str, float] | None = None,
    limit: int = 16,
    measured: Known | None = None,
) -> Admission:
    """The graph with one query more, by the cheapest of its plans, counting what is running already.

    `measured` is asked for what is known of operators that run (`Measured`).
    """
    if query.name in graph.queries:
        raise QueryError(f"query '{query.name}' exists already; stop it first or choose another name")
    validate(query)
    considered = alternates(query.root, rates, running(graph), limit, measured)
    chosen = canonical(replace(query, root=considered[0].root))
    # Estimated as it runs: of one operator the same is believed, however it was written.
    chosen = replace(chosen, root=estimated(chosen.root, rates or {}, measured))
    merged = merge(graph, [chosen])
    operators = [name for name in merged.members[query.name] if name in set(merged.operators)]
    return Admission(
        merged,
        chosen,
        considered,
        tuple(name for name in operators if name in graph.nodes),
        tuple(name for name in operators if name not in graph.nodes),
    )


def running(graph: Graph) -> Callable[[PlanNode], set[int]]:
    """Tells which nodes of a plan compute what some operator of the graph computes already."""
    known: dict[tuple[Operator, tuple[Port, ...]], str] = {
        (node.operator, node.inputs): node.name for node in graph.nodes.values()
    }
    forms = Forms()
    names: dict[int, tuple[PlanNode, str | None]] = {}

    def name_of(node: PlanNode) -> str | None:
        """The graph's name of a canonical node, if it is there."""
        for one in node.post_order():
            if id(one) in names:
                continue
            inputs = [names[id(child)][1] for child in one.children]
            there = None
            if None not in inputs:
                ports = tuple(Port(name or "", one.port_of(slot)) for slot, name in enumerate(inputs))
                there = known.get((one.operator, ports))
            names[id(one)] = one, there
        return names[id(node)][1]

    def shared(root: PlanNode) -> set[int]:
        there: set[int] = set()
        in_order = below_order(root)
        for node in root.post_order() if known else ():
            # What reads something new is new itself: its form need not be worked out.
            if (
                all(id(child) in there for child in node.children)
                and name_of(forms.of(node, in_order).node) is not None
            ):
                there.add(id(node))
        return there

    return shared
