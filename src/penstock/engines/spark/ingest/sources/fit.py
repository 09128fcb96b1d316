"""Makes columns the types a stream declares, all rows at once, and finds the rows whose values do not fit.

Whole columns are cast; only where that fails is the column halved until the values are found that cannot be
cast. A value is converted or its row set aside; nothing is rounded, cut off or made NULL on the way, but
digits of a time beyond microseconds, as in Spark.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from penstock.engines.spark.ingest.sources.types import shown_type

#: Nanoseconds of the units in which times may come as numbers.
#: Numbers for a time with a zone are seconds, as in Spark's CAST; there are no numbers for other times.
CAST = "cast"
MICROS = 1_000_000
EPOCHS = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}

_ZONED = r":\d\d.*(?:Z|[+-]\d\d(?::?\d\d)?)\s*$"
_FAILURES = (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError, ValueError, OverflowError)

Cast = Callable[[pa.Array], pa.Array]


@dataclass(frozen=True, slots=True)
class Fitter:
    """How columns become those of `schema`.

    `epoch` is the unit of times that come as numbers; without one such times do not fit. `base64_binary` says
    that text for a binary column is base64 (JSON), not the bytes themselves (CSV).
    """

    schema: pa.Schema
    epoch: str | None = None
    base64_binary: bool = False

    def fit(self, table: pa.Table) -> tuple[pa.Table, dict[int, str]]:
        """The rows that fit, and a reason for each of the others by its number. Missing columns are NULL."""
        columns: list[pa.ChunkedArray | pa.Array] = []
        reasons: dict[int, str] = {}
        for field in self.schema:
            at = table.schema.get_field_index(field.name)
            if at < 0:
                columns.append(pa.nulls(table.num_rows, field.type))
                continue
            column = table.column(at)
            if column.type == field.type:
                columns.append(column)
                continue
            fitted, failed = _halving(
                column.combine_chunks(), self._cast(column.type, field.type), field.type
            )
            columns.append(fitted)
            for row in failed:
                value = column[row].as_py()
                reasons.setdefault(row, f"column {field.name}: {shown(value)} is not {a(field.type)}")
        result = pa.Table.from_arrays(columns, schema=self.schema)
        if reasons:
            keep = np.ones(table.num_rows, dtype=bool)
            keep[list(reasons)] = False
            result = result.filter(pa.array(keep))
        return result, dict(sorted(reasons.items()))

    def _cast(self, of: pa.DataType, to: pa.DataType) -> Cast:
        types = pa.types
        text = types.is_string(of) or types.is_large_string(of)
        number = types.is_integer(of) or types.is_floating(of) or types.is_decimal(of)
        if self.epoch == CAST and _has_numbers_for_times(of, to):
            zoned = types.is_timestamp(to) and to.tz
            return lambda values: _from_seconds(values, to) if zoned else _refused(values, to)
        if types.is_timestamp(to) and (number or (text and self.epoch not in (None, CAST))):
            return lambda values: _from_epoch(values, self.epoch, to)
        if types.is_timestamp(to) and text:
            return lambda values: _from_text(values, to)
        if types.is_timestamp(to) and types.is_timestamp(of):
            return lambda values: values.cast(to, safe=False)
        if types.is_binary(to) and text and self.base64_binary:
            return _from_base64
        if types.is_floating(to) and types.is_integer(of):
            return lambda values: values.cast(to, safe=False)
        if text and not (types.is_string(to) or types.is_binary(to)):
            return lambda values: _trimmed(values).cast(to)
        if types.is_string(to) and not text:
            return lambda values: _refused(values, to)
        if types.is_boolean(to) != types.is_boolean(of):
            return lambda values: _refused(values, to)
        return lambda values: values.cast(to)


def a(type_: pa.DataType) -> str:
    """`a double`, `an int`: a type in a message."""
    text = shown_type(type_)
    return f"an {text}" if text[0] in "aeiou" else f"a {text}"


def shown(value: Any) -> str:
    """A value in a message, cut if it is long."""
    text = repr(value) if isinstance(value, str | bytes) else str(value)
    return text if len(text) <= 80 else f"{text[:60]}… ({len(text)} characters)"


def _halving(values: pa.Array, cast: Cast, to: pa.DataType) -> tuple[pa.Array, list[int]]:
    """The column cast, NULL where that failed, and the rows where it did."""
    try:
        return cast(values), []
    except _FAILURES:
        if len(values) == 1:
            return pa.nulls(1, to), [0]
        half = len(values) // 2
        left, left_failed = _halving(values[:half], cast, to)
        right, right_failed = _halving(values[half:], cast, to)
        return pa.concat_arrays([left, right]), left_failed + [half + row for row in right_failed]


def _refused(values: pa.Array, to: pa.DataType) -> pa.Array:
    if values.null_count == len(values):
        return pa.nulls(len(values), to)
    raise ValueError("these types do not go together")


def _trimmed(values: pa.Array) -> pa.Array:
    return pc.utf8_trim_whitespace(values)


def _from_text(values: pa.Array, to: pa.DataType) -> pa.Array:
    """Times with a zone, without one (then UTC), or some of both; `cast` alone takes one kind at a time."""
    utc = pa.timestamp("us", "UTC")
    sample = next((value.as_py() for value in values if value.is_valid), "")
    try:
        # One look at a value says which kind it likely is: a cast that fails everywhere is slow.
        return values.cast(utc if re.search(_ZONED, sample) else pa.timestamp("us")).cast(utc).cast(to)
    except pa.ArrowInvalid:
        pass
    cut = pc.replace_substring_regex(_trimmed(values), pattern=r"(\.\d{6})\d+", replacement=r"\1")
    zoned = pc.match_substring_regex(cut, pattern=_ZONED)
    nothing = pa.scalar(None, pa.string())
    with_zone = pc.if_else(zoned, cut, nothing).cast(utc)
    without = pc.if_else(zoned, nothing, cut).cast(pa.timestamp("us")).cast(utc)
    return pc.coalesce(with_zone, without).cast(to)


def _has_numbers_for_times(of: pa.DataType, to: pa.DataType) -> bool:
    """Whether, at any depth, a time is to be made of a number."""
    types = pa.types
    if types.is_temporal(to):
        return bool(types.is_integer(of) or types.is_floating(of) or types.is_decimal(of))
    if types.is_struct(to) and types.is_struct(of):
        given = {field.name: field.type for field in of}
        return any(
            field.name in given and _has_numbers_for_times(given[field.name], field.type) for field in to
        )
    if of.num_fields != to.num_fields:
        return False
    return any(_has_numbers_for_times(of.field(n).type, to.field(n).type) for n in range(to.num_fields))


def _from_seconds(values: pa.Array, to: pa.DataType) -> pa.Array:
    """As Spark's CAST: digits beyond microseconds are cut off."""
    if pa.types.is_integer(values.type):
        micros = pc.multiply_checked(values.cast(pa.int64()), MICROS)
    elif pa.types.is_floating(values.type):
        micros = pc.trunc(pc.multiply(values.cast(pa.float64()), float(MICROS))).cast(pa.int64())
    else:
        micros = pc.trunc(pc.multiply(values, pa.scalar(Decimal(MICROS)))).cast(pa.int64())
    return micros.cast(pa.timestamp("us")).cast(to)


def _from_epoch(values: pa.Array, epoch: str | None, to: pa.DataType) -> pa.Array:
    if epoch is None:
        return _refused(values, to)
    if epoch == "s":
        micros = pc.round(pc.multiply(_trimmed_number(values, pa.float64()), 1e6)).cast(pa.int64())
    else:
        ticks = _trimmed_number(values, pa.int64())
        unit = EPOCHS[epoch]
        micros = pc.multiply_checked(ticks, unit // 1000) if unit >= 1000 else pc.divide(ticks, 1000)
    return micros.cast(pa.timestamp("us")).cast(to)


def _trimmed_number(values: pa.Array, to: pa.DataType) -> pa.Array:
    return (_trimmed(values) if pa.types.is_string(values.type) else values).cast(to)


def _from_base64(values: pa.Array) -> pa.Array:
    try:
        decoded = [
            None if text is None else base64.b64decode(text, validate=True) for text in values.to_pylist()
        ]
    except binascii.Error as problem:
        raise ValueError(str(problem)) from None
    return pa.array(decoded, pa.binary())
