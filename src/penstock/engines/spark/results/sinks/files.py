"""Files that others read: Parquet, CSV with a header, or JSON lines; one for each commit.

    root/
      part-000000000001.parquet     published: in the order of their names, which is that of commits
      part-000000000002.parquet
      .staging/                     not committed yet, or committed and about to be renamed

Rows that have moved here from files of many queries keep the numbers they had there (`origins`).

Spark, pandas and shells pass over names that begin with a dot. A file appears under its name in one instant,
complete. One directory belongs to one sink.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.engines.spark.results.origins import Origin, file_name, with_origins
from penstock.engines.spark.results.sinks.disk import (
    STAGING,
    make_directories,
    reported,
    sync_directory,
    write,
)
from penstock.engines.spark.results.sinks.texts import csv_lines, json_lines
from penstock.engines.spark.rows.at_large import AtLarge
from penstock.errors import SinkError


def _parquet(table: pa.Table) -> pa.Buffer:
    stream = pa.BufferOutputStream()
    pq.write_table(table, stream)
    return stream.getvalue()


#: How a table becomes the content of a file.
ENCODINGS: dict[str, Callable[[pa.Table], pa.Buffer | bytes]] = {
    "parquet": _parquet,
    "csv": csv_lines,
    "json": json_lines,
}


@cache  # a shared query's results become files of a thousand sinks, with the same few types
def _can_hold(format: str, type_: pa.DataType) -> bool:
    try:
        ENCODINGS[format](pa.schema([("c", type_)]).empty_table())
    except pa.ArrowException:
        return False
    return True


class FileSink:
    """A directory that gets one file for each commit that has rows.

    With `sync`, files are on disk before they are committed, so that not even a power failure loses one.
    Nothing is written before `prepare`, `recover` or the first rows: a sink can be had of a directory that
    cannot be written to now.
    """

    def __init__(self, root: Path, format: str, columns: pa.Schema, *, sync: bool = True) -> None:
        self.root, self._format, self._columns, self._sync = root, format, columns, sync
        self._encode = ENCODINGS[format]
        self._staging = root / STAGING
        self._owed: list[str] | None = None  # committed files that are yet to be renamed, after a crash
        self._recovering = threading.Lock()
        self._check_columns()

    def prepare(self) -> list[Path]:
        """Makes its directory; which directories were not there before, outermost first."""
        with reported("write", self._staging):
            return make_directories(self._staging)

    def _check_columns(self) -> None:
        """Refuses columns that could not be written, before there are rows of them."""
        for field in self._columns:
            if not _can_hold(self._format, field.type):
                raise SinkError(
                    f"column '{field.name}' is {field.type}, which {self._format} files cannot hold; "
                    "cast it to string in the query"
                )

    def stage(self, table: pa.Table, number: int) -> str | None:
        """Writes the file of that number into staging."""
        return self.stage_moved(table, [Origin(number, table.num_rows)])

    def stage_moved(self, table: pa.Table, origins: Sequence[Origin]) -> str | None:
        """Writes a file with rows of one or more commits into staging; it is named by their numbers."""
        if table.num_rows == 0:
            return None
        name = file_name(origins, self._format)
        shown = table.select(self._columns.names).cast(self._columns)
        content = self._encode(shown if len(origins) == 1 else with_origins(shown, origins))
        path = self._staging / name
        self._finish_recovery()
        with reported("write", path):
            try:
                if not self._staging.is_dir():
                    make_directories(self._staging)
                write(path, content, sync=self._sync)
            except OSError:
                with suppress(OSError):
                    path.unlink(missing_ok=True)
                raise
        return name

    @property
    def takes_rows_at_large(self) -> bool:
        """Whether Spark's tasks write files of this format as the driver does."""
        return self._format == "parquet"

    def stage_at_large(self, rows: AtLarge, number: int) -> str | None:
        """Has a task write the file of that number into staging."""
        if rows.is_empty:
            return None
        name = file_name([Origin(number, rows.count())], self._format)
        path = self._staging / name
        self._finish_recovery()
        with reported("write", path):
            make_directories(self._staging)
            rows.select(self._columns.names).write_file(path)
        return name

    def renumber(self, name: str, number: int) -> str:
        """Gives a staged file another number; its name then."""
        new = file_name([Origin(number, 0)], self._format)
        with reported("write", self._staging / new):
            os.replace(self._staging / name, self._staging / new)
            if self._sync:
                sync_directory(self._staging)
        return new

    def publish(self, names: Iterable[str]) -> None:
        """Renames staged files to where readers look."""
        for name in names:
            with reported("publish", self.root / name):
                if not self._rename(name) and not (self.root / name).exists():
                    raise SinkError(
                        f"{name} was committed, but is neither in {self._staging} nor in {self.root}; "
                        "leave both to Penstock while it runs, and restore the file from a backup"
                    )
        self._sync_directory()

    def discard(self, names: Iterable[str]) -> None:
        """Deletes staged files."""
        for name in names:
            with reported("delete", self._staging / name):
                (self._staging / name).unlink(missing_ok=True)

    def recover(self, committed: Iterable[str]) -> None:
        """Finishes what a crash left undone. Published files may be gone: readers may take them away.

        If that is not possible now, it is done before anything else is written.
        """
        self._owed = [*committed]
        self._finish_recovery()

    def _finish_recovery(self) -> None:
        with self._recovering:
            if self._owed is None:
                return
            with reported("recover", self.root):
                make_directories(self._staging)
                for name in self._owed:
                    self._rename(name)
                for path in self._staging.iterdir():
                    shutil.rmtree(path) if path.is_dir() else path.unlink()
            self._sync_directory()
            self._owed = None

    def _rename(self, name: str) -> bool:
        try:
            os.replace(self._staging / name, self.root / name)
        except FileNotFoundError:
            return False
        return True

    def _sync_directory(self) -> None:
        if self._sync:
            with reported("write", self.root):
                sync_directory(self.root)
