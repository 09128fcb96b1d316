"""The book: all records of sharing, found by name, host, base and shape, and which of them have changed.

A record is changed by `set` alone, so that the engine can write those down that an event has changed, and no
others.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from penstock.control.sharing.records import HostRecord, Phase, QueryRecord
from penstock.plan.shared.names import name_beside, name_of_shape

#: Queries in these phases are on their way to another host.
_ON_THE_WAY = (Phase.splitting, Phase.moving, Phase.returning, Phase.replacing)


class Book:
    """The records."""

    def __init__(self) -> None:
        self.queries: dict[str, QueryRecord] = {}
        self.hosts: dict[str, HostRecord] = {}
        self.reserved: set[str] = set()  # names that no new base may have: files may have them
        self._members: dict[str, dict[str, QueryRecord]] = {}
        self._expected: dict[str, dict[str, QueryRecord]] = {}
        self._by_base: dict[str, dict[str, HostRecord]] = {}
        self._by_digest: dict[str, dict[str, HostRecord]] = {}
        #: What the last event has changed, by name; None is gone.
        self.changed_queries: dict[str, QueryRecord | None] = {}
        self.changed_hosts: dict[str, HostRecord | None] = {}

    # --- look-ups ---

    def members(self, host: str) -> list[QueryRecord]:
        """The queries that run in a host."""
        return list(self._members.get(host, {}).values())

    def expected(self, host: str) -> list[QueryRecord]:
        """The queries that are on their way to a host."""
        return list(self._expected.get(host, {}).values())

    def split_off(self, base: str) -> list[HostRecord]:
        """The hosts of a base, without the base itself."""
        return [one for one in self._by_base.get(base, {}).values() if one.name != base]

    def base_of_shape(self, digest: str) -> HostRecord | None:
        """The host that others of a shape can become part of, if there is one."""
        return next(
            (
                one
                for one in self._by_digest.get(digest, {}).values()
                if one.is_base and not one.end_asked and one.shape is not None and one.shape.absorbs
            ),
            None,
        )

    def name_beside(self, base: str) -> str:
        """A free name for one more host of a base."""
        return name_beside(base, self._is_taken)

    def name_of(self, digest: str) -> str:
        """A free name for a new base of a shape."""
        return name_of_shape(digest, self._is_taken)

    def _is_taken(self, name: str) -> bool:
        return name in self.hosts or name in self.reserved

    # --- changes ---

    def add_query(self, query: QueryRecord) -> None:
        """One more query."""
        self.queries[query.name] = query
        self._index(query)
        self.changed_queries[query.name] = query

    def add_host(self, host: HostRecord) -> None:
        """One more host."""
        self.hosts[host.name] = host
        self.reserved.add(host.base)
        self._by_base.setdefault(host.base, {})[host.name] = host
        if host.shape is not None:
            self._by_digest.setdefault(host.shape.digest, {})[host.name] = host
        self.changed_hosts[host.name] = host

    def set(self, query: QueryRecord, **fields: Any) -> None:
        """Changes a query's record."""
        self._unindex(query)
        for name, value in fields.items():
            setattr(query, name, value)
        self._index(query)
        self.changed_queries[query.name] = query

    def set_host(self, host: HostRecord, **fields: Any) -> None:
        """Changes a host's record; its name, base and shape are what they are."""
        for name, value in fields.items():
            setattr(host, name, value)
        self.changed_hosts[host.name] = host

    def drop_query(self, query: QueryRecord) -> None:
        """A query is gone."""
        self._unindex(query)
        del self.queries[query.name]
        self.changed_queries[query.name] = None
        self._touch(query.host)

    def drop_host(self, host: HostRecord) -> None:
        """A host is gone."""
        del self.hosts[host.name]
        self._touch(host.base)
        _discard(self._by_base, host.base, host.name)
        if host.shape is not None:
            _discard(self._by_digest, host.shape.digest, host.name)
        self.changed_hosts[host.name] = None

    def _index(self, query: QueryRecord) -> None:
        self._members.setdefault(query.host, {})[query.name] = query
        self._touch(query.host)
        if query.to is not None:
            self._expected.setdefault(query.to, {})[query.name] = query

    def _unindex(self, query: QueryRecord) -> None:
        _discard(self._members, query.host, query.name)
        self._touch(query.host)
        if query.to is not None:
            _discard(self._expected, query.to, query.name)
            self._touch(query.to)

    def _touch(self, name: str) -> None:
        """Who runs in a host has changed, and so may what becomes of the host."""
        if name in self.hosts:
            self.changed_hosts[name] = self.hosts[name]

    def forget_changes(self) -> None:
        """Before an event."""
        self.changed_queries, self.changed_hosts = {}, {}

    # --- what must never be ---

    def problems(self) -> Iterable[str]:
        """Contradictions; there are none between two events."""
        for query in self.queries.values():
            yield from self._query_problems(query)
        for host in self.hosts.values():
            if not host.shared and len(self.members(host.name)) > 1:
                yield f"{host.name} runs by itself and has {len(self.members(host.name))} members"
            if host.excluding and not host.held:
                yield f"{host.name} goes on although {', '.join(sorted(host.excluding))} made a step fail"
            strangers = host.excluding - {one.name for one in self.members(host.name)}
            if strangers:
                yield f"{host.name} waits for {', '.join(sorted(strangers))}, who are not its members"

    def _query_problems(self, query: QueryRecord) -> Iterable[str]:
        if query.host not in self.hosts:
            yield f"{query.name} runs in {query.host}, which there is not"
            return
        host = self.hosts[query.host]
        if (query.phase in _ON_THE_WAY) != (query.to is not None):
            yield f"{query.name} is {query.phase} and on its way to {query.to}"
        if query.to is not None and query.to not in self.hosts:
            yield f"{query.name} is on its way to {query.to}, which there is not"
        if query.phase is Phase.waiting and host.begun:
            yield f"{query.name} waits for {host.name}, which has begun"
        if not host.begun and query.phase not in (Phase.waiting, Phase.stopping):
            yield f"{query.name} is {query.phase} in {host.name}, which has not begun"
        if host.end_asked and query.phase not in (Phase.returning, Phase.replacing, Phase.stopping):
            yield f"{query.name} is {query.phase} in {host.name}, which is to end"


def _discard(index: dict[str, dict[str, Any]], key: str, name: str) -> None:
    if key in index:
        index[key].pop(name, None)
        if not index[key]:
            del index[key]
