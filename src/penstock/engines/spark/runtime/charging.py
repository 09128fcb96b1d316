"""Who is charged for a step: the queries that its unit serves, members of shared ones among them."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.adapt.charges import Charges
from penstock.engines.spark.results.results import StagedResult
from penstock.engines.spark.sharing.shared import SharedQueries
from penstock.model.graph import Graph


class Charging:
    """Charges steps. Whom a unit serves is looked up once for each graph."""

    def __init__(self, shared: SharedQueries) -> None:
        self._shared = shared
        self.charges = Charges()
        self._graph: Graph | None = None
        self._hosts: dict[tuple[str, ...], tuple[str, ...]] = {}

    def stepped(
        self, graph: Graph, operators: tuple[str, ...], spark_s: float, staged: Iterable[StagedResult]
    ) -> None:
        """A step of a unit with these operators is through."""
        rows = {query: count for one in staged for query, count in one.rows_of.items()}
        served = [query for host in self._served(graph, operators) for query in self._shared.queries(host)]
        self.charges.add(spark_s, rows, served)

    def _served(self, graph: Graph, operators: tuple[str, ...]) -> tuple[str, ...]:
        if self._graph is not graph:
            self._graph, self._hosts = graph, {}
        hosts = self._hosts.get(operators)
        if hosts is None:
            found = (host for name in operators for host in graph.users.get(name, ()))
            hosts = self._hosts[operators] = tuple(dict.fromkeys(found))
        return hosts
