"""Rows as the bodies of requests: Arrow where they are a table, else JSON lines; many of them in parts.

What JSON cannot say (bytes, numbers that are none) goes as Arrow, too. The same rows are always split in
the same places, so that a part that is sent again has the key it had.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from datetime import date, datetime, time
from decimal import Decimal
from typing import Any

import pyarrow as pa

from penstock.client.connection import ARROW
from penstock.errors import SourceError

JSON_LINES = "application/x-ndjson"
#: Bytes of a body, about; a row that is larger goes by itself.
PART_BYTES = 4 << 20
_UNFIT = (pa.ArrowException, TypeError, ValueError, OverflowError, ArithmeticError)


@dataclasses.dataclass(frozen=True, slots=True)
class Part:
    """The body of one request."""

    content: bytes
    content_type: str
    rows: int


def part_key(key: str, place: int) -> str:
    """The idempotency key of a part: the first has the push's own."""
    return key if place == 0 else f"{key}.{place}"


def parts(
    stream: str, rows: Any, columns: Callable[[], Sequence[str]] = tuple, most_bytes: int = PART_BYTES
) -> Iterator[Part]:
    """What Engine.push takes, as bodies; none for no rows. For rows by position, `columns` is asked for."""
    table = _table(stream, rows)
    if table is not None:
        yield from _arrow_parts(table, most_bytes)
        return
    listed = list(_rows(stream, rows, columns))
    try:
        lines = [json.dumps(row, default=_plain, allow_nan=False).encode() for row in listed]
    except (TypeError, ValueError):
        yield from _arrow_parts(_as_table(stream, listed), most_bytes)
        return
    yield from _line_parts(lines, most_bytes)


def _table(stream: str, rows: Any) -> pa.Table | None:
    """Tables of any library, and dicts of columns; None: it comes by rows."""
    try:
        if isinstance(rows, pa.Table):
            return rows
        if isinstance(rows, pa.RecordBatch):
            return pa.Table.from_batches([rows])
        if callable(getattr(rows, "toArrow", None)):
            return rows.toArrow()  # a DataFrame of Spark
        if type(rows).__module__.partition(".")[0] == "pandas" and hasattr(rows, "columns"):
            return pa.Table.from_pandas(rows, preserve_index=False)
        if hasattr(rows, "__arrow_c_stream__") and not isinstance(rows, pa.ChunkedArray):
            return pa.RecordBatchReader.from_stream(rows).read_all()
    except Exception as problem:  # whatever a library of tables raises
        reason = (str(problem) or type(problem).__name__).splitlines()[0]
        what = type(rows).__name__
        raise SourceError(f"stream '{stream}' took no rows: the {what} cannot be read: {reason}") from problem
    return _of_columns(stream, rows) if isinstance(rows, Mapping) else None


def _of_columns(stream: str, columns: Mapping[Any, Any]) -> pa.Table | None:
    lengths = {}
    for name, values in columns.items():
        if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
            raise SourceError(
                f"stream '{stream}' took no rows: in a dict of columns each is a list, and '{name}' is "
                f"{values!r}; push a single row as [row]"
            )
        if not isinstance(values, Sized):
            raise SourceError(
                f"stream '{stream}' took no rows: column '{name}' has no length; make it a list"
            )
        lengths[name] = len(values)
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise SourceError(f"stream '{stream}' took no rows: the columns differ in length: {shown}")
    try:
        return pa.table({name: pa.array(values) for name, values in columns.items()})
    except _UNFIT:  # of mixed types: the server says what does not fit
        return None


def _rows(stream: str, rows: Any, columns: Callable[[], Sequence[str]]) -> Iterator[dict[str, Any]]:
    """Rows one by one, each by the names of its columns."""
    names: Sequence[str] | None = None
    if isinstance(rows, Mapping):
        yield from (
            dict(zip(rows, values, strict=True))
            for values in zip(*(list(v) for v in rows.values()), strict=True)
        )
        return
    if isinstance(rows, str | bytes) or not isinstance(rows, Iterable):
        raise SourceError(
            f"stream '{stream}' took no rows: {rows!r} is no list of rows; push a single row as [row]"
        )
    for number, row in enumerate(rows, 1):
        if isinstance(row, Mapping):
            yield {str(name): value for name, value in row.items()}
        elif dataclasses.is_dataclass(row) and not isinstance(row, type):
            yield {field.name: getattr(row, field.name) for field in dataclasses.fields(row)}
        elif callable(getattr(row, "asDict", None)):
            yield row.asDict()
        elif callable(getattr(row, "_asdict", None)):
            yield row._asdict()
        elif isinstance(row, list | tuple):
            names = columns() if names is None else names
            if len(row) != len(names):
                raise SourceError(
                    f"stream '{stream}' took no rows: row {number} has {len(row)} values, and the stream has "
                    f"{len(names)} columns"
                )
            yield dict(zip(names, row, strict=True))
        else:
            raise SourceError(
                f"stream '{stream}' took no rows: row {number} is {row!r}; a row is a dict or a tuple"
            )


def _plain(value: Any) -> Any:
    """What JSON has no word for, as text that the server reads as the column's type."""
    if isinstance(value, datetime | date | time):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    if callable(getattr(value, "item", None)):  # numpy's numbers
        return value.item()
    raise TypeError(f"a {type(value).__name__} cannot be sent")


def _as_table(stream: str, rows: list[dict[str, Any]]) -> pa.Table:
    try:
        names = dict.fromkeys(name for row in rows for name in row)
        return pa.table({name: pa.array([row.get(name) for row in rows]) for name in names})
    except _UNFIT as unfit:
        raise SourceError(f"stream '{stream}' took no rows: {unfit}") from None


def _line_parts(lines: list[bytes], most_bytes: int) -> Iterator[Part]:
    waiting: list[bytes] = []
    size = 0
    for line in lines:
        if waiting and size + len(line) + 1 > most_bytes:
            yield Part(b"\n".join(waiting) + b"\n", JSON_LINES, len(waiting))
            waiting, size = [], 0
        waiting.append(line)
        size += len(line) + 1
    if waiting:
        yield Part(b"\n".join(waiting) + b"\n", JSON_LINES, len(waiting))


def _arrow_parts(table: pa.Table, most_bytes: int) -> Iterator[Part]:
    if table.num_rows == 0:
        return
    each = max(1, int(table.num_rows * most_bytes / max(table.nbytes, 1)))
    for start in range(0, table.num_rows, each):
        chosen = table.slice(start, each)
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(chosen)
        yield Part(sink.getvalue().to_pybytes(), ARROW, chosen.num_rows)
