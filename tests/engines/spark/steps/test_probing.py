"""Jobs that look into a part of a unit: sizes as Arrow has them, and rows that are chosen or repeated."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from penstock.engines.spark.operators.base import ROW, Released
from penstock.engines.spark.session import session
from penstock.engines.spark.session.cpu_time import CpuTime
from penstock.engines.spark.steps.prepared import FileJob, Job, Jobs
from penstock.engines.spark.steps.probing import counting, counts, resized, rows_in, timed_names, timing
from penstock.engines.spark.steps.sizes import row_bytes
from penstock.engines.spark.steps.stages import Stage
from penstock.engines.spark.steps.units import JobPlan
from penstock.errors import StepError
from penstock.model.schema import Field

ROWS = 2000
COLUMNS = {
    "i": ("int", pa.int32(), range(ROWS)),
    "flag": ("boolean", pa.bool_(), [n % 3 == 0 for n in range(ROWS)]),
    "price": ("decimal(10,2)", pa.decimal128(10, 2), range(ROWS)),
    "day": ("date", pa.date32(), range(ROWS)),
    "name": ("string", pa.string(), ["x" * (n % 17) if n % 5 else None for n in range(ROWS)]),
    "raw": ("binary", pa.binary(), [b"y" * (n % 7) for n in range(ROWS)]),
    "numbers": ("array<bigint>", pa.list_(pa.int64()), [[*range(n % 4)] for n in range(ROWS)]),
    "words": ("array<string>", pa.list_(pa.string()), [["ab"] * (n % 3) for n in range(ROWS)]),
    "pair": (
        "struct<a:bigint,b:string>",
        pa.struct([("a", pa.int64()), ("b", pa.string())]),
        [{"a": n, "b": "z" * (n % 9)} for n in range(ROWS)],
    ),
    "by_key": (
        "map<string,int>",
        pa.map_(pa.string(), pa.int32()),
        [[(f"k{one}", one) for one in range(n % 3)] for n in range(ROWS)],
    ),
}
TABLE = pa.table({name: pa.array(values, type_) for name, (_, type_, values) in COLUMNS.items()})
FIELDS = tuple(Field(name, text) for name, (text, _, _) in COLUMNS.items())
#: Half of the rows, then the words of those in a map.
PART = JobPlan(
    Released("SELECT 1 AS one", {"q0": tuple(COLUMNS)}),
    {},
    {},
    (),
    together=False,
    stages=(
        Stage("r0", "half", 0, ("q0",), columns=FIELDS),
        Stage("r1", "words", 0, ("r0",), same_rows=True, computed=("made",), columns=(Field("i", "int"),)),
    ),
    named=(
        "r0 AS (SELECT * FROM q0 WHERE i % 2 = 0)",
        "r1 AS (SELECT i, map(i, name) AS made FROM r0)",
    ),
)


@pytest.fixture
def jobs(spark: SparkSession, tmp_path: Path) -> Jobs:
    return Jobs(session.own(spark), tmp_path / "jobs")


@pytest.mark.jvm
def test_rows_and_bytes_between_operators_are_those_of_real_tables(jobs: Jobs) -> None:
    job = jobs.prepare(counting(PART))
    found = counts(PART, job.run({"q0": TABLE}))
    assert isinstance(job, FileJob)
    assert job.is_planned
    half = jobs.prepare(Released(f"WITH {PART.named[0]} SELECT * FROM r0", PART.released.inputs))
    table = half.run({"q0": TABLE})
    assert found["r0"][0] == found["r1"][0] == table.num_rows == ROWS // 2
    for name in COLUMNS:
        fixed, varying = row_bytes([field for field in FIELDS if field.name == name])
        column = jobs.prepare(
            Released(f"SELECT sum({varying or 0}) AS n FROM rows", {"rows": tuple(COLUMNS)})
        ).run({"rows": table})
        weighed = table.num_rows * fixed + column["n"][0].as_py()
        true = table.select([name]).nbytes
        # Arrow has a bit more for each value, whether it is there; maps and structs have several.
        assert weighed == pytest.approx(true, rel=0.03, abs=table.num_rows / 2), name
    assert found["r0"][1] == pytest.approx(table.nbytes, rel=0.02)


@pytest.mark.jvm
def test_values_that_spark_cannot_hash_are_looked_at_as_text(jobs: Jobs) -> None:
    with pytest.raises(StepError):
        jobs.prepare(timing(PART, "r1")).run({"q0": TABLE})
    assert jobs.prepare(timing(PART, "r1", as_text=True)).run({"q0": TABLE})["n"].to_pylist() == [ROWS // 2]
    assert jobs.prepare(timing(PART, "r0")).run({"q0": TABLE})["n"].to_pylist() == [ROWS // 2]
    assert jobs.prepare(timing(PART, "q0")).run({"q0": TABLE})["n"].to_pylist() == [ROWS]


@pytest.mark.jvm
def test_processor_time_is_that_of_tasks_and_not_that_of_waiting(jobs: Jobs) -> None:
    clock = CpuTime(jobs.spark)
    sql = "SELECT count(*) AS n FROM rows WHERE sha2(repeat('x', {} + i % 2), 256) <> ''"
    few, many = (jobs.prepare(Released(sql.format(times), {"rows": ("i",)})) for times in (1, 100_000))

    def seconds(job: Job, waiting_s: float = 0.0) -> float:
        def action() -> pa.Table:
            time.sleep(waiting_s)
            return job.run({"rows": TABLE})

        cost_s, result = clock.of(action)
        assert result["n"].to_pylist() == [ROWS]
        return cost_s

    seconds(few), seconds(many)  # code is made for them
    assert 0 < seconds(few, waiting_s=1.0) < seconds(many)  # which has 200 MB to hash


def test_what_several_stages_read_is_timed_by_itself() -> None:
    assert timed_names(PART) == ["r0", "r1"]
    stages = (*PART.stages, Stage("r2", "other", 0, ("q0",)))
    forked = JobPlan(PART.released, {}, {}, (), together=False, stages=stages)
    assert timed_names(forked) == ["q0", "r0", "r1", "r2"]


def test_rows_that_come_to_an_operator_are_those_of_its_inputs() -> None:
    assert rows_in(PART.stages, {"q0": 10, "r0": 4, "r1": 4}, None) == {"half": 10, "words": 4}
    released = (Stage("r0", "count", 0, (), ("panes",)), Stage("r1", "having", 0, ("r0",)))
    assert rows_in(released, {"panes": 50, "r0": 7, "r1": 2}, "count") == {"count": 7, "having": 7}


@given(st.integers(0, 50), st.floats(0.01, 7))
def test_rows_are_chosen_evenly_or_repeated(count: int, factor: float) -> None:
    table = pa.table({"v": np.arange(count), ROW: np.arange(count, dtype=np.int32)})
    found = resized({"q0": table, "t0": table}, ["q0"], factor)
    assert found["t0"] is table
    assert found["q0"].num_rows == max(round(count * factor), min(count, 1))
    assert found["q0"][ROW].to_pylist() == list(range(found["q0"].num_rows))
    values = found["q0"]["v"].to_pylist()
    assert values == sorted(values)
    if factor >= 1 and count:
        assert set(values) == set(range(count))
