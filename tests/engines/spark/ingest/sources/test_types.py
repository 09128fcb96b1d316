"""Spark's types as Arrow's."""

from __future__ import annotations

import pyarrow as pa
import pytest

from penstock.engines.spark.ingest.sources.types import arrow_schema, arrow_type, shown_type
from penstock.errors import SourceError
from penstock.model.schema import Field, Schema

PAIRS = [
    ("boolean", pa.bool_()),
    ("tinyint", pa.int8()),
    ("smallint", pa.int16()),
    ("int", pa.int32()),
    ("bigint", pa.int64()),
    ("float", pa.float32()),
    ("double", pa.float64()),
    ("decimal(10,2)", pa.decimal128(10, 2)),
    ("string", pa.string()),
    ("binary", pa.binary()),
    ("date", pa.date32()),
    ("timestamp", pa.timestamp("us", "UTC")),
    ("timestamp_ntz", pa.timestamp("us")),
    ("array<int>", pa.list_(pa.int32())),
    ("map<string,double>", pa.map_(pa.string(), pa.float64())),
    ("struct<a:int,b:array<date>>", pa.struct([("a", pa.int32()), ("b", pa.list_(pa.date32()))])),
]


@pytest.mark.parametrize(("text", "type_"), PAIRS)
def test_a_type_there_and_back(text: str, type_: pa.DataType) -> None:
    assert arrow_type(text) == type_
    assert shown_type(type_) == text


@pytest.mark.parametrize(
    "text", ["interval", "interval year to month", "variant", "time(6)", "array<interval>"]
)
def test_types_no_source_can_bring(text: str) -> None:
    with pytest.raises(SourceError) as caught:
        arrow_schema(Schema((Field("x", text),)))
    assert str(caught.value).startswith("column 'x': no source can bring ")
    assert "declare it as string or bigint" in str(caught.value)


def test_what_is_no_type() -> None:
    with pytest.raises(SourceError, match="'strng' is not a type; write a type of Spark SQL"):
        arrow_type("strng")
