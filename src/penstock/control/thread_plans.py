"""Thread plans: how the graph is divided among threads, as somebody asks for it."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from penstock.errors import PolicyError, closest
from penstock.model.scheduling import REST, Scheduling


class Group(msgspec.Struct, frozen=True):
    """What one thread runs: operators, and all of some queries; by a policy of its own if it has one."""

    operators: tuple[str, ...] = ()
    policy: str | None = None
    priority: float = 1.0
    queries: tuple[str, ...] = ()
    name: str = ""


class ThreadPlan(msgspec.Struct, frozen=True):
    """How the graph is divided among threads.

    `gts`: one thread runs everything (graph-threaded). `di`: the same, with no queue inside what is connected
    (direct interoperability). `ots`: a thread per unit (operator-threaded). `hmts`: a thread per group, and
    one for what no group names (hybrid); without groups, those that stall-avoiding placement finds. `pool`
    (StreamAPAS' basic engine): any worker takes any unit. `owned` (StreamAPAS' proposal): every unit belongs
    to one worker, the load spread over them. At most `workers` threads run at once.
    """

    kind: Scheduling = "gts"
    workers: int = 1
    groups: tuple[Group, ...] = ()

    @property
    def named(self) -> tuple[Group, ...]:
        """The groups that name something; without any, stall-avoiding placement finds them."""
        return tuple(group for group in self.groups if group.operators or group.queries)

    @property
    def rest(self) -> Group:
        """How what no group names is run."""
        found = (group for group in self.groups if group.name == REST and group not in self.named)
        return next(found, Group(name=REST))


def check_thread_plan(operators: Collection[str], plan: ThreadPlan) -> None:
    """Raises PolicyError for a plan that cannot be, or that names an operator that does not run."""
    if plan.workers < 1:
        raise PolicyError(f"{plan.workers} workers: at least one is needed")
    if plan.groups and plan.kind != "hmts":
        raise PolicyError(f"under '{plan.kind}' there are no groups; leave them out or use 'hmts'")
    taken: dict[str, str] = {}
    for number, group in enumerate(plan.groups):
        shown = f"partition '{group.name}'" if group.name else f"group {number}"
        if group.priority <= 0:
            raise PolicyError(f"{shown} has priority {group.priority}: it must be above 0")
        for name in group.operators:
            if name not in operators:
                hint = closest(name, operators)
                raise PolicyError(f"{shown} names '{name}', which is not an operator that runs.{hint}")
        for name in (*group.operators, *group.queries):
            if name in taken:
                raise PolicyError(f"{taken[name]} and {shown} both name '{name}'")
            taken[name] = shown
