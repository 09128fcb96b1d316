"""What queries cost: each step's time in Spark, divided among those it was for by the rows they got.

A unit may serve many queries, of several namespaces. A step that puts out rows is charged to those who get
them, by how many; one that puts out none (it only remembers, or nothing passed) to all that the unit
serves, evenly. What is charged adds up to what was spent. It is counted from when the engine was opened.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def shares(seconds: float, rows: Mapping[str, int], served: Sequence[str]) -> dict[str, float]:
    """What each query is charged; all of it, if there is anybody to be charged."""
    total = sum(rows.values())
    if total > 0:
        return {query: seconds * count / total for query, count in rows.items() if count}
    return dict.fromkeys(served, seconds / len(set(served))) if served else {}


class Charges:
    """Seconds of each query, and of each namespace, where those of queries that are gone stay."""

    def __init__(self) -> None:
        self.queries: dict[str, float] = {}
        self.namespaces: dict[str, float] = {}

    def add(self, seconds: float, rows: Mapping[str, int], served: Sequence[str]) -> None:
        """A step, the rows that it put out for each query, and the queries that its unit serves."""
        for query, charged_s in shares(seconds, rows, served).items():
            self.queries[query] = self.queries.get(query, 0.0) + charged_s
            namespace = namespace_of(query)
            self.namespaces[namespace] = self.namespaces.get(namespace, 0.0) + charged_s

    def forget(self, query: str) -> None:
        """Another query is about to have that name."""
        self.queries.pop(query, None)


def namespace_of(name: str) -> str:
    """The namespace of something by the engine's name."""
    first, dot, _ = name.partition(".")
    return first if dot else "default"
