"""What virtual time says that a scenario will come to on Spark, from estimates of an earlier run.

Control and policies are the very same; what differs is where costs come from, and that steps take no time of
each other. `comparison` holds predictions against what was measured then.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import log
from statistics import mean, median

from penstock.control.thread_plans import Group, ThreadPlan
from penstock.engines.sim.engine import Simulation
from penstock.engines.sim.workload import Workload
from penstock.experiments.claims import noise_of
from penstock.experiments.on_spark.noise import least_share
from penstock.experiments.on_spark.scenario import COMPARED, Outcome, Scenario, simulated
from penstock.model.estimates import Estimates
from penstock.model.graph import Graph
from penstock.model.query import Query
from penstock.model.scheduling import Scheduling
from penstock.plan.sharing import merge


@dataclass(frozen=True, slots=True)
class Learned:
    """What was found on Spark: queries as they run, estimates, and how long a row takes to a queue."""

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


# --- beside what was measured ---


@dataclass(frozen=True, slots=True)
class Beside:
    """One measure of one side at one point: what was predicted and what was measured, repeat by repeat."""

    measure: str
    point: str
    side: str
    predicted: tuple[float, ...]
    measured: tuple[float, ...]

    @property
    def error(self) -> float | None:
        """How far the prediction is off, of what was measured; None where nothing was."""
        found = mean(self.measured)
        return abs(mean(self.predicted) - found) / found if found > 0 else None


@dataclass(frozen=True, slots=True)
class Comparison:
    """All of an experiment: how far off, and how many pairs that differ are in the predicted order."""

    points: tuple[Beside, ...]
    pairs: int
    right: int

    def error(self, measure: str) -> float | None:
        """The median over sides and points."""
        errors = [one.error for one in self.points if one.measure == measure and one.error is not None]
        return median(errors) if errors else None

    def as_json(self) -> dict[str, object]:
        """What `--json` prints."""
        return {
            "median_errors": {measure: self.error(measure) for measure in COMPARED},
            "pairs": self.pairs,
            "pairs_in_order": self.right,
            "points": [
                {
                    "measure": one.measure,
                    "point": one.point,
                    "side": one.side,
                    "predicted": mean(one.predicted),
                    "measured": mean(one.measured),
                }
                for one in self.points
            ],
        }


def comparison(
    measured: Mapping[tuple[str, str], Sequence[Outcome]],
    predictions: Mapping[tuple[str, str], Sequence[Outcome]],
) -> Comparison:
    """By point of a figure and side."""
    points = tuple(
        Beside(
            measure,
            point,
            side,
            tuple(getattr(one, measure) for one in predictions[point, side]),
            tuple(getattr(one, measure) for one in found),
        )
        for measure in COMPARED
        for (point, side), found in measured.items()
    )
    pairs = right = 0
    for one, other in combinations(points, 2):
        if (one.measure, one.point) == (other.measure, other.point) and _differ(one, other):
            pairs += 1
            as_said = mean(one.predicted) < mean(other.predicted)
            right += as_said == (mean(one.measured) < mean(other.measured))
    return Comparison(points, pairs, right)


def _differ(one: Beside, other: Beside) -> bool:
    """Whether what was measured of both differs by more than noise; repeats are of the same rows."""
    ratios = [
        log(ours / theirs)
        for ours, theirs in zip(one.measured, other.measured, strict=True)
        if ours and theirs
    ]
    if not ratios:
        return False
    return abs(mean(ratios)) > max(noise_of(ratios), log(1 + least_share(len(ratios))))
