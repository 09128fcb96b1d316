"""Results of shared queries, on their way to the members.

A step's result is one file for all members, sorted by their numbers, so that who reads one member's rows
passes over most of the others'. A file for each member and step would cost more than the step. Each member's
own directory is filled when many files have come together, and when the engine pauses or closes: rows move
there in one commit (`distributing`).

    out/
      .shared/shape-0a1b2c3d/part-000000000017.parquet    rows of all members
      hot_rooms/part-000000000017-000000000042.parquet    rows of one, moved from 17 to 42

Rows keep the numbers of the commits that put them out (`origins`), by which whoever reads them has found them
before.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from penstock.engines.spark.results.delivery import StagedFile, discard
from penstock.engines.spark.results.origins import Origin, parse_name
from penstock.engines.spark.results.sinks.files import FileSink
from penstock.engines.spark.steps.rosters import Member
from penstock.plan.shared.shapes import MEMBER

#: Rows that are read or passed over together.
_GROUP_ROWS = 8192
#: Files of members that are written and renamed at once: one write of the disk's journal is then for many.
AT_ONCE = 8
#: The greatest number that fits two bytes.
_SHORT = np.iinfo(np.uint16).max
#: A query's own directory, for columns.
Sink = Callable[[str, pa.Schema], FileSink]
#: The directory of files that hold rows of many queries.
DIRECTORY = ".shared"


def sorted_by_member(rows: pa.Table, live: Sequence[int]) -> pa.Table:
    """The rows of members that are still there, each member's together and in their order."""
    numbers = np.asarray(rows[MEMBER])
    if len(numbers) and numbers.min() >= 0 and numbers.max() <= _SHORT:
        numbers = numbers.astype(np.uint16)  # which numpy sorts by counting, seven times as fast
    order = np.argsort(numbers, kind="stable")
    kept = order[np.isin(numbers[order], live)]
    return rows.combine_chunks().take(pa.array(kept))


def runs_of_members(rows: pa.Table) -> tuple[list[int], list[int]]:
    """Whose rows these are and where each one's start, of rows that are sorted by member."""
    numbers = np.asarray(rows[MEMBER])
    if not len(numbers):
        return [], []
    starts = np.flatnonzero(np.concatenate(([True], numbers[1:] != numbers[:-1])))
    return numbers[starts].tolist(), starts.tolist()


def by_member(rows: pa.Table) -> Iterator[tuple[int, pa.Table]]:
    """Each member's rows, of rows that are sorted by member."""
    numbers, starts = runs_of_members(rows)
    for number, start, end in zip(numbers, starts, (*starts[1:], rows.num_rows), strict=True):
        yield number, rows.slice(start, end - start)


def named(rows: pa.Table, member: Member) -> pa.Table:
    """A member's rows with its own names for the columns."""
    return rows.rename_columns([*member.titles, *rows.column_names[len(member.titles) :]])


def _tagged_parquet(table: pa.Table) -> pa.Buffer:
    """Numbers without a dictionary: these files are read once or twice, and that takes half as long."""
    stream = pa.BufferOutputStream()
    repeated = [field.name for field in table.schema if field.name == MEMBER or _is_text(field.type)]
    pq.write_table(
        table, stream, row_group_size=_GROUP_ROWS, write_statistics=[MEMBER], use_dictionary=repeated
    )
    return stream.getvalue()


def _is_text(type_: pa.DataType) -> bool:
    return bool(pa.types.is_string(type_) or pa.types.is_large_string(type_))


class TaggedFiles(FileSink):
    """A directory with rows of many members."""

    def __init__(self, root: Path, columns: pa.Schema) -> None:
        self.moved: set[str] = set()  # files whose rows have moved and that could not be deleted
        super().__init__(root, "parquet", columns)
        self._encode = _tagged_parquet

    @classmethod
    def there(cls, root: Path) -> TaggedFiles | None:
        """The files in a directory, if there are any."""
        found = sorted(root.glob("part-*.parquet"))
        return cls(root, pq.read_schema(found[0]).remove_metadata()) if found else None

    def files(self) -> list[Path]:
        """The files that readers may see, oldest first."""
        return sorted(path for path in self.root.glob("part-*.parquet") if path.name not in self.moved)

    def read(self, files: Sequence[Path], member: Member) -> pa.Table:
        """One member's rows in some of the files."""
        if not files:
            return named(self._columns.empty_table().drop_columns([MEMBER]), member)
        paths = [str(path) for path in files]
        found = ds.dataset(paths, schema=self._columns, format="parquet").to_table(
            filter=pc.field(MEMBER) == member.number
        )
        return named(found.drop_columns([MEMBER]), member)

    def forget(self, names: Iterable[str]) -> None:
        """Deletes files: their rows have moved."""
        for name in names:
            try:
                (self.root / name).unlink(missing_ok=True)
            except OSError:
                self.moved.add(name)
            else:
                self.moved.discard(name)


@dataclass(frozen=True, slots=True)
class Moved:
    """Rows that were staged in members' own directories, and the names of the files they are from."""

    files: tuple[str, ...]
    staged: tuple[StagedFile, ...]


def move(files: Sequence[Path], members: Sequence[Member], sink_of: Sink) -> Moved:
    """Stages the rows of tagged files in members' directories; they are seen once that is committed.

    A query's rows become one file, in the order of commits; one that was altered may have been two members.
    """
    tables = [pq.read_table(path) for path in files]
    rows = pa.concat_tables(tables)
    numbers = np.repeat([_number(path) for path in files], [table.num_rows for table in tables])
    queries = {query: place for place, query in enumerate(dict.fromkeys(one.query for one in members))}
    owners = np.full(max((one.number for one in members), default=0) + 2, -1)  # the last is nobody's
    owners[[one.number for one in members]] = [queries[one.query] for one in members]
    of = np.asarray(rows[MEMBER])
    owners = owners.astype(np.int16) if len(queries) <= _SHORT // 2 else owners  # as above
    owner = owners[np.where((of < 0) | (of >= len(owners)), len(owners) - 1, of)]
    order = np.argsort(owner, kind="stable")  # within a file rows are in the order of members' numbers
    order = order[np.searchsorted(owner[order], 0) :]
    owner, numbers, rows = owner[order], numbers[order], rows.combine_chunks().take(pa.array(order))
    known = {member.number: member for member in members}
    staging: list[Future[StagedFile | None]] = []
    try:
        with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="penstock-moving") as pool:
            for start, end in _runs(owner):
                part, from_ = rows.slice(start, end - start), numbers[start:end]
                origins = [Origin(int(from_[low]), high - low) for low, high in _runs(from_)]
                staging.append(pool.submit(_stage, known, part, origins, sink_of))
        staged = tuple(file for one in staging if (file := one.result()) is not None)
    except BaseException:
        well = [one.result() for one in staging if one.exception() is None]
        discard(file for file in well if file is not None)
        raise
    return Moved(tuple(path.name for path in files), staged)


def _number(path: Path) -> int:
    name = parse_name(path.name)
    assert name is not None
    return name.first


def _runs(values: npt.NDArray[np.integer[Any]]) -> Iterator[tuple[int, int]]:
    """From where to where one value stands, again and again."""
    if len(values):
        bounds = np.flatnonzero(np.concatenate(([True], values[1:] != values[:-1], [True]))).tolist()
        yield from itertools.pairwise(bounds)


def _stage(
    known: Mapping[int, Member], rows: pa.Table, origins: Sequence[Origin], sink_of: Sink
) -> StagedFile | None:
    """The rows of one query, as each of the members that it was calls its columns."""
    whose = np.asarray(rows[MEMBER])
    rows = rows.drop_columns([MEMBER])
    parts = [named(rows.slice(low, high - low), known[int(whose[low])]) for low, high in _runs(whose)]
    mine = pa.concat_tables(parts, promote_options="default")
    query = known[int(whose[0])].query
    sink = sink_of(query, mine.schema.remove_metadata())
    name = sink.stage_moved(mine, origins)
    return None if name is None else StagedFile(query, sink, name)


def show(moved: Moved, publish: Callable[[Sequence[StagedFile]], None]) -> None:
    """Has all that was staged published, many files at once: each is of another sink."""
    with ThreadPoolExecutor(AT_ONCE, thread_name_prefix="penstock-moving") as pool:
        list(pool.map(publish, [[file] for file in moved.staged]))
