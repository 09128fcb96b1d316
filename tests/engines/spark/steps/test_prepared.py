"""Prepared jobs: planned once, run over other tables."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from penstock.engines.spark.operators.base import Released
from penstock.engines.spark.session import session
from penstock.engines.spark.steps.prepared import FileJob, Jobs, SentJob, in_parts
from penstock.errors import StepError

pytestmark = [pytest.mark.jvm]

INPUTS = {"rows": ("k", "v")}


@pytest.fixture
def jobs(spark: SparkSession, tmp_path: Path) -> Jobs:
    return Jobs(session.own(spark), tmp_path / "jobs")


def table(*rows: tuple[str | None, int | None]) -> pa.Table:
    return pa.table(
        {"k": pa.array([k for k, _ in rows], pa.string()), "v": pa.array([v for _, v in rows], pa.int64())}
    )


@pytest.mark.parametrize(
    ("sql", "first", "second"),
    [
        ("SELECT k, v + 1 AS w FROM rows WHERE v > 1", [("a", 3)], [("c", 8), ("d", 9)]),
        ("SELECT k, sum(v) AS w FROM rows GROUP BY k", [("a", 2), ("b", 1)], [("c", 7), ("d", 8)]),
        (
            "SELECT a.k, b.v AS w FROM rows AS a JOIN rows AS b ON a.k = b.k",
            [("a", 2), ("b", 1)],
            [("c", 7), ("d", 8)],
        ),
    ],
)
def test_a_plan_runs_again_on_what_is_there_now(
    jobs: Jobs, sql: str, first: list[tuple[str, int]], second: list[tuple[str, int]]
) -> None:
    job = jobs.prepare(Released(sql, INPUTS))
    assert isinstance(job, FileJob)
    for rows, expected in (
        ([("a", 2), ("b", 1)], first),
        ([("c", 7), ("d", 8)], second),
        ([], []),
        ([("a", 2), ("b", 1)], first),
    ):
        found = job.run({"rows": table(*rows)})
        assert sorted(zip(found["k"].to_pylist(), found["w"].to_pylist(), strict=True)) == expected
    assert job.is_planned


def test_several_totals_of_one_job_are_those_of_what_is_there_now(jobs: Jobs) -> None:
    sql = "SELECT 'a' AS k, count(*) AS n FROM rows UNION ALL SELECT 'b' AS k, sum(v) AS n FROM rows"
    job = jobs.prepare(Released(sql, INPUTS))
    assert job.run({"rows": table(("x", 2), ("y", 3))})["n"].to_pylist() == [2, 5]
    assert job.run({"rows": table(("x", 4))})["n"].to_pylist() == [1, 4]
    assert job.is_planned


def test_a_plan_with_a_subquery_is_made_anew(jobs: Jobs) -> None:
    job = jobs.prepare(Released("SELECT k FROM rows WHERE v = (SELECT max(v) FROM rows)", INPUTS))
    assert job.run({"rows": table(("x", 2), ("y", 3))})["k"].to_pylist() == ["y"]
    assert job.run({"rows": table(("z", 1))})["k"].to_pylist() == ["z"]
    assert not job.is_planned


def test_a_plan_with_an_exchange_is_made_anew(jobs: Jobs) -> None:
    job = jobs.prepare(
        Released("SELECT a.k, b.v AS w FROM rows AS a LEFT JOIN rows AS b ON a.v < b.v", INPUTS)
    )
    for rows, expected in (([("a", 1), ("b", 2)], [2]), ([("a", 5), ("b", 9)], [9])):
        found = job.run({"rows": table(*rows)})
        assert [w for w in found["w"].to_pylist() if w is not None] == expected
    assert isinstance(job, FileJob)
    assert not job.is_planned


def test_more_rows_than_the_plan_saw(jobs: Jobs) -> None:
    job = jobs.prepare(Released("SELECT count(*) AS n FROM rows", INPUTS))
    job.run({"rows": table(("a", 1))})
    many = pa.table({"k": pa.array(["x" * 50] * 300_000), "v": pa.array(range(300_000), pa.int64())})
    assert job.run({"rows": many})["n"].to_pylist() == [300_000]


def test_braces_in_text_are_text(jobs: Jobs) -> None:
    job = jobs.prepare(Released("SELECT concat(k, '{v}') AS w FROM rows", INPUTS))
    assert job.run({"rows": table(("a", 1))})["w"].to_pylist() == ["a{v}"]


def test_what_fails_says_why_and_runs_again(jobs: Jobs) -> None:
    job = jobs.prepare(Released("SELECT 10 div v AS w FROM rows", INPUTS))
    with pytest.raises(StepError, match="DIVIDE_BY_ZERO"):
        job.run({"rows": table(("a", 0))})
    assert job.run({"rows": table(("a", 2))})["w"].to_pylist() == [5]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT k, v + 1 AS w FROM rows WHERE v > 1", [("a", 3), ("b", 4)]),
        ("SELECT k, sum(v) AS w FROM rows GROUP BY k", [("a", 3), ("b", 3)]),
    ],
)
@pytest.mark.parametrize("together", [True, False])
def test_tables_are_sent_where_tasks_do_not_see_the_drivers_files(
    spark: SparkSession, sql: str, expected: list[tuple[str, int]], together: bool
) -> None:
    job = SentJob(session.own(spark), Released(sql, INPUTS), 0, together=together)
    given = table(("a", 1), ("a", 2), ("b", 3))
    several = pa.concat_tables([given.slice(0, 1), given.slice(1)])
    for rows, wanted in ((given, expected), (given.slice(0, 0), []), (several, expected)):
        found = job.run({"rows": rows})
        assert sorted(zip(found["k"].to_pylist(), found["w"].to_pylist(), strict=True)) == wanted


def test_what_is_sent_is_computed_by_tasks_and_not_while_planning(spark: SparkSession) -> None:
    job = SentJob(session.own(spark), Released("SELECT 10 div v AS w FROM rows", INPUTS), 0, together=True)
    plan = job.frame({"rows": table(("a", 0))})._jdf.queryExecution().executedPlan().toString()
    assert "LocalTableScan" not in plan


def test_a_large_table_goes_in_parts_that_can_be_sent() -> None:
    many = pa.concat_tables([table(("a", 1))] * 1_000)
    parts = in_parts(many, 1 << 10)
    assert all(part.nbytes <= 1 << 11 for part in parts)
    assert len(parts) > 10
    assert pa.Table.from_batches(parts) == many
    assert len(in_parts(many, 1 << 20)) == 1
