"""An engine that runs scenarios of the same queries, under one policy after the other.

Before anything counts, rows come until it is known what each operator costs, and each scenario begins with
some rows for its policy's jobs to be made. Rows' own times go on from run to run.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from statistics import median
from types import TracebackType

import numpy as np

from penstock.engines.sim.draws import Floats
from penstock.engines.spark.engine import Engine
from penstock.experiments.on_spark.predicting import Learned
from penstock.experiments.on_spark.running import finish, push, run
from penstock.experiments.on_spark.scenario import Maker, Outcome, Scenario, made_rows, measured
from penstock.experiments.on_spark.work import Session
from penstock.model.estimates import Estimates
from penstock.model.query import Query

#: Rows for each stream before a run, push by push: its jobs are made, and units of which few steps are run
#: have as many as the monitor asks for.
WARM = (2, 8, 4)
#: The seed of rows that do not count.
REHEARSED = 1000
#: Seconds of the rows' clock between two runs, in which windows of the one before close.
_BETWEEN_S = 600.0
#: How long anything may take beyond the time in which rows come.
_PATIENCE_S = 300.0


class Rig:
    """One engine and its queries; runs are one after the other."""

    def __init__(
        self,
        spark: Session,
        statements: str,
        *,
        workers: int = 1,
        warm: Sequence[int] = WARM,
        make: Maker = made_rows,
        fill: tuple[int, float] = (0, 0.0),
        apart: bool = False,
    ) -> None:
        """`make` makes rows that the streams take; `fill` is how many of them windows hold, in how many
        seconds of their own clock, when a run begins; `apart`, queries of one shape are not run as one.
        """
        self._statements, self._warm, self._make, self._apart = statements, warm, make, apart
        self._fill_rows, self._fill_s = fill
        self._base_s, self._is_cold = 1_000_000.0, True
        self.engine = Engine(spark=spark, workers=workers, recuts=False)

    def __enter__(self) -> Rig:
        self.engine.open()
        self.engine.execute(self._statements)
        for query in self.queries if self._apart else ():
            self.engine.run_apart(query)
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

    def learn(self, scenario: Scenario, lessons: Sequence[int]) -> Learned:
        """Rows for all streams, scheduled as in that scenario, until it is known what each unit costs."""
        self._use(scenario)
        if self._is_cold:
            self.push_all(lessons)
            self._forget()
        self.push_all(lessons)
        return self._learned()

    def rehearse(self, scenarios: Sequence[Scenario], times: int = 1) -> Learned:
        """The same from whole runs, whose rows are others than those that count."""
        if self._is_cold:
            self.run(scenarios[0], REHEARSED)
            self._forget()
        for scenario in scenarios:
            for number in range(times):
                self.run(scenario, REHEARSED + number)
        return self._learned()

    def _forget(self) -> None:
        """What steps took while Java was cold."""
        self.engine.coordinator.mailbox.call(self.engine.coordinator.monitor.forget_costs)
        self._is_cold = False

    def _learned(self) -> Learned:
        return Learned(self.planned, self.estimates(), self.intake_s())

    @property
    def planned(self) -> tuple[Query, ...]:
        """The queries as they run."""
        return tuple(self.engine.coordinator.control.graph.queries.values())

    def estimates(self) -> Estimates:
        """What is known of operators now, of the last steps too."""
        coordinator = self.engine.coordinator
        coordinator.mailbox.call(coordinator.estimate)
        return coordinator.control.estimates

    def run(self, scenario: Scenario, seed: int) -> Outcome:
        """One run, until all its rows are through."""
        self._use(scenario)
        self.push_all(self._warm)
        self._fill()
        rows = scenario.rows(seed, self._base_s, self._make)
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

    def _fill(self) -> None:
        """Rows of just before, so that windows are full when a run begins."""
        if self._fill_rows:
            times_s = (
                self._base_s - self._fill_s + np.linspace(0.0, self._fill_s, self._fill_rows, endpoint=False)
            )
            self._push_and_wait(times_s, REHEARSED)

    def _push_and_wait(self, times_s: Floats, seed: int) -> None:
        tickets = [
            push(self.engine, stream, self._make(times_s, np.random.default_rng([seed, place])))
            for place, stream in enumerate(self.engine.feeds())
        ]
        finish(self.engine, tickets, _PATIENCE_S)

    def push_all(self, sizes: Sequence[int]) -> None:
        """Rows for all streams, each time so many, and each time all are through."""
        for place, size in enumerate(sizes):
            self._push_and_wait(self._base_s + np.linspace(0.0, 1.0, size), place)
            self._base_s += _BETWEEN_S

    def intake_s(self, tries: int = 5) -> float:
        """How long after its arrival a row is control's to schedule, when nothing else waits."""
        taken = []
        stream = next(iter(self.engine.feeds()))
        for number in range(tries):
            rows = self._make(np.array([self._base_s]), np.random.default_rng(number))
            began = time.monotonic()
            ticket = push(self.engine, stream, rows)
            ticket.wait(_PATIENCE_S)
            taken.append(time.monotonic() - began)
            finish(self.engine, [ticket], _PATIENCE_S)
            self._base_s += _BETWEEN_S
        return median(taken)
