"""Streams and tables that were dropped: what is kept of them goes once no query that is ending reads them.

Until then nothing else can have their names.
"""

from __future__ import annotations

from collections.abc import Iterator

from penstock.engines.spark.runtime.coordinator import Coordinator
from penstock.engines.spark.statements.inputs import Inputs, read_by
from penstock.engines.spark.storage.commit_log import CommitLog
from penstock.model.query import Query

_DROPPING = "dropping"


class Dropping:
    """What was dropped and is still read. Changed between two events, within a commit."""

    def __init__(self, log: CommitLog, coordinator: Coordinator, inputs: Inputs) -> None:
        self._log, self._coordinator, self._inputs = log, coordinator, inputs
        self._kinds: dict[str, str] = {}
        coordinator.stopped_running = self.sweep

    def __contains__(self, name: str) -> bool:
        return name.lower() in (one.lower() for one in self._kinds)

    def restore(self) -> None:
        """What the commit log says."""
        self._kinds = self._log.get(_DROPPING, {})

    def add(self, kind: str, name: str) -> None:
        """A stream or a table that is no more in the catalog."""
        if kind == "stream":
            self._inputs.close(name)
        self._kinds[name] = kind
        self._log.set(_DROPPING, self._kinds)
        self.sweep()

    def sweep(self) -> None:
        """Forgets those that nobody reads any more."""
        if not self._kinds:
            return
        read = self.read()
        for name in [name for name in self._kinds if name not in read]:
            if self._kinds.pop(name) == "stream":
                self._coordinator.intake.drop_stream(name)
                self._inputs.forget(name)
            else:
                self._coordinator.intake.drop_relation(name)
        self._log.set(_DROPPING, self._kinds)

    def read(self) -> set[str]:
        """The streams and tables that queries read which run, will run, or are ending."""
        streams, tables = read_by(self._queries())
        return streams | tables

    def _queries(self) -> Iterator[Query]:
        yield from self._coordinator.sharing.plans.graph.queries.values()
        yield from self._coordinator.control.graph.queries.values()
