"""Results as server-sent events, each with the position of its last row as `id`.

A browser or client that reconnects sends the last id it saw (`Last-Event-ID`), and goes on behind it: each
row comes once. Nothing waits in memory for a slow client: rows are read from files when it takes them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress

from penstock.errors import PenstockError
from penstock.server.committed.positions import Position
from penstock.server.http.backend import Backend
from penstock.server.http.news import News
from penstock.server.security.tokens import ANYONE, Identity

#: Seconds without rows after which a comment is sent, so that nobody on the way takes the connection for
#: dead; after which it is looked whether something was missed; and whether the engine is back.
PING_S, LOOK_S, AWAY_S = 15.0, 5.0, 0.5


class Follower:
    """One client that follows the results of a query, by full name, as long as its token counts."""

    def __init__(
        self, backend: Backend, query: str, after: Position | None, identity: Identity = ANYONE
    ) -> None:
        self._backend, self._query, self._after, self._identity = backend, query, after, identity
        self._news = asyncio.Event()
        self._directories: set[str] = set()

    async def events(self) -> AsyncIterator[bytes]:
        """The stream of events; it ends when the client goes, its token counts no more, the query is dropped,
        or the server stops."""
        quiet_s = 0.0
        self._backend.add_follower(self._news, self._identity)
        try:
            yield b"retry: 1000\n\n"
            while not self._backend.is_stopping and self._backend.still_counts(self._identity):
                self._news.clear()
                hears = await self._follow()
                news = await self._what_is_new()
                if news is None:
                    if await self._is_gone():
                        yield b"event: end\ndata: {}\n\n"
                        return
                elif news.event:
                    quiet_s = 0.0
                    yield news.event
                    self._after = news.next
                if news is not None and news.more:
                    continue
                wait_s = LOOK_S if hears and news is not None else AWAY_S
                with suppress(TimeoutError):
                    async with asyncio.timeout(
                        wait_s
                    ):  # `wait_for` of Python 3.11 may swallow a cancellation
                        await self._news.wait()
                    continue
                quiet_s += wait_s
                if quiet_s >= PING_S:
                    quiet_s = 0.0
                    yield b": still here\n\n"
        finally:
            self._backend.drop_follower(self._news, self._identity)
            for directory in self._directories:
                self._backend.unfollow(directory, self._news)

    async def _follow(self) -> bool:
        """Hears of new files wherever results may come now; False if nobody can say where that is."""
        try:
            places = await self._backend.places.find(self._query)
        except PenstockError:
            return False
        wanted = {places.directory, *(one.directory for one in places.shared)}
        for directory in wanted - self._directories:
            self._backend.follow(directory, self._news)
        for directory in self._directories - wanted:
            self._backend.unfollow(directory, self._news)
        self._directories = wanted
        return True

    async def _what_is_new(self) -> News | None:
        """What is new; None if that cannot be said now: the engine is away, or files move."""
        try:
            return await self._backend.newsroom.get(self._query, self._after)
        except (PenstockError, TimeoutError):
            return None

    async def _is_gone(self) -> bool:
        """Whether there is no such query any more; while the engine is away nobody knows."""
        try:
            return self._query not in (await self._backend.catalog())["queries"]
        except PenstockError:
            return False
