"""The store: tables as immutable Parquet files, with a memory of limited size in front of them.

Everything that waits is in here: ingested batches, queues, operators' state. A table is written once, before
it counts, and read many times; memory holds the tables used last, as long as they fit the limit. So a crash
finds everything on disk, and a backlog costs disk, not the process.

A table that the driver writes is one file, one that Spark's tasks write a directory with a file of each task.
A Parquet file of somebody else can be taken in as it is (`whole_files`).
"""

from __future__ import annotations

import os
import shutil
import threading
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from penstock.engines.spark.storage.whole_files import Stamps, stamped, stamps_of, take_in

#: Bytes of tables kept in memory unless told otherwise.
MEMORY_BYTES = 512 << 20
#: What a column of a table takes in memory beside its values, for each of its chunks: a table of 20 rows and
#: 7 columns has 1 KB of values and takes 8.
_CHUNK_BYTES = 1024
#: Readers take a row group at a time.
_GROUP_BYTES = 32 << 20


@dataclass(frozen=True, slots=True)
class Ref:
    """A stored table: its file's name, and its size in memory."""

    name: str
    rows: int
    bytes: int


class Store:
    """A directory of tables. Several threads may use it at once."""

    def __init__(self, root: Path, memory_bytes: int = MEMORY_BYTES) -> None:
        self._root = root
        self._limit = memory_bytes
        self._lock = threading.Lock()
        self._held: OrderedDict[str, pa.Table] = OrderedDict()
        self._held_bytes = 0
        self._serial = 0
        self._pins: Counter[str] = Counter()  # tables that somebody reads, and how many do
        self._doomed: set[str] = set()  # of those, the ones that are to be deleted
        self._threads = threading.local()  # the names of the tables that a thread notes
        root.mkdir(parents=True, exist_ok=True)

    def new_name(self, kind: str) -> str:
        """A name for a table that is about to be written; `kind` begins it, for people who look."""
        with self._lock:
            self._serial += 1
            name = f"{kind}-{self._serial}.parquet"
        for noted in getattr(self._threads, "noting", ()):
            noted.append(name)  # before it is written: half a file is to be deleted, too
        return name

    def put(self, table: pa.Table, kind: str) -> Ref:
        """Writes a table."""
        name = self.new_name(kind)
        write(table, self._root / name, sync=True)
        ref = Ref(name, table.num_rows, table.nbytes)
        self._hold(ref, table)
        return ref

    @contextmanager
    def noting(self) -> Iterator[list[str]]:
        """The names of all tables that this thread writes meanwhile, should nothing come of them."""
        before = getattr(self._threads, "noting", ())
        noted: list[str] = []
        self._threads.noting = (*before, noted)
        try:
            yield noted
        finally:
            self._threads.noting = before

    def get(self, ref: Ref) -> pa.Table:
        """Reads a table, from memory if it is still there."""
        with self._lock:
            table = self._held.get(ref.name)
            if table is not None:
                self._held.move_to_end(ref.name)
                return table
        path = self._root / ref.name
        table = (
            _in_folder(path) if path.is_dir() else pq.read_table(path, memory_map=False, use_threads=False)
        )
        self._hold(ref, table)
        return table

    def columns(self, ref: Ref) -> list[str]:
        """The columns of a table; its rows are not read for that."""
        with self._lock:
            table = self._held.get(ref.name)
        return list(table.column_names if table is not None else self.schema(ref).names)

    def put_file(self, file: Path, kind: str, stamps: Stamps) -> Ref:
        """Takes in a Parquet file of somebody else as a logged table."""
        name = self.new_name(kind)
        take_in(file, self._root / name, stamps)
        footer = pq.read_metadata(self.files(Ref(name, 0, 0))[0])
        groups = map(footer.row_group, range(footer.num_row_groups))
        return Ref(name, footer.num_rows, sum(group.total_byte_size for group in groups))

    def stamps(self, ref: Ref) -> Stamps | None:
        """What all rows of a table have alike, if it is a file of somebody else."""
        return stamps_of(self._root / ref.name)

    def schema(self, ref: Ref) -> pa.Schema:
        """The columns of a table with their types, as its file has them."""
        return pq.read_schema(self.files(ref)[0])

    def files(self, ref: Ref) -> list[Path]:
        """The files of a table, in the order of its rows."""
        path = self._root / ref.name
        return files_of_tasks(path) if path.is_dir() else [path]

    def path(self, ref: Ref) -> Path:
        """Where a table's file is."""
        return self._root / ref.name

    def delete(self, names: Iterable[str]) -> None:
        """Deletes tables that nothing refers to."""
        for name in names:
            with self._lock:
                if self._pins[name]:
                    self._doomed.add(name)
                    continue
            self.forget([name])
            _remove(self._root / name)

    def forget(self, names: Iterable[str]) -> None:
        """Has tables no more in memory, which are hardly read again."""
        with self._lock:
            for name in names:
                table = self._held.pop(name, None)
                if table is not None:
                    self._held_bytes -= in_memory(table)

    def pin(self, names: Iterable[str]) -> None:
        """Tables that somebody reads: if they are deleted meanwhile, they go when everybody is through."""
        with self._lock:
            self._pins.update(names)

    def unpin(self, names: Iterable[str]) -> None:
        """Somebody is through with them."""
        names = list(names)
        with self._lock:
            self._pins.subtract(names)
            free = {name for name in names if self._pins[name] <= 0}
            for name in free:
                del self._pins[name]
            doomed = free & self._doomed
            self._doomed -= doomed
        self.delete(doomed)

    def keep_only(self, names: Iterable[str]) -> None:
        """On start: deletes what no commit refers to, and numbers on after what is there."""
        kept = set(names)
        for path in self._root.iterdir():
            if path.name not in kept:
                _remove(path)
        numbers = [int(name.rpartition("-")[2].partition(".")[0]) for name in kept]
        self._serial = max(numbers, default=0)

    @property
    def held_bytes(self) -> int:
        """Bytes of tables in memory."""
        return self._held_bytes

    def _hold(self, ref: Ref, table: pa.Table) -> None:
        with self._lock:
            size = in_memory(table)
            if ref.name in self._held or size > self._limit:
                return
            while self._held and self._held_bytes + size > self._limit:
                _, old = self._held.popitem(last=False)
                self._held_bytes -= in_memory(old)
            self._held[ref.name] = table
            self._held_bytes += size


def files_of_tasks(path: Path) -> list[Path]:
    """The files that tasks wrote, by the number of the task."""
    return sorted(path.glob("part-*"))


def _in_folder(path: Path) -> pa.Table:
    """A table that tasks wrote, or a whole file of somebody else."""
    stamps = stamps_of(path)
    if stamps is not None:
        return stamped(files_of_tasks(path)[0], stamps)
    return pa.concat_tables([_read(one) for one in files_of_tasks(path)])


def _read(path: Path) -> pa.Table:
    return pq.read_table(path, memory_map=False, use_threads=False)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def in_memory(table: pa.Table) -> int:
    """The bytes that a table takes while it is held."""
    return int(table.nbytes + _CHUNK_BYTES * sum(column.num_chunks for column in table.columns))


def write(table: pa.Table, path: Path, *, sync: bool = False) -> None:
    """Uncompressed and without statistics, in one row group unless that is large: what is quickest."""
    groups = 1 + table.nbytes // _GROUP_BYTES
    with path.open("wb") as file:
        pq.write_table(
            table,
            file,
            compression="none",
            use_dictionary=False,
            write_statistics=False,
            row_group_size=max(1, table.num_rows // groups),
        )
        if sync:  # before a commit that names it
            file.flush()
            os.fsync(file.fileno())
