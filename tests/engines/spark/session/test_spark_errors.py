"""What Spark refuses fails one query, in words that say what and what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from penstock.engines.spark.engine import Engine
from penstock.engines.spark.session.spark_errors import in_words

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATTERN = """\
[INCONSISTENT_BEHAVIOR_CROSS_VERSION.DATETIME_PATTERN_RECOGNITION] You may get a different result due to the \
upgrading to Spark >= 3.0:
Fail to recognize 'YYYY' pattern in the DateTimeFormatter.
1) You can set "spark.sql.legacy.timeParserPolicy" to "LEGACY" to restore the behavior before Spark 3.0.
2) You can form a valid datetime pattern with the guide from 'https://x.org'. SQLSTATE: 42K0B"""


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        (
            PATTERN,
            "[INCONSISTENT_BEHAVIOR_CROSS_VERSION.DATETIME_PATTERN_RECOGNITION] Fail to recognize 'YYYY' "
            "pattern in the DateTimeFormatter. You can form a valid datetime pattern with the guide from "
            "'https://x.org'.",
        ),
        (
            "[DIVIDE_BY_ZERO] Division by zero. Use `try_divide` to tolerate divisor being 0 and return NULL "
            'instead. If necessary set "spark.sql.ansi.enabled" to "false" to bypass this error. SQLSTATE: 2'
            "\n== SQL (line 1, position 56) ==\n...r0 AS (SELECT",
            "[DIVIDE_BY_ZERO] Division by zero. Use `try_divide` to tolerate divisor being 0 and return NULL "
            "instead.",
        ),
        (
            "[INVALID_FORMAT] The format is invalid: 'FOO'. SQLSTATE: 4; line 1 pos 7;\n'Project [x]\n+- y",
            "[INVALID_FORMAT] The format is invalid: 'FOO'.",
        ),
        ("no more than this\n\tat org.apache.spark.X", "no more than this"),
    ],
)
def test_the_message_is_whole_without_stacks_plans_and_settings(said: str, shown: str) -> None:
    assert in_words(said) == shown


def test_a_query_that_spark_cannot_plan_or_run_fails_alone(spark: SparkSession) -> None:
    selects = {
        "good": "SELECT n FROM s",
        "not_planned": "SELECT to_char(n, concat('f', 'oo')) AS x FROM s",
        "not_run": "SELECT k RLIKE '[' AS x FROM s",
        "divided": "SELECT 1 / (n - 1) AS x FROM s",
    }
    with Engine(spark=spark) as engine:
        engine.create_stream("s", {"k": "STRING", "n": "INT"})
        for name, select in selects.items():
            engine.execute(f"CREATE CONTINUOUS QUERY {name} AS {select}")
        engine.push("s", [{"k": "a", "n": 1}, {"k": "b", "n": 2}])
        engine.end("s")
        engine.run()
        assert engine.results("good")["n"].to_pylist() == [1, 2]
        failures = {name: query.failure for name, query in engine.status().queries.items() if query.failure}
    assert failures == {
        "not_planned": "[INVALID_FORMAT.WRONG_NUM_DIGIT] The format is invalid: 'FOO'. "
        "The format string requires at least one number digit.",
        "not_run": "Unclosed character class near index 0 [ ^",
        "divided": "[DIVIDE_BY_ZERO] Division by zero. Use `try_divide` to tolerate divisor being 0 "
        "and return NULL instead.",
    }
