"""What virtual time says that a scenario will come to on Spark, from estimates of an earlier run.

Control and policies are the very same; what differs is where costs come from, and that steps take no time of
each other. `comparing` holds predictions against what was measured then.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from penstock.control.thread_plans import Group, ThreadPlan
from penstock.engines.sim.engine import Simulation
from penstock.engines.sim.workload import Workload
from penstock.experiments.on_spark.scenario import Outcome, Scenario, simulated
from penstock.model.estimates import Estimates
from penstock.model.graph import Graph
from penstock.model.query import Query
from penstock.model.scheduling import Scheduling
from penstock.plan.sharing import merge


@dataclass(frozen=True, slots=True)
class Learned:
    """What was found on Spark: queries as they run, estimates, and how long a row takes to a queue.

    Estimates are best of a run that was scheduled in the same way, shortly before. What a step of a unit
    costs before its first row and what a row costs are fitted together, so those of different runs do not go
    with each other; where steps run at once, each takes longer; and Java gets ever faster.
    """

    queries: tuple[Query, ...]
    estimates: Estimates
    intake_s: float = 0.0

    @property
    def graph(self) -> Graph:
        """What runs."""
        return merge(Graph(), self.queries)


def predicted(scenario: Scenario, learned: Learned) -> Outcome:
    """One run in virtual time."""
    known = learned.estimates
    workload = Workload(
        scenario.arrivals,
        known.operators,
        fixed_s=known.fixed_s,
        fixed=known.fixed,
        deliver_at_end=True,
        intake_s=learned.intake_s,
    )
    rates = {name: one.rows / scenario.fed_s for name, one in scenario.arrivals.items()}
    found = Simulation(
        learned.queries,
        workload,
        scenario.policy,
        threads=_threads(scenario),
        estimates=replace(known, rates=rates),
        watch_memory=True,
    ).run()
    return simulated(found, scenario.fed_s)


def _threads(scenario: Scenario) -> ThreadPlan:
    kind: Scheduling = scenario.scheduling  # type: ignore[assignment]
    groups = tuple(Group(operators, name=name) for name, operators in scenario.partitions.items())
    return ThreadPlan(kind, scenario.workers, groups)
