"""Operators as they run: MavStream's state of each, what waits before it, what it remembers, what it costs.

Worked out of a `Look`, in the thread that asks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from penstock.control.lifecycle import State
from penstock.engines.spark.results.staleness import Waiting
from penstock.engines.spark.status.snapshot import Look, UnitLook
from penstock.plan.text import operator_text
from penstock.policies.costs import input_rates


@dataclass(frozen=True, slots=True)
class OperatorStatus:
    """One operator of the graph.

    `queries` are those it serves, by the names that people gave them; `units` the numbers of those that run
    it, as EXPLAIN has them, and `partition` that of the first, if it has a name. `state` is that of its
    busiest unit: `running`, `ready`, `suspended` (nothing waits for it, or it is held). What waits at its
    inputs may wait for others, too. Costs are in seconds and bytes per row, with relative errors where they
    were measured; `fixed_s` is what a step of its first unit costs before its first row.
    """

    name: str
    kind: str
    text: str
    queries: tuple[str, ...]
    units: tuple[int, ...]
    partition: str
    state: str
    waiting_rows: int
    waiting_batches: int
    waiting_bytes: float
    state_bytes: int
    rate_per_s: float
    cost_s: float
    cost_error: float | None
    selectivity: float
    selectivity_error: float | None
    in_bytes: float
    out_bytes: float
    fixed_s: float
    measured: bool

    def as_json(self) -> dict[str, Any]:
        """As plain data."""
        return asdict(self)


def operators(look: Look) -> tuple[OperatorStatus, ...]:
    """All operators, inputs before those that read them."""
    graph, estimates = look.graph, look.estimates
    rates = input_rates(graph, estimates)
    served, units = _served(look), _units_of(look)
    before: dict[str, list[Waiting]] = {}
    for queue in look.waiting:
        for reader in queue.operators:
            before.setdefault(reader, []).append(queue)
    found = []
    for name in graph.operators:
        mine = units.get(name, [])
        waiting = before.get(name, [])
        one = estimates.of(name)
        first = mine[0][1].place.unit.operators if mine else ()
        found.append(
            OperatorStatus(
                name,
                _kind(look, name),
                operator_text(graph.nodes[name].operator),
                served.get(name, ()),
                tuple(number for number, _ in mine),
                mine[0][1].partition if mine else "",
                max((unit.state for _, unit in mine), default=State.STOPPED).name.lower(),
                round(sum(queue.rows.sum() for queue in waiting)),
                sum(len(queue.batches) for queue in waiting),
                sum(queue.bytes for queue in waiting),
                look.state_bytes.get(name, 0),
                rates.get(name, 0.0),
                one.cost_s,
                one.cost_error,
                one.selectivity,
                one.selectivity_error,
                one.in_bytes,
                one.out_bytes,
                estimates.fixed_of(first),
                first in estimates.fixed,
            )
        )
    return tuple(found)


def graph_view(look: Look) -> dict[str, Any]:
    """The graph, its units and its queues as plain data, for a page that draws them."""
    graph, served, units = look.graph, _served(look), _units_of(look)
    states = {one.name: one for one in operators(look)}
    nodes = []
    for name, node in graph.nodes.items():
        known = states.get(name)
        nodes.append(
            {
                "name": name,
                "kind": _kind(look, name),
                "text": operator_text(node.operator),
                "queries": list(served.get(name, ())),
                "units": [number for number, _ in units.get(name, [])],
                "state": known.state if known is not None else None,
                "state_bytes": known.state_bytes if known is not None else 0,
            }
        )
    queued = {edge for unit in look.units for edge in unit.place.entries}
    edges = [
        {
            "from": edge.port.node,
            "output": edge.port.output,
            "to": edge.reader,
            "input": edge.slot,
            "queued": edge in queued,
        }
        for name in graph.nodes
        for edge in (*graph.edges[name], *graph.sinks[name])
    ]
    return {
        "at_s": look.at_s,
        "policy": look.policy,
        "scheduling": look.scheduling,
        "nodes": nodes,
        "edges": edges,
        "units": [_unit(number, unit, look) for number, unit in enumerate(look.units, start=1)],
        "queues": [
            {
                "at": one.node,
                "before": list(one.operators),
                "rows": round(one.rows.sum()),
                "batches": len(one.batches),
                "bytes": one.bytes,
                "oldest_s": max(0.0, look.at_s - float(one.arrived_s.min())),
            }
            for one in look.waiting
        ],
    }


def _unit(number: int, unit: UnitLook, look: Look) -> dict[str, Any]:
    names = unit.place.unit.operators
    return {
        "unit": number,
        "operators": list(names),
        "partition": unit.partition,
        "policy": unit.policy.text,
        "priority": unit.priority,
        "state": unit.state.name.lower(),
        "fixed_s": look.estimates.fixed_of(names),
        "measured": names in look.estimates.fixed,
    }


def _kind(look: Look, name: str) -> str:
    return type(look.graph.nodes[name].operator).__name__.lower()


def _served(look: Look) -> Mapping[str, tuple[str, ...]]:
    """The queries that each node works for, members of shared ones each by its own name."""
    by_host: dict[str, list[str]] = {}
    for name, one in look.queries.items():
        if not one.facts.gone:
            by_host.setdefault(one.runs_as, []).append(name)
    found: dict[str, dict[str, None]] = {}
    for host, members in look.graph.members.items():
        for node in members:
            found.setdefault(node, {}).update(dict.fromkeys(by_host.get(host, ())))
    return {node: tuple(names) for node, names in found.items()}


def _units_of(look: Look) -> Mapping[str, list[tuple[int, UnitLook]]]:
    found: dict[str, list[tuple[int, UnitLook]]] = {}
    for number, unit in enumerate(look.units, start=1):
        for name in unit.place.unit.operators:
            found.setdefault(name, []).append((number, unit))
    return found
