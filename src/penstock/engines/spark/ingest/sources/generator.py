"""Rows made up: row n depends on the seed and n alone, so a generator goes on anywhere and repeats itself.

CREATE STREAM motion (t TIMESTAMP, room STRING, level DOUBLE, …) USING generator OPTIONS (
    rows '100000', rate '1000/s', seed '7', start '2026-01-01 00:00:00',
    columns.t 'time(10ms, 2s)', columns.room 'choice(hall, kitchen)',
    columns.level 'null(0.01, normal(20, 5))');

`arrival(1440, 2min)` is the time at which a row arrives, on a clock that makes a day of a minute.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from penstock.engines.spark.ingest.sources.base import BadRow
from penstock.engines.spark.ingest.sources.columns import (
    BLOCK,
    Arrivals,
    Column,
    clock_speed,
    default_for,
    read_column,
)
from penstock.engines.spark.ingest.sources.fit import Fitter
from penstock.engines.spark.ingest.sources.options import Options
from penstock.engines.spark.ingest.sources.pace import Rate, Schedule, Since, Trace
from penstock.errors import SourceError, closest

#: When made-up time begins unless told.
START = "2026-01-01 00:00:00"


class Generator:
    """Made-up rows, a block at a time; a supply for `Replay`."""

    problems: tuple[str, ...] = ()

    def __init__(self, options: Options, schema: pa.Schema, pace: Since | None = None) -> None:
        self._schema = schema
        self._seed = options.whole("seed", 0)
        self._rows = options.whole("rows", 0) if options.has("rows") else None
        self._start = options.text("start", START)
        self._start_us = 0 if self._start == "now" else _start_us(options, self._start)
        texts = _texts(options, schema)
        self._columns = _columns(options, schema, texts, _arrivals(pace))
        self._speeds = {name: clock_speed(text) for name, text in texts.items()}
        self._at = 0
        self._block: tuple[int, pa.Table] | None = None

    def open(self, place: Any | None, start_us: int) -> None:
        """Goes to a row; with `start 'now'`, time begins when the stream first started."""
        self._at = 0 if place is None else int(place)
        if self._start == "now":
            self._start_us = start_us

    def peek(self) -> pa.Table | None:
        """The rest of the current block."""
        if self._rows is not None and self._at >= self._rows:
            return None
        number, inside = divmod(self._at, BLOCK)
        if self._block is None or self._block[0] != number:
            self._block = number, self._made(number)
        left = BLOCK if self._rows is None else self._rows - self._at
        return self._block[1].slice(inside, left)

    def take(self, rows: int) -> tuple[BadRow, ...]:
        """Moves on."""
        self._at += rows
        return ()

    @property
    def place(self) -> int:
        """How many rows were taken."""
        return self._at

    def time_us(self, column: str, since_us: int) -> int | None:
        """The clock of a column made by `arrival(…)`."""
        speed = self._speeds[column]
        return None if speed is None else self._start_us + round(since_us * speed)

    def close(self) -> None:
        """Nothing is held."""

    def _made(self, block: int) -> pa.Table:
        arrays = []
        for name, column in self._columns.items():
            rng = np.random.default_rng([self._seed, zlib.crc32(name.lower().encode()), block])
            arrays.append(column(rng, block * BLOCK, self._start_us))
        return pa.Table.from_arrays(arrays, schema=self._schema)


def _start_us(options: Options, text: str) -> int:
    schema = pa.schema([("t", pa.timestamp("us", "UTC"))])
    table, wrong = Fitter(schema).fit(pa.table({"t": [text]}))
    if wrong:
        raise options.error("start", f"'{text}' is no time; write 'now' or one like '{START}'")
    return int(table.column(0).cast(pa.int64())[0].as_py())


def _arrivals(pace: Since | None) -> Arrivals | None:
    """When a block's rows arrive, if that follows from their numbers alone."""
    if pace is None or not isinstance(pace.pace, Rate | Schedule | Trace):
        return None
    block = pa.table({"n": np.zeros(BLOCK, np.int8)})
    return lambda first: pace.times_ns(first, block, 0)


def _texts(options: Options, schema: pa.Schema) -> dict[str, str]:
    """What each column is to hold."""
    given = options.starting_with("columns.")
    names = {name.lower(): name for name in schema.names}
    for name in given:
        if name not in names:
            raise options.error(f"columns.{name}", f"the stream has no such column.{closest(name, names)}")
    return {
        field.name: given.get(field.name.lower()) or default_for(field.name, field.type) for field in schema
    }


def _columns(
    options: Options, schema: pa.Schema, texts: Mapping[str, str], arrivals: Arrivals | None
) -> dict[str, Column]:
    columns = {}
    for field in schema:
        try:
            columns[field.name] = read_column(texts[field.name], field.type, arrivals)
        except (ValueError, SourceError) as problem:
            raise options.error(f"columns.{field.name.lower()}", str(problem)) from None
    return columns
