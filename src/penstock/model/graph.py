"""The graph: every running query's operators, shared ones once.

A graph is a value: `plan.sharing` makes a new one from an old one and a query. Names are looked up here;
nothing is decided.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple

from penstock.model.estimates import Estimate
from penstock.model.operators import Operator, Sink, Source, is_ordered, is_stateful
from penstock.model.query import Query


class Port(NamedTuple):
    """One output of one operator."""

    node: str
    output: int = 0


class Edge(NamedTuple):
    """One input of one operator: what it reads, who reads, and which of its inputs that is."""

    port: Port
    reader: str
    slot: int


@dataclass(frozen=True, slots=True)
class Node:
    """An operator at its place: what it reads, in order, and what its plan says of it at first."""

    name: str
    operator: Operator
    inputs: tuple[Port, ...] = ()
    estimate: Estimate | None = None


@dataclass(frozen=True)
class Graph:
    """All nodes in topological order (inputs before readers), and which query uses which of them."""

    nodes: Mapping[str, Node] = field(default_factory=lambda: MappingProxyType({}))
    queries: Mapping[str, Query] = field(default_factory=lambda: MappingProxyType({}))
    members: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))

    @cached_property
    def edges(self) -> Mapping[str, tuple[Edge, ...]]:
        """The edges from each node to the operators that read it."""
        edges: dict[str, list[Edge]] = {name: [] for name in self.nodes}
        for name in self.operators:
            for slot, port in enumerate(self.nodes[name].inputs):
                edges[port.node].append(Edge(port, name, slot))
        return {name: tuple(out) for name, out in edges.items()}

    @cached_property
    def sinks(self) -> Mapping[str, tuple[Edge, ...]]:
        """The edges from each node to sinks: what it puts out leaves the system there.

        A sink is not scheduled: whichever unit runs the operator below it delivers.
        """
        sinks: dict[str, list[Edge]] = {name: [] for name in self.nodes}
        for node in self.nodes.values():
            if isinstance(node.operator, Sink):
                sinks[node.inputs[0].node].append(Edge(node.inputs[0], node.name, 0))
        return {name: tuple(out) for name, out in sinks.items()}

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """The nodes that are streams."""
        return tuple(n.name for n in self.nodes.values() if isinstance(n.operator, Source))

    @cached_property
    def operators(self) -> tuple[str, ...]:
        """The nodes that do work: all but streams and sinks, inputs before readers."""
        return tuple(n.name for n in self.nodes.values() if not isinstance(n.operator, Source | Sink))

    @cached_property
    def users(self) -> Mapping[str, tuple[str, ...]]:
        """The queries that use each node, in the order they were added."""
        users: dict[str, list[str]] = {name: [] for name in self.nodes}
        for query, members in self.members.items():
            for name in members:
                users[name].append(query)
        return {name: tuple(queries) for name, queries in users.items()}

    @cached_property
    def position(self) -> Mapping[str, int]:
        """Each node's place in topological order."""
        return {name: place for place, name in enumerate(self.nodes)}

    def in_edges(self, name: str) -> Iterator[Edge]:
        """The edges into a node, one per input."""
        for slot, port in enumerate(self.nodes[name].inputs):
            yield Edge(port, name, slot)

    def is_source(self, name: str) -> bool:
        """Whether the node is a stream."""
        return isinstance(self.nodes[name].operator, Source)

    def is_fork(self, name: str) -> bool:
        """Whether more than one operator reads the node."""
        return len(self.edges[name]) > 1

    def is_merge(self, name: str) -> bool:
        """Whether the node has several inputs: a join of streams or a union."""
        return len(self.nodes[name].inputs) > 1

    def is_ordered(self, name: str) -> bool:
        """Whether the node takes several inputs in timestamp order; one alone needs no queue for that."""
        return self.is_merge(name) and is_ordered(self.nodes[name].operator)

    def is_stateful(self, name: str) -> bool:
        """Whether the node remembers anything between rows."""
        return is_stateful(self.nodes[name].operator)
