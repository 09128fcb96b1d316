"""Pages of a query's results behind a position: each row once, in the order in which they were put out.

Whatever moves meanwhile: a member's rows may be in files that many share, in its own directory, or for a
moment in both, and a query that is altered goes on in other directories. So where results are is asked again
after looking, and counts if nothing new has come in between: then nothing is missing before what was seen.
"""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa

from penstock.engines.spark.results.origins import FileName
from penstock.engines.spark.results.places import ResultPlaces, SharedPlace
from penstock.errors import EngineError, PenstockError
from penstock.server.committed.directories import Directory, OwnDirectory, SharedDirectory
from penstock.server.committed.positions import Position
from penstock.server.committed.segments import ResultFile, Segment, in_order, in_reverse
from penstock.server.committed.tables import Tables, read_table

#: Tables that are kept in memory: what is new is asked for by all who follow, and a large file page by page.
MOST_BYTES = 128 << 20
#: How often to look again when files come and go.
_TRIES = 20


@dataclass(frozen=True, slots=True)
class Span:
    """Rows one behind the other of one commit."""

    number: int
    first_row: int
    rows: int


@dataclass(frozen=True, slots=True)
class Page:
    """Rows, where they stand, and behind which position to go on; whether there is more already.

    Of a page that was read from its end backwards, `more` is whether there are rows before it.
    """

    table: pa.Table
    spans: tuple[Span, ...]
    next: Position | None
    more: bool

    @property
    def first(self) -> Position | None:
        """Before which position to go back; None if there are no rows."""
        return Position(self.spans[0].number, self.spans[0].first_row) if self.spans else None

    @property
    def positions(self) -> list[Position]:
        """The position of each row."""
        return [
            Position(span.number, row)
            for span in self.spans
            for row in range(span.first_row, span.first_row + span.rows)
        ]


@dataclass(frozen=True, slots=True)
class _Own:
    directory: OwnDirectory


@dataclass(frozen=True, slots=True)
class _Shared:
    """Members, by their numbers, that are or were the query, in one directory."""

    directory: SharedDirectory
    members: tuple[SharedPlace, ...]


_Place: TypeAlias = _Own | _Shared


@dataclass(frozen=True, slots=True)
class _Look:
    """The files that there are. From the number `before` on some may be missing."""

    places: ResultPlaces
    files: tuple[tuple[_Place, tuple[FileName, ...]], ...]
    before: int | None = None


@dataclass(frozen=True, slots=True)
class Asked:
    """At most so many rows of a query behind a position, or from the first on."""

    query: str
    after: Position | None
    limit: int


#: Says where the results of queries are at the moment at which it is called, or why that cannot be said.
FindAll: TypeAlias = Callable[[Sequence[str]], Mapping[str, ResultPlaces | PenstockError]]
_Listed: TypeAlias = dict[Directory, tuple[FileName, ...]]


class CommittedFiles:
    """The directory of all results, and what is known of its files; one in a process. Any thread reads."""

    def __init__(
        self, out: Path, most_bytes: int = MOST_BYTES, read: Callable[[Path], pa.Table] = read_table
    ) -> None:
        self._out, self._tables = out, Tables(most_bytes, read)
        self._lock = threading.Lock()
        self._directories: dict[str, Directory] = {}

    def results(self, find: Callable[[], ResultPlaces]) -> CommittedResults:
        """The results of a query; `find` says where they are at the moment at which it is called."""
        return CommittedResults(self, find)

    def own(self, name: str) -> OwnDirectory:
        """A query's own directory."""
        with self._lock:
            found = self._directories.setdefault(name, OwnDirectory(self._out / name, self._tables))
        assert isinstance(found, OwnDirectory)
        return found

    def shared(self, name: str) -> SharedDirectory:
        """A directory that many queries share."""
        with self._lock:
            found = self._directories.setdefault(name, SharedDirectory(self._out / name, self._tables))
        assert isinstance(found, SharedDirectory)
        return found

    def pages(self, asked: Sequence[Asked], find: FindAll) -> list[Page | PenstockError]:
        """Pages for many at once: all are told where results are at the same moments, and each directory is
        looked at once for all of them. What went wrong with one is in its place."""
        found: dict[int, Page | PenstockError] = {}
        waiting = {number: _Looking(self) for number in range(len(asked))}
        while waiting:
            places = find([asked[number].query for number in waiting])
            listed: _Listed = {}
            for number, looking in waiting.items():
                one = asked[number]
                where = places[one.query]
                if isinstance(where, PenstockError):
                    found[number] = where
                elif (look := looking.look(where, listed)) is not None:
                    try:
                        found[number] = _page(look, one.after, one.limit)
                    except FileNotFoundError:  # its rows have moved
                        if not looking.begin_again():
                            found[number] = _moving(one.query)
            waiting = {number: looking for number, looking in waiting.items() if number not in found}
        return [found[number] for number in range(len(asked))]

    def forget(self, query: str) -> None:
        """A query that is gone."""
        with self._lock:
            self._directories.pop(query, None)


class CommittedResults:
    """The committed results of one query."""

    def __init__(self, files: CommittedFiles, find: Callable[[], ResultPlaces]) -> None:
        self._files, self._find = files, find

    def page(self, after: Position | None, limit: int) -> Page:
        """At most so many rows behind a position, or from the first on."""
        return self._look(lambda look: _page(look, after, limit))

    def last(self, before: Position | None, limit: int) -> Page:
        """The last rows before a position, or of all; at most so many, in the order of their positions."""
        return self._look(lambda look: _last(look, before, limit))

    def _look(self, read: Callable[[_Look], Page]) -> Page:
        looking = _Looking(self._files)
        while True:
            places = self._find()
            look = looking.look(places, {})
            if look is None:
                continue
            try:
                return read(look)
            except FileNotFoundError:  # its rows have moved
                if not looking.begin_again():
                    raise _moving(places.query) from None


def _moving(query: str) -> EngineError:
    return EngineError(f"the result files of query '{query}' move while they are read; try again")


class _Looking:
    """Looks for all files that matter: of what is seen, nothing is missing that was put out before it.

    A file that is seen is there again, or its rows are, when one looks a second time; and so is all that was
    put out before it, since that could be seen when one looked first.
    """

    def __init__(self, files: CommittedFiles) -> None:
        self._files = files
        self._before: tuple[tuple[FileName, ...], ...] | None = None
        self._looks = self._begun = 0

    def begin_again(self) -> bool:
        """Files that were seen are gone; whether it is worth it to look anew."""
        self._before, self._looks, self._begun = None, 0, self._begun + 1
        return self._begun < _TRIES

    def look(self, places: ResultPlaces, listed: _Listed) -> _Look | None:
        """Looks once more, after it was asked where results are; None if that has to be asked again.

        `listed` has what others have seen since then.
        """
        files = tuple((place, _files_of(place.directory, listed)) for place in self._places(places))
        names = tuple(found for _, found in files)
        before, self._before, self._looks = self._before, names, self._looks + 1
        if before is None:
            return None
        new = _new(before, names)
        if new and self._looks < _TRIES:
            return None
        return _Look(places, files, min((one.first for one in new), default=None))

    def _places(self, places: ResultPlaces) -> list[_Place]:
        """Rows move from shared directories to its own, which is therefore looked at last."""
        members: dict[str, list[SharedPlace]] = {}
        for one in places.shared:
            members.setdefault(one.directory, []).append(one)
        shared = [
            _Shared(self._files.shared(name), tuple(sorted(ones, key=lambda one: one.member)))
            for name, ones in members.items()
        ]
        return [*shared, _Own(self._files.own(places.directory))]


def _files_of(directory: Directory, listed: _Listed) -> tuple[FileName, ...]:
    found = listed.get(directory)
    if found is None:
        found = listed[directory] = directory.files()
    return found


def _new(before: Sequence[tuple[FileName, ...]], names: Sequence[tuple[FileName, ...]]) -> list[FileName]:
    """The files of a second look that were not seen in the first one; both in the same order of places."""
    if len(before) == len(names) and all(one is other for one, other in zip(before, names, strict=True)):
        return []
    known = {name for found in before for name in found}
    return [name for found in names for name in found if name not in known]


def _page(look: _Look, after: Position | None, limit: int) -> Page:
    first = 0 if after is None else after.number
    tables: list[pa.Table] = []
    spans: list[Span] = []
    more, left = look.before is not None, limit
    for segment in in_order(_files(look, first), _segments, first, look.before):
        skip = after.row + 1 if after is not None and after.number == segment.number else 0
        rows = segment.rows - skip
        if rows <= 0:
            continue
        if not left:
            more = True
            break
        taken = min(rows, left)
        tables.append(_as_columns(_rows(segment, skip, taken), look.places.columns))
        spans.append(Span(segment.number, skip, taken))
        left -= taken
        if taken < rows:
            more = True
            break
    last = Position(spans[-1].number, spans[-1].first_row + spans[-1].rows - 1) if spans else after
    match tables:
        case []:
            table = look.places.columns.empty_table()
        case [table]:
            pass
        case _:
            table = pa.concat_tables(tables)
    return Page(table, tuple(spans), last, more)


def _last(look: _Look, before: Position | None, limit: int) -> Page:
    ends = [end for end in (look.before, None if before is None else before.number + 1) if end is not None]
    tables: list[pa.Table] = []
    spans: list[Span] = []
    more, left = False, limit
    for segment in in_reverse(_files(look, 0), _segments, min(ends, default=None)):
        rows = segment.rows
        if before is not None and before.number == segment.number:
            rows = min(rows, before.row)
        if not rows:
            continue
        if not left:
            more = True
            break
        taken = min(rows, left)
        tables.append(_as_columns(_rows(segment, rows - taken, taken), look.places.columns))
        spans.append(Span(segment.number, rows - taken, taken))
        left -= taken
        if taken < rows:
            more = True
            break
    table = pa.concat_tables(reversed(tables)) if tables else look.places.columns.empty_table()
    end = Position(spans[0].number, spans[0].first_row + spans[0].rows - 1) if spans else None
    return Page(table, tuple(reversed(spans)), end, more)


def _files(look: _Look, first: int) -> list[ResultFile[_Place]]:
    """The files with rows from a number on; the query's own first, which do not vanish."""
    found: list[ResultFile[_Place]] = []
    for place, names in reversed(look.files):
        behind = bisect_left(names, first, key=lambda one: one.last)
        least = look.places.first_file if isinstance(place, _Own) else 0
        found += [ResultFile(name, place) for name in names[behind:] if name.first >= least]
    return found


def _segments(file: ResultFile[_Place]) -> list[Segment[_Place]]:
    match file.place:
        case _Own(directory):
            found, start = [], 0
            for origin in directory.origins(file.name):
                found.append(Segment(origin.number, start, origin.rows, file))
                start += origin.rows
            return found
        case _Shared(directory, members):
            rows = sum(directory.count(file.name, one.member) for one in members)
            return [Segment(file.name.first, 0, rows, file)]


def _rows(segment: Segment[_Place], skip: int, rows: int) -> pa.Table:
    """Some rows of a segment, with the query's names for the columns."""
    name = segment.file.name
    match segment.file.place:
        case _Own(directory):
            table = directory.rows(name)
        case _Shared(directory, members):
            table = pa.concat_tables(
                [_named(directory.rows(name, one.member), one.titles) for one in members],
                promote_options="default",
            )
    return table.slice(segment.start + skip, rows)


def _named(rows: pa.Table, titles: Sequence[str]) -> pa.Table:
    return rows.rename_columns([*titles, *rows.column_names[len(titles) :]])


def _as_columns(rows: pa.Table, columns: pa.Schema) -> pa.Table:
    """The same rows with exactly these columns; one that they do not have is NULL."""
    there = {*rows.column_names}
    found = [
        rows[field.name].cast(field.type) if field.name in there else pa.nulls(len(rows), field.type)
        for field in columns
    ]
    return pa.table(found, schema=columns)
