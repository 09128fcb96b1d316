"""Results equal plain Spark batch whatever the schedule: random queries over random rows, all policies."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.verify.schedules import Schedule, usable
from penstock.verify.verifying import verify
from tests.engines.spark.random_sql import SHAPES, Sizes, random_file, write_data

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.jvm, pytest.mark.slow]

GROUPS = 6
FILES = 3
QUERIES = 4
SCHEDULES = 3


def schedules(group: int) -> list[Schedule]:
    """Each group has other policies than those before; together they have all. Its last run switches."""
    chance = random.Random(group)
    names = usable()
    found = [
        Schedule(
            names[(SCHEDULES * group + number) % len(names)],
            chance.choice((70, 500, 200_000)),
            chance.choice((1, 2, 3)),
            chance.choice(names) if number == SCHEDULES - 1 else None,
            chance.choice((60, 200, 1000)),
        )
        for number in range(SCHEDULES)
    ]
    # Steps at large take some tenths of a second each: runs with few steps have some.
    return [replace(one, steps="alternately") if one.train_rows == 200_000 else one for one in found]


def sizes(group: int) -> Sizes:
    """One group in three has an empty stream."""
    chance = random.Random(group)
    return Sizes(chance.randint(200, 900), chance.randint(150, 400), 0 if group % 3 == 1 else 200)


def test_there_are_two_hundred_pairs_and_every_policy() -> None:
    runs = [schedule for group in range(GROUPS) for schedule in schedules(group)]
    assert QUERIES * FILES * len(runs) >= 200
    assert {schedule.policy for schedule in runs} == set(usable())
    assert {schedule.train_rows for schedule in runs} == {70, 500, 200_000}


@pytest.mark.parametrize("group", range(GROUPS))
@settings(max_examples=FILES, suppress_health_check=list(HealthCheck))
@given(shapes=st.permutations(SHAPES), chance=st.randoms(use_true_random=False), seed=st.integers(0, 1000))
def test_results_are_those_of_batch(
    group: int, shapes: Sequence[str], chance: random.Random, seed: int, spark: SparkSession
) -> None:
    # Every group is given the same permutations, so each begins elsewhere in them.
    wanted = [shapes[(QUERIES * group + n) % len(shapes)] for n in range(QUERIES)]
    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder)
        write_data(random.Random(1000 * group + seed), where, sizes(group))
        sql = random_file(chance, wanted)
        verdicts = list(verify(sql, where, spark, schedules(group)))
    assert len(verdicts) == QUERIES * SCHEDULES
    wrong = [one for one in verdicts if one.difference is not None]
    told = [f"{one.query}, {one.schedule}:\n{one.difference}" for one in wrong]
    assert not wrong, "\n".join([sql, *told])
    assert any(one.rows for one in verdicts)
