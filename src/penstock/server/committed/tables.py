"""Tables that many ask for: each is read once, and the last used are kept, up to so many bytes."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq


def read_table(path: Path) -> pa.Table:
    """All rows of a Parquet file."""
    with pq.ParquetFile(path) as file:
        return file.read()


class Tables:
    """Tables by path; any thread may ask. A file never changes, so what was read of it stays right."""

    def __init__(self, most_bytes: int, read: Callable[[Path], pa.Table] = read_table) -> None:
        self._most_bytes, self._read = most_bytes, read
        self._lock = threading.Lock()
        self._tables: OrderedDict[Path, Future[pa.Table]] = OrderedDict()
        self._sizes: dict[Path, int] = {}

    def get(self, path: Path) -> pa.Table:
        """The table of a file; FileNotFoundError if it is gone and nobody has asked for it lately."""
        with self._lock:
            known = self._tables.get(path)
            found = self._tables.setdefault(path, Future()) if known is None else known
            self._tables.move_to_end(path)
        if known is None:
            self._load(path, found)
        return found.result()

    def _load(self, path: Path, future: Future[pa.Table]) -> None:
        try:
            table = self._read(path)
        except BaseException as error:
            with self._lock:
                del self._tables[path]
            future.set_exception(error)
            raise
        future.set_result(table)
        with self._lock:
            self._sizes[path] = table.nbytes
            self._trim()

    def _trim(self) -> None:
        """Lets go of what nobody has asked for for longest; what is being read has no size yet, and stays."""
        total = sum(self._sizes.values())
        for path in list(self._tables):
            if total <= self._most_bytes:
                return
            if path in self._sizes:
                total -= self._sizes.pop(path)
                del self._tables[path]
