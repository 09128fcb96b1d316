"""Memory: what queries hold, by rows that wait for them and by what their operators remember.

What several queries need, members of a shared query among them, is divided evenly among them: who of them
would need more alone nobody counts, and so what all are charged together is what there is.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from penstock.engines.spark.results.staleness import Waiting
from penstock.model.graph import Graph


def sharers(graph: Graph, members: Mapping[str, int], operators: Iterable[str]) -> int:
    """How many queries use some operators; of each query of the graph it is said how many it stands for."""
    users = {query for name in operators for query in graph.users[name]}
    return max(1, sum(members.get(query, 0) for query in users))


def queue_bytes(graph: Graph, members: Mapping[str, int], waiting: Iterable[Waiting]) -> dict[str, float]:
    """What one query of each that the graph runs is charged of the rows that wait."""
    return _charged(graph, members, ((one.operators, one.bytes) for one in waiting))


def state_bytes(graph: Graph, members: Mapping[str, int], states: Mapping[str, int]) -> dict[str, float]:
    """What one query of each that the graph runs is charged of what operators remember."""
    return _charged(graph, members, (((name,), size) for name, size in states.items() if name in graph.users))


def _charged(
    graph: Graph, members: Mapping[str, int], held: Iterable[tuple[tuple[str, ...], float]]
) -> dict[str, float]:
    found: dict[str, float] = {}
    for operators, size in held:
        part = size / sharers(graph, members, operators)
        for query in {query for name in operators for query in graph.users[name]}:
            found[query] = found.get(query, 0.0) + part
    return found
