"""Connections on which nothing goes on: uvicorn waits for ever for a request, and for who does not read.

A request has to be there some time after its connection, or the answer before it; its body is looked after by
`guard`. Who takes nothing of an answer for long is disconnected: whatever follows results goes on behind the
last event that it has.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

#: Seconds within which a request has to be there, and after which who takes nothing is disconnected.
REQUEST_S, TAKEN_S = 75.0, 300.0
#: The most connections from one address: half of all, so that nobody alone keeps others out.
MOST_OF_ONE = 1000

#: Hears of an address from which half a request came, or too many connections.
Heard = Callable[[str, str], None]


class PatientProtocol(H11Protocol):
    """HTTP/1.1 with an end to waiting; `patient` makes one that tells somebody."""

    request_s, taken_s, most_of_one = REQUEST_S, TAKEN_S, MOST_OF_ONE
    _request: asyncio.TimerHandle | None = None
    _taken: asyncio.TimerHandle | None = None

    def tell(self, what: str) -> None:
        """Says of the client's address what was wrong; nobody hears it, but with `patient`."""

    def connection_made(self, transport: Any) -> None:
        """The first request is waited for from now on."""
        super().connection_made(transport)
        self._await_request()
        if self._others() > self.most_of_one:
            self.tell(f"more than {self.most_of_one} connections from one address")
            transport.abort()

    def on_response_complete(self) -> None:
        """The next one is."""
        self._await_request()
        super().on_response_complete()

    def pause_writing(self) -> None:
        """What was sent is not taken."""
        super().pause_writing()
        self._taken = self.loop.call_later(self.taken_s, self.transport.abort)

    def resume_writing(self) -> None:
        """It is."""
        super().resume_writing()
        if self._taken is not None:
            self._taken.cancel()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nothing is waited for any more."""
        super().connection_lost(exc)
        for timer in (self._request, self._taken):
            if timer is not None:
                timer.cancel()

    @property
    def address(self) -> str:
        """Where the client is."""
        return self.client[0] if self.client else ""

    def _others(self) -> int:
        mine = self.address
        return sum(getattr(one, "address", None) == mine for one in self.connections)

    def _await_request(self) -> None:
        if self._request is not None:
            self._request.cancel()
        self._request = self.loop.call_later(self.request_s, self._give_up)

    def _give_up(self) -> None:
        under_way = self.cycle is not None and not self.cycle.response_complete
        if under_way or self.transport.get_protocol() is not self:  # it is a web socket by now
            return
        if self.conn.trailing_data[0]:
            self.tell(f"half a request, and the rest not within {self.request_s:g} s")
        self.transport.abort()


def patient(told: Heard) -> type[PatientProtocol]:
    """The protocol of a server that writes such things down."""

    class Telling(PatientProtocol):
        def tell(self, what: str) -> None:
            told(self.address, what)

    return Telling
