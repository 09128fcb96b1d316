"""An engine that runs scenarios of the same queries, under one policy after the other.

Before anything counts, rows come until it is known what each operator costs, and each scenario begins with
some rows for its policy's jobs to be made. Rows' own times go on from run to run.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from types import TracebackType

import numpy as np

from penstock.engines.spark.engine import Engine
from penstock.errors import ExperimentError
from penstock.experiments.on_spark.running import finish, push, run
from penstock.experiments.on_spark.scenario import Outcome, Scenario, made_rows, measured
from penstock.experiments.on_spark.work import Session
from penstock.model.estimates import Estimates
from penstock.model.query import Query

#: Rows for each stream, push by push, from which it is learned what operators cost.
LESSONS = (20, 60, 20, 100, 40, 80)
#: Rows for each stream before a run, so that its jobs are made.
_WARM = (2, 6)
#: Seconds of the rows' clock between two runs, in which windows of the one before close.
_BETWEEN_S = 600.0
#: How long anything may take beyond the time in which rows come.
_PATIENCE_S = 300.0


class Rig:
    """One engine and its queries; runs are one after the other."""

    def __init__(
        self, spark: Session, statements: str, *, workers: int = 1, train_rows: int = 100_000
    ) -> None:
        self._statements, self._base_s = statements, 1_000_000.0
        self.engine = Engine(spark=spark, workers=workers, train_rows=train_rows, recuts=False)

    def __enter__(self) -> Rig:
        self.engine.open()
        self.engine.execute(self._statements)
        self.engine.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.engine.close()

    @property
    def queries(self) -> tuple[str, ...]:
        """The queries, in the order in which they were registered."""
        return tuple(self.engine.catalog.queries)

    def learn(self, policies: Sequence[str], lessons: Sequence[int] = LESSONS) -> Estimates:
        """Rows for all streams under each policy; what is known of operators then."""
        for policy in policies:
            self.engine.use_policy(policy)
            self._push_all(lessons)
        return self.estimates

    @property
    def planned(self) -> tuple[Query, ...]:
        """The queries as they run."""
        return tuple(self.engine.coordinator.control.graph.queries.values())

    @property
    def estimates(self) -> Estimates:
        """What is known of operators now."""
        return self.engine.coordinator.control.estimates

    def run(self, scenario: Scenario, seed: int, *, warm: bool = True) -> Outcome:
        """One run, until all its rows are through."""
        self._use(scenario)
        if warm:
            self._push_all(_WARM)
        rows = scenario.rows(seed, self._base_s)
        fed_s = scenario.fed_s
        found = run(self.engine, scenario.groups(), rows, fed_s, 3 * fed_s + _PATIENCE_S)
        self._base_s += fed_s + _BETWEEN_S
        return measured(found, self.queries)

    def _use(self, scenario: Scenario) -> None:
        engine = self.engine
        for name in [one.name for one in engine.catalog.partitions.values()]:
            engine.execute(f"DROP PARTITION {name};")
        engine.use_policy(scenario.policy)
        engine.use_scheduling(scenario.scheduling)
        for name, operators in scenario.partitions.items():
            engine.set_partition(name, operators=operators)

    def _push_all(self, sizes: Sequence[int]) -> None:
        """Rows for all streams, each time so many, and each time all are through."""
        for place, size in enumerate(sizes):
            times_s = self._base_s + np.linspace(0.0, 1.0, size)
            tickets = [
                push(self.engine, stream, made_rows(times_s, np.random.default_rng([place, size])))
                for stream in self.engine.feeds()
            ]
            finish(self.engine, tickets, _PATIENCE_S)
            self._base_s += _BETWEEN_S

    def idle_s(self, seconds: float = 3.0) -> float:
        """What a row takes from its arrival to its result when nothing else waits, beside its step's time."""
        totals = self.engine.status().totals
        before, began, pushed = totals, time.monotonic(), 0
        latencies = {name: one.latencies.copy() for name, one in self.engine.measures.items()}
        while time.monotonic() - began < seconds:
            self._push_all((1,))
            pushed += 1
        after = self.engine.status().totals
        if after.steps == before.steps:
            raise ExperimentError("no step was run for single rows; the queries read none of the streams")
        taken = [
            mean
            for name, one in self.engine.measures.items()
            if (mean := one.latencies.since(latencies[name]).mean_s) is not None
        ]
        step_s = (after.step_s - before.step_s) / pushed
        return max(0.0, float(np.mean(taken)) - step_s) if taken else 0.0
