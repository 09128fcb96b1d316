"""Streams in one line, and what is done to every source: poll it dry, stop it anywhere and go on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock.engines.spark.ingest.sources.base import Arrived, Source
from penstock.engines.spark.ingest.sources.registry import make
from penstock.model.schema import Schema
from penstock.sql.binding.catalog import Stream

TEMPS = Schema.of(t="timestamp", room="string", temp="double", n="int")
FOREVER_US = 10**15


def stream(format_: str, schema: Schema = TEMPS, time: str | None = "t", **options: str) -> Stream:
    """A stream `s`; dots in option names are written as two underscores."""
    named = {name.replace("__", "."): value for name, value in options.items()}
    return Stream("s", schema, time if schema.get("t") else None, 0.0, format_, named)


def opened(one: Stream, base_dir: Path, position: Any | None = None, start_us: int = 0) -> Source:
    """The source of a stream, started; the position goes through JSON, as in the commit log."""
    source = make(one, base_dir)
    source.open(None if position is None else json.loads(json.dumps(position)), start_us)
    return source


def drained(source: Source, most_rows: int = 10_000, now_us: int = FOREVER_US) -> list[Arrived]:
    """Everything a source has by then."""
    found: list[Arrived] = []
    while not source.ended:
        arrived = source.poll(now_us, most_rows)
        if arrived is None:
            break
        assert len(arrived.at_us) == arrived.table.num_rows <= most_rows
        found.append(arrived)
    source.close()
    return found


def rows(found: list[Arrived]) -> list[dict[str, Any]]:
    """All rows, as Python values."""
    return pa.concat_tables([one.table for one in found]).to_pylist() if found else []


def reasons(found: list[Arrived]) -> list[tuple[str, str]]:
    """All bad rows: place and reason."""
    return [(bad.place, bad.reason) for one in found for bad in one.bad]


def same_wherever_resumed(one: Stream, base_dir: Path, most_rows: int) -> None:
    """After each position, a new source brings exactly what the first one brought after it."""
    whole = drained(opened(one, base_dir), most_rows)
    for count, arrived in enumerate(whole, 1):
        rest = drained(opened(one, base_dir, arrived.position), most_rows + 1)
        assert rows(rest) == rows(whole[count:])
        assert reasons(rest) == reasons(whole[count:])
        assert [bad.text for a in rest for bad in a.bad] == [bad.text for a in whole[count:] for bad in a.bad]
