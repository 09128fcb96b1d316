"""Files that are there already, in the order of their names: one, a pattern, or a directory of them."""

from __future__ import annotations

import os
from glob import glob, has_magic
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock.engines.spark.ingest.sources.base import BadRow
from penstock.engines.spark.ingest.sources.chunks import Reader, WrongColumnsError
from penstock.engines.spark.ingest.sources.csv_lines import SPACES, CsvLines
from penstock.engines.spark.ingest.sources.directory import DirectoryWatch, passed_over
from penstock.engines.spark.ingest.sources.fit import EPOCHS, Fitter
from penstock.engines.spark.ingest.sources.json_lines import JsonLines
from penstock.engines.spark.ingest.sources.lines import LineReader
from penstock.engines.spark.ingest.sources.options import Options
from penstock.engines.spark.ingest.sources.parquet_rows import ParquetReader
from penstock.engines.spark.ingest.sources.types import shown_type
from penstock.engines.spark.ingest.sources.walk import UNREADABLE, Walk

#: The formats of files.
FORMATS = ("csv", "json", "parquet")


class Files:
    """The rows of all files; a supply for `Replay`. Which files there are is looked up at each start."""

    def __init__(self, options: Options, schema: pa.Schema, reader: Reader) -> None:
        self._options = options
        self._path = options.path("path", "a file, a directory or a pattern like 'data/*.json'")
        self._recursive = options.flag("recursive", False)
        self._reader, self._walk = reader, Walk(reader, schema)
        self._passed_over: tuple[str, ...] = ()

    def open(self, place: Any | None, start_us: int) -> None:  # noqa: ARG002
        """Finds the files; going on, those from the one that was being read."""
        files = list_files(self._options, self._path, self._recursive)
        if self._path.is_dir():
            watch = DirectoryWatch(self._path, self._recursive)
            watch.look(0, lambda _: True)
            self._passed_over = passed_over(watch.passed_over)
        if place is not None:
            name, *inside = place
            names = [self._name(file) for file in files]
            if name is None:
                files, inside = [], [0, 0, 0]
            elif name in names:
                files = files[names.index(name) :]
            else:
                raise self._options.error(
                    "path", f"{name} is gone, which was being read; put it back to go on, or drop the stream"
                )
            self._walk.add(files, inside)
        else:
            self._walk.add(files)
            self._check_first(files[0])

    def _check_first(self, file: Path) -> None:
        """All files may be of another kind than declared: that is said at once, not file by file."""
        try:
            self._reader.read(file, (0, 0))
        except WrongColumnsError as problem:
            raise self._options.error("path", f"{file.name} cannot be read: {problem}") from None
        except UNREADABLE:
            return  # By itself: the walk says so, and goes on with the next one.
        finally:
            self._reader.close()

    def peek(self) -> pa.Table | None:
        """Rows of the file being read."""
        return self._walk.peek()

    def take(self, rows: int) -> tuple[BadRow, ...]:
        """Moves on."""
        return self._walk.take(rows)

    @property
    def place(self) -> list[Any]:
        """The file, relative to the SQL's directory, and where in it."""
        return [None if self._walk.file is None else self._name(self._walk.file), *self._walk.inside]

    @property
    def problems(self) -> tuple[str, ...]:
        """Files that could not be read, and subdirectories that are passed over."""
        return self._walk.problems + self._passed_over

    def time_us(self, column: str, since_us: int) -> int | None:  # noqa: ARG002
        """Files have no clock."""
        return None

    def close(self) -> None:
        """Closes the file."""
        self._walk.close()

    def _name(self, file: Path) -> str:
        return os.path.relpath(file, self._options.base_dir)


def list_files(options: Options, path: Path, recursive: bool = False) -> list[Path]:
    """What `path` stands for, by name; what begins with `.` or `_` is left out, as in Spark."""
    if path.is_file():
        return [path]
    if path.is_dir():
        below = DirectoryWatch(path, recursive)
        found = sorted(path / file.path for file in below.look(0, lambda _: False))
        if not found and below.passed_over:
            raise options.error(
                "path", f"there is no file in {path}; recursive 'true' reads its subdirectories, too"
            )
    elif has_magic(str(path)):
        found = sorted(Path(name) for name in glob(str(path)) if Path(name).is_file())
    else:
        raise options.error("path", f"there is no {path}; a relative path begins at {options.base_dir}")
    if not found:
        raise options.error("path", f"there is no file in {path}")
    return found


def make_reader(format_: str, options: Options, schema: pa.Schema) -> Reader:
    """The reader of a format, as the options say."""
    epoch: str | None = options.one_of("timestamps", "text", ("text", *EPOCHS))
    epoch = None if epoch == "text" else epoch
    if format_ == "parquet":
        return ParquetReader(Fitter(schema, epoch))
    if format_ == "json":
        _refuse_nested_maps(options, schema)
        return LineReader(JsonLines(schema, epoch), Fitter(schema, epoch, base64_binary=True))
    for field in schema:
        if pa.types.is_nested(field.type):
            raise options.error(
                "path",
                f"column '{field.name}' is {shown_type(field.type)}; CSV has no such: use json or parquet",
            )
    delimiter = options.text("delimiter", ",")
    delimiter = {"\\t": "\t", "tab": "\t"}.get(delimiter.lower(), delimiter)
    if len(delimiter) != 1 and delimiter != SPACES:
        raise options.error("delimiter", f"'{delimiter}' is not one character, 'tab' or '{SPACES}'")
    nulls = tuple(text.strip() for text in options.text("nulls", "").split(",") if text.strip())
    return LineReader(CsvLines(schema, options.flag("header", True), delimiter, nulls), Fitter(schema, epoch))


def _refuse_nested_maps(options: Options, schema: pa.Schema) -> None:
    for field in schema:
        text = shown_type(field.type)
        if "map<" in text[1:] or (
            pa.types.is_map(field.type) and not pa.types.is_string(field.type.key_type)
        ):
            raise options.error(
                "path",
                f"column '{field.name}' is {text}; from json only map<string,…> by itself: use parquet",
            )
