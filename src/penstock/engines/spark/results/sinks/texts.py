"""Columns as text, for files that others read: JSON lines and CSV, built by Arrow column by column.

|                        | JSON                                    | CSV                                   |
| ---------------------- | --------------------------------------- | ------------------------------------- |
| NULL                   | `null`                                  | nothing; an empty string is `""`      |
| timestamp              | `"2026-01-01T00:00:00.000000Z"`, in UTC | the same without quotes               |
| timestamp without zone | the same without Z                      | the same without quotes               |
| decimal                | a number, with all its digits           | the same                              |
| NaN, infinities        | `"NaN"`, `"Infinity"`, `"-Infinity"`    | the same without quotes               |
| binary                 | a string in base64                      | the same                              |
| interval of days       | a string such as `"PT90S"`              | the same                              |
| struct, array, map     | an object, an array, an object          | JSON text                             |

Spark reads all of it back, given the types, except that its CSV reader takes empty strings for NULL.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

_TEXT = pa.large_string()
_ENCODER = msgspec.json.Encoder(decimal_format="number")


def json_lines(table: pa.Table) -> pa.Buffer | bytes:
    """One object for each row, each on a line."""
    columns = [_json(column) for column in _arrays(table)]
    return _content(_objects(table.column_names, columns, "\n"))


def csv_lines(table: pa.Table) -> bytes:
    """A header, then one line for each row."""
    columns = [_csv(column) for column in _arrays(table)]
    # A line with nothing on it would not count as a row.
    null = '""' if len(columns) == 1 else ""
    parts = [part for column in columns for part in (column, ",")][:-1]
    return b"".join((_csv_header(table.column_names), _content(_joined([*parts, "\n"], null))))


def _csv_header(names: Sequence[str]) -> bytes:
    """The line that names the columns."""
    return (",".join(_csv_name(name) for name in names) + "\n").encode()


def _csv_name(name: str) -> str:
    plain = name and not any(sign in name for sign in ',"\r\n')
    return name if plain else '"' + name.replace('"', '""') + '"'


def _arrays(table: pa.Table) -> list[pa.Array]:
    """The columns, each in one piece."""
    return [column.combine_chunks() for column in table.combine_chunks().columns]


def _content(lines: pa.Array) -> pa.Buffer | bytes:
    """The texts one behind the other, which is how Arrow keeps an array it has just made."""
    if not len(lines):
        return b""
    return lines.buffers()[2].slice(0, pc.sum(pc.binary_length(lines)).as_py())


def _joined(parts: Sequence[pa.Array | str], null: str) -> pa.Array:
    values = [pa.scalar(part, _TEXT) if isinstance(part, str) else part for part in parts]
    return pc.binary_join_element_wise(
        *values, pa.scalar("", _TEXT), null_handling="replace", null_replacement=null
    )


def _objects(names: Sequence[str], columns: Sequence[pa.Array], end: str = "") -> pa.Array:
    """JSON objects of columns that are JSON."""
    parts: list[pa.Array | str] = []
    for place, (name, column) in enumerate(zip(names, columns, strict=True)):
        parts += [("," if place else "{") + _ENCODER.encode(name).decode() + ":", column]
    return _joined([*parts, ("}" if parts else "{}") + end], "null")


def _json(column: pa.Array) -> pa.Array:
    """Each value as JSON; NULL stays NULL."""
    type_ = column.type
    if pa.types.is_struct(type_):
        fields = [type_.field(place).name for place in range(type_.num_fields)]
        if not fields:
            return _one_by_one(column)
        objects = _objects(fields, [_json(part) for part in column.flatten()])
        return pc.if_else(column.is_valid(), objects, pa.scalar(None, _TEXT))
    if pa.types.is_string(type_) or pa.types.is_large_string(type_):
        return _quoted(_escaped(column.cast(_TEXT)))
    if pa.types.is_floating(type_) and not _all_finite(column):
        return _unusual_numbers(column, '"')
    if pa.types.is_timestamp(type_) or pa.types.is_date(type_):
        return _moments(column, '"')
    if _is_plain(type_):
        return column.cast(_TEXT)
    return _one_by_one(column)


def _csv(column: pa.Array) -> pa.Array:
    """Each value as it stands in CSV; NULL stays NULL."""
    type_ = column.type
    if pa.types.is_floating(type_) and not _all_finite(column):
        return _unusual_numbers(column, "")
    if pa.types.is_timestamp(type_) or pa.types.is_date(type_):
        return _moments(column, "")
    if _is_plain(type_):
        return column.cast(_TEXT)
    if pa.types.is_string(type_) or pa.types.is_large_string(type_):
        text = column.cast(_TEXT)
    elif pa.types.is_binary(type_) or pa.types.is_large_binary(type_) or pa.types.is_duration(type_):
        return pc.utf8_trim(_one_by_one(column), '"')
    else:
        text = _json(column)
    return _quoted(pc.replace_substring(text, '"', '""'))


def _is_plain(type_: pa.DataType) -> bool:
    """Whether Arrow's own text for values is what JSON and CSV want."""
    return bool(
        pa.types.is_integer(type_)
        or pa.types.is_floating(type_)
        or pa.types.is_decimal(type_)
        or pa.types.is_boolean(type_)
        or pa.types.is_null(type_)
    )


def _all_finite(column: pa.Array) -> bool:
    return pc.all(pc.is_finite(column)).as_py() is not False


def _unusual_numbers(column: pa.Array, quote: str) -> pa.Array:
    named = [
        (pc.is_nan(column), "NaN"),
        (pc.equal(column, math.inf), "Infinity"),
        (pc.equal(column, -math.inf), "-Infinity"),
    ]
    text = column.cast(_TEXT)
    for which, name in named:
        text = pc.if_else(which, pa.scalar(f"{quote}{name}{quote}", _TEXT), text)
    return text


def _moments(column: pa.Array, quote: str) -> pa.Array:
    """Dates and timestamps by ISO 8601, those with a zone in UTC."""
    if pa.types.is_date(column.type):
        return _between(quote, column.cast(_TEXT), quote)
    zone = "" if column.type.tz is None else "Z"
    # Arrow is slow to format times with a zone; without one they are what they are in UTC.
    text = column.cast(pa.timestamp(column.type.unit)).cast(_TEXT)
    return _between(quote, pc.utf8_replace_slice(text, 10, 11, "T"), zone + quote)


def _quoted(column: pa.Array) -> pa.Array:
    return _between('"', column, '"')


def _between(start: str, column: pa.Array, end: str) -> pa.Array:
    """Texts with something before and behind each; NULL stays NULL."""
    empty = pa.scalar("", _TEXT)
    return pc.binary_join_element_wise(pa.scalar(start, _TEXT), column, pa.scalar(end, _TEXT), empty)


_ESCAPES = (("\\", "\\\\"), ('"', '\\"'), ("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t"))


def _escaped(column: pa.Array) -> pa.Array:
    """Strings as they stand between the quotes of JSON."""
    if not pc.any(pc.match_substring_regex(column, r'["\\\x00-\x1f]')).as_py():
        return column
    for sign, escape in _ESCAPES:
        column = pc.replace_substring(column, sign, escape)
    if pc.any(pc.match_substring_regex(column, r"[\x00-\x1f]")).as_py():
        for code in range(0x20):
            column = pc.replace_substring(column, chr(code), f"\\u{code:04x}")
    return column


def _one_by_one(column: pa.Array) -> pa.Array:
    """What Arrow has no text for."""
    values = column.to_pylist(maps_as_pydicts="lossy")
    texts = [None if value is None else _ENCODER.encode(_encodable(value)).decode() for value in values]
    return pa.array(texts, _TEXT)


def _encodable(value: Any) -> Any:
    match value:
        case float() if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case datetime() if value.tzinfo is not None:
            return value.astimezone(UTC)
        case dict():
            return {_key(key): _encodable(one) for key, one in value.items()}
        case list():
            return [_encodable(one) for one in value]
        case _:
            return value


def _key(key: Any) -> str:
    """The key of a map: text as it is, all else as its JSON."""
    encoded = _encodable(key)
    return encoded if isinstance(encoded, str) else _ENCODER.encode(encoded).decode().strip('"')
