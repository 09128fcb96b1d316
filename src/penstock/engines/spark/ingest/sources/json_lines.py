"""JSON lines: an object per line, its fields by name; others are ignored, missing ones are NULL."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.json as pj

from penstock.engines.spark.ingest.sources.fit import a, shown

Fits = Callable[[Any], bool]


class JsonLines:
    """Rows of JSON lines. Times, dates and binary values are text in JSON, and left to `Fitter`.

    Arrow's parser knows no maps: those columns are read again, with Python's.
    """

    def __init__(self, schema: pa.Schema, epoch: str | None = None) -> None:
        self._fields = [(field.name, field.type) for field in schema]
        self._maps = [field for field in schema if pa.types.is_map(field.type)]
        self._reads = pa.schema(
            [
                pa.field(field.name, _read_as(field.type, epoch))
                for field in schema
                if not pa.types.is_map(field.type)
            ]
        )
        self._fits = {name: _fits(type_, epoch) for name, type_ in self._fields}
        self._parse = pj.ParseOptions(explicit_schema=self._reads, unexpected_field_behavior="ignore")

    def begin(self, head: bytes) -> bool:  # noqa: ARG002
        """JSON lines have no header."""
        return False

    def rows(self, block: bytes, complete: bool) -> None:
        """Each line is a row."""

    def parse(self, block: bytes, last: bytes) -> pa.Table:  # noqa: ARG002
        """The columns that Arrow reads, and maps."""
        if block.isspace():
            return self._reads.empty_table()
        options = pj.ReadOptions(use_threads=False, block_size=len(block) + 1)
        table = pj.read_json(pa.BufferReader(block), read_options=options, parse_options=self._parse)
        if self._maps:
            rows = [
                json.loads(line.decode(), strict=False) or {} for line in block.split(b"\n") if line.strip()
            ]
            for field in self._maps:
                values = [row.get(field.name) for row in rows]
                pairs = [None if value is None else list(value.items()) for value in values]
                table = table.append_column(field, pa.array(pairs, field.type))
        return table

    def check(self, line: bytes) -> str | None:
        """Says which field of one line has a value of another type."""
        try:
            # As lax as Arrow's parser, so that nothing is refused here that it takes.
            row = json.loads(line.decode(), strict=False)
        except json.JSONDecodeError as problem:
            if b"Inf" in line:
                return None
            return f"it is not JSON: {problem.msg} at column {problem.colno}"
        except RecursionError:
            return "it is not JSON: it is nested too deeply"
        except ValueError:
            return "it is not JSON: a number is too long"
        if row is None:
            return None
        if not isinstance(row, dict):
            return f"it is {shown(row)}, not a JSON object"
        for name, type_ in self._fields:
            value = row.get(name)
            if value is not None and not self._fits[name](value):
                return f"column {name}: {shown(value)} is not {a(type_)}"
        return None


def _read_as(type_: pa.DataType, epoch: str | None) -> pa.DataType:
    """The type Arrow's parser is asked for: text where JSON has text."""
    if pa.types.is_timestamp(type_) and epoch:
        return pa.float64() if epoch == "s" else pa.int64()
    if pa.types.is_timestamp(type_) or pa.types.is_date(type_) or pa.types.is_binary(type_):
        return pa.string()
    if pa.types.is_list(type_):
        return pa.list_(_read_as(type_.value_type, None))
    if pa.types.is_struct(type_):
        return pa.struct([pa.field(field.name, _read_as(field.type, None)) for field in type_])
    return type_


def _fits(type_: pa.DataType, epoch: str | None) -> Fits:
    """Whether a value that Python read has the shape the type needs; text is left to `Fitter`."""
    types = pa.types
    if types.is_integer(type_):
        least, most = -(2 ** (type_.bit_width - 1)), 2 ** (type_.bit_width - 1) - 1
        return lambda value: type(value) is int and least <= value <= most
    if types.is_floating(type_) or (types.is_timestamp(type_) and epoch):
        return lambda value: type(value) in (int, float)
    if types.is_boolean(type_):
        return lambda value: type(value) is bool
    if types.is_decimal(type_):
        return lambda value: type(value) in (int, float, str)
    if types.is_list(type_):
        element = _fits(type_.value_type, None)
        return lambda value: type(value) is list and all(one is None or element(one) for one in value)
    if types.is_struct(type_):
        inner = {field.name: _fits(field.type, None) for field in type_}
        return lambda value: (
            type(value) is dict
            and all(value.get(name) is None or fits(value[name]) for name, fits in inner.items())
        )
    if types.is_map(type_):
        item = _fits(type_.item_type, None)
        return lambda value: type(value) is dict and all(one is None or item(one) for one in value.values())
    return lambda value: type(value) is str
