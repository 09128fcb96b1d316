"""A small part of `make chaos`."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.chaos import crowd
from tests.chaos.run import judge, make, torment


@pytest.mark.slow
def test_none_lost_and_none_twice_after_three_kills(tmp_path: Path, spark: SparkSession) -> None:
    case = make("shared", tmp_path / "shared", seconds=50, seed=7)
    said: list[str] = []
    torment(case, 3, 7, said.append)
    if not case.problems:
        judge(case, spark, said.append)
    assert not case.problems, "\n".join([*said, *case.problems])


@pytest.mark.slow
def test_queries_come_go_and_are_altered_between_two_kills(tmp_path: Path, spark: SparkSession) -> None:
    said: list[str] = []
    problems = crowd.torment(tmp_path, kills=2, seconds=25.0, seed=5, say=said.append)
    problems = problems or crowd.judge(tmp_path, 25.0, spark, said.append)
    assert not problems, "\n".join([*said, *problems])
