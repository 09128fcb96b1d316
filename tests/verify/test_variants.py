"""Variants of a file's queries that come and go."""

from __future__ import annotations

import random
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from penstock.errors import ExperimentError
from penstock.verify.schedules import Schedule
from penstock.verify.variants import script, varied, verify_variants

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_a_file_in_its_parts() -> None:
    parts = script((EXAMPLES / "crowd.sql").read_text())
    assert parts.streams == ("temps", "doors")
    assert "USING push" in parts.world
    assert "generator" not in parts.world
    assert len(parts.queries) == 11
    assert all(text.startswith("AS\n") or text.startswith("AS SELECT") for text in parts.queries)
    wished = (
        "CREATE STREAM s (a INT) USING push; CREATE CONTINUOUS QUERY q WITH (weight = 0.5) AS SELECT a FROM s"
    )
    assert script(wished).queries == ("AS SELECT a FROM s",)


def test_numbers_beside_comparisons_vary() -> None:
    text = "SELECT a * 2 FROM s [RANGE 10 SECONDS] WHERE v > 100 AND 7.25 <= w AND k = 'x 5'"
    found = {varied(text, random.Random(seed)) for seed in range(40)}
    assert len(found) > 20
    assert all(one.startswith("SELECT a * 2 FROM s [RANGE 10 SECONDS] WHERE v > ") for one in found)
    assert all(one.endswith(" AND k = 'x 5'") for one in found)
    assert any("NULL" in varied(text, random.Random(seed)) for seed in range(200))


def test_a_file_without_queries() -> None:
    with pytest.raises(ExperimentError, match="no continuous query"):
        script("CREATE STREAM s (a INT) USING push;")


@pytest.mark.jvm
@pytest.mark.slow
def test_a_crowd(spark: SparkSession) -> None:
    sql = (EXAMPLES / "crowd.sql").read_text().replace("'3000'", "'600'").replace("'300'", "'60'")
    schedule = Schedule("fas-mcq", 500, 2, "chain", 50)
    found = list(verify_variants(sql, EXAMPLES, spark, [schedule], 24, 3))
    wrong = {one.query: one.difference for one in found if one.difference is not None}
    assert not wrong
    assert len(found) == 24
    assert sum(one.rows for one in found) > 100
