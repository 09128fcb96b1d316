"""Spark reads what was published, and nothing else; values come back as they were."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from penstock.engines.spark.results.sinks.files import FileSink
from tests.engines.spark.results.sinks.tables import TABLE

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TYPES = {
    "b": "boolean",
    "ti": "tinyint",
    "bi": "bigint",
    "f": "float",
    "d": "double",
    "dc": "decimal(38,18)",
    "s": "string",
    "dt": "date",
    "ts": "timestamp",
    "nt": "timestamp_ntz",
    "st": "struct<start:timestamp,n:int,x:string>",
    "ai": "array<int>",
    "ad": "array<double>",
    "m": "map<string,int>",
}
NESTED = ("st", "ai", "ad", "m")


@pytest.mark.parametrize("format", ["parquet", "csv", "json"])
def test_spark_reads_published_files_and_no_others(spark: SparkSession, tmp_path: Path, format: str) -> None:
    names = [name for name in TYPES if format != "csv" or name not in NESTED]
    table = TABLE.select(names)
    sink = FileSink(tmp_path, format, table.schema)
    sink.publish([sink.stage(table, 1) or ""])
    sink.stage(table, 2)
    reader = spark.read.schema(", ".join(f"{name} {TYPES[name]}" for name in names))
    options = {"header": "true", "multiLine": "true", "escape": '"'} if format == "csv" else {}
    found = reader.options(**options).format(format).load(str(tmp_path)).toArrow()
    if format == "csv":  # for Spark's reader an empty string is NULL
        place = names.index("s")
        table = table.set_column(place, "s", pa.array([table["s"][0].as_py(), None, None]))
    assert _comparable(found) == _comparable(table)


def _comparable(table: pa.Table) -> list[str]:
    return [repr([_plain(value) for value in row.values()]) for row in table.to_pylist()]


def _plain(value: Any) -> Any:
    match value:
        case float():
            return "NaN" if math.isnan(value) else value
        case dict():
            return {key: _plain(one) for key, one in value.items()}
        case list():
            return [_plain(one) for one in value]
        case _ if hasattr(value, "tzinfo") and value.tzinfo is not None:
            return value.timestamp()
        case _:
            return value
