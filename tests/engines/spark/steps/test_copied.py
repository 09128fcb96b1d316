"""Columns that a job would only copy: what leaves the job, and results as if Spark had copied them."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from penstock.engines.spark.engine import Engine
from penstock.engines.spark.operators.base import LATE, ROW
from penstock.engines.spark.steps.copied import Rows, select
from penstock.model.operators import Column

ROWS = Rows("r1", "q0", {"a": "a", "b": "first"})


def test_a_select_of_copies_and_a_sum_computes_the_sum_and_numbers_the_rows() -> None:
    sql, output = select([Column("x", "`b`"), Column("y", "a + 1"), Column("z", "a")], ROWS)
    assert sql == "SELECT a + 1 AS `y`, __row FROM r1"
    assert (output.columns, output.copies) == (("x", "y", "z"), {"x": "first", "z": "a"})
    went_in = pa.table({"first": ["p", "q", "r"], "a": [1, 2, 3]})
    came_out = pa.table({"y": [4, 2, 4], ROW: pa.array([2, 0, 2], pa.int32())})
    assert output.whole(came_out, {"q0": went_in}).to_pydict() == {
        "x": ["r", "p", "r"],
        "y": [4, 2, 4],
        "z": [3, 1, 3],
    }


def test_a_field_of_a_struct_and_a_cast_are_no_copies() -> None:
    sql, output = select([Column("x", "a.b"), Column("y", "CAST(a AS STRING)"), Column("c", "c")], ROWS)
    assert sql == "SELECT a.b AS `x`, CAST(a AS STRING) AS `y`, c AS `c` FROM r1"
    assert output.copies == {}


def test_there_is_a_job_only_for_what_is_computed_or_left_out() -> None:
    everything = Rows("r1", "q0", {"a": "a", LATE: LATE}, "all")
    copies, sums = [Column("x", "a")], [Column("x", "a + 1")]
    assert not select(copies, everything)[1].needs_job
    assert select(sums, everything)[1].needs_job
    assert select(copies, replace(everything, kept="some"))[1].needs_job
    on_time = select(copies, replace(everything, kept="on time"))[1]
    rows = pa.table({"a": [1, 2, 3], LATE: pa.array([None, 7, None], pa.int64())})
    assert on_time.without_job({"q0": rows}).to_pydict() == {"x": [1, 3]}


TYPES = {
    "b": "BOOLEAN",
    "i1": "TINYINT",
    "i2": "SMALLINT",
    "i4": "INT",
    "i8": "BIGINT",
    "f4": "FLOAT",
    "f8": "DOUBLE",
    "s": "STRING",
    "bin": "BINARY",
    "d": "DATE",
    "ts": "TIMESTAMP",
    "ntz": "TIMESTAMP_NTZ",
    "dec": "DECIMAL(12,3)",
    "list": "ARRAY<STRUCT<x: INT, y: ARRAY<STRING>>>",
    "map": "MAP<STRING, BIGINT>",
    "struct": "STRUCT<p: DOUBLE, q: STRUCT<r: DATE>>",
}
FULL: dict[str, Any] = {
    "b": True,
    "i1": -8,
    "i2": 300,
    "i4": -70_000,
    "i8": 1 << 60,
    "f4": 0.5,
    "f8": -0.0,
    "s": "straße",
    "bin": b"\x00\xff",
    "d": date(1500, 1, 1),
    "ts": datetime(1800, 1, 1, 0, 0, 0, 1),
    "ntz": datetime(2026, 2, 28, 23, 59, 59, 999_999),
    "dec": Decimal("123456789.125"),
    "list": [{"x": 1, "y": ["a", None]}, None],
    "map": [("k", 1), ("l", None)],
    "struct": {"p": 1.5, "q": None},
}


@pytest.mark.jvm
def test_copies_of_every_type_are_what_spark_would_have_made_of_them(spark: SparkSession) -> None:
    """`copied` has each column as it came in; `computed` has it through an expression, so through Spark."""
    computed = ", ".join(f"CASE WHEN n < 100 THEN {name} END AS {name}" for name in TYPES)
    with Engine(spark=spark) as engine:
        engine.create_stream("s", {"n": "INT", **TYPES})
        engine.execute(
            f"CREATE CONTINUOUS QUERY copied AS SELECT {', '.join(TYPES)} FROM s WHERE n % 2 = 0;"
            f"CREATE CONTINUOUS QUERY computed AS SELECT {computed} FROM s WHERE n % 2 = 0;"
        )
        nothing = dict.fromkeys(TYPES)
        engine.push("s", [{"n": 1, **FULL}, {"n": 2, **FULL}, {"n": 4, **nothing}, {"n": 6, **FULL}])
        engine.end("s")
        engine.run()
        copies, through_spark = engine.results("copied"), engine.results("computed")
    assert copies.num_rows == 3
    assert copies.schema == through_spark.schema
    assert copies.to_pylist() == through_spark.to_pylist()


@pytest.mark.jvm
def test_a_query_that_selects_columns_runs_no_job_and_a_join_one_for_its_pairs(spark: SparkSession) -> None:
    with Engine(spark=spark) as engine:
        for name in ("power", "doors", "temps"):
            columns = {"t": "TIMESTAMP", "k": "INT", "v": "DOUBLE"}
            engine.create_stream(name, columns, time="t", delay="0 seconds")
        engine.execute("CREATE CONTINUOUS QUERY plain AS SELECT v AS w, k FROM power;")
        rows = [{"t": f"2026-01-01 00:00:{n:02}", "k": n % 3, "v": float(n)} for n in (1, 2, 3, 2, 4)]
        engine.push("power", rows)
        engine.end("power")
        assert engine.settle()
        assert engine.coordinator.totals.jobs == 0
        assert engine.results("plain").to_pylist() == [{"w": row["v"], "k": row["k"]} for row in rows]
        engine.execute(
            "DROP QUERY plain; CREATE CONTINUOUS QUERY pairs AS SELECT d.v AS d, x.v AS x "
            "FROM doors [RANGE 5 SECONDS] AS d JOIN temps [RANGE 5 SECONDS] AS x ON d.k = x.k;"
        )
        steps, jobs = engine.coordinator.totals.steps, engine.coordinator.totals.jobs
        engine.push("doors", rows)
        engine.push("temps", rows)
        engine.end("doors")
        engine.end("temps")
        engine.run()
        # The row of second 2 that comes behind second 3 is late.
        assert sorted(map(tuple, (row.values() for row in engine.results("pairs").to_pylist()))) == [
            (1.0, 1.0),
            (1.0, 4.0),
            (2.0, 2.0),
            (3.0, 3.0),
            (4.0, 1.0),
            (4.0, 4.0),
        ]
        assert engine.coordinator.totals.jobs - jobs <= engine.coordinator.totals.steps - steps
