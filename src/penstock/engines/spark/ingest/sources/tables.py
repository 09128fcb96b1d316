"""Stored relations: read whole, strictly, and looked at for changes."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from penstock.engines.spark.ingest.sources.files import FORMATS, list_files, make_reader
from penstock.engines.spark.ingest.sources.options import Options
from penstock.engines.spark.ingest.sources.types import arrow_schema
from penstock.engines.spark.ingest.sources.walk import Walk
from penstock.errors import SourceError
from penstock.sql.binding.catalog import Table

#: What a relation's files looked like: name, bytes, modified, inode of each.
Fingerprint = tuple[tuple[str, int, int, int], ...]

_WHAT = "a file, a directory or a pattern like 'rooms/*.csv'"


def read_table(table: Table, base_dir: Path) -> pa.Table:
    """All rows; SourceError with file and line if one does not parse: nothing is set aside here."""
    options, schema, walk = _understood(table, base_dir)
    walk.add(list_files(options, options.path("path", _WHAT)))
    parts = [schema.empty_table()]
    try:
        while (part := walk.peek()) is not None:
            parts.append(part)
            for bad in walk.take(part.num_rows):
                raise SourceError(f"{options.owner}, {bad.place}: {bad.reason}; correct it there")
    finally:
        walk.close()
    return pa.concat_tables(parts).combine_chunks()


def check_table(table: Table, base_dir: Path) -> None:
    """SourceError if its format, columns or options make no sense; its files are not looked at."""
    _understood(table, base_dir)


def _understood(table: Table, base_dir: Path) -> tuple[Options, pa.Schema, Walk]:
    options = _options(table, base_dir)
    try:
        schema = arrow_schema(table.schema)
    except SourceError as problem:
        raise SourceError(f"{options.owner}, {problem}") from None
    if table.format not in FORMATS:
        raise SourceError(f"{options.owner}: there is no format '{table.format}'; use {', '.join(FORMATS)}")
    walk = Walk(make_reader(table.format, options, schema), schema)
    options.path("path", _WHAT)
    options.finish()
    return options, schema, walk


def fingerprint(table: Table, base_dir: Path) -> Fingerprint:
    """Differs when a file came, went, or was written; costs no reading."""
    options = _options(table, base_dir)
    found = []
    for path in list_files(options, options.path("path", _WHAT)):
        stat = path.stat()
        found.append((str(path), stat.st_size, stat.st_mtime_ns, stat.st_ino))
    return tuple(found)


def _options(table: Table, base_dir: Path) -> Options:
    return Options(f"table '{table.name}'", table.options, base_dir)
