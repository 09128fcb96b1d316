"""A small part of `make chaos`."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.chaos.run import judge, make, torment


@pytest.mark.slow
def test_none_lost_and_none_twice_after_three_kills(tmp_path: Path, spark: SparkSession) -> None:
    case = make("shared", tmp_path / "shared", seconds=50, seed=7)
    said: list[str] = []
    torment(case, 3, 7, said.append)
    if not case.problems:
        judge(case, spark, said.append)
    assert not case.problems, "\n".join([*said, *case.problems])
