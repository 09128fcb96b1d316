"""Every side of the bench once, small: all of them answer the same query, and what is counted is counted."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest

from penstock.bench.scale import sides, stepping, throughput
from penstock.bench.scale.backlog import Backlog, write
from penstock.errors import ExperimentError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.jvm


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Backlog:
    return write(tmp_path_factory.mktemp("few") / "rows", 1000)


@pytest.fixture(scope="module")
def more(tmp_path_factory: pytest.TempPathFactory) -> Backlog:
    return write(tmp_path_factory.mktemp("more") / "rows", 5000)


def test_each_side_is_through_with_a_backlog(spark: SparkSession, few: Backlog, more: Backlog) -> None:
    found = list(throughput.samples(spark, few, [more], 1))
    assert [one.side for one in found] == ["batch", "by-size", "in-hand"]
    assert all(one.rows_per_s == pytest.approx(5000 / one.seconds) for one in found)
    assert found[0].steps == 0
    assert found[2].steps > 0
    assert found[2].large_steps == 0
    assert found[2].driver_row_bytes > 0


def test_steps_at_large_are_all_at_large_and_show_the_driver_no_row(
    spark: SparkSession, few: Backlog, more: Backlog
) -> None:
    found = stepping.measured(spark, "two-tasks", few, more)
    assert found.steps == found.large_steps > 0
    assert found.driver_row_bytes == 0
    assert found.step_s > 0
    assert found.python_bytes > 10**7
    assert found.jvm_bytes > 10**7


def test_results_of_other_rows_are_an_error(spark: SparkSession, more: Backlog, tmp_path: Path) -> None:
    wrong = Backlog(more.root, more.rows, more.total + 1)
    with pytest.raises(ExperimentError, match="nothing that was measured counts"):
        sides.batch(spark, wrong, tmp_path / "out")
    assert sum(pq.read_table(file).num_rows for file in (tmp_path / "out").glob("*.parquet")) > 0
