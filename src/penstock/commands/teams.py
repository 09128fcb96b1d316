"""Whose part of a state a file of statements is about: a server's state may have several teams'."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from penstock.errors import EngineError
from penstock.server.layout import StateLayout
from penstock.server.security.registry import Registry
from penstock.sql.difference import Changes
from penstock.sql.scoping import DEFAULT, Scope


@dataclass(frozen=True, slots=True)
class Team:
    """Whose part of a server's state a file of statements is about; of another state it is about all."""

    scope: Scope | None = None
    registry: Registry | None = None

    def forget(self, changes: Changes) -> None:
        """What is gone takes grants and positions with it, as on the server."""
        if self.scope is None or self.registry is None:
            return
        for one in changes.changes if changes.applied else ():
            if (one.action, one.kind) == ("drop", "stream"):
                self.registry.stream_dropped(self.scope.namespace, one.name)
            elif (one.action, one.kind) == ("drop", "query"):
                self.registry.query_dropped(self.scope.namespace, one.name)


@contextmanager
def team_in(state: Path | None, namespace: str | None = None) -> Iterator[Team]:
    """The part of a state that is a namespace's, or `default`'s, if a server has run on it."""
    path = None if state is None else StateLayout(state).registry
    if path is None or not path.exists():
        if namespace is not None:
            raise EngineError("--namespace is for a server; no server runs on this state")
        yield Team()
        return
    chosen = namespace or os.environ.get("PENSTOCK_NAMESPACE") or DEFAULT
    registry = Registry(path)
    try:
        yield Team(Scope(chosen, registry.granted_to(chosen), registry.quotas(chosen)), registry)
    finally:
        registry.close()
