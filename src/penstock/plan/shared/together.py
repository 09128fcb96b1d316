"""Which queries run by themselves and which together: what a statement asks for becomes plans.

Queries of one shape run as members of a shared query, unless one is the only one of its shape: a plain plan
is cheaper then. What an operator remembers of rows from before a query began must not be in its results. So
where that is not marked with members' numbers, queries that begin together share, until they can become part
of what runs already.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from penstock.model.estimates import Estimates
from penstock.model.graph import Graph
from penstock.model.operators import is_stateful
from penstock.model.query import PlanNode, Query
from penstock.plan.admission import admit
from penstock.plan.costing import estimated
from penstock.plan.measured import Measured
from penstock.plan.shared.names import name_beside, name_of_shape
from penstock.plan.shared.panes import with_panes
from penstock.plan.shared.shapes import Shape, Shaped, mapped, under_name
from penstock.plan.shared.templates import Templates
from penstock.plan.sharing import merge


@dataclass(slots=True)
class Admitted:
    """The graph with what is new, which that is, and who are members of what."""

    graph: Graph
    alone: list[Query] = field(default_factory=list)
    shared: list[tuple[Query, Shape]] = field(default_factory=list)
    members: dict[str, list[tuple[str, Shaped]]] = field(default_factory=dict)
    joining: dict[str, str] = field(default_factory=dict)  # shared queries that become part of others
    shapes: dict[str, str] = field(default_factory=dict)  # of queries that run alone and could be members

    @property
    def queries(self) -> list[Query]:
        """What control is to hear of."""
        return [*self.alone, *(query for query, _ in self.shared)]


@dataclass(frozen=True, slots=True)
class Running:
    """What runs: the graph, the shared query of each shape that takes members, other queries' shapes.

    `later` are the shared queries that others of their shape can become part of, but not at once.
    """

    graph: Graph
    shared: Mapping[str, str]
    later: Mapping[str, str]
    alone: frozenset[str]
    names: frozenset[str]  # that no new shared query can have: files have them, too


def admitted(
    queries: Sequence[Query],
    running: Running,
    templates: Templates,
    rates: Mapping[str, float],
    since: int,
    estimates: Estimates | None = None,
) -> Admitted:
    """Plans for new queries; `since` tells apart what operators remember from when these begin."""
    forms = {query.name: templates.shaped(query) for query in queries if may_share(query)}
    shapes = {name: form for name, form in forms.items() if form is not None}
    counts = Counter(form.shape.digest for form in shapes.values())
    shared = {*running.shared, *running.later, *running.alone}
    found = Admitted(running.graph)
    measured = Measured(running.graph, estimates).of if estimates is not None else None
    begun: dict[str, str] = {}
    for query in queries:
        form = shapes.get(query.name)
        digest = form.shape.digest if form is not None else ""
        if form is None or not (counts[digest] > 1 or digest in shared):
            admission = admit(found.graph, query, rates, measured=measured)
            _alone(found, replace(admission.query, stop_s=query.stop_s), since)
            if form is not None:
                found.shapes[query.name] = digest
            continue
        name = begun.get(digest) or running.shared.get(digest)
        if name is None:
            own, base = shared_query(form.shape, running, rates, since)
            if base is not None:
                found.joining[own.name] = base
            name = begun[digest] = own.name
            running = replace(running, names=running.names | {name})
            found.graph = merge(found.graph, [own])
            found.shared.append((own, form.shape))
        found.members.setdefault(name, []).append((query.name, form))
    _share_panes(found, running.graph, rates)
    return found


def _share_panes(found: Admitted, before: Graph, rates: Mapping[str, float]) -> None:
    """Windows of different lengths over the same rows fold them once."""
    queries = found.queries
    paned = [  # what becomes part of another is like that, and who keeps apart shares nothing
        old if old.name in found.joining or old.keeps_apart else new
        for old, new in zip(queries, with_panes(queries), strict=True)
    ]
    if paned == queries:
        return
    new = [
        query if query is old else replace(query, root=estimated(query.root, rates))
        for query, old in zip(paned, queries, strict=True)
    ]
    found.graph = merge(before, new)
    found.alone = new[: len(found.alone)]
    shared = new[len(found.alone) :]
    found.shared = [(query, shape) for query, (_, shape) in zip(shared, found.shared, strict=True)]


def may_share(query: Query) -> bool:
    """Whether a query's life is an ordinary one."""
    usual = query.most_windows is None and query.start_s is None and query.stop_s is None and not query.back_s
    return usual and query.on_error == "hold"


def _alone(found: Admitted, query: Query, since: int) -> None:
    own = replace(query, root=_own_since(query.root, since)) if since else query
    found.graph = merge(found.graph, [own])
    found.alone.append(own)


def shared_query(
    shape: Shape, running: Running, rates: Mapping[str, float], since: int
) -> tuple[Query, str | None]:
    """A shared query that begins by itself, and the one of its shape that it becomes part of, if any."""
    base = running.later.get(shape.digest)
    if base is None:
        name = name_of_shape(shape.digest, running.names.__contains__)
        return host_plan(shape, name, None, rates, since), None
    name = name_beside(base, running.names.__contains__)
    return host_plan(shape, name, running.graph.queries[base], rates, since), base


def host_plan(shape: Shape, name: str, like: Query | None, rates: Mapping[str, float], since: int) -> Query:
    """A shared query of a shape, like another one if there is one; it remembers rows from its start on."""
    own = shape.query(name) if like is None else under_name(like, name)
    root = _own_since(own.root, since) if since else own.root
    return replace(own, root=estimated(root, rates))


def _own_since(root: PlanNode, since: int) -> PlanNode:
    """A plan whose stateful operators are its own: they remember rows from its start on, and no others."""
    return mapped(root, lambda one: replace(one, since=since) if is_stateful(one) else one)  # type: ignore[arg-type]
