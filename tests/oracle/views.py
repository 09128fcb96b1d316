"""The views that the oracle's SELECTs read, and their results as multisets."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from penstock.model.schema import Schema
from penstock.sql.binding.catalog import Catalog

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Row = tuple[Any, ...]
NOW = datetime(2026, 1, 1, 12, 30, tzinfo=UTC)
#: Tables are so small that compiling and planning stages anew would take longest.
SETTINGS = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.shuffle.partitions": "1",
}


@dataclass(frozen=True, slots=True)
class Log:
    """The rows of streams and tables, and what ingest says of them: by name and row number."""

    rows: Mapping[str, Sequence[Row]]
    #: The watermarks that late rows are behind.
    late: Mapping[str, Mapping[int, int]] = field(default_factory=dict)
    epochs: Mapping[str, Sequence[int]] = field(default_factory=dict)
    nows: Mapping[str, Sequence[datetime]] = field(default_factory=dict)
    #: Of each row of a stored table, the epochs in which it is there.
    versions: Mapping[str, Sequence[tuple[int, int]]] = field(default_factory=dict)


def results(spark: SparkSession, sql: str, catalog: Catalog, log: Log) -> Counter[Row]:
    """The rows of Spark SQL over a log; doubles are rounded, structs and arrays are tuples."""
    before = {name: spark.conf.get(name) or "" for name in SETTINGS}
    try:
        for name, value in SETTINGS.items():
            spark.conf.set(name, value)
        with _views(spark, catalog, log):
            table = spark.sql(sql).toArrow()
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)
    columns = [[_comparable(value) for value in column.to_pylist()] for column in table.columns]
    return Counter(zip(*columns, strict=True))


@contextmanager
def _views(spark: SparkSession, catalog: Catalog, log: Log) -> Iterator[None]:
    try:
        for name, rows in log.rows.items():
            if name in catalog.streams:
                schema, more = catalog.streams[name].schema, _ingested(log, name, len(rows))
                hidden = "__offset BIGINT, __late BIGINT, __epoch BIGINT, __now TIMESTAMP"
            else:
                schema, hidden = catalog.tables[name].schema, "__from BIGINT, __to BIGINT"
                more = list(log.versions.get(name) or [(0, 1)] * len(rows))
            columns = ", ".join(f"`{one.name}` {one.type}" for one in schema.fields)
            full = [(*_zoned(row, schema), *extra) for row, extra in zip(rows, more, strict=True)]
            spark.createDataFrame(full, f"{columns}, {hidden}").createOrReplaceTempView(f"`{name}`")
        yield
    finally:
        for name in log.rows:
            spark.catalog.dropTempView(f"`{name}`")


def _ingested(log: Log, name: str, count: int) -> list[Row]:
    late = log.late.get(name, {})
    epochs = log.epochs.get(name) or [0] * count
    nows = log.nows.get(name) or [NOW] * count
    return [(number, late.get(number), epochs[number], nows[number]) for number in range(count)]


def _zoned(row: Row, schema: Schema) -> Iterator[Any]:
    for value, one in zip(row, schema.fields, strict=True):
        zoneless = one.type == "timestamp" and value is not None and value.tzinfo is None
        yield value.replace(tzinfo=UTC) if zoneless else value


def _comparable(value: Any) -> Any:
    match value:
        case float():
            return "NaN" if math.isnan(value) else float(f"{value:.9g}")
        case dict():
            return tuple(_comparable(part) for part in value.values())
        case list() | tuple():
            return tuple(_comparable(part) for part in value)
        case datetime() if value.tzinfo is not None:
            return value.astimezone(UTC)
        case _:
            return value
