"""One look at the engine for all pages that are open: often while something changes, and seldom otherwise."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

from penstock.errors import PenstockError
from penstock.server.http.backend import Backend
from penstock.web.live.history import History

#: Seconds from one look to the next while somebody watches: while rows flow, and while nothing changes.
FLOWING_S, STILL_S = 0.6, 2.0
#: The same while nobody watches.
UNWATCHED_S = 5.0


class Live:
    """What is known of the engine now; `status` is None while it does not answer, and `trouble` says why."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.history = History()
        self.status: Mapping[str, Any] | None = None
        self.trouble = "the engine is starting"
        self._watchers = 0
        self._wake = asyncio.Event()
        self._looked = asyncio.Event()

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Somebody watches for so long; what was seen may be old when they begin, so there is a look."""
        self._watchers += 1
        if self._watchers == 1:
            self._wake.set()
        try:
            yield
        finally:
            self._watchers -= 1

    async def look(self) -> None:
        """Returns when there has been another look."""
        await self._looked.wait()

    @asynccontextmanager
    async def looking(self) -> AsyncIterator[None]:
        """Looks for as long as the process serves."""
        task = asyncio.create_task(self._look())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    async def _look(self) -> None:
        while True:
            began_s, before = time.monotonic(), self.status
            self._wake.clear()
            try:
                found = await self._backend.status()
                self.history.add(found)
                self.status, self.trouble = found, ""
            except PenstockError as error:
                self.status, self.trouble = None, str(error)
            looked, self._looked = self._looked, asyncio.Event()
            looked.set()
            rest_s = self._until_next_s(before) - (time.monotonic() - began_s)
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), max(rest_s, FLOWING_S / 3))

    def _until_next_s(self, before: Mapping[str, Any] | None) -> float:
        if not self._watchers:
            return UNWATCHED_S
        return STILL_S if flow(before) == flow(self.status) else FLOWING_S


def flow(status: Mapping[str, Any] | None) -> object:
    """What is another while anything goes on, as opposed to what only time changes."""
    if status is None:
        return None
    streams = {name: (one["rows"], one["state"]) for name, one in status["streams"].items()}
    queries = {
        name: (one["rows"], one["waiting_rows"], one["state"], one["verdict"])
        for name, one in status["queries"].items()
    }
    return streams, queries, status["policy"], status["scheduling"]
