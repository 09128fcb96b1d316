"""Rows as JSON: times as ISO 8601, decimals as texts, bytes as base64.

JSON has no number for NaN and the infinities: they are the texts `NaN`, `Infinity` and `-Infinity`.
"""

from __future__ import annotations

import base64
import math
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any

import msgspec
import pyarrow as pa


def _other(value: Any) -> Any:
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, Decimal):
        return str(value)
    return str(value)


_encoder = msgspec.json.Encoder(enc_hook=_other)


def json_bytes(value: Any) -> bytes:
    """Any of our documents as JSON."""
    return _encoder.encode(value)


def rows_of(table: pa.Table) -> list[dict[str, Any]]:
    """The rows of a table, as they are encoded."""
    rows: list[dict[str, Any]] = table.to_pylist()
    floating = [field.name for field in table.schema if _may_be_odd(field.type)]
    for name in floating:
        for row in rows:
            row[name] = _spelled(row[name])
    return rows


def _may_be_odd(type_: pa.DataType) -> bool:
    return bool(pa.types.is_floating(type_) or pa.types.is_nested(type_))


def _spelled(value: Any) -> Any:
    """The same without numbers that JSON cannot hold."""
    match value:
        case float():
            if math.isfinite(value):
                return value
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case list():
            return [_spelled(one) for one in value]
        case tuple():
            return [_spelled(one) for one in value]
        case dict():
            return {key: _spelled(one) for key, one in value.items()}
    return value


def csv_value(value: Any) -> Any:
    """A value of CSV; what is nested is JSON."""
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, timedelta):
        return value.total_seconds()
    return json_bytes(value).decode() if isinstance(value, list | dict) else value


def columns_of(schema: pa.Schema) -> list[dict[str, str]]:
    """The columns of a table."""
    return [{"name": field.name, "type": str(field.type)} for field in schema]


def arrow_bytes(table: pa.Table) -> bytes:
    """A table as an Arrow stream."""
    target = pa.BufferOutputStream()
    with pa.ipc.new_stream(target, table.schema) as writer:
        writer.write_table(table)
    found: bytes = target.getvalue().to_pybytes()
    return found
