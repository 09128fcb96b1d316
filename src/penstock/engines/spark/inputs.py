"""What queries read: streams, each with its source, its place in the total order and how far it was read.

Stored relations that queries join with are read here for the first time, too.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from penstock.engines.spark.commit_log import CommitLog
from penstock.engines.spark.ingest import Feed, Standing
from penstock.engines.spark.outputs import Places
from penstock.engines.spark.relations import Relations
from penstock.engines.spark.session import SparkSession
from penstock.engines.spark.sources import registry as sources
from penstock.engines.spark.sources.base import Source
from penstock.engines.spark.sources.push import PushSource
from penstock.engines.spark.sources.structured import StructuredSource
from penstock.model.operators import Join
from penstock.model.operators import Source as StreamSource
from penstock.model.query import Query
from penstock.sql.catalog import Catalog, Stream
from penstock.sql.quantities import seconds


class Inputs:
    """All streams that were created, and those that are read."""

    def __init__(
        self,
        places: Places,
        spark: SparkSession,
        log: CommitLog,
        relations: Relations,
        opened: Callable[[Feed], None],
    ) -> None:
        """`opened` hears of each stream that is read for the first time."""
        self._places, self._spark, self._log = places, spark, log
        self._relations, self._opened = relations, opened
        self._standings: dict[str, tuple[int, Standing]] = {}
        self._numbers: dict[str, int] = {}
        self._created = 0
        self.sources: dict[str, Source] = {}
        self.feeds: dict[str, Feed] = {}

    def restore(self, standings: dict[str, tuple[int, Standing]]) -> None:
        """What was known before a restart."""
        self._standings = standings

    def number(self, before: Catalog, after: Catalog) -> None:
        """Rows of equal time are in the order in which their streams were created."""
        for name in after.streams:
            if name not in before.streams:
                self._numbers[name] = self._created
                self._created += 1

    def forget(self, before: Catalog, after: Catalog) -> None:
        """Streams that were numbered are not created after all."""
        self._created -= sum(name not in before.streams for name in after.streams)

    def number_of(self, stream: str) -> int:
        """The place of a stream in the total order."""
        return self._numbers[stream]

    def problems(self) -> dict[str, str]:
        """Streams of which something is wrong that does not stop them, such as unreadable files."""
        now = {name: feed.source for name, feed in list(self.feeds.items())}
        return {
            f"stream {name}": "; ".join(one.problems) for name, one in now.items() if one and one.problems
        }

    def use(self, query: Query, catalog: Catalog) -> None:
        """Gets ready what a query reads."""
        for node in query.root.post_order():
            match node.operator:
                case StreamSource(stream=name) if name not in self.sources:
                    self._open(catalog.streams[name])
                case Join(relation=str(name), roster=False):
                    for relation, epoch, ref in self._relations.add(catalog.tables[name]):
                        version = {"name": ref.name, "rows": ref.rows, "bytes": ref.bytes}
                        self._log.put_version(relation, epoch, version)

    def _open(self, stream: Stream) -> None:
        source = self._make(stream)
        if stream.name not in self._standings:
            self._log.forget_known_files(stream.name)  # of another stream of that name, which was dropped
        number, standing = self._standings.get(stream.name) or (self._numbers[stream.name], Standing())
        self._standings[stream.name] = number, standing
        self.sources[stream.name] = source
        idle = stream.options.get("idle")
        feed = Feed(
            stream,
            number,
            source,
            standing,
            None if idle is None else round(seconds(idle) * 1e6),
            None if isinstance(source, PushSource) else partial(self._make, stream),
            self._log.known_files(stream.name),
        )
        self.feeds[stream.name] = feed
        self._opened(feed)

    def _make(self, stream: Stream) -> Source:
        source = sources.make(stream, self._places.base)
        if isinstance(source, StructuredSource):
            source.attach(self._spark, self._places.state / "checkpoints" / stream.name)
        return source
