"""Parquet files that are logged as they are: the same results as if every row had been parsed and stamped."""

from __future__ import annotations

import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.engines.spark.engine import Engine
from penstock.engines.spark.ingest import whole_files
from penstock.engines.spark.ingest.stamping import stamped
from penstock.engines.spark.operators.base import UNKNOWN
from penstock.model.schema import Schema
from penstock.sql.binding.catalog import Stream
from penstock.verify.schedules import Schedule
from penstock.verify.verifying import verify

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MICROS = pa.timestamp("us", "UTC")
SCHEMA = pa.schema([("t", MICROS), ("k", pa.int32()), ("v", pa.float64())])
STREAM = Stream("s", Schema.of(t="timestamp", k="int", v="double"), time="t", delay_s=2.0)
_BEGIN = 1_767_225_600


def table(seconds: Sequence[int | None], seed: int = 0) -> pa.Table:
    chance = random.Random(seed)
    times = [None if one is None else (_BEGIN + one) * 1_000_000 for one in seconds]
    columns = [
        pa.array(times, MICROS),
        pa.array([chance.randrange(4) for _ in times], pa.int32()),
        pa.array([chance.random() for _ in times], pa.float64()),
    ]
    return pa.Table.from_arrays(columns, schema=SCHEMA)


def written(rows: pa.Table, folder: Path, name: str = "a.parquet", **options: object) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(rows, folder / name, **options)
    return folder / name


@given(
    seconds=st.lists(st.none() | st.integers(0, 20), max_size=30),
    mark=st.just(UNKNOWN) | st.integers(0, 20).map(lambda one: (_BEGIN + one) * 1_000_000),
    group=st.integers(1, 7),
)
def test_a_file_is_logged_whole_where_none_of_its_rows_is_late(
    seconds: list[int | None], mark: int, group: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    rows = table(seconds)
    path = written(rows, tmp_path_factory.mktemp("file"), row_group_size=group)
    _, late, after = stamped(rows, STREAM, mark)
    expected = after if late.null_count == len(late) else None
    assert whole_files.mark_after(path, STREAM, mark) == expected


def test_which_files_can_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(whole_files, "LEAST_ROWS", 3)
    rows = table([1, 2, 3])
    coarse = rows.set_column(0, "t", rows["t"].cast(pa.timestamp("ms", "UTC")))
    found = {
        "as declared": rows,
        "in another order": rows.select(["v", "t", "k"]),
        "with more columns": rows.append_column("more", rows["k"]),
        "with fewer": rows.drop_columns(["k"]),
        "in another case": rows.rename_columns(["T", "k", "v"]),
        "of another type": coarse,
        "too few rows": rows.slice(1),
    }
    taken = {
        kind: whole_files.rows_of_whole(written(one, tmp_path, f"{n}.parquet"), SCHEMA)
        for n, (kind, one) in enumerate(found.items())
    }
    assert {kind for kind, rows in taken.items() if rows == 3} == {
        "as declared",
        "in another order",
        "with more columns",
    }
    assert whole_files.rows_of_whole(tmp_path / "none.parquet", SCHEMA) is None
    (tmp_path / "broken.parquet").write_bytes(b"PAR1")
    assert whole_files.rows_of_whole(tmp_path / "broken.parquet", SCHEMA) is None
    monkeypatch.setattr(whole_files, "MOST_BYTES", 10)
    assert whole_files.rows_of_whole(tmp_path / "0.parquet", SCHEMA) is None


SQL = """
CREATE STREAM s (t TIMESTAMP, k INT, v DOUBLE, WATERMARK FOR t AS t - INTERVAL 2 SECONDS)
  USING parquet OPTIONS (path 'in', arriving 'true', end '.end');
CREATE CONTINUOUS QUERY chosen AS SELECT t, k FROM s WHERE v > 0.3;
CREATE CONTINUOUS QUERY sums AS
  SELECT window, k, count(*) AS n, sum(v) AS v, last(v) AS l
  FROM s GROUP BY k, window(t, '10 seconds', '5 seconds');
CREATE CONTINUOUS QUERY counted AS SELECT count(*) AS n, min(t) AS t FROM s [ROWS 30 SLIDE 20];
CREATE CONTINUOUS QUERY pairs AS
  SELECT x.t, y.k FROM s [RANGE 1 SECONDS] AS x JOIN s [RANGE 2 SECONDS] AS y ON x.k = y.k AND x.v < y.v;
"""


@pytest.mark.jvm
@pytest.mark.slow
@pytest.mark.parametrize("steps", ["in-hand", "at-large", "alternately"])
def test_results_are_those_of_batch(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, steps: str
) -> None:
    monkeypatch.setattr(whole_files, "LEAST_ROWS", 50)
    chance = random.Random(7)
    order = [sorted(chance.randrange(start, start + 25) for _ in range(150)) for start in (0, 20, 45, 70)]
    order[1][40] = 0  # late
    order[2] += [None, 60]  # without a time
    files = [table(seconds, seed) for seed, seconds in enumerate(order)]
    files.append(table(range(95, 100)))  # too few rows
    more = table(sorted(chance.randrange(100, 120) for _ in range(90)))
    files.append(more.append_column("more", more["k"]))
    for n, rows in enumerate(files):
        written(rows, tmp_path / "in", f"{n}.parquet", row_group_size=33)
    (tmp_path / "in" / ".end").touch()
    schedule = Schedule("fcfs", 120, 2, first_batch_rows=70, steps=steps)  # type: ignore[arg-type]
    verdicts = list(verify(SQL, tmp_path, spark, [schedule]))
    assert {one.query: one.difference for one in verdicts if one.difference is not None} == {}
    assert all(one.rows for one in verdicts)


@pytest.mark.jvm
def test_a_file_is_there_until_it_is_read_though_its_owner_changes_or_deletes_it(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(whole_files, "LEAST_ROWS", 50)
    files = [written(table(range(n * 60, n * 60 + 60), n), tmp_path / "in", f"{n}.parquet") for n in (0, 1)]
    statements = SQL.partition("CREATE CONTINUOUS QUERY sums")[0]

    def engine() -> Engine:
        return Engine(tmp_path / "state", out=tmp_path / "out", spark=spark, base_dir=tmp_path)

    with engine() as first:
        first.execute(statements)
        first.suspend("chosen")
        first.start()
        until_s = time.monotonic() + 60
        while first.status().rows_in.get("s", 0) < 120 and time.monotonic() < until_s:
            time.sleep(0.05)
        notes = list((tmp_path / "state" / "tables").glob("log-s-*/_stamps.json"))
        assert len(notes) == 2
    files[0].unlink()
    written(table([999] * 60), tmp_path / "in", "1.parquet")
    with engine() as second:
        second.resume("chosen")
        (tmp_path / "in" / ".end").touch()
        second.start()
        second.run("drained")
        expected = pa.concat_tables([table(range(n * 60, n * 60 + 60), n) for n in (0, 1)])
        wanted = expected.filter(pa.compute.greater(expected["v"], 0.3)).select(["t", "k"])
        assert sorted(map(str, second.results("chosen").to_pylist())) == sorted(map(str, wanted.to_pylist()))
    assert not list((tmp_path / "state" / "tables").glob("log-*"))
