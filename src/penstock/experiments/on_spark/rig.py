"""An engine that runs scenarios of the same queries, under one policy after the other.

Before anything counts, rows come until it is known what each operator costs, and each scenario begins with
some rows for its policy's jobs to be made. Rows' own times go on from run to run.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import median
from types import TracebackType

import numpy as np

from penstock.engines.spark.engine import Engine
from penstock.experiments.on_spark.predicting import Learned
from penstock.experiments.on_spark.running import finish, push, run
from penstock.experiments.on_spark.scenario import Outcome, Scenario, made_rows, measured
from penstock.experiments.on_spark.work import Session
from penstock.model.estimates import Estimates
from penstock.model.query import Query

#: Rows for each stream before a run, push by push, so that its jobs are made.
WARM = (2, 6)
#: The seed of rows that do not count.
REHEARSED = 1000
#: Seconds of the rows' clock between two runs, in which windows of the one before close.
_BETWEEN_S = 600.0
#: How long anything may take beyond the time in which rows come.
_PATIENCE_S = 300.0


class Rig:
    """One engine and its queries; runs are one after the other."""

    def __init__(
        self, spark: Session, statements: str, *, workers: int = 1, warm: Sequence[int] = WARM
    ) -> None:
        self._statements, self._warm, self._base_s = statements, warm, 1_000_000.0
        self.engine = Engine(spark=spark, workers=workers, recuts=False)

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

    def learn(self, policies: Sequence[str], lessons: Sequence[int]) -> Learned:
        """Rows for all streams under each policy, until it is known what the units of each cost."""
        fixed: dict[tuple[str, ...], float] = {}
        for policy in policies:
            self.engine.use_policy(policy)
            self._push_all(lessons)
            fixed |= self.estimates.fixed
        return self._learned(fixed)

    def rehearse(self, scenarios: Sequence[Scenario]) -> Learned:
        """The same from whole runs, whose rows are others than those that count."""
        fixed: dict[tuple[str, ...], float] = {}
        for scenario in scenarios:
            self.run(scenario, REHEARSED)
            fixed |= self.estimates.fixed
        return self._learned(fixed)

    def _learned(self, fixed: Mapping[tuple[str, ...], float]) -> Learned:
        """Estimates tell only what units of the running cut cost before their first row."""
        return Learned(self.planned, replace(self.estimates, fixed=fixed), self.intake_s())

    @property
    def planned(self) -> tuple[Query, ...]:
        """The queries as they run."""
        return tuple(self.engine.coordinator.control.graph.queries.values())

    @property
    def estimates(self) -> Estimates:
        """What is known of operators now."""
        return self.engine.coordinator.control.estimates

    def run(self, scenario: Scenario, seed: int) -> Outcome:
        """One run, until all its rows are through."""
        self._use(scenario)
        self._push_all(self._warm)
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

    def intake_s(self, tries: int = 9) -> float:
        """How long after its arrival a row is control's to schedule, when nothing else waits."""
        taken = []
        stream = next(iter(self.engine.feeds()))
        for number in range(tries):
            rows = made_rows(np.array([self._base_s]), np.random.default_rng(number))
            began = time.monotonic()
            ticket = push(self.engine, stream, rows)
            ticket.wait(_PATIENCE_S)
            taken.append(time.monotonic() - began)
            finish(self.engine, [ticket], _PATIENCE_S)
            self._base_s += _BETWEEN_S
        return median(taken)
