"""Runs: what is taken down while rows are fed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from penstock.bench.scheduling.workload import COLUMNS, Workload, made_rows
from penstock.engines.spark.engine import Engine
from penstock.experiments.on_spark.running import Group, Trace, run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_results_are_counted_by_the_second() -> None:
    found = Trace(
        [0.5, 1.5, 2.5, 3.5], [100.0, 200.0, 200.0, 0.0], [0, 10, 30, 40], [0.0, 5.0, 9.0, 14.0], [4] * 4
    )
    assert found.per_second(3.5) == [5, 15, 15]


def test_rows_are_fed_and_what_comes_of_them_is_taken_down(spark: SparkSession) -> None:
    chain = Workload(5).chains()[3]
    groups = [Group(0.0, chain.stream, 0, 50), Group(0.2, chain.stream, 50, 30)]
    rows = {chain.stream: made_rows(80, np.random.default_rng(1))}
    with Engine(spark=spark, recuts=False) as engine:
        engine.execute(f"CREATE STREAM {chain.stream} ({COLUMNS}) USING push;" + chain.statement())
        engine.start()
        found = run(engine, groups, rows, 0.5, 120.0)
        assert found.rows_in == 80
        assert found.latencies().count == engine.results(chain.name).num_rows > 0
    assert found.steps >= 1
    assert 0 < found.stale_s(chain.name) <= found.taken_s
    assert found.trace.rows_out[-1] <= found.latencies().count
    assert found.most_bytes > 0
    assert 0 < found.byte_s <= found.most_bytes * found.taken_s
    assert found.trace.units[0] == 1
