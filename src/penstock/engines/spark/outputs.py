"""Where results go, and where they are read again: each query's own directory, members' files, further sinks.

Without a directory for results the last of them are kept in memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from penstock.engines.spark.delivery import Deliveries
from penstock.engines.spark.distributing import Distributor
from penstock.engines.spark.fan_out import TaggedFiles, named
from penstock.engines.spark.rosters import Member
from penstock.engines.spark.shared import SharedQueries
from penstock.engines.spark.sinks import registry as sinks
from penstock.engines.spark.sinks.base import Sink
from penstock.engines.spark.sinks.files import FileSink
from penstock.engines.spark.sinks.memory import ROWS, MemorySink
from penstock.engines.spark.sinks.reading import read_files
from penstock.engines.spark.sources.types import arrow_schema
from penstock.errors import QueryError
from penstock.model.query import Query
from penstock.plan.schemas import derived_schemas
from penstock.plan.shapes import MEMBER
from penstock.sql.catalog import Delivery


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
            made = self.distributor.open(name, columns) if out else MemorySink(columns, 100 * ROWS)
        self.deliveries.add(query.name, name, made)

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

    def results(self, query: str, columns: pa.Schema) -> pa.Table:
        """A query's committed results: all of them if they go to files, else the last ones."""
        out, format_ = self._places.out, self._places.format
        found = self._shared.files_of(query)
        if found:
            own = self.deliveries.get(query)  # of a query that ran by itself before it was altered
            parts = [own.rows()] if isinstance(own, MemorySink) else []
            if out is not None:
                parts = [read_files(out / query, format_, columns)]
            there = [one for one in found if self.deliveries.get(one[0]) is not None]  # or there is no file
            parts += [self._of_member(base, member).cast(columns) for base, member in there]
            return pa.concat_tables([columns.empty_table(), *parts])
        for sink in self.deliveries.sinks_of(query):
            if isinstance(sink, MemorySink):
                return sink.rows()
        if out is not None:
            return read_files(out / query, format_, columns)
        raise QueryError(f"query '{query}' keeps no results")

    def _of_member(self, base: str, member: Member) -> pa.Table:
        """A member's rows where all members' are."""
        sink = self.deliveries.get(base)
        if isinstance(sink, TaggedFiles):
            return sink.read(member)
        assert isinstance(sink, MemorySink)
        rows = sink.rows()
        mine = rows.filter(pc.equal(rows[MEMBER], member.number))
        return named(mine.drop_columns([MEMBER]), member)

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
