"""One tiny scenario on Spark, and what virtual time says of it from an earlier run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from penstock.engines.sim.arrivals import at_times
from penstock.experiments.on_spark.predicting import Learned
from penstock.experiments.on_spark.rig import Rig
from penstock.experiments.on_spark.scenario import COLUMNS, Scenario, in_ticks
from penstock.experiments.on_spark.sweeping import Trial, sweep
from penstock.experiments.report import Settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STATEMENTS = f"""\
CREATE STREAM `left` ({COLUMNS}, WATERMARK FOR t AS t - INTERVAL 0 SECONDS) USING push;
CREATE STREAM `right` ({COLUMNS}, WATERMARK FOR t AS t - INTERVAL 0 SECONDS) USING push;
CREATE CONTINUOUS QUERY even AS SELECT id, u FROM `left` WHERE id % 2 = 0;
CREATE CONTINUOUS QUERY pairs AS SELECT x.id AS a, y.id AS b FROM `left` AS x JOIN `right` AS y
  ON x.id % 1 = y.id % 1 AND y.t BETWEEN x.t - INTERVAL 1 SECONDS AND x.t + INTERVAL 1 SECONDS;
"""
ROWS, FED_S = 40, 0.6


def trials(policy: str, scheduling: str) -> list[Trial]:
    arrivals = {name: in_ticks(at_times(FED_S * np.arange(1, ROWS + 1) / ROWS)) for name in ("left", "right")}
    return [Trial("", f"{policy}, {scheduling}", Scenario(arrivals, policy, scheduling, workers=2))]


def test_a_scenario_runs_and_is_predicted_from_a_run_before(spark: SparkSession) -> None:
    mine = trials("fcfs", "pool") + trials("round-robin", "gts")
    progress: list[tuple[int, int]] = []
    known: list[Learned] = []

    with Rig(spark, STATEMENTS, workers=2, fill=(5, 0.1)) as rig:

        def learn(side: Sequence[Trial]) -> Learned:
            known.append(rig.rehearse([trial.scenario for trial in side]))
            return known[-1]

        settings = Settings(quick=True, progress=lambda *at: progress.append(at))
        found = sweep(rig, lambda _seed: mine, settings, [1], learn)
    assert len(known) == 2
    assert all(learned.estimates.fixed_s > 0 for learned in known)
    assert all(learned.intake_s > 0 for learned in known)
    assert known[0].estimates.fixed.keys() != known[1].estimates.fixed.keys()
    assert progress[0] == (0, 2)
    assert progress[-1] == (2, 2)
    for measured, predicted in ((found.measured, found.predicted),):
        for key, (run,) in measured.items():
            assert run.rows_out > ROWS // 2  # what comes of the rows that fill windows does not count
            assert run.steps > 0
            assert run.finish_s >= FED_S
            assert 0 < run.mean_latency_s < run.p95_latency_s * 1.2
            assert predicted[key][0].rows_out > 0
    assert {row["policy"] for row in found.rows(("staleness",), "at", "policy")} == {
        "fcfs, pool",
        "round-robin, gts",
    }
    assert len(found.comparison.points) == 6
