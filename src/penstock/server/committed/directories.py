"""Directories of result files: which files there are, and which rows of which commits each of them has.

What a file holds is found out once: files never change, they only come and go.
"""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from penstock.engines.spark.results.origins import FileName, Origin, origins_of, parse_name
from penstock.plan.shared.shapes import MEMBER
from penstock.server.committed.tables import Tables

#: A listing counts on as long as the directory is not newer than that; but clocks of file systems are coarse,
#: so not one that was made within so many seconds of the last change, and none for longer than the second.
_COARSE_S, _LISTED_S = 0.05, 1.0


@dataclass(frozen=True, slots=True)
class _Listing:
    files: tuple[FileName, ...]
    modified_ns: int
    at_s: float


class Directory:
    """The files of a directory. Any thread may ask."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._listing: _Listing | None = None

    def files(self) -> tuple[FileName, ...]:
        """All that can be seen, by their last commit; the very same object if nothing has changed."""
        try:
            modified_ns, now_s = self.path.stat().st_mtime_ns, time.time()
            known = self._listing
            if (
                known is not None
                and known.modified_ns == modified_ns
                and modified_ns / 1e9 + _COARSE_S < known.at_s <= now_s < known.at_s + _LISTED_S
            ):
                return known.files
            names = os.listdir(self.path)
        except (FileNotFoundError, NotADirectoryError):
            return ()
        found = [parsed for name in names if name.endswith(".parquet") and (parsed := parse_name(name))]
        files = tuple(sorted(found, key=lambda one: (one.last, one.first)))
        if known is not None and known.files == files:
            files = known.files
        else:
            self._keep_only({one.name for one in files})
        self._listing = _Listing(files, modified_ns, now_s)
        return files

    def _keep_only(self, names: set[str]) -> None:
        """Forgets what was known of other files."""


class OwnDirectory(Directory):
    """Files with rows of one query."""

    def __init__(self, path: Path, tables: Tables) -> None:
        super().__init__(path)
        self._tables = tables
        self._origins: dict[str, tuple[Origin, ...]] = {}

    def origins(self, name: FileName) -> tuple[Origin, ...]:
        """From which commits the rows of a file are, in their order; reads the file's footer once."""
        found = self._origins.get(name.name)
        if found is None:
            with pq.ParquetFile(self.path / name.name) as file:
                metadata, rows = file.schema_arrow.metadata, file.metadata.num_rows
            found = self._origins[name.name] = origins_of(name, metadata, rows)
        return found

    def rows(self, name: FileName) -> pa.Table:
        """All rows of a file."""
        return self._tables.get(self.path / name.name)

    def _keep_only(self, names: set[str]) -> None:
        self._origins = {name: one for name, one in list(self._origins.items()) if name in names}


@dataclass(frozen=True, slots=True)
class _Runs:
    """Whose rows a file has, in the order of members' numbers, and from where to where each one's are."""

    members: npt.NDArray[np.int64]
    bounds: npt.NDArray[np.int64]

    def of(self, member: int) -> tuple[int, int]:
        """Where a member's rows start, and how many they are."""
        place = int(np.searchsorted(self.members, member))
        if place == len(self.members) or self.members[place] != member:
            return 0, 0
        return int(self.bounds[place]), int(self.bounds[place + 1] - self.bounds[place])


class SharedDirectory(Directory):
    """Files with rows of many queries, sorted by the numbers of these. Each is read once for all of them."""

    def __init__(self, path: Path, tables: Tables) -> None:
        super().__init__(path)
        self._tables = tables
        self._runs: dict[str, _Runs] = {}
        self._lock = threading.Lock()

    def count(self, name: FileName, member: int) -> int:
        """How many rows of a member are in a file."""
        return self._runs_of(name).of(member)[1]

    def rows(self, name: FileName, member: int) -> pa.Table:
        """A member's rows of a file, with the columns as they are called there."""
        start, rows = self._runs_of(name).of(member)
        return self._tables.get(self.path / name.name).slice(start, rows).drop_columns([MEMBER])

    def _runs_of(self, name: FileName) -> _Runs:
        found = self._runs.get(name.name)
        if found is None:
            numbers = np.asarray(self._tables.get(self.path / name.name)[MEMBER]).astype(np.int64)
            starts = np.flatnonzero(np.concatenate(([True], numbers[1:] != numbers[:-1])))
            found = _Runs(numbers[starts], np.append(starts, len(numbers)))
            with self._lock:
                self._runs[name.name] = found
        return found

    def _keep_only(self, names: set[str]) -> None:
        with self._lock:
            self._runs = {name: one for name, one in self._runs.items() if name in names}
