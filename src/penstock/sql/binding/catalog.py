"""What has been created: streams, tables, views, queries, sinks. A value; `session` makes new ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from penstock.model.functions import PythonFunction
from penstock.model.query import Query
from penstock.model.scheduling import Scheduling
from penstock.model.schema import Schema
from penstock.sql.binding.relation import Relation
from penstock.sql.reading.statements import Moment

#: When a query starts and when it stops, as it was written.
Times: TypeAlias = tuple[Moment | None, Moment | None]
#: Rows per second that a stream is taken to bring until its options or a measurement say otherwise.
RATE = 1000.0


@dataclass(frozen=True, slots=True)
class Stream:
    """A registered stream: its columns, where its time stands, how it is read."""

    name: str
    schema: Schema
    time: str | None = None
    delay_s: float = 0.0
    format: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    endless: bool = True
    rate: float = RATE
    #: When its pace was last changed, in seconds; None: it has the one that it was created with.
    paced_s: float | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """A stored relation: its columns and how it is read."""

    name: str
    schema: Schema
    format: str = ""
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class View:
    """A named plan; `of` are the streams, tables and views it was made from."""

    name: str
    relation: Relation
    of: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Delivery:
    """A sink: which query's results go where."""

    name: str
    query: str
    format: str
    options: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Partition:
    """What one thread is to run under `hmts`: operators, and all of some queries; and how."""

    name: str
    queries: tuple[str, ...] = ()
    operators: tuple[str, ...] = ()
    policy: str | None = None
    priority: float = 1.0


@dataclass(frozen=True, slots=True)
class Catalog:
    """Everything by name. Streams, tables and views share one space of names, as they do in FROM."""

    streams: Mapping[str, Stream] = field(default_factory=dict)
    tables: Mapping[str, Table] = field(default_factory=dict)
    views: Mapping[str, View] = field(default_factory=dict)
    queries: Mapping[str, Query] = field(default_factory=dict)
    sinks: Mapping[str, Delivery] = field(default_factory=dict)
    #: What each query was made from, so that none of it is dropped under it.
    reads: Mapping[str, frozenset[str]] = field(default_factory=dict)
    #: The queries that were stopped and not dropped yet.
    stopped: frozenset[str] = frozenset()
    policy: str | None = None
    scheduling: Scheduling | None = None
    partitions: Mapping[str, Partition] = field(default_factory=dict)
    #: When queries start and stop, as it was written, of those that say so.
    moments: Mapping[str, Times] = field(default_factory=dict)
    #: The SELECT of each query that was not given as a plan, as it was written last.
    selects: Mapping[str, str] = field(default_factory=dict)
    #: Functions in Python.
    functions: Mapping[str, PythonFunction] = field(default_factory=dict)

    def times(self, query: str) -> Times:
        """When a query starts and stops, as it was written."""
        return self.moments.get(query, (None, None))

    def find(self, name: str) -> Stream | Table | View | None:
        """What can stand in FROM under that name; upper and lower case are the same, as in Spark."""
        for found in self._readable():
            if found.name.lower() == name.lower():
                return found
        return None

    def readable(self) -> tuple[str, ...]:
        """The names that can stand in FROM."""
        return tuple(found.name for found in self._readable())

    def _readable(self) -> Iterator[Stream | Table | View]:
        yield from self.streams.values()
        yield from self.tables.values()
        yield from self.views.values()

    def rates(self) -> Mapping[str, float]:
        """Rows per second of each stream."""
        return {stream.name: stream.rate for stream in self.streams.values()}

    def having(self, kind: str, name: str, value: Any) -> Catalog:
        """The catalog with one more thing of that kind."""
        changed: dict[str, Any] = {kind: {**getattr(self, kind), name: value}}
        return replace(self, **changed)

    def without(self, kind: str, name: str) -> Catalog:
        """The catalog with one thing less of that kind."""
        changed: dict[str, Any] = {kind: {key: v for key, v in getattr(self, kind).items() if key != name}}
        return replace(self, **changed)
