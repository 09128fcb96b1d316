"""Stored relations that may change: each version is kept as long as rows that came under it are on their way.

The epoch counts the changes of all relations. Ingest notes it with each batch, so that a row meets the
version that was there when it came in, whenever it is processed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from penstock.engines.spark.failing import FailingOnes, reason_of
from penstock.engines.spark.ingest.sources.tables import fingerprint, read_table
from penstock.engines.spark.operators.base import END
from penstock.engines.spark.operators.stateless import FROM, TO
from penstock.engines.spark.storage.store import Ref, Store
from penstock.errors import PenstockError, SourceError
from penstock.sql.binding.catalog import Table

#: Seconds between two looks at the files of a relation.
LOOK_S = 0.5


@dataclass(frozen=True, slots=True)
class TableRead:
    """A relation as it was read, and what its files looked like then."""

    table: Table
    seen: Any
    ref: Ref


class Relations:
    """All stored relations that queries join with."""

    def __init__(self, store: Store, base_dir: Path, complain: Callable[[str], None]) -> None:
        self._store, self._base, self._complain = store, base_dir, complain
        self._lock = threading.Lock()
        self._tables: dict[str, Table] = {}
        self._prints: dict[str, Any] = {}
        self._versions: dict[str, list[tuple[int, Ref]]] = {}  # from which epoch on
        self._looked_us = 0
        self.epoch = 0
        #: Tables that cannot be read now: the versions that are there stay.
        self.failing = FailingOnes()

    def has(self, table: Table) -> bool:
        """Whether it is joined already."""
        return self._tables.get(table.name) is table

    def read(self, table: Table, undo: ExitStack) -> TableRead:
        """A relation as it is now, for `add`; any thread may ask. SourceError says why it cannot be read."""
        seen = self.probe(table)
        with _told_of(table):
            rows = read_table(table, self._base)
        ref = self._store.put(rows, f"table-{table.name}")
        undo.callback(self._store.delete, [ref.name])
        return TableRead(table, seen, ref)

    def probe(self, table: Table) -> Any:
        """What its files look like now; SourceError if there are none."""
        with _told_of(table):
            return fingerprint(table, self._base)

    def add(self, read: TableRead) -> list[tuple[str, int, Ref]]:
        """A relation that is joined from now on, as it was read; its first version, to be recorded."""
        name = read.table.name
        with self._lock:
            self._tables[name], self._prints[name] = read.table, read.seen
            self._versions[name] = [(0, read.ref)]
        return [(name, 0, read.ref)]

    def resume(self, table: Table) -> None:
        """A relation whose versions are known from before a restart is joined again, readable now or not."""
        with self._lock:
            self._tables[table.name] = table

    def knows(self, name: str, ref: Ref) -> bool:
        """Whether a version counts: not if its relation was dropped after it was read."""
        with self._lock:
            return any(known == ref for _, known in self._versions.get(name, ()))

    def remove(self, name: str) -> list[Ref]:
        """A relation that is joined no more; its versions, which nothing refers to then."""
        with self._lock:
            self._tables.pop(name, None)
            self._prints.pop(name, None)
            self.failing.succeeded(name)
            return [ref for _, ref in self._versions.pop(name, [])]

    def restore(self, name: str, versions: dict[int, Ref], epoch: int) -> None:
        """What was known before a restart."""
        self._versions[name] = sorted(versions.items())
        self.epoch = max(self.epoch, epoch)

    def look(self, now_us: int) -> list[tuple[str, int, Ref]]:
        """Reads again what has changed; new versions, to be recorded."""
        if now_us - self._looked_us < LOOK_S * 1_000_000 or not self._tables:
            return []
        self._looked_us = now_us
        found = []
        with self._lock:
            tables = list(self._tables.values())
        for table in tables:
            if self.failing.may_try(table.name, now_us / 1e6):
                found += self._look_at(table, now_us)
        return found

    def _look_at(self, table: Table, now_us: int) -> list[tuple[str, int, Ref]]:
        try:
            changed = fingerprint(table, self._base) != self._prints.get(table.name)
            found = self._read(table) if changed else []
        except Exception as error:  # half-written, or gone: the version that is there stays
            with self._lock:
                if self._tables.get(table.name) is not table:
                    return []
                failing = self.failing.failed(table.name, reason_of(error), now_us / 1e6)
            if failing.tries == 1:
                self._complain(f"table '{table.name}' stays as it was: {failing.reason}")
            return []
        with self._lock:
            self.failing.succeeded(table.name)
        return found

    def _read(self, table: Table) -> list[tuple[str, int, Ref]]:
        """The version that is there now, unless it is the one that is known. Nobody waits meanwhile."""
        seen = fingerprint(table, self._base)
        rows = read_table(table, self._base)
        with self._lock:
            last = self._versions[table.name][-1][1]
        if rows.equals(self._store.get(last)):
            self._prints[table.name] = seen
            return []
        ref = self._store.put(rows, f"table-{table.name}")
        with self._lock:
            if self._tables.get(table.name) is not table:  # it was dropped meanwhile
                self._store.delete([ref.name])
                return []
            self.epoch += 1
            self._versions[table.name].append((self.epoch, ref))
            self._prints[table.name] = seen
        return [(table.name, self.epoch, ref)]

    def between(self, name: str, first: int, last: int) -> pa.Table:
        """The versions that rows of these epochs may meet, with the epochs for which each counts."""
        with self._lock:
            versions = list(self._versions[name])
        versions[0] = 0, versions[0][1]  # whatever is older meets the oldest that there is
        bounds = [*(start for start, _ in versions[1:]), END]
        parts = []
        for (start, ref), stop in zip(versions, bounds, strict=True):
            if start <= last and stop > first:
                table = self._store.get(ref)
                for column, value in ((FROM, start), (TO, stop)):
                    table = table.append_column(
                        column, pa.repeat(pa.scalar(value, pa.int64()), table.num_rows)
                    )
                parts.append(table)
        return pa.concat_tables(parts)

    def recorded(self) -> dict[str, pa.Table]:
        """All versions of all relations."""
        return {name: self.between(name, 0, END) for name in self._tables}

    def forget(self, before: int) -> list[tuple[str, int, list[Ref]]]:
        """Drops versions that no row of this epoch or a later one meets: name, first epoch kept, tables."""
        dropped = []
        with self._lock:
            for name, versions in self._versions.items():
                keep = max((n for n, (start, _) in enumerate(versions) if start <= before), default=0)
                if keep:
                    dropped.append((name, versions[keep][0], [ref for _, ref in versions[:keep]]))
                    del versions[:keep]
        return dropped

    def refs(self) -> list[Ref]:
        """All tables that are kept."""
        return [ref for versions in self._versions.values() for _, ref in versions]


@contextmanager
def _told_of(table: Table) -> Iterator[None]:
    """Whatever is raised, as SourceError."""
    try:
        yield
    except PenstockError:
        raise
    except Exception as error:
        raise SourceError(f"table '{table.name}': {reason_of(error)}") from error
