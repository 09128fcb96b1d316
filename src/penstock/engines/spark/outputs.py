"""Where results go, and where they are read again: each query's own directory, members' files, further sinks.

Without a directory for results the last of them are kept with the state.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa

from penstock.engines.spark.delivery import Deliveries
from penstock.engines.spark.distributing import Distributor
from penstock.engines.spark.draining import Drain
from penstock.engines.spark.fan_out import TaggedFiles
from penstock.engines.spark.reading_results import KeptRows, MemberFiles, OwnFiles, Part, Reading
from penstock.engines.spark.shared import SharedQueries
from penstock.engines.spark.sinks import registry as sinks
from penstock.engines.spark.sinks.base import Sink
from penstock.engines.spark.sinks.files import FileSink
from penstock.engines.spark.sinks.memory import ROWS, MemorySink
from penstock.engines.spark.sinks.reading import list_files
from penstock.engines.spark.sources.types import arrow_schema
from penstock.model.query import Query
from penstock.plan.schemas import derived_schemas
from penstock.sql.catalog import Delivery

#: Rows that are kept of all members of a shared query together.
MEMBERS_ROWS = 100 * ROWS


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

    def open(self, query: Query) -> None:
        """A place of its own for the results of a query that will run; members share one."""
        columns, out = result_columns(query), self._places.out
        name, made = query.name, self._kept(query.name, columns)
        if query.name in self._shared:
            name = self._shared.get(query.name).base
            if self.deliveries.share(query.name, name):
                return
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

    def add(self, delivery: Delivery, columns: pa.Schema) -> None:
        """One more sink for a query."""
        made = sinks.make(delivery, self._places.base, columns)
        self.deliveries.add(delivery.query, f"sink {delivery.name}", made)

    def remove(self, name: str) -> None:
        """A sink that gets nothing more."""
        self.deliveries.remove(f"sink {name}")

    def forget(self, query: str) -> None:
        """Before a query begins under a name that another one had: nothing is kept of that one."""
        if self._places.out is None:
            self.deliveries.remove(query)
            for base, member in self._shared.files_of(query):
                self._shared.moved(base, [member.number])

    def reading(self, query: str, columns: pa.Schema, first_file: int = 0) -> Reading:
        """Where a query's results are now: all of them if they go to files, else the last ones.

        `first_file` is the number of the first file that can be the query's.
        """
        out, format_ = self._places.out, self._places.format
        parts: list[Part] = []
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

    def _most_kept(self, query: str) -> str | None:
        """Where most rows of a query that runs or ran by itself are kept: a memory sink may keep more."""
        names = [query] if self._shared.of(query) else [query, *self.deliveries.names_of(query)]
        kept = [name for name in names if isinstance(self.deliveries.get(name), MemorySink)]
        return max(kept, key=self.deliveries.kept_rows, default=None)

    # --- after a crash ---

    def recover(
        self, files: Mapping[str, list[str]], known: Mapping[str, Delivery], running: Mapping[str, Query]
    ) -> None:
        """Files that were committed and not yet renamed; `known` sinks are by name."""
        self.deliveries.recover(files)
        self.distributor.recover()
        for name, staged in files.items():
            delivery = known.get(name.removeprefix("sink "))
            query = delivery.query if name.startswith("sink ") and delivery is not None else name
            if query not in running:  # they were committed with the end of their query, or moved there
                self._recover_ended(name, query, delivery, staged)

    def _recover_ended(self, name: str, query: str, delivery: Delivery | None, staged: list[str]) -> None:
        sink: Sink | None = None
        if query != name and delivery is not None:
            sink = sinks.make(delivery, self._places.base, pa.schema([]))
        elif query == name and self._places.out is not None:
            sink = self._kept(name, pa.schema([]))
        if isinstance(sink, FileSink):
            sink.recover(staged)


def result_columns(query: Query) -> pa.Schema:
    """The columns of a query's results."""
    schemas = {id(node): schema for node, schema in derived_schemas(query.root)}
    return arrow_schema(schemas[id(query.root)])
