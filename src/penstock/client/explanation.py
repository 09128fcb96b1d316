"""How a query runs, and the graph that it is a part of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from penstock.client.answers import answer_of
from penstock.client.drawing import Node, graph_svg, nodes_of
from penstock.client.html import document, tag


@dataclass(frozen=True, slots=True)
class Explanation:
    """The plan of a query as it runs, in lines, and its operators if it runs."""

    query: str
    lines: tuple[str, ...]
    operators: tuple[Node, ...] = ()
    document: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def __str__(self) -> str:
        return "\n".join(self.lines)

    def _repr_html_(self) -> str:
        return document(
            tag("p", f"plan of {self.query}", "title"), graph_svg(self.operators), tag("pre", str(self))
        )


@dataclass(frozen=True, slots=True)
class Graph:
    """All operators that run, and for whom."""

    operators: tuple[Node, ...]
    document: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def part(self, query: str) -> tuple[Node, ...]:
        """The operators that work for a query; none of one that does not run."""
        wanted = query.lower()
        return tuple(one for one in self.operators if wanted in (user.lower() for user in one.users))

    def _repr_html_(self) -> str:
        drawn = graph_svg(self.operators)
        rest = "" if drawn else tag("p", "too many to draw here, or none", "pale")
        return document(tag("p", f"{len(self.operators)} operators", "title"), drawn, rest)


def explanation_of(query: str, found: Mapping[str, Any], graph: Graph) -> Explanation:
    """An explanation from its JSON, with the query's part of the graph that runs."""
    answer = answer_of(found)
    lines = tuple("  ".join(str(cell) for cell in row) for row in answer.rows)
    return Explanation(query, lines or tuple(answer.text.splitlines()), graph.part(query), found)


def graph_of(found: Mapping[str, Any]) -> Graph:
    """A graph from its JSON."""
    inputs: dict[str, list[str]] = {}
    for edge in found.get("edges") or ():
        inputs.setdefault(str(edge["to"]), []).append(str(edge["from"]))
    nodes = [
        {**one, "inputs": inputs.get(str(one["id"] if "id" in one else one["name"]), [])} if inputs else one
        for one in found.get("nodes") or found.get("operators") or ()
    ]
    return Graph(nodes_of(nodes), found)
