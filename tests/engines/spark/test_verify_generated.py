"""Results equal plain Spark batch whatever the schedule: random queries over random rows, all policies."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from penstock.verify.schedules import Schedule, usable
from penstock.verify.verifying import verify
from tests.engines.spark.random_sql import Sizes, random_file

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.jvm, pytest.mark.slow]

FILES = 6
QUERIES = 12
SCHEDULES = 3


def schedules(file: int) -> list[Schedule]:
    """Each file has other policies than those before; together they have all. Its last run switches."""
    chance = random.Random(file)
    names = usable()
    return [
        Schedule(
            names[(SCHEDULES * file + number) % len(names)],
            chance.choice((1, 500, 200_000)),
            chance.choice((1, 2, 3)),
            chance.choice(names) if number == SCHEDULES - 1 else None,
            chance.choice((60, 200, 1000)),
        )
        for number in range(SCHEDULES)
    ]


def sizes(file: int) -> Sizes:
    """One file in three has an empty stream."""
    chance = random.Random(file)
    return Sizes(chance.randint(200, 900), chance.randint(150, 400), 0 if file % 3 == 1 else 200)


def test_there_are_two_hundred_pairs_and_every_policy() -> None:
    runs = [schedule for file in range(FILES) for schedule in schedules(file)]
    assert QUERIES * len(runs) >= 200
    assert {schedule.policy for schedule in runs} == set(usable())
    assert {schedule.train_rows for schedule in runs} == {1, 500, 200_000}


@pytest.mark.parametrize("file", range(FILES))
def test_results_are_those_of_batch(file: int, spark: SparkSession, tmp_path: Path) -> None:
    sql = random_file(file, tmp_path, QUERIES, sizes(file))
    verdicts = list(verify(sql, tmp_path, spark, schedules(file)))
    assert len(verdicts) == QUERIES * SCHEDULES
    wrong = [one for one in verdicts if one.difference is not None]
    told = [f"{one.query}, {one.schedule}:\n{one.difference}" for one in wrong]
    assert not wrong, "\n".join([sql, *told])
    assert sum(one.rows > 0 for one in verdicts) > len(verdicts) // 2
