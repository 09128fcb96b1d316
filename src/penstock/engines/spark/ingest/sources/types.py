"""Arrow's types for Spark's: what a stream's columns are in memory, in the log and in a step's input."""

from __future__ import annotations

import pyarrow as pa

from penstock.errors import SourceError
from penstock.model.schema import Schema
from penstock.sql.typing.types import Array, Atomic, Decimal, Map, Struct, Type, parse

_ATOMIC = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}


def arrow_type(text: str) -> pa.DataType:
    """The Arrow type of a column whose Spark SQL type is `text`; SourceError if a stream cannot hold it."""
    try:
        return _arrow(parse(text))
    except ValueError as problem:
        raise SourceError(
            f"{problem}; write a type of Spark SQL, such as bigint, double or timestamp"
        ) from None


def arrow_schema(schema: Schema) -> pa.Schema:
    """The Arrow schema of a stream's or table's declared columns."""
    fields = []
    for field in schema.fields:
        try:
            fields.append(pa.field(field.name, arrow_type(field.type)))
        except SourceError as problem:
            raise SourceError(f"column '{field.name}': {problem}") from None
    return pa.schema(fields)


def widened(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """A table with the columns that a stream got after its rows came, in which they have NULL."""
    missing = [one for one in schema if one.name not in table.column_names]
    for one in missing:
        table = table.append_column(one, pa.nulls(table.num_rows, one.type))
    return table.select(schema.names) if missing else table


def _arrow(type_: Type) -> pa.DataType:
    match type_:
        case Decimal(precision, scale):
            return pa.decimal128(precision, scale)
        case Array(element):
            return pa.list_(_arrow(element))
        case Map(key, value):
            return pa.map_(_arrow(key), _arrow(value))
        case Struct(fields):
            return pa.struct([pa.field(name, _arrow(inner)) for name, inner in fields])
        case Atomic(name) if name in _ATOMIC:
            return _ATOMIC[name]
    raise SourceError(
        f"no source can bring {type_}; declare it as string or bigint and convert it in the query"
    )


def shown_type(type_: pa.DataType) -> str:
    """An Arrow type in the words of SQL, for messages: `double`, `array<int>`."""
    if pa.types.is_decimal(type_):
        return f"decimal({type_.precision},{type_.scale})"
    if pa.types.is_map(type_):
        return f"map<{shown_type(type_.key_type)},{shown_type(type_.item_type)}>"
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return f"array<{shown_type(type_.value_type)}>"
    if pa.types.is_struct(type_):
        return "struct<" + ",".join(f"{field.name}:{shown_type(field.type)}" for field in type_) + ">"
    return next((name for name, known in _ATOMIC.items() if known == type_), str(type_))


def times_us(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """Times and dates as microseconds since 1970."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    is_micros = pa.types.is_timestamp(column.type) and column.type.unit == "us"
    times = (column if is_micros else column.cast(pa.timestamp("us", tz="UTC"))).cast(pa.int64())
    return times.combine_chunks() if isinstance(times, pa.ChunkedArray) else times
