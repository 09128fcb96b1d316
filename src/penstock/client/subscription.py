"""Results as they are committed, each exactly once and in order, across connections that break.

The position of the last result that came whole goes with every new connection (`Last-Event-ID`), so that
the server goes on behind it.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import httpx
import pyarrow as pa

from penstock.client.connection import LATER
from penstock.client.html import table_html
from penstock.client.pauses import Pauses
from penstock.client.server_events import EventReader, ServerEvent
from penstock.errors import PenstockError, ServerError

#: Opens a connection behind a position, and gives its lines.
Open = Callable[[str | None], AbstractContextManager[Iterator[str]]]
#: The server is told at most every so many seconds how far a named subscription is.
ACKNOWLEDGE_S = 1.0
#: What a server says when it has no more to say: results end with the query.
END = "end"


@dataclass(frozen=True, slots=True)
class Result:
    """Rows that were committed together, and the position behind them: `subscribe(after=…)` goes on there."""

    table: pa.Table
    position: str

    def _repr_html_(self) -> str:
        return table_html(self.table, title=f"{self.table.num_rows:,} rows, up to {self.position}")


class Subscription:
    """An iterator of results; close it, or leave its `with`, to end it. Any thread may close it."""

    def __init__(
        self,
        open_: Open,
        typed: Callable[[list[dict[str, Any]]], pa.Table],
        after: str | None = None,
        pauses: Pauses | None = None,
        acknowledge: Callable[[str], None] = lambda _: None,
        unreachable: Callable[[httpx.TransportError], PenstockError] = lambda error: ServerError(str(error)),
    ) -> None:
        self._open, self._typed, self._pauses = open_, typed, pauses or Pauses()
        self._position = after
        self._closed = threading.Event()
        self._events: Generator[ServerEvent] | None = None
        self._unreachable, self._acknowledge = unreachable, acknowledge
        self._taken = self._acknowledged = after
        self._acknowledged_s = 0.0

    @property
    def position(self) -> str | None:
        """Behind the last result that was taken."""
        return self._position

    def close(self) -> None:
        """No more results. Where another thread waits for one, that ends with the server's next line."""
        self._end(self._position)

    def _end(self, taken: str | None) -> None:
        if not self._closed.is_set():
            self._closed.set()
            with suppress(PenstockError):  # then the last result comes again, to the next one of this name
                self._took(taken)
        if self._events is not None:
            with suppress(ValueError):  # it runs in another thread
                self._events.close()

    def __enter__(self) -> Subscription:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end(self._position if kind is None else self._taken)

    def _took(self, position: str | None) -> None:
        """Tells the server that everything up to a position was taken, if it does not know yet."""
        if position is not None and position != self._acknowledged:
            self._acknowledge(position)
            self._acknowledged = position

    def __iter__(self) -> Subscription:
        return self

    def __next__(self) -> Result:
        self._taken = self._position  # who asks for another one is done with the last
        if self._events is None:
            self._events = self._connected()
        elif time.monotonic() - self._acknowledged_s > ACKNOWLEDGE_S:
            with suppress(ServerError):  # it is told again with the next one
                self._took(self._taken)
            self._acknowledged_s = time.monotonic()
        for event in self._events:
            rows = json.loads(event.data).get("rows", [])
            self._position = event.id
            if rows:
                return Result(self._typed(rows), event.id)
        raise StopIteration

    def _connected(self) -> Generator[ServerEvent]:
        """Events of one connection after the other."""
        begun = False
        while not self._closed.is_set():
            try:
                with self._open(self._position) as lines:
                    begun = True
                    reader = EventReader()
                    for line in lines:
                        if self._closed.is_set():
                            return
                        event = reader.line(line)
                        if event is None:
                            continue
                        self._pauses.reset()
                        if event.kind == END:
                            return
                        if event.kind == "rows" and event.id and event.id != self._position:
                            yield event
            except httpx.TransportError as error:
                if not begun:  # nobody was ever there
                    raise self._unreachable(error) from None
            except ServerError as error:
                if error.status not in LATER:
                    raise
            self._closed.wait(self._pauses.next_s())
