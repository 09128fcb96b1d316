"""One look at the engine a second for all pages that are open, and one in a while when none is."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any

from penstock.errors import PenstockError
from penstock.server.http.backend import Backend
from penstock.web.live.history import History

#: Seconds between two looks while somebody watches, and while nobody does.
WATCHED_S, UNWATCHED_S = 1.0, 5.0
#: Seconds for which a page that asked counts as one that watches.
_ATTENTION_S = 3.0


class Live:
    """What is known of the engine now; `status` is None while it does not answer, and `trouble` says why."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.history = History()
        self.status: Mapping[str, Any] | None = None
        self.trouble = "the engine is starting"
        self._asked_s = -_ATTENTION_S
        self._wake = asyncio.Event()

    def watched(self) -> Mapping[str, Any] | None:
        """The latest look; whoever asks is somebody who watches."""
        if time.monotonic() - self._asked_s > _ATTENTION_S:
            self._wake.set()
        self._asked_s = time.monotonic()
        return self.status

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
            try:
                found = await self._backend.status()
                self.history.add(found)
                self.status, self.trouble = found, ""
            except PenstockError as error:
                self.status, self.trouble = None, str(error)
            watched = time.monotonic() - self._asked_s <= _ATTENTION_S
            self._wake.clear()
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), WATCHED_S if watched else UNWATCHED_S)
