"""Plans run by plain Spark over finite tables, for tests that compare the rows of two plans."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from penstock.model.operators import Join, Source
from penstock.model.query import PlanNode
from penstock.model.schema import Field, Schema
from tests.batch_sql import batch_sql, quote

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Tables = Mapping[str, Sequence[tuple[Any, ...]]]


def run(spark: SparkSession, root: PlanNode, tables: Tables, port: int = 0) -> Counter[tuple[Any, ...]]:
    """The rows that come out of a plan, as a multiset.

    Doubles are rounded to nine significant digits, since their sums depend on grouping. Structs and arrays
    are tuples, times have a time zone. A time of `tables` without a zone is in UTC.
    """
    return run_text(spark, batch_sql(root, port), root, tables)


def run_text(spark: SparkSession, sql: str, root: PlanNode, tables: Tables) -> Counter[tuple[Any, ...]]:
    """The rows of Spark SQL over the streams and relations of a plan."""
    with _settings(spark), _views(spark, root, tables):
        table = spark.sql(sql).toArrow()
    columns = [[_comparable(value) for value in column.to_pylist()] for column in table.columns]
    return Counter(zip(*columns, strict=True))


#: The first keeps a column computed beside another from passing for one of the input, which would hide a
#: plan that reads what is not there. The others suit tables so small that compiling would take longest.
SETTINGS = {
    "spark.sql.lateralColumnAlias.enableImplicitResolution": "false",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.shuffle.partitions": "1",
}


@contextmanager
def _settings(spark: SparkSession) -> Iterator[None]:
    before = {name: spark.conf.get(name) or "" for name in SETTINGS}
    try:
        for name, value in SETTINGS.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)


@contextmanager
def _views(spark: SparkSession, root: PlanNode, tables: Tables) -> Iterator[None]:
    """The tables as views under their own names."""
    read = _read(root)
    try:
        for name, source in read.items():
            rows = [(*_zoned(row, source.schema), offset) for offset, row in enumerate(tables[name])]
            columns = ", ".join(f"{quote(field.name)} {field.type}" for field in source.schema.fields)
            view = spark.createDataFrame(rows, f"{columns}, __offset bigint")
            view.createOrReplaceTempView(quote(name))
        yield
    finally:
        for name in read:
            spark.catalog.dropTempView(quote(name))


def _read(*roots: PlanNode) -> dict[str, Source]:
    """All streams and relations of plans; a relation as a stream that has no time."""
    read: dict[str, Source] = {}
    for root in roots:
        for node in root.post_order():
            match node.operator:
                case Source() as source:
                    pass
                case Join(relation=str(relation), relation_schema=schema):
                    source = Source(relation, schema)
                case _:
                    continue
            if read.setdefault(source.stream, source).schema != source.schema:
                raise ValueError(f"'{source.stream}' has one schema here and another there")
    return read


def _zoned(row: tuple[Any, ...], schema: Schema) -> Iterator[Any]:
    for value, field in zip(row, schema.fields, strict=True):
        zoneless = field.type == "timestamp" and value is not None and value.tzinfo is None
        yield value.replace(tzinfo=UTC) if zoneless else value


def _comparable(value: Any) -> Any:
    """A value that can be counted, equal to another if the two mean the same."""
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


#: The first instant of random rows, and how long they go on.
START = datetime(2026, 1, 1, tzinfo=UTC)
SPAN_S = 120
#: Few values of each type, so that rows meet in joins and groups; sums of the doubles are exact.
VALUES: dict[str, tuple[Any, ...]] = {
    "boolean": (False, True),
    "tinyint": (-1, 0, 1, 2),
    "smallint": (-1, 0, 1, 2),
    "int": (-1, 0, 1, 2, 7),
    "bigint": (-1, 0, 1, 2, 7),
    "float": (-0.5, 0.0, 0.25, 2.0),
    "double": (-0.5, 0.0, 0.25, 2.0, 19.75),
    "decimal": (Decimal(-1), Decimal(0), Decimal(2)),
    "date": tuple(date(2026, 1, day) for day in (1, 2, 3)),
    "string": ("", "a", "b", "c"),
    "binary": (b"", b"a"),
}
NULL_PROBABILITY = 0.15


def random_tables(
    chance: random.Random, *roots: PlanNode, most: int = 20
) -> dict[str, list[tuple[Any, ...]]]:
    """Rows for all streams and relations of plans, up to `most` in each; hypothesis's `randoms()` will do.

    No row of a stream is late: none comes more than the stream's delay behind a row before it.
    """
    instants = [_random_time(chance) for _ in range(max(1, most))]
    return {name: _random_rows(chance, source, instants, most) for name, source in _read(*roots).items()}


def _random_rows(
    chance: random.Random, source: Source, instants: Sequence[datetime], most: int
) -> list[tuple[Any, ...]]:
    rows = [
        tuple(_random_value(chance, field, source.time, instants) for field in source.schema.fields)
        for _ in range(chance.randint(0, most))
    ]
    time = None if source.time is None else source.schema.get(source.time)
    if time is None:
        return rows
    place = source.schema.fields.index(time)
    # A row that arrives within the delay after its time cannot be overtaken by one that makes it late.
    arrivals = [row[place] + timedelta(seconds=chance.uniform(0, source.delay_s)) for row in rows]
    return [rows[number] for number in sorted(range(len(rows)), key=lambda number: arrivals[number])]


def _random_value(chance: random.Random, field: Field, time: str | None, instants: Sequence[datetime]) -> Any:
    is_time = time is not None and field.name.lower() == time.lower()
    if not is_time and chance.random() < NULL_PROBABILITY:
        return None
    kind, _, inner = field.type.partition("<")
    kind = kind.partition("(")[0]
    if kind == "array":
        element = Field(field.name, inner[:-1])
        return [_random_value(chance, element, None, instants) for _ in range(chance.randint(0, 3))]
    if kind in ("timestamp", "timestamp_ntz"):
        value = chance.choice(instants)
        return value if kind == "timestamp" else value.replace(tzinfo=None)
    if kind not in VALUES:
        raise ValueError(f"no random values of type {field.type} (column '{field.name}')")
    return chance.choice(VALUES[kind])


def _random_time(chance: random.Random) -> datetime:
    """A time that may well be a window's edge, or one microsecond beside it."""
    second = chance.randrange(SPAN_S)
    micros = chance.choice((0, 0, 1, 250_000, 500_000, 999_999))
    return START + timedelta(seconds=second, microseconds=micros)
