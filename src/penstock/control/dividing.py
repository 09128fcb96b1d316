"""Dividing the graph: cut into units, and the units among partitions, as a thread plan says."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from penstock.control.thread_plans import Group, ThreadPlan
from penstock.model.estimates import Estimates
from penstock.model.graph import Graph
from penstock.model.scheduling import REST
from penstock.model.unit import Cut, Unit
from penstock.policies.costs import input_rates, load
from penstock.policies.cuts.base import apart_units, in_graph_order, shared_units, unit_of
from penstock.policies.cuts.fused import FusedCut
from penstock.policies.cuts.stall_avoiding import StallAvoidingCut
from penstock.policies.policy import Policy

#: What keeps a thread busy for more than this share of the time, or takes longer for one row, gets a thread
#: of its own where nobody has said what is to be grouped. It keeps the thread until it falls below a part of
#: that, so that estimates that waver do not make threads waver.
HEAVY_LOAD, HEAVY_ROW_S, STAYS_HEAVY = 0.25, 0.01, 0.6


@dataclass(frozen=True, slots=True)
class Present:
    """How things are divided now: operators with a thread of their own because of what they cost, and the
    worker that owns each unit."""

    heavy: frozenset[str] = frozenset()
    owners: Mapping[Unit, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Share:
    """One partition to be: its units and how they are run."""

    policy: Policy
    units: tuple[Unit, ...]
    priority: float = 1.0
    threads: int = 1
    worker: int | None = None
    name: str = ""


def divide(
    graph: Graph,
    estimates: Estimates,
    policy: Policy,
    plan: ThreadPlan,
    parse: Callable[[str], Policy],
    frozen: tuple[Unit, ...] = (),
    present: Present = Present(),  # noqa: B008 - a value
) -> tuple[Share, ...]:
    """Cuts the graph and divides the units among partitions.

    Frozen units are kept as they are: they belong to suspended queries, and their queues cannot be emptied;
    or they ran before a crash. So are shared queries, and those that keep apart. What is divided well
    enough at present stays so.
    """
    kept = {name for unit in frozen for name in unit.operators}
    whole = (*shared_units(graph), *apart_units(graph))
    frozen += tuple(unit for unit in whole if kept.isdisjoint(unit.operators))
    if plan.kind == "hmts":
        return _groups(graph, estimates, policy, plan, parse, frozen, present)
    if plan.kind == "di":
        policy = replace(policy, cut=FusedCut())
    units = in_graph_order(graph, _thawed(graph, policy.cut.cut(graph, estimates), frozen))
    match plan.kind:
        case "gts" | "di":
            return (Share(policy, units),)
        case "pool":
            return (Share(policy, units, threads=plan.workers),)
        case "ots":
            return tuple(Share(policy, (unit,)) for unit in units)
        case "owned":
            return _owned(graph, estimates, policy, units, plan.workers, present)


def _thawed(
    graph: Graph, cut: Cut, frozen: tuple[Unit, ...], mine: tuple[Unit, ...] | None = None
) -> Iterable[Unit]:
    """The cut of what is not frozen, and the frozen units, or those of them that are `mine`."""
    if not frozen:
        return cut
    kept = {name for unit in frozen for name in unit.operators}
    loose = [[name for name in unit.operators if name not in kept] for unit in cut]
    pieces = [unit_of(graph, piece) for names in loose for piece in _connected(graph, names)]
    return dict.fromkeys([*pieces, *(frozen if mine is None else mine)])


def _groups(
    graph: Graph,
    estimates: Estimates,
    policy: Policy,
    plan: ThreadPlan,
    parse: Callable[[str], Policy],
    frozen: tuple[Unit, ...],
    present: Present,
) -> tuple[Share, ...]:
    groups = _resolved(graph, plan.named) if plan.named else heavy_groups(graph, estimates, present.heavy)
    taken = {name for group in groups for name in group.operators}
    rest = tuple(name for name in graph.operators if name not in taken)
    groups += (Group(rest, plan.rest.policy, plan.rest.priority, name=REST),) if rest else ()
    shares = []
    for group in groups:
        own = policy if group.policy is None else parse(group.policy)
        names = set(group.operators)  # some may have gone with their queries
        pieces = [
            piece
            for unit in own.cut.cut(graph, estimates)
            for piece in _connected(graph, [name for name in unit.operators if name in names])
        ]
        mine = tuple(unit for unit in frozen if unit.operators[0] in names)
        cut = tuple(dict.fromkeys(unit_of(graph, piece) for piece in pieces))
        units = in_graph_order(graph, _thawed(graph, cut, frozen, mine))
        if units:
            shares.append(Share(own, units, group.priority, name=group.name))
    return tuple(shares)


def _resolved(graph: Graph, groups: tuple[Group, ...]) -> tuple[Group, ...]:
    """Groups by operators: those named, then all that is left of the queries named."""
    taken = {name for group in groups for name in group.operators}
    operators = set(graph.operators)
    found = []
    for group in groups:
        members = dict.fromkeys(
            name
            for query in group.queries
            if query in graph.queries
            for name in graph.members[query]
            if name in operators and name not in taken
        )
        taken.update(members)
        found.append(Group((*group.operators, *members), group.policy, group.priority, name=group.name))
    return tuple(found)


def heavy_groups(
    graph: Graph, estimates: Estimates, heavy: frozenset[str] = frozenset()
) -> tuple[Group, ...]:
    """The virtual operators of stall-avoiding placement that are better off with a thread of their own.

    Those `heavy` operators have one.
    """
    rates = input_rates(graph, estimates)
    found = []
    for unit in StallAvoidingCut().cut(graph, estimates):
        share = 1.0 if heavy.isdisjoint(unit.operators) else STAYS_HEAVY
        dearest_s = max(estimates.of(name).cost_s for name in unit.operators)
        if load(estimates, rates, unit.operators) > share * HEAVY_LOAD or dearest_s > share * HEAVY_ROW_S:
            found.append(Group(unit.operators, name=unit.name))
    return tuple(found)


def heavy_operators(shares: Iterable[Share]) -> frozenset[str]:
    """The operators that got a thread of their own, where nobody has said what is to be grouped."""
    return frozenset(
        n for share in shares if share.name != REST for unit in share.units for n in unit.operators
    )


def _connected(graph: Graph, names: list[str]) -> list[list[str]]:
    """What is left of a unit within a group may have fallen apart."""
    left, pieces = dict.fromkeys(names), []
    while left:
        piece, frontier = [], [next(iter(left))]
        del left[frontier[0]]
        while frontier:
            name = frontier.pop()
            piece.append(name)
            near = [edge.reader for edge in graph.edges[name]]
            for port in graph.nodes[name].inputs:
                near.append(port.node)
                near.extend(edge.reader for edge in graph.edges[port.node])
            for other in near:
                if other in left:
                    del left[other]
                    frontier.append(other)
        pieces.append(piece)
    return pieces


def _owned(
    graph: Graph,
    estimates: Estimates,
    policy: Policy,
    units: tuple[Unit, ...],
    workers: int,
    present: Present,
) -> tuple[Share, ...]:
    """Units stay with their worker; each new one goes to the worker with least to do, the busiest first."""
    rates = input_rates(graph, estimates)
    loads = {unit: load(estimates, rates, unit.operators) for unit in units}
    owned: list[list[Unit]] = [[] for _ in range(workers)]
    total = [0.0] * workers
    for unit in sorted(units, key=lambda unit: (unit not in present.owners, -loads[unit])):
        worker = present.owners.get(unit, workers)
        if worker >= workers:
            worker = min(range(workers), key=total.__getitem__)
        owned[worker].append(unit)
        total[worker] += loads[unit]
    return tuple(
        Share(policy, in_graph_order(graph, mine), worker=worker) for worker, mine in enumerate(owned)
    )
