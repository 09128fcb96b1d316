"""Expressions that take as long as they are told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from penstock.experiments.on_spark.work import TEXT, Pace, bound, hashed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PACE = Pace(1e-9)


def test_more_time_is_more_bytes_and_long_ones_are_chains() -> None:
    assert PACE.hash(32e-6) == "sha2(repeat(code, 1000), 256)"
    assert "sequence(1, 16)" in PACE.hash(1e-3)
    assert "concat(code, 'x')" in PACE.hash(0.0, salt="x")


def test_a_share_of_all_is_everything_and_a_share_of_none_nothing() -> None:
    assert bound(1.0) > "f" * 64
    assert bound(0.0) == "000000"


def test_a_pace_is_a_plausible_one(spark: SparkSession) -> None:
    assert 2e-10 <= Pace.measured(spark, tries=2).byte_s < 1e-6


@pytest.mark.parametrize("size", [TEXT, 5 << 16])
def test_hashes_of_random_texts_keep_the_share_that_they_are_asked_to(spark: SparkSession, size: int) -> None:
    text = f"substr(sha2(CAST(id AS STRING), 256), 1, {TEXT})"
    kept = f"{hashed('code', size)} < '{bound(0.3)}'"
    rows = f"(SELECT {text} AS code FROM range(0, 400))"
    found = spark.sql(f"SELECT count_if({kept}) AS kept, count(*) AS rows FROM {rows}").first()
    assert found is not None
    assert found["rows"] == 400
    assert abs(found["kept"] - 120) < 40
