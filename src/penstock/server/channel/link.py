"""The HTTP process' end of the channel: calls that many requests make at once, over one connection.

While the engine process is away (it starts, or has crashed) calls fail at once with `EngineAwayError`, and
the link tries to connect again. A call that was under way when the connection broke fails too: whether it was
done is not known, and who asked says so or asks again.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from penstock import errors
from penstock.errors import EngineError, PenstockError, SqlError
from penstock.server.channel import frames
from penstock.server.channel.frames import FrameError, Notice, Problem, Reply, Request, UnsendableError
from penstock.server.logging import say

#: Seconds between two tries to connect.
_PAUSE_S = 0.2


class EngineAwayError(PenstockError):
    """The engine process does not answer now; it is being started."""

    def __init__(self, text: str = "the engine is starting; try again in a few seconds") -> None:
        super().__init__(text)


class EngineLeftError(EngineAwayError):
    """The engine process went away while it was asked: whether it did what it was asked is not known."""

    def __init__(self) -> None:
        super().__init__("the engine went away meanwhile; look whether it was done, and try again")


class DefectError(PenstockError):
    """The engine could not do what it was asked, and it is not the asker's fault."""


class Link(Protocol):
    """How the API reaches an engine: over the socket, or in the same process."""

    @property
    def connected(self) -> bool:
        """Whether the engine answers."""

    async def call(self, method: str, payload: bytes | memoryview = b"", **arguments: Any) -> Any:
        """What the engine's service says to that; raises what it refuses it with."""


class SocketLink:
    """A link over the Unix socket. `heard` gets every notice, and hears when a connection begins (None)."""

    def __init__(self, path: Path, heard: Callable[[Notice | None], None]) -> None:
        self._path, self._heard = path, heard
        self._numbers = itertools.count()
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._writer: asyncio.StreamWriter | None = None
        self._task: asyncio.Task[None] | None = None

    @property
    def connected(self) -> bool:
        """Whether the engine answers."""
        return self._writer is not None

    def start(self) -> None:
        """Connects, and connects again whenever that is over."""
        self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Ends it."""
        if self._task is not None:
            self._task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._task

    async def call(self, method: str, payload: bytes | memoryview = b"", **arguments: Any) -> Any:
        """What the engine's service says to that."""
        if self._writer is None:
            raise EngineAwayError
        number = next(self._numbers)
        try:
            parts = frames.encode(Request(number, method, arguments), payload)
        except UnsendableError as error:
            raise EngineError(f"the engine cannot be asked that: {error}") from None
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        try:
            self._writer.writelines(parts)
            await self._writer.drain()
            return await future
        except (ConnectionError, RuntimeError):
            raise EngineLeftError from None
        finally:
            self._waiting.pop(number, None)

    async def _run(self) -> None:
        while True:
            try:
                await self._connect()
            except (OSError, asyncio.IncompleteReadError):
                pass  # it is away
            except Exception as error:  # whatever it is: without this task nobody reaches the engine again
                say("http", f"the connection to the engine is made anew: {error!r}")
            await asyncio.sleep(_PAUSE_S)

    async def _connect(self) -> None:
        """One connection, until it ends."""
        reader, writer = await asyncio.open_unix_connection(str(self._path))
        self._writer = writer
        try:
            self._heard(None)
            await self._read(reader)
        finally:
            self._writer = None
            writer.close()
            self._break()

    def _break(self) -> None:
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(EngineLeftError())
                future.exception()  # who asked may be told by `drain`, and then nobody looks at it

    async def _read(self, reader: asyncio.StreamReader) -> None:
        while True:
            size, rest = frames.lengths(await reader.readexactly(frames.PREFIX))
            message = frames.decode(await reader.readexactly(size))
            if rest:
                await reader.readexactly(rest)
            match message:
                case Reply():
                    future = self._waiting.get(message.number)
                    if future is not None and not future.done():
                        if message.problem is None:
                            future.set_result(message.result)
                        else:
                            future.set_exception(error_of(message.problem))
                case Notice():
                    self._heard(message)
                case Request():
                    raise FrameError("the engine asks nothing")


def error_of(problem: Problem) -> PenstockError:
    """The error that the engine raised."""
    if problem.kind == "SqlError" and problem.line is not None and problem.column is not None:
        return RefusedSqlError(problem)
    if problem.kind == "Defect":
        return DefectError(problem.text)
    kind = getattr(errors, problem.kind, None)
    if not (isinstance(kind, type) and issubclass(kind, PenstockError)) or issubclass(kind, SqlError):
        kind = PenstockError  # of another version, or one that is known there only
    return kind(problem.text)


class RefusedSqlError(SqlError):
    """SQL that the engine refused, with the words that it said."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.what, problem.line or 1, problem.column or 1)
        self.args = (problem.text,)
