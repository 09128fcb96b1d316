"""Partitions: which units a thread runs, and by which policy (HMTS' second level; StreamAPAS' workers)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Literal

import msgspec

from penstock.control.ready import ReadySet
from penstock.errors import PolicyError, closest
from penstock.model.estimates import Estimates
from penstock.model.graph import Graph
from penstock.model.unit import Cut, Unit
from penstock.policies.costs import input_rates
from penstock.policies.cuts.base import in_graph_order, shared_units, skipping_units, unit_of
from penstock.policies.policy import Policy
from penstock.policies.quantum import Quantum
from penstock.policies.ranks.base import Rank

if TYPE_CHECKING:
    from penstock.control.units import UnitState


class Group(msgspec.Struct, frozen=True):
    """Operators that one thread runs, by a policy of their own if they have one."""

    operators: tuple[str, ...]
    policy: str | None = None
    priority: float = 1.0


class ThreadPlan(msgspec.Struct, frozen=True):
    """How the graph is divided among threads.

    `graph` (GTS): one thread runs everything. `operator` (OTS): a thread per unit. `hybrid` (HMTS): a thread
    per group, and one for what no group names. `pool` (StreamAPAS' basic engine): any worker takes any unit.
    `owned` (StreamAPAS' proposal): every unit belongs to one worker, the load spread over them. At most
    `workers` threads run at once.
    """

    kind: Literal["graph", "operator", "hybrid", "pool", "owned"] = "graph"
    workers: int = 1
    groups: tuple[Group, ...] = ()


class Partition:
    """The units one thread runs (in a pool: several threads), their ready set and their instruction queue.

    The inbox is StreamAPAS' instruction queue: units to look at again, because rows came, or they are new,
    gone or of another priority. It is served before the ready set, and only by the partition's own thread.
    """

    __slots__ = (
        "expires", "in_turns", "inbox", "most_bytes", "most_rows", "number", "pass_s", "policy",
        "priority", "quantum", "queued", "rank", "ready", "rerank", "running", "size", "sizes", "stirred",
        "threads", "turn", "units", "worker",
    )  # fmt: skip

    def __init__(
        self,
        number: int,
        policy: Policy,
        priority: float,
        threads: int,
        worker: int | None,
        stirred: list[Partition],
        most_rows: int | None = None,
        most_bytes: float = inf,
    ) -> None:
        self.number = number
        self.policy = policy
        self.rank = policy.rank
        self.expires = type(policy.rank).expires_s is not Rank.expires_s  # whether priorities ever do
        self.in_turns = "turn" in policy.rank.reads
        self.sizes = type(policy.rank).quantum is not Rank.quantum  # whether the rank chooses the quantum
        self.most_rows, self.most_bytes = most_rows, most_bytes
        self.quantum = at_most(policy.quantum, most_rows)
        self.priority = priority
        self.threads = threads
        self.worker = worker
        self.stirred = stirred  # all partitions with something in their inbox
        self.units: list[UnitState] = []
        self.ready = ReadySet()
        self.inbox: list[UnitState] = []
        self.rerank = False  # whether new rows change the priority of a unit that is ready already
        self.running = 0
        self.turn = -1
        self.size = 1
        self.pass_s = 0.0
        self.queued = False  # whether the thread scheduler has it in line

    def note(self, unit: UnitState) -> None:
        """Instructs the partition to look at the unit before it decides next."""
        if not unit.in_inbox:
            unit.in_inbox = True
            if not self.inbox:
                self.stirred.append(self)
            self.inbox.append(unit)


def at_most(quantum: Quantum, most_rows: int | None) -> Quantum:
    """The quantum, with no more than that many rows."""
    if most_rows is None or (quantum.rows is not None and quantum.rows <= most_rows):
        return quantum
    return Quantum(most_rows, quantum.seconds)


@dataclass(frozen=True, slots=True)
class Share:
    """One partition to be: its units and how they are run."""

    policy: Policy
    units: tuple[Unit, ...]
    priority: float = 1.0
    threads: int = 1
    worker: int | None = None


def divide(
    graph: Graph,
    estimates: Estimates,
    policy: Policy,
    plan: ThreadPlan,
    parse: Callable[[str], Policy],
    frozen: tuple[Unit, ...] = (),
) -> tuple[Share, ...]:
    """Cuts the graph and divides the units among partitions.

    Frozen units are kept as they are: they belong to suspended queries, and their queues cannot be emptied;
    or they ran before a crash. So are shared queries, and those that leave out rows.
    """
    kept = {name for unit in frozen for name in unit.operators}
    whole = (*shared_units(graph), *skipping_units(graph))
    frozen += tuple(unit for unit in whole if kept.isdisjoint(unit.operators))
    if plan.kind == "hybrid":
        return _groups(graph, estimates, policy, plan, parse, frozen)
    units = in_graph_order(graph, _thawed(graph, policy.cut.cut(graph, estimates), frozen))
    match plan.kind:
        case "graph":
            return (Share(policy, units),)
        case "pool":
            return (Share(policy, units, threads=plan.workers),)
        case "operator":
            return tuple(Share(policy, (unit,)) for unit in units)
        case "owned":
            return _owned(graph, estimates, policy, units, plan.workers)


def check_groups(graph: Graph, plan: ThreadPlan, *, all_run: bool = True) -> None:
    """Raises PolicyError for a plan that no graph, or not this graph, can be divided by.

    Operators may have gone since the plan was made; then not `all_run`.
    """
    if plan.workers < 1:
        raise PolicyError(f"{plan.workers} workers: at least one is needed")
    if plan.groups and plan.kind != "hybrid":
        raise PolicyError(
            f"a thread plan of kind '{plan.kind}' has no groups; leave them out or make it hybrid"
        )
    taken: dict[str, int] = {}
    for number, group in enumerate(plan.groups):
        if group.priority <= 0:
            raise PolicyError(f"group {number} has priority {group.priority}: it must be above 0")
        for name in group.operators:
            if all_run and name not in graph.operators:
                hint = closest(name, graph.operators)
                raise PolicyError(f"group {number} names '{name}', which is not an operator that runs.{hint}")
            if name in taken:
                raise PolicyError(f"groups {taken[name]} and {number} both name operator '{name}'")
            taken[name] = number


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
) -> tuple[Share, ...]:
    taken = {name for group in plan.groups for name in group.operators}
    rest = tuple(name for name in graph.operators if name not in taken)
    groups = plan.groups + ((Group(rest),) if rest else ())
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
            shares.append(Share(own, units, group.priority))
    return tuple(shares)


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
    graph: Graph, estimates: Estimates, policy: Policy, units: tuple[Unit, ...], workers: int
) -> tuple[Share, ...]:
    """Each unit to the worker with least to do so far, the busiest units first."""
    rates = input_rates(graph, estimates)
    load = {unit: sum(rates[name] * estimates.of(name).cost_s for name in unit.operators) for unit in units}
    owned: list[list[Unit]] = [[] for _ in range(workers)]
    total = [0.0] * workers
    for unit in sorted(units, key=lambda unit: -load[unit]):
        least = min(range(workers), key=total.__getitem__)
        owned[least].append(unit)
        total[least] += load[unit]
    return tuple(
        Share(policy, in_graph_order(graph, mine), worker=worker) for worker, mine in enumerate(owned) if mine
    )
