"""Just enough HTTP for hundreds of clients in one process: requests on kept connections, and events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass

from penstock.errors import ExperimentError

#: Bytes that a line of an answer may have.
_LIMIT = 1 << 22


@dataclass(frozen=True, slots=True)
class Answer:
    """A status and a body."""

    status: int
    body: bytes


class Connection:
    """One client's connection."""

    def __init__(self, host: str, port: int) -> None:
        self._host, self._port = host, port
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def ask(
        self, method: str, path: str, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> Answer:
        """A request and its answer, whole."""
        status, found = await self._begin(method, path, body, headers or {})
        if found.get("transfer-encoding") == "chunked":
            parts = [part async for part in self._chunks()]
            content = b"".join(parts)
        else:
            assert self._reader is not None
            content = await self._reader.readexactly(int(found.get("content-length", "0")))
        if found.get("connection") == "close":
            self.close()
        return Answer(status, content)

    async def events(self, path: str, opened: Callable[[], None]) -> AsyncIterator[bytes]:
        """The data of server-sent events, one after the other; it ends when the server ends it."""
        status, _ = await self._begin("GET", path, b"", {"Accept": "text/event-stream"})
        if status != 200:
            raise ExperimentError(f"{path} answered {status}")
        opened()
        waiting = b""
        async for part in self._chunks():
            *whole, waiting = (waiting + part).split(b"\n\n")
            for event in whole:
                for line in event.split(b"\n"):
                    if line.startswith(b"data: "):
                        yield line[6:]

    def close(self) -> None:
        """Lets go of the connection; the next request opens another."""
        if self._writer is not None:
            with suppress(Exception):
                self._writer.close()
        self._reader = self._writer = None

    async def _begin(
        self, method: str, path: str, body: bytes, headers: Mapping[str, str]
    ) -> tuple[int, dict[str, str]]:
        if self._writer is None:
            self._reader, self._writer = await asyncio.open_connection(self._host, self._port, limit=_LIMIT)
        assert self._reader is not None
        given = {"Host": f"{self._host}:{self._port}", "Content-Length": str(len(body)), **headers}
        lines = "".join(f"{name}: {value}\r\n" for name, value in given.items())
        self._writer.write(f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode() + body)
        await self._writer.drain()
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        pairs = (line.partition(":") for line in head[1:] if line)
        return int(head[0].split(" ")[1]), {name.lower(): value.strip() for name, _, value in pairs}

    async def _chunks(self) -> AsyncIterator[bytes]:
        assert self._reader is not None
        while size := int(await self._reader.readuntil(b"\r\n"), 16):
            yield (await self._reader.readexactly(size + 2))[:-2]
        await self._reader.readuntil(b"\r\n")
