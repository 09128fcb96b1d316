"""Scheduling: the thread plan that statements ask for, for the queries that run now.

A partition names queries as people do. Queries of one shape run as one, so that a partition gets what its
queries run as, and with it others that run in the same unit, unless they are set apart (`run_apart`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from penstock.control.thread_plans import Group, ThreadPlan
from penstock.model.graph import Graph
from penstock.model.scheduling import REST, Scheduling
from penstock.sql.binding.catalog import Partition

#: Threads that units have to themselves under `ots`, at least: what runs at once is up to Spark then.
_UNIT_THREADS = 8


@dataclass(frozen=True, slots=True)
class AskedScheduling:
    """What was asked for: the kind, how many steps may run at once, and for `hmts` what each thread runs."""

    workers: int
    kind: Scheduling = "pool"
    partitions: tuple[Partition, ...] = ()

    def plan(self, graph: Graph, runs_as: Callable[[str], str]) -> ThreadPlan:
        """The thread plan; operators and queries that do not run now are left out."""
        match self.kind:
            case "gts" | "di":
                return ThreadPlan(self.kind, 1)
            case "ots":
                return ThreadPlan(self.kind, max(self.workers, _UNIT_THREADS))
            case "hmts":
                return ThreadPlan(self.kind, self.workers, self._groups(graph, runs_as))
            case _:
                return ThreadPlan(self.kind, self.workers)

    def _groups(self, graph: Graph, runs_as: Callable[[str], str]) -> tuple[Group, ...]:
        groups: list[Group] = []
        taken: set[str] = set()
        operators = set(graph.operators)
        for one in self.partitions:
            hosts = dict.fromkeys(host for host in map(runs_as, one.queries) if host in graph.queries)
            mine = tuple(host for host in hosts if host not in taken)
            taken.update(mine)
            there = tuple(name for name in one.operators if name in operators)
            if mine or there or one.name == REST:
                groups.append(Group(there, one.policy, one.priority, mine, one.name))
        return tuple(groups)
