"""What a program pushes, as a table of the declared types: rows one by one, or columns, in any usual form.

| pushed | |
| --- | --- |
| dicts, dataclasses, named tuples, `Row`s of Spark | values by name in any case; missing ones are NULL |
| tuples and lists | values by position, one for each column |
| a dict of columns | lists, arrays or series of one length, by name |
| whatever speaks Arrow: tables, batches, readers, DataFrames of pandas, Polars or DuckDB | columns by name |
| a DataFrame of Spark | collected, then the same |

Rows may come in any iterable, a generator too; it is read to its end first. Numbers for a TIMESTAMP are
seconds since 1970, as in Spark's CAST.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.engines.spark.ingest.sources.fit import CAST, MICROS, Fitter, a, shown
from penstock.errors import SourceError, closest

_MOST_SHOWN = 5
_UNFIT = (pa.ArrowException, TypeError, ValueError, OverflowError, ArithmeticError)
#: Values of these types are times as they are.
_ARE_MOMENTS = frozenset((datetime, date, str, type(None)))
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def fitted(stream: str, schema: pa.Schema, rows: Any) -> pa.Table:
    """All rows with the columns that a stream declares; SourceError with the reason if one does not fit."""
    pushed = _by_columns(stream, rows)
    if pushed is None:
        named = [_named(stream, schema, number, row) for number, row in enumerate(_each(stream, rows), 1)]
        names = sorted({name for row in named for name in row})
        pushed = {name: [row.get(name) for row in named] for name in names}
        count = len(named)
    else:
        count = len(next(iter(pushed.values()), ()))
    columns: dict[str, pa.Array | pa.ChunkedArray] = {}
    problems: dict[int, str] = {}
    for given, values in pushed.items():
        field = _declared(stream, schema, given)
        if field.name in columns:
            raise SourceError(f"stream '{stream}' took no rows: column '{field.name}' is given twice")
        if isinstance(values, list):
            columns[field.name], bad = _column(values, field)
            problems = {**bad, **problems}
        else:
            columns[field.name] = values
    missing = [field for field in schema if field.name not in columns]
    table = pa.table({**columns, **{field.name: pa.nulls(count, field.type) for field in missing}})
    found, more = Fitter(schema, epoch=CAST).fit(table)
    problems = dict(sorted({**more, **problems}.items()))
    if problems:
        listed = [f"row {row + 1}, {reason}" for row, reason in list(problems.items())[:_MOST_SHOWN]]
        rest = len(problems) - len(listed)
        also = f"; and {rest} more" if rest else ""
        raise SourceError(f"stream '{stream}' took none of {count} rows: {'; '.join(listed)}{also}")
    return found


# --- what there is ---


def _by_columns(stream: str, rows: Any) -> dict[str, Any] | None:
    """What comes by columns, each a list or Arrow's; None: it comes by rows."""
    if isinstance(rows, Mapping):
        return _from_dict(stream, rows)
    try:
        table = _table(rows)
    except Exception as problem:  # whatever a library of tables raises
        reason = (str(problem) or type(problem).__name__).splitlines()[0]
        what = type(rows).__name__
        raise SourceError(f"stream '{stream}' took no rows: the {what} cannot be read: {reason}") from problem
    if table is None:
        return None
    if len({name.lower() for name in table.column_names}) < table.num_columns:
        raise SourceError(f"stream '{stream}' took no rows: two columns have one name")
    return dict(zip(table.column_names, table.columns, strict=True))


def _table(rows: Any) -> pa.Table | None:
    """Tables of any library, in Arrow's form."""
    if isinstance(rows, pa.Table):
        return rows
    if isinstance(rows, pa.RecordBatch):
        return pa.Table.from_batches([rows])
    if callable(getattr(rows, "toArrow", None)):
        return rows.toArrow()  # a DataFrame of Spark
    if _is_of_pandas(rows) and hasattr(rows, "columns"):
        return pa.Table.from_pandas(rows, preserve_index=False)
    if hasattr(rows, "__arrow_c_stream__") and not isinstance(rows, pa.ChunkedArray):
        return pa.RecordBatchReader.from_stream(rows).read_all()
    return None


def _from_dict(stream: str, columns: Mapping[Any, Any]) -> dict[str, Any]:
    """A dict of columns, which must be of one length."""
    found: dict[str, Any] = {}
    for name, values in columns.items():
        if isinstance(values, str | bytes | Mapping) or not isinstance(values, Iterable):
            raise SourceError(
                f"stream '{stream}' took no rows: in a dict of columns each is a list, and '{name}' is "
                f"{shown(values)}; push a single row as [row]"
            )
        if isinstance(values, pa.Array | pa.ChunkedArray):
            found[name] = values
        elif isinstance(values, np.ndarray) or _is_of_pandas(values):
            try:
                found[name] = pa.array(values, from_pandas=_is_of_pandas(values))
            except _UNFIT:
                found[name] = list(values)
        else:
            found[name] = list(values)
    if len({len(values) for values in found.values()}) > 1:
        lengths = ", ".join(f"{name} has {len(values)}" for name, values in found.items())
        raise SourceError(f"stream '{stream}' took no rows: columns differ in length ({lengths})")
    return found


def _each(stream: str, rows: Any) -> Iterable[Any]:
    if isinstance(rows, str | bytes) or not isinstance(rows, Iterable):
        raise SourceError(
            f"stream '{stream}' took no rows: {shown(rows)} is neither rows nor a table; "
            "push dicts, tuples, a dict of columns, a DataFrame or an Arrow table"
        )
    return rows


def _named(stream: str, schema: pa.Schema, number: int, row: Any) -> dict[str, Any]:
    """A row's values by the names of their columns, in lower case."""
    if isinstance(row, dict):
        pass
    elif dataclasses.is_dataclass(row) and not isinstance(row, type):
        row = {field.name: getattr(row, field.name) for field in dataclasses.fields(row)}
    elif isinstance(row, tuple) and getattr(row, "__fields__", None):
        row = dict(zip(getattr(row, "__fields__", ()), row, strict=True))  # a Row of Spark
    elif isinstance(row, tuple) and hasattr(row, "_asdict"):
        row = row._asdict()
    if isinstance(row, dict | Mapping):
        named = {str(name).lower(): value for name, value in row.items()}
        if len(named) == len(row):
            return named
        raise SourceError(f"stream '{stream}' took no rows: row {number} has a column twice")
    if not isinstance(row, tuple | list):
        raise SourceError(
            f"stream '{stream}' took no rows: row {number} is {shown(row)}, neither a dict nor a tuple"
        )
    if len(row) != len(schema):
        raise SourceError(
            f"stream '{stream}' took no rows: row {number} has {len(row)} values for {len(schema)} columns; "
            "push dicts to leave some out"
        )
    return {name.lower(): value for name, value in zip(schema.names, row, strict=True)}


def _declared(stream: str, schema: pa.Schema, name: Any) -> pa.Field:
    for field in schema:
        if field.name.lower() == str(name).lower():
            return field
    hint = closest(str(name), schema.names) or f" There are {', '.join(schema.names)}."
    raise SourceError(f"stream '{stream}' has no column '{name}'.{hint}")


def _is_of_pandas(value: Any) -> bool:
    return type(value).__module__.partition(".")[0] == "pandas"


# --- what values mean ---


def _column(values: list[Any], field: pa.Field) -> tuple[pa.Array, dict[int, str]]:
    """Values as an array that can be made the declared type, and what is wrong with some, by row."""
    problems: dict[int, str] = {}

    def refuse(row: int) -> None:
        problems.setdefault(row, f"column {field.name}: {shown(given[row])} is not {a(field.type)}")
        values[row] = None

    given, values = values, list(values)
    type_: pa.DataType | None = field.type
    if pa.types.is_integer(field.type):
        type_ = None  # Asked for whole numbers, Arrow would cut 1.5 to 1.
    elif _has_times(field.type) and not _ARE_MOMENTS.issuperset(map(type, values)):
        for row, value in enumerate(given):
            try:
                values[row] = _moments(value, field.type)
            except _UNFIT:
                refuse(row)
    if pa.types.is_temporal(field.type) and any(isinstance(value, str) for value in values):
        type_ = pa.string()
        values = [_text(value) for value in values]
    try:
        return pa.array(values, type_), problems
    except _UNFIT:
        for row, value in enumerate(values):
            try:
                # One by one there is nothing to infer a common type from: the declared one is meant.
                pa.array([value], type_ or field.type)
            except _UNFIT:
                refuse(row)
        return pa.array(values, type_ or field.type), problems


def _has_times(type_: pa.DataType) -> bool:
    """Whether there are times in it, at any depth."""
    return pa.types.is_temporal(type_) or any(
        _has_times(type_.field(place).type) for place in range(type_.num_fields)
    )


def _moments(value: Any, type_: pa.DataType) -> Any:
    """A value in which numbers that stand for times are microseconds, as Arrow takes them."""
    types = pa.types
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]").item()
    elif isinstance(value, np.generic):
        value = value.item()
    if value is None or type(value).__name__ in ("NaTType", "NAType"):
        return None
    if types.is_temporal(type_) and isinstance(value, bool | int | float | Decimal):
        if isinstance(value, bool) or not (types.is_timestamp(type_) and type_.tz):
            raise ValueError("only times with a zone are numbers of seconds")
        micros = int(value.scaleb(6)) if isinstance(value, Decimal) else int(value * MICROS)
        if not -(2**63) < micros < 2**63:
            raise OverflowError("no such time")
        return micros
    if types.is_list(type_) and isinstance(value, list | tuple | np.ndarray):
        return [_moments(one, type_.value_type) for one in value]
    if types.is_struct(type_) and isinstance(value, Mapping):
        inner = {field.name: field.type for field in type_}
        return {name: _moments(one, inner[name]) for name, one in value.items() if name in inner}
    if types.is_map(type_) and isinstance(value, Mapping):
        return [(_moments(k, type_.key_type), _moments(v, type_.item_type)) for k, v in value.items()]
    return value


def _text(value: Any) -> Any:
    """A time as text, where others are text."""
    if isinstance(value, int):
        return (_EPOCH + timedelta(microseconds=value)).isoformat()
    return value.isoformat() if isinstance(value, date) else value
