"""What queries read: streams, each with its source, its place in the total order and how far it was read.

Stored relations that queries join with are read here for the first time, too.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from pyspark.sql import SparkSession

from penstock.engines.spark.failing import reason_of
from penstock.engines.spark.ingest.feeder import Feed, LogPosition
from penstock.engines.spark.ingest.relations import Relations, TableRead
from penstock.engines.spark.ingest.sources import registry as sources
from penstock.engines.spark.ingest.sources.base import Source
from penstock.engines.spark.ingest.sources.push import PushSource
from penstock.engines.spark.ingest.sources.structured import StructuredSource
from penstock.engines.spark.ingest.sources.types import arrow_schema
from penstock.engines.spark.statements.outputs import Places
from penstock.engines.spark.storage.commit_log import CommitLog
from penstock.errors import PenstockError, SourceError
from penstock.model.operators import Join
from penstock.model.operators import Source as StreamSource
from penstock.model.query import Query
from penstock.sql.binding.catalog import Catalog, Stream, Table
from penstock.sql.text.quantities import seconds


@dataclass(frozen=True, slots=True)
class NewInputs:
    """What is about to be read for the first time: streams, and tables as they are now.

    `read` are all streams that the queries read.
    """

    streams: tuple[Stream, ...]
    tables: tuple[TableRead, ...]
    read: frozenset[str]


class Inputs:
    """All streams that were created, and those that are fed."""

    def __init__(
        self,
        places: Places,
        spark: SparkSession,
        log: CommitLog,
        relations: Relations,
        is_feeding: Callable[[], bool],
        opened: Callable[[Feed], None],
        closed: Callable[[str], None],
    ) -> None:
        """`is_feeding` says whether rows are taken in.

        `opened` hears of each stream that is read for the first time, `closed` of one that is no more.
        """
        self._places, self._spark, self._log = places, spark, log
        self._relations, self._opened, self._closed = relations, opened, closed
        self._is_feeding = is_feeding
        self._standings: dict[str, tuple[int, LogPosition]] = {}
        self._numbers: dict[str, int] = {}
        self._created = 0
        self.feeds: dict[str, Feed] = {}

    def restore(self, standings: dict[str, tuple[int, LogPosition]]) -> None:
        """What was known before a restart."""
        self._standings = standings

    def number(self, before: Catalog, after: Catalog) -> None:
        """Rows of equal time are in the order in which their streams were created, by one statement each."""
        for name in after.streams:
            if name not in before.streams:
                self._numbers[name] = self._created
                self._created += 1

    def number_of(self, stream: str) -> int:
        """The place of a stream in the total order."""
        return self._numbers[stream]

    def problems(self) -> dict[str, str]:
        """Streams of which something is wrong that does not stop them, such as unreadable files."""
        now = {name: feed.source for name, feed in list(self.feeds.items())}
        return {
            f"stream {name}": "; ".join(one.problems) for name, one in now.items() if one and one.problems
        }

    # --- what a statement needs, before it is applied; in any thread ---

    def prepare(
        self,
        streams: Mapping[str, Stream],
        tables: Mapping[str, Table],
        queries: Iterable[Query],
        catalog: Catalog,
        altered: Iterable[str],
        undo: ExitStack,
    ) -> NewInputs:
        """Looks up what new streams and tables name, and gets ready what queries read and nobody read so far.

        Before rows are taken in at all, streams are not looked up: what is not there by then is failing.
        Streams to push to take rows from their creation on, whether somebody reads them or not.
        """
        read_streams, read_tables = read_by(queries)
        wanted = {name: catalog.streams[name] for name in read_streams}
        wanted |= {name: stream for name, stream in streams.items() if stream.format == "push"}
        found: list[Stream] = []
        for name, stream in {**streams, **wanted}.items():
            fed = self.feeds.get(name)
            if fed is None or (fed.stream is not stream and name not in altered):
                if self._is_feeding():
                    self._probe(stream)
                if name in wanted:
                    found.append(stream)
        for table in tables.values() if self._is_feeding() else ():
            self._relations.probe(table)
        new = [catalog.tables[name] for name in read_tables if not self._relations.has(catalog.tables[name])]
        read = tuple(self._relations.read(table, undo) for table in new)
        return NewInputs(tuple(found), read, frozenset(read_streams))

    def _probe(self, stream: Stream) -> None:
        """Raises SourceError if the stream could not be read now; reads none of its rows."""
        try:
            source = sources.make(stream, self._places.base)
            if isinstance(source, StructuredSource):
                source.check(self._spark)
                return
            try:
                source.open(None, 0)
            finally:
                source.close()
        except PenstockError:
            raise
        except Exception as error:
            raise SourceError(f"stream '{stream.name}': {reason_of(error)}") from error

    # --- within a commit ---

    def add(self, new: NewInputs) -> None:
        """What was got ready is read from now on."""
        for stream in new.streams:
            self._feed(stream)
        for name in new.read:
            self.feeds[name].is_read = True
        for table in new.tables:
            for relation, epoch, ref in self._relations.add(table):
                version = {"name": ref.name, "rows": ref.rows, "bytes": ref.bytes}
                self._log.put_version(relation, epoch, version)

    def alter(self, stream: Stream) -> None:
        """A stream is read in another way from now on: its pace, its columns, how long it waits."""
        feed = self.feeds.get(stream.name)
        if feed is None:
            return
        if isinstance(feed.source, PushSource):
            feed.source.widen(arrow_schema(stream.schema))
        same = (feed.stream.paced_s, feed.stream.schema) == (stream.paced_s, stream.schema)
        anew = feed.make is not None and not same
        feed.stream = stream
        feed.idle_us, feed.retention_s = _idle_us(stream), _retention_s(stream)
        if anew:
            feed.make = partial(self._make, stream)
            feed.reopen = True

    def resume(self, queries: Iterable[Query], catalog: Catalog) -> None:
        """After a restart: queries go on reading; what has been dropped meanwhile brings nothing more."""
        streams, tables = read_by(queries)
        for name, stream in catalog.streams.items():
            if name in streams or stream.format == "push":
                self._feed(stream)
                self.feeds[name].is_read = name in streams
        for name in tables & catalog.tables.keys():
            self._relations.resume(catalog.tables[name])

    def _feed(self, stream: Stream) -> None:
        number, standing = self._standings.get(stream.name) or (self._numbers[stream.name], LogPosition())
        self._standings[stream.name] = number, standing
        pushed = stream.format == "push"
        feed = Feed(
            stream,
            number,
            self._make(stream) if pushed else None,
            standing,
            _idle_us(stream),
            None if pushed else partial(self._make, stream),
            self._log.known_files(stream.name),
            is_read=False,
            retention_s=_retention_s(stream),
            wall_clock="clock" in stream.options,
        )
        self.feeds[stream.name] = feed
        self._opened(feed)

    def _make(self, stream: Stream) -> Source:
        source = sources.make(stream, self._places.base)
        if isinstance(source, StructuredSource):
            source.attach(self._spark, self._checkpoints(stream.name))
        if isinstance(source, PushSource):
            source.logged_key = partial(self._log.push_key, stream.name)
        return source

    def sweep(self) -> None:
        """After a restart: offsets that Spark kept for streams that are no more."""
        root = self._places.state / "checkpoints"
        kept = {self._checkpoints(name) for name in self._standings}
        for path in root.iterdir() if root.is_dir() else ():
            if path not in kept:
                shutil.rmtree(path, ignore_errors=True)

    def _checkpoints(self, stream: str) -> Path:
        """Where Spark keeps a stream's offsets: elsewhere for another stream that gets its name later."""
        number, _ = self._standings[stream]
        root = self._places.state / "checkpoints"
        path = root / f"{stream}-{number}"
        if not path.exists() and (root / stream).is_dir():  # as it was called once
            (root / stream).rename(path)
        return path

    def close(self, stream: str) -> None:
        """A stream that is dropped: nothing of it comes in any more."""
        feed = self.feeds.pop(stream, None)
        if feed is not None:
            if isinstance(feed.source, StructuredSource):
                feed.source.discard()
            self._closed(stream)

    def forget(self, stream: str) -> None:
        """A stream that nobody reads any more, nor ever will."""
        self._standings.pop(stream, None)


def _idle_us(stream: Stream) -> int | None:
    idle = stream.options.get("idle")
    return None if idle is None else round(seconds(idle) * 1e6)


def _retention_s(stream: Stream) -> float | None:
    retention = stream.options.get("retention")
    return None if retention is None else seconds(retention)


def read_by(queries: Iterable[Query]) -> tuple[set[str], set[str]]:
    """The streams and the stored tables that queries read."""
    operators = [node.operator for query in queries for node in query.root.post_order()]
    streams = {one.stream for one in operators if isinstance(one, StreamSource)}
    tables = {one.relation for one in operators if isinstance(one, Join) and one.relation and not one.roster}
    return streams, tables
