"""A cut that is set apart from its policy: other units, other steps, the same results."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from penstock.control.commands import Command, Recut, RunStep
from penstock.control.events import Event, PolicyChanged
from penstock.engines.sim.arrivals import poisson
from penstock.engines.sim.engine import Simulation
from penstock.engines.sim.workload import Workload
from penstock.model.estimates import Estimate
from penstock.model.operators import Select, Sink, Source
from penstock.model.query import PlanNode, Query


@dataclass
class Seen:
    """The cuts there were, and the steps that were run under each."""

    cuts: list[list[str]] = field(default_factory=list)
    steps: list[int] = field(default_factory=list)

    def take(self, _: Event, commands: list[Command]) -> None:
        for one in commands:
            if isinstance(one, Recut):
                self.cuts.append(sorted("+".join(unit) for unit in one.units.values()))
                self.steps.append(0)
            if isinstance(one, RunStep):
                self.steps[-1] += 1


def run(policy: str, *script: Event) -> tuple[Seen, list[int]]:
    """A cheap selective operator, then two that let everything through, over 2000 rows."""
    node = PlanNode(Source("s"))
    for name, cost_s, selectivity in (("a", 0.001, 0.2), ("b", 0.004, 1.0), ("c", 0.001, 1.0)):
        node = PlanNode(Select(name), (node,), name=name, estimate=Estimate(cost_s, selectivity))
    query = Query("q", PlanNode(Sink("q"), (node,), name="q"))
    workload = Workload({"s": poisson(100.0, 2000, np.random.default_rng(1))}, seed=1)
    seen = Seen()
    results = Simulation([query], workload, policy, script=script, recorder=seen.take).run()
    return seen, sorted(results.delivered["q"].offsets.tolist())


def test_the_cut_changes_the_units_and_not_the_results() -> None:
    path, by_path = run("fcfs")
    operator, by_operator = run("fcfs(cut=operator)")
    chain, by_chain = run("fcfs(cut=chain)")
    assert [path.cuts[-1], operator.cuts[-1], chain.cuts[-1]] == [["a+b+c"], ["a", "b", "c"], ["a", "b+c"]]
    assert path.steps[-1] < chain.steps[-1] < operator.steps[-1]
    assert by_path == by_operator == by_chain


def test_a_cut_is_changed_while_rows_flow_and_the_policy_stays() -> None:
    seen, results = run("fcfs", PolicyChanged(5.0, "fcfs(cut=operator)"))
    assert [seen.cuts[0], seen.cuts[-1]] == [["a+b+c"], ["a", "b", "c"]]
    assert seen.steps[-1] > 0
    assert results == run("fcfs")[1]
