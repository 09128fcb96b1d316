"""Where results go, and where they are read again: each query's own directory, members' files, further sinks.

Without a directory for results the last of them are kept with the state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from itertools import count
from pathlib import Path

import pyarrow as pa

from penstock.engines.spark.results.delivery import Deliveries
from penstock.engines.spark.results.distributing import Distributor
from penstock.engines.spark.results.draining import Drain
from penstock.engines.spark.results.places import ResultPlaces, SharedPlace
from penstock.engines.spark.results.reading import KeptRows, MemberFiles, OwnFiles, Place, Reading
from penstock.engines.spark.results.sinks import registry as sinks
from penstock.engines.spark.results.sinks.base import Sink
from penstock.engines.spark.results.sinks.columns import result_columns
from penstock.engines.spark.results.sinks.disk import make_directories, remove_directories, reported
from penstock.engines.spark.results.sinks.files import FileSink
from penstock.engines.spark.results.sinks.memory import ROWS, MemorySink
from penstock.engines.spark.results.sinks.reading import list_files
from penstock.engines.spark.results.tagged_files import DIRECTORY, TaggedFiles
from penstock.engines.spark.sharing.shared import SharedQueries
from penstock.errors import SinkError
from penstock.model.query import Query
from penstock.sql.binding.catalog import Delivery

#: Rows that are kept of all members of a shared query together.
MEMBERS_ROWS = 100 * ROWS
#: The directory of results of queries whose names others have now.
FORMER = ".former"
#: What the names of sinks begin with that people created; a query's own is named as the query.
_SINK = "sink "


@dataclass(frozen=True, slots=True)
class Places:
    """Where things are: paths in statements begin at `base`, the state is in `state`, results go to `out`."""

    base: Path
    state: Path
    out: Path | None
    format: str


class Outputs:
    """The sinks of all queries. Changed between two events, within a commit."""

    def __init__(
        self, places: Places, shared: SharedQueries, deliveries: Deliveries, distributor: Distributor
    ) -> None:
        self._places, self._shared = places, shared
        self.deliveries, self.distributor = deliveries, distributor
        self._aside: dict[str, str] = {}  # where results go of those whose names others are about to get

    def make(self, names: Iterable[str], alone: Iterable[Query]) -> Mapping[str, Sink]:
        """Gets places ready for new queries; SinkError if one cannot be written to.

        What a query that had the name before has put out is moved aside. Those that run `alone` have a
        directory from now on.
        """
        made: dict[str, Sink] = {}
        with ExitStack() as undo:
            for name in names:
                self._move_aside(name, undo)
            for query in alone:
                sink = made[query.name] = self._kept(query.name, result_columns(query))
                if isinstance(sink, FileSink):
                    undo.callback(remove_directories, sink.prepare())
            undo.pop_all()
        return made

    def _move_aside(self, query: str, undo: ExitStack) -> None:
        out = self._places.out
        if out is None:
            return
        names = (f"{FORMER}/{query}-{number}" for number in count(1))
        taken = self._shared.former_names()
        self._aside[query] = next(one for one in names if one not in taken and not (out / one).exists())
        if any((out / query).glob("part-*")):
            aside = out / self._aside[query]
            with reported("write", aside):
                undo.callback(remove_directories, make_directories(aside.parent))
                (out / query).rename(aside)
                undo.callback(aside.rename, out / query)

    def open(self, query: Query, own: Sink | None = None) -> None:
        """The results of a query that will run go to a place of its own; members share one."""
        columns = result_columns(query)
        name, made = query.name, own or self._kept(query.name, columns)
        if query.name in self._shared:
            name = self._shared.get(query.name).base
            if self.deliveries.share(query.name, name):
                return
            out = self._places.out
            made = self.distributor.open(name, columns) if out else MemorySink(columns, MEMBERS_ROWS)
        self.deliveries.add(query.name, name, made)

    def open_kept(self, queries: Iterable[Query]) -> None:
        """On start: what is kept of queries that run no more, or not by themselves, can still be read."""
        if self._places.out is None:
            for query in queries:
                self._open_quietly(query.name, partial(self._kept, query.name, result_columns(query)))
            for base in self._shared.bases():
                self._open_quietly(base, lambda: MemorySink(pa.schema([]), MEMBERS_ROWS))

    def open_drained(self, drain: Drain) -> None:
        """On start: where the last results of a query go that has ended."""
        columns = result_columns(drain.plan)
        if drain.of is None:
            self._open_quietly(drain.query, lambda: self._kept(drain.query, columns))
        elif self._places.out is not None:
            base = drain.of.base
            self._open_quietly(base, lambda: self.distributor.open(base, columns))

    def _open_quietly(self, name: str, make: Callable[[], Sink]) -> None:
        """A sink that no running query's results go to."""
        if name not in self.deliveries:
            self.deliveries.add(name, name, make())
            self.deliveries.detach(name, name)

    def _kept(self, query: str, columns: pa.Schema) -> Sink:
        out = self._places.out
        return FileSink(out / query, self._places.format, columns) if out else MemorySink(columns)

    def restore(self, delivery: Delivery, columns: pa.Schema) -> None:
        """A sink that was created before a restart; if it cannot be made now, it fails and is tried again."""
        make = partial(sinks.make, delivery, self._places.base, columns)
        try:
            self.add(delivery, make())
        except SinkError as error:
            self.deliveries.add_failing(delivery.query, f"{_SINK}{delivery.name}", str(error), make)

    def add(self, delivery: Delivery, made: Sink) -> None:
        """One more sink for a query."""
        self.deliveries.add(delivery.query, f"{_SINK}{delivery.name}", made)

    def remove(self, name: str) -> None:
        """A sink that gets nothing more."""
        self.deliveries.remove(f"{_SINK}{name}")

    def forget(self, query: str) -> None:
        """Before a query begins under a name that another one had: nothing of that one is its result."""
        self.deliveries.remove(query)
        if self._places.out is not None:
            self._shared.rename_former(query, self._aside.pop(query, query))
        else:
            for base, member in self._shared.files_of(query):
                self._shared.moved(base, [member.number])

    def reading(self, query: str, columns: pa.Schema, first_file: int = 0) -> Reading:
        """Where a query's results are now: all of them if they go to files, else the last ones.

        `first_file` is the number of the first file that can be the query's.
        """
        out, format_ = self._places.out, self._places.format
        parts: list[Place] = []
        if out is not None:
            parts.append(OwnFiles(tuple(list_files(out / query, format_, first_file)), format_))
        elif (name := self._most_kept(query)) is not None:
            parts.append(KeptRows(*self.deliveries.kept(name)))
        for base, member in self._shared.files_of(query):
            tagged = self.deliveries.get(base)  # or there is no file
            if isinstance(tagged, TaggedFiles):
                parts.append(MemberFiles(tagged, tuple(tagged.files()), member))
            elif isinstance(tagged, MemorySink):
                parts.append(KeptRows(*self.deliveries.kept(base), member))
        return Reading(columns, tuple(parts))

    def places(self, query: str, columns: pa.Schema, first_file: int, version: int) -> ResultPlaces:
        """The directories with a query's results, for somebody in another process."""
        shared = tuple(
            SharedPlace(f"{DIRECTORY}/{base}", member.number, member.titles)
            for base, member in self._shared.files_of(query)
        )
        return ResultPlaces(query, columns, query, first_file, shared, version)

    def _most_kept(self, query: str) -> str | None:
        """Where most rows of a query that runs or ran by itself are kept: a memory sink may keep more."""
        names = [query] if self._shared.of(query) else [query, *self.deliveries.names_of(query)]
        kept = [name for name in names if isinstance(self.deliveries.get(name), MemorySink)]
        return max(kept, key=self.deliveries.kept_rows, default=None)

    # --- after a crash ---

    def recover(self, files: Mapping[str, list[str]], running: Mapping[str, Query]) -> set[str]:
        """Files that were committed and not yet renamed; the places where they cannot be renamed now."""
        self.deliveries.recover(files)
        owed = self.distributor.recover()
        for name, staged in files.items():
            if name in running or self.deliveries.get(name) is not None or self._places.out is None:
                continue
            if name.startswith(_SINK):
                owed |= {name} if name in self.deliveries else set()  # or it was dropped
                continue
            try:  # they were committed with the end of their query, or moved to where its results are
                FileSink(self._places.out / name, self._places.format, pa.schema([])).recover(staged)
            except SinkError:
                owed.add(name)
        self.distributor.forget_moved(owes=bool(owed or self.deliveries.unseen))
        return owed
