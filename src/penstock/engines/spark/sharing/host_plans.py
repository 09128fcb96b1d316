"""Plans of hosts: what each query was asked to be, what runs for it, and the graph that all hosts make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from penstock.control.sharing.records import HostRecord, ShapeFacts
from penstock.engines.spark.storage.commit_log import CommitLog
from penstock.model.graph import Graph
from penstock.model.operators import is_stateful
from penstock.model.query import Query
from penstock.plan import document
from penstock.plan.canonical import canonical
from penstock.plan.shared.remembering import remembered_s
from penstock.plan.shared.shapes import Shape, Shaped, on_top, under_name
from penstock.plan.shared.templates import Templates
from penstock.plan.shared.together import Admitted, host_plan
from penstock.plan.sharing import merge, remove


class HostPlans:
    """All plans. Changed between two events, within a commit."""

    def __init__(self, log: CommitLog) -> None:
        self._log = log
        self.graph = Graph()  # of all hosts but those that are to end
        self.templates = Templates()
        self.alone: dict[str, str] = {}  # shapes of queries that run by themselves and could be members
        self.since = 0  # tells apart what operators remember from when queries began
        self._plans: dict[str, Query] = {}
        self._definitions: dict[str, list[Query]] = {}

    # --- what was asked for ---

    def created(self, query: Query) -> None:
        """A new query."""
        self._definitions[query.name] = [query]

    def altered(self, query: Query) -> int:
        """A query is to be something else; the number of that definition."""
        self._definitions[query.name].append(query)
        return len(self._definitions[query.name]) - 1

    def definitions(self, query: str) -> Sequence[Query]:
        """What a query was asked to be, one after the other."""
        return self._definitions[query]

    def shaped(self, query: Query) -> Shaped:
        """The shape of a query, and its constants."""
        return self.templates.shaped(query) or on_top(canonical(query))

    def shaped_definition(self, query: str, number: int) -> Shaped:
        """The shape of a definition of a query, and its constants."""
        return self.shaped(self._definitions[query][number])

    def next_since(self) -> int:
        """A number for queries that begin now."""
        self.since += 1
        self._log.set("since", self.since)
        return self.since

    # --- plans ---

    def __getitem__(self, host: str) -> Query:
        return self._plans[host]

    def admit(self, found: Admitted) -> None:
        """Plans for queries that have come."""
        for query in found.queries:
            self._add(query)
        self.graph = found.graph
        self.alone |= found.shapes

    def plan_like(self, host: str, other: str) -> Query:
        """One more host like another."""
        return self._add(under_name(self._plans[other], host))

    def plan_for(self, host: str, base: str, shape: Shape, rates: Mapping[str, float]) -> Query:
        """A host for a shape, which may become part of its base later."""
        like = self._plans[base] if base != host else None
        return self._add(host_plan(shape, host, like, rates, self.next_since()))

    def _add(self, query: Query) -> Query:
        self._plans[query.name] = query
        self._log.put_query(query.name, document.write(query), {})
        return query

    def follow(self, changed: Mapping[str, HostRecord | None]) -> None:
        """The graph has the hosts that are there and not to end."""
        coming = []
        for name, host in changed.items():
            stays = host is not None and not host.end_asked
            if stays and name not in self.graph.queries:
                coming.append(self._plans[name])
            elif not stays and name in self.graph.queries:
                self.graph = remove(self.graph, name)
        if coming:
            self.graph = merge(self.graph, coming)

    def forget(self, host: str) -> None:
        """A host is gone, or will never be."""
        self._plans.pop(host, None)
        self.alone.pop(host, None)
        self._log.drop_query(host)

    def restore(self, queries: Sequence[Query], graph: Graph) -> None:
        """What the commit log says."""
        self.since = self._log.get("since", 0)
        self._plans = {query.name: query for query in queries}
        self.graph = graph


def facts(shape: Shape, query: Query) -> ShapeFacts:
    """What sharing is told of a shape, with the plan of a host of it."""
    stateful = any(is_stateful(node.operator) for node in query.root.post_order())
    return ShapeFacts(shape.digest, stateful, shape.instant, remembered_s(query.root) is not None)
