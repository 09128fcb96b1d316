"""Reading results: where they are is found out between two events, and they are read by whoever asks.

So the coordinator waits for no reader. Stored tables are pinned until they are read. Files may move to
another directory meanwhile; then they are looked for again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from penstock.engines.spark.results.origins import FileName, origins_of, parse_name
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


@dataclass(frozen=True, slots=True)
class Interleaved:
    """Single files with rows of commits that are between those of others."""

    places: tuple[OwnFiles | MemberFiles, ...]


Place: TypeAlias = OwnFiles | MemberFiles | KeptRows


def in_order(parts: Sequence[Place]) -> list[Place | Interleaved]:
    """The same places taken apart so that their rows, one after the other, are in the order of commits."""
    kept: list[Place | Interleaved] = [part for part in parts if isinstance(part, KeptRows)]
    files: list[tuple[FileName, OwnFiles | MemberFiles]] = []
    for part in parts:
        if not isinstance(part, KeptRows):
            for path in part.files:
                name = parse_name(path.name) or FileName(0, 0, path.name)
                files.append((name, replace(part, files=(path,))))
    files.sort(key=lambda one: one[0])
    groups: list[list[OwnFiles | MemberFiles]] = []
    last = -1
    for name, place in files:
        if groups and name.first <= last:
            groups[-1].append(place)
        else:
            groups.append([place])
        last = max(last, name.last)
    found: list[Place | Interleaved] = []
    for is_run, several in groupby(groups, lambda group: len(group) == 1):
        if not is_run:
            found += [Interleaved(tuple(group)) for group in several]
            continue
        runs: list[list[OwnFiles | MemberFiles]] = []  # one behind the other, of one place
        for (place,) in several:
            if runs and _same(runs[-1][0], place):
                runs[-1].append(place)
            else:
                runs.append([place])
        found += [replace(run[0], files=tuple(path for one in run for path in one.files)) for run in runs]
    return [*kept, *found]


def _same(one: OwnFiles | MemberFiles, other: OwnFiles | MemberFiles) -> bool:
    """Whether files are of one directory and one member."""
    if isinstance(one, MemberFiles) and isinstance(other, MemberFiles):
        return one.where is other.where and one.member is other.member
    return isinstance(one, OwnFiles) and isinstance(other, OwnFiles)


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
            tables = [self._rows(part, store) for part in in_order(self.parts)]
            return pa.concat_tables([self.columns.empty_table(), *tables])
        finally:
            self._release(store)

    def _release(self, store: Store) -> None:
        kept = [part for part in self.parts if isinstance(part, KeptRows)]
        store.unpin(entry.ref.name for part in kept for entry in part.entries)

    def files(self, store: Store) -> tuple[ResultFile, ...]:
        """Those of them that are files, oldest first; moved rows may be between those of other files."""
        self._release(store)
        found: list[ResultFile] = []
        for part in in_order(self.parts):
            for place in part.places if isinstance(part, Interleaved) else (part,):
                match place:
                    case OwnFiles(files):
                        found += [ResultFile(path) for path in files]
                    case MemberFiles(_, files, member):
                        found += [ResultFile(path, member.number, member.titles) for path in files]
        return tuple(found)

    def _rows(self, part: Place | Interleaved, store: Store) -> pa.Table:
        match part:
            case OwnFiles(files, format_):
                return read_files(files, format_, self.columns)
            case MemberFiles(where, files, member):
                return where.read(files, member).cast(self.columns)
            case KeptRows():
                return part.rows(store, self.columns)
            case Interleaved(places):
                pieces = [piece for place in places for piece in self._pieces(place, store)]
                return pa.concat_tables([rows for _, rows in sorted(pieces, key=lambda one: one[0])])

    def _pieces(self, place: OwnFiles | MemberFiles, store: Store) -> list[tuple[int, pa.Table]]:
        """The rows of one file by the commits that they are from."""
        (path,), rows = place.files, self._rows(place, store)
        name, metadata = parse_name(path.name), None
        if name is None:
            return [(0, rows)]
        if isinstance(place, OwnFiles) and place.format == "parquet":
            metadata = pq.read_schema(path).metadata
        found, start = [], 0
        for origin in origins_of(name, metadata, rows.num_rows):
            found.append((origin.number, rows.slice(start, origin.rows)))
            start += origin.rows
        return found


def read(query: str, find: Callable[[], Reading], store: Store) -> pa.Table:
    """A query's results, from where `find` says they are."""
    for _ in range(_TRIES):
        try:
            return find().read(store)
        except FileNotFoundError:
            continue
    raise EngineError(f"the result files of query '{query}' move while they are read; try again")
