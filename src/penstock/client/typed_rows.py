"""Rows of JSON as Arrow, with the types that the query's columns have.

JSON has no times, decimals or bytes: they come as text (ISO 8601, digits, base64); durations in seconds.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pyarrow as pa


def typed(rows: Sequence[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    """The rows as a table of that schema; columns that a row lacks are NULL there."""
    columns = [
        pa.array([_value(row.get(field.name), field.type) for row in rows], field.type) for field in schema
    ]
    return pa.Table.from_arrays(columns, schema=schema)


def fits(rows: Sequence[Mapping[str, Any]], schema: pa.Schema) -> bool:
    """Whether the rows have no column that the schema lacks: a query may have been altered."""
    known = set(schema.names)
    return all(known.issuperset(row) for row in rows)


def _value(value: Any, type_: pa.DataType) -> Any:
    if value is None:
        return None
    if isinstance(value, str):
        return _of_text(value, type_)
    if pa.types.is_decimal(type_):
        return Decimal(str(value))
    if pa.types.is_duration(type_):
        return timedelta(seconds=value)
    if pa.types.is_list(type_) or pa.types.is_large_list(type_):
        return [_value(one, type_.value_type) for one in value]
    if pa.types.is_struct(type_):
        fields = [type_.field(place) for place in range(type_.num_fields)]
        return {field.name: _value(value.get(field.name), field.type) for field in fields}
    if pa.types.is_map(type_):
        pairs = value.items() if isinstance(value, Mapping) else value
        return [(_value(key, type_.key_type), _value(one, type_.item_type)) for key, one in pairs]
    return value


def _of_text(text: str, type_: pa.DataType) -> Any:
    if pa.types.is_timestamp(type_):
        moment = datetime.fromisoformat(text)
        if type_.tz is None:
            return moment.replace(tzinfo=None)
        return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
    if pa.types.is_date(type_):
        return date.fromisoformat(text)
    if pa.types.is_decimal(type_):
        return Decimal(text)
    if pa.types.is_binary(type_) or pa.types.is_large_binary(type_):
        return base64.b64decode(text)
    if pa.types.is_floating(type_):
        return float(text)
    if pa.types.is_integer(type_):
        return int(text)
    return text
