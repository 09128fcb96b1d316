"""Parquet files, some ten thousand rows at a time; columns by name, whatever their case."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.engines.spark.ingest.sources.base import BadRow
from penstock.engines.spark.ingest.sources.chunks import Chunk, Cursor, WrongColumnsError
from penstock.engines.spark.ingest.sources.fit import Fitter

#: Rows read at once.
CHUNK_ROWS = 16_384


@dataclass(slots=True)
class ParquetReader:
    """Reads Parquet files. The cursor is the number of rows before."""

    fitter: Fitter
    chunk_rows: int = CHUNK_ROWS
    _path: Path | None = None
    _file: pq.ParquetFile | None = None
    _batches: Iterator[pa.RecordBatch] = field(default_factory=lambda: iter(()))
    _at: int = -1

    def read(self, path: Path, at: Cursor) -> Chunk | None:
        """The next rows."""
        row, _ = at
        if path != self._path or row != self._at:
            self._open(path, row)
        batch = next(self._batches, None)
        if batch is None:
            return None
        self._at = row + batch.num_rows
        table = _renamed(pa.Table.from_batches([batch]), self.fitter.schema)
        fitted, reasons = self.fitter.fit(table)
        bad = tuple(
            (
                number - bads,
                BadRow(str(table.slice(number, 1).to_pylist()[0]), reason, place(path, row + number)),
            )
            for bads, (number, reason) in enumerate(reasons.items())
        )
        return Chunk(fitted, bad, (self._at, 0))

    def close(self) -> None:
        """Closes the file."""
        if self._file is not None:
            self._file.close()
        self._path, self._file, self._batches, self._at = None, None, iter(()), -1

    def _open(self, path: Path, row: int) -> None:
        self.close()
        file = pq.ParquetFile(path)
        wanted = {name.lower() for name in self.fitter.schema.names}
        columns = [name for name in file.schema_arrow.names if name.lower() in wanted]
        if not columns:
            found = ", ".join(file.schema_arrow.names)
            file.close()
            raise WrongColumnsError(
                f"of its columns {found} none is one of {', '.join(self.fitter.schema.names)}"
            )
        groups = [file.metadata.row_group(group).num_rows for group in range(file.metadata.num_row_groups)]
        first, before = 0, 0
        while first < len(groups) and before + groups[first] <= row:
            before += groups[first]
            first += 1
        self._path, self._file, self._at = path, file, row
        left = list(range(first, len(groups)))
        batches = file.iter_batches(self.chunk_rows, row_groups=left, columns=columns) if left else iter(())
        self._batches = _without_first(batches, row - before)


def place(path: Path, row: int) -> str:
    """`doors.parquet, row 12`: where the row of that number, from 0, stands."""
    return f"{path.name}, row {row + 1}"


def _without_first(batches: Iterator[pa.RecordBatch], rows: int) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        if rows >= batch.num_rows:
            rows -= batch.num_rows
        else:
            yield batch.slice(rows)
            rows = 0


def _renamed(table: pa.Table, schema: pa.Schema) -> pa.Table:
    declared = {name.lower(): name for name in schema.names}
    return table.rename_columns([declared[name.lower()] for name in table.column_names])
