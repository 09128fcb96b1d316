"""Tables that are Parquet files of somebody else, taken into the store as they are, without being parsed.

Such a table is a directory with a copy of the file, and a note of what ingest decided about all of its rows
alike: which column is their time, and when they came. None of them is late, or they would have been stamped
one by one.
"""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

#: What a logged table has beside its stream's columns.
TIME, ARRIVED, LATE = "__time", "__arrived", "__late"
#: Spark passes over names that begin so.
_NOTE = "_stamps.json"


@dataclass(frozen=True, slots=True)
class Stamps:
    """What all rows of a whole file have alike: their columns, which of them is the time, when they came."""

    columns: tuple[str, ...]
    time: str | None
    arrived_us: int


def take_in(file: Path, folder: Path, stamps: Stamps) -> None:
    """Copies a file into a new directory, with its stamps; both are on disk then."""
    folder.mkdir()
    copy = folder / f"part-{folder.name}"  # a step at large tells files apart by their names
    shutil.copyfile(file, copy)
    note = folder / _NOTE
    note.write_text(json.dumps(asdict(stamps)), "utf-8")
    for path in (copy, note, folder):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def stamps_of(folder: Path) -> Stamps | None:
    """The stamps of a directory that is a whole file."""
    note = folder / _NOTE
    if not note.exists():
        return None
    said = json.loads(note.read_text("utf-8"))
    return Stamps(tuple(said["columns"]), said["time"], said["arrived_us"])


def stamped(path: Path, stamps: Stamps) -> pa.Table:
    """The rows of a whole file, as a logged table has them."""
    table = pq.read_table(path, columns=list(stamps.columns), memory_map=False, use_threads=False)
    table = table.replace_schema_metadata(None)
    rows, nothing = table.num_rows, pa.nulls(table.num_rows, pa.int64())
    times = nothing if stamps.time is None else table[stamps.time].cast(pa.int64())
    table = table.append_column(TIME, times)
    table = table.append_column(ARRIVED, pa.repeat(pa.scalar(stamps.arrived_us, pa.int64()), rows))
    return table.append_column(LATE, nothing)
