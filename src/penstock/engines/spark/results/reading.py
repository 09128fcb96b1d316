"""Reading results: where they are is found out between two events, and they are read by whoever asks.

So the coordinator waits for no reader. Stored tables are pinned until they are read. Files may move to
another directory meanwhile; then they are looked for again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from penstock.engines.spark.results.sinks.reading import read_files
from penstock.engines.spark.results.tagged_files import TaggedFiles, named
from penstock.engines.spark.steps.rosters import Member
from penstock.engines.spark.storage.records import Entry
from penstock.engines.spark.storage.store import Store
from penstock.errors import EngineError
from penstock.plan.shared.shapes import MEMBER

#: How often files are looked for that have moved.
_TRIES = 20


@dataclass(frozen=True, slots=True)
class OwnFiles:
    """Files of the query alone."""

    files: tuple[Path, ...]
    format: str


@dataclass(frozen=True, slots=True)
class MemberFiles:
    """Files with rows of many members."""

    where: TaggedFiles
    files: tuple[Path, ...]
    member: Member


@dataclass(frozen=True, slots=True)
class KeptRows:
    """The last rows, of the query or of all members, but for some of the first."""

    entries: tuple[Entry, ...]
    skip: int
    member: Member | None = None

    def rows(self, store: Store, columns: pa.Schema) -> pa.Table:
        """The rows."""
        tables = [entry.shown(store.get(entry.ref)) for entry in self.entries]
        if not tables:
            return columns.empty_table()
        rows = pa.concat_tables(tables).slice(self.skip)
        if self.member is not None:
            mine = rows.filter(pc.equal(rows[MEMBER], self.member.number))
            rows = named(mine.drop_columns([MEMBER]), self.member)
        there = {*rows.column_names}  # before it was altered the query may have had other columns
        found = [
            rows[field.name].cast(field.type) if field.name in there else pa.nulls(len(rows), field.type)
            for field in columns
        ]
        return pa.table(found, schema=columns)


Place: TypeAlias = OwnFiles | MemberFiles | KeptRows


@dataclass(frozen=True, slots=True)
class ResultFile:
    """A committed file with results of a query.

    Where it holds those of many, the query's are the ones with its `number` in the column `__m`, and
    `columns` is what the query calls the first columns.
    """

    path: Path
    number: int | None = None
    columns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reading:
    """Where all results of a query are at one moment."""

    columns: pa.Schema
    parts: tuple[Place, ...]

    def read(self, store: Store) -> pa.Table:
        """All of them, oldest first."""
        try:
            tables = [self._rows(part, store) for part in self.parts]
            return pa.concat_tables([self.columns.empty_table(), *tables])
        finally:
            self._release(store)

    def _release(self, store: Store) -> None:
        kept = [part for part in self.parts if isinstance(part, KeptRows)]
        store.unpin(entry.ref.name for part in kept for entry in part.entries)

    def files(self, store: Store) -> tuple[ResultFile, ...]:
        """Those of them that are files, oldest first."""
        self._release(store)
        found: list[ResultFile] = []
        for place in self.parts:
            match place:
                case OwnFiles(files):
                    found += [ResultFile(path) for path in files]
                case MemberFiles(_, files, member):
                    found += [ResultFile(path, member.number, member.titles) for path in files]
        return tuple(found)

    def _rows(self, part: Place, store: Store) -> pa.Table:
        match part:
            case OwnFiles(files, format_):
                return read_files(files, format_, self.columns)
            case MemberFiles(where, files, member):
                return where.read(files, member).cast(self.columns)
            case KeptRows():
                return part.rows(store, self.columns)


def read(query: str, find: Callable[[], Reading], store: Store) -> pa.Table:
    """A query's results, from where `find` says they are."""
    for _ in range(_TRIES):
        try:
            return find().read(store)
        except FileNotFoundError:
            continue
    raise EngineError(f"the result files of query '{query}' move while they are read; try again")
