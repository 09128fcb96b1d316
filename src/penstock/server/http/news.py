"""New results for all who follow: what many want to know at once is read in one go.

A file of results concerns hundreds of queries, and whoever follows one of them looks into it. Each in a
thread of its own they would stand in each other's way, and list the same directories hundreds of times.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

import anyio.to_thread

from penstock.engines.spark.results.places import ResultPlaces
from penstock.errors import PenstockError
from penstock.server.committed.positions import Position
from penstock.server.committed.reading import Asked, CommittedFiles, Page
from penstock.server.http.encoding import json_bytes, rows_of
from penstock.server.http.places import Places

#: The most rows of an event.
EVENT_ROWS = 1000
#: How many are served in one go, and how many goes there are at a time: an old file that one reads takes a
#: while, and others go on.
_MOST_AT_ONCE, _GOES = 100, 2
#: Seconds after which the engine has no answer.
_ANSWER_S = 30.0


@dataclass(frozen=True, slots=True)
class News:
    """What is new: an event as it is sent, nothing if there is none; behind which position to go on."""

    event: bytes
    next: Position | None
    more: bool


class Newsroom:
    """Reads for all followers. Used in the loop of the HTTP process."""

    def __init__(self, files: CommittedFiles, places: Places) -> None:
        self._files, self._places = files, places
        self._waiting: list[tuple[Asked, asyncio.Future[News]]] = []
        self._going: set[asyncio.Task[None]] = set()

    async def get(self, query: str, after: Position | None) -> News:
        """What a query, by full name, has put out behind a position."""
        future: asyncio.Future[News] = asyncio.get_running_loop().create_future()
        self._waiting.append((Asked(query, after, EVENT_ROWS), future))
        if len(self._going) < _GOES:
            task = asyncio.create_task(self._go())
            self._going.add(task)
            task.add_done_callback(self._going.discard)
        return await future

    async def _go(self) -> None:
        while self._waiting:
            those, self._waiting = self._waiting[:_MOST_AT_ONCE], self._waiting[_MOST_AT_ONCE:]
            those = [one for one in those if not one[1].done()]  # some have gone
            loop = asyncio.get_running_loop()
            try:
                found = await anyio.to_thread.run_sync(self._read, [asked for asked, _ in those], loop)
            except BaseException as error:
                for _, future in those:
                    if not future.done():
                        future.set_exception(error)
                        future.exception()  # who asked may have gone, and then nobody looks at it
                if not isinstance(error, Exception):
                    raise
                continue
            for (_, future), one in zip(those, found, strict=True):
                if future.done():
                    continue
                if isinstance(one, PenstockError):
                    future.set_exception(one)
                    future.exception()
                else:
                    future.set_result(one)

    def _read(self, asked: Sequence[Asked], loop: asyncio.AbstractEventLoop) -> list[News | PenstockError]:
        """In a thread."""

        def find(queries: Sequence[str]) -> dict[str, ResultPlaces | PenstockError]:
            coroutine = self._places.find_all(queries)
            return asyncio.run_coroutine_threadsafe(coroutine, loop).result(_ANSWER_S)

        pages = self._files.pages(asked, find)
        return [one if isinstance(one, PenstockError) else news_of(one) for one in pages]


def news_of(page: Page) -> News:
    """A page of results as an event."""
    if not page.table.num_rows:
        return News(b"", page.next, page.more)
    data = json_bytes({"rows": rows_of(page.table)})
    event = b"id: %s\nevent: rows\ndata: %s\n\n" % (str(page.next).encode(), data)
    return News(event, page.next, page.more)
