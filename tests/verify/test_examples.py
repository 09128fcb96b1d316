"""Every example runs with the results of batch, and so do queries over real data, where that is there."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from penstock.verify.schedules import Schedule, switching
from penstock.verify.verifying import verify

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.jvm, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
#: Real data is never part of the project; this says where it is, else it is looked for beside the project.
DATA = Path(os.environ.get("PENSTOCK_DATA", ROOT.parent / "shared" / "data"))
#: Queries of NEXMark that are refused by name; `tests/sql/test_nexmark.py` says with what words.
REFUSED = ("q6", "q12", "q19")
SCHEDULES = (Schedule("fcfs", 200_000, 2), Schedule("chain", 500, 2, "round-robin"))


def check(sql: str, base: Path, spark: SparkSession, schedules: tuple[Schedule, ...] = SCHEDULES) -> None:
    """Runs and compares; every query must have results, or nothing was compared."""
    verdicts = list(verify(sql, base, spark, schedules))
    told = [
        f"{one.query}, {one.schedule}:\n{one.difference}" for one in verdicts if one.difference is not None
    ]
    assert not told, "\n".join(told)
    assert not [one.query for one in verdicts if one.rows == 0]


def test_the_smart_home(spark: SparkSession) -> None:
    schedules = (*SCHEDULES, switching(10, seed=1))
    check((EXAMPLES / "smart-home.sql").read_text("utf-8"), EXAMPLES, spark, schedules)


def test_nexmark(spark: SparkSession) -> None:
    folder = EXAMPLES / "nexmark"
    queries = [path for path in sorted(folder.glob("q*.sql")) if path.stem not in REFUSED]
    assert len(queries) == 20
    check("\n".join(path.read_text("utf-8") for path in (folder / "streams.sql", *queries)), folder, spark)


@pytest.mark.parametrize("name", ["smart-plugs", "linear-road"])
def test_real_data(name: str, spark: SparkSession) -> None:
    if not (DATA / name).is_dir():
        pytest.skip(f"the data is not there: {name}; set PENSTOCK_DATA to the directory that holds it")
    more = Schedule("segment", 5_000, 2)
    check((EXAMPLES / "real" / f"{name}.sql").read_text("utf-8"), DATA, spark, (*SCHEDULES, more))
