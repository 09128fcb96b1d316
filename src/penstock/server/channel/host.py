"""The engine's end of the channel: a thread that listens, and for each connection two that read and write.

What writes is never the thread that has something to say: the coordinator hands over and goes on, however
slow the other process is. A connection whose replies pile up is closed; the other side asks again.
"""

from __future__ import annotations

import contextlib
import os
import queue
import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Protocol

from penstock.errors import PenstockError, SqlError
from penstock.server.channel import frames
from penstock.server.channel.frames import FrameError, Notice, Problem, Reply, Request, UnsendableError

#: Frames that may wait to be written to one connection.
_MOST_WAITING = 10_000
#: Calls that are answered at once, and those of methods that only wait.
_CALLS, _WAITING_CALLS = 16, 64
#: Seconds until it is tried again to let somebody connect.
_PAUSE_S = 0.5

#: Says what came of a request: a result, or the error. May be called once, from any thread.
Answer = Callable[[Any, BaseException | None], None]


class Service(Protocol):
    """What can be asked."""

    @property
    def waiting_methods(self) -> frozenset[str]:
        """Methods that wait for long and do little: they do not hold up others."""

    def begin(self, method: str, arguments: dict[str, Any], payload: memoryview, answer: Answer) -> bool:
        """Begins what needs no thread to wait for it, and answers later; False: it is to be called."""

    def call(self, method: str, arguments: dict[str, Any]) -> Any:
        """Does something and returns what came of it."""


class Host:
    """Listens at a path. Whoever can open the socket may ask for anything: it has mode 0600."""

    def __init__(self, path: Path, service: Service, tell: Callable[[str], None]) -> None:
        self._path, self._service, self._tell = path, service, tell
        self._pool = ThreadPoolExecutor(_CALLS, thread_name_prefix="penstock-call")
        self._waiting_pool = ThreadPoolExecutor(_WAITING_CALLS, thread_name_prefix="penstock-wait")
        self._connections: set[_Connection] = set()
        self._lock = threading.Lock()
        self._socket = _listening(path)
        self._closed = False
        threading.Thread(target=self._accept, name="penstock-channel", daemon=True).start()

    def notify(self, notice: Notice) -> None:
        """Tells everybody who is connected. Never waits."""
        with self._lock:
            connections = list(self._connections)
        for connection in connections:
            connection.send(notice)

    def close(self) -> None:
        """Answers nothing more."""
        self._closed = True
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()
        with self._lock:
            connections = list(self._connections)
        for connection in connections:
            connection.close()
        for pool in (self._pool, self._waiting_pool):
            pool.shutdown(wait=False, cancel_futures=True)
        self._path.unlink(missing_ok=True)

    def _accept(self) -> None:
        while not self._closed:
            try:
                accepted, _ = self._socket.accept()
            except OSError as error:
                if not self._closed:  # too many open files, say: that passes
                    self._tell(f"nobody can connect now: {error}")
                    time.sleep(_PAUSE_S)
                continue
            connection = _Connection(accepted, self._serve, self._left, self._tell)
            with self._lock:
                self._connections.add(connection)
            connection.start()

    def _left(self, connection: _Connection) -> None:
        with self._lock:
            self._connections.discard(connection)

    def _serve(self, connection: _Connection, request: Request, payload: memoryview) -> None:
        def answer(result: Any, error: BaseException | None) -> None:
            connection.send(self._reply(request, result, error))

        try:
            if self._service.begin(request.method, request.arguments, payload, answer):
                return
        except Exception as error:
            answer(None, error)
            return
        pool = self._waiting_pool if request.method in self._service.waiting_methods else self._pool
        with contextlib.suppress(RuntimeError):  # it is being closed
            pool.submit(self._call, request, answer)

    def _call(self, request: Request, answer: Answer) -> None:
        try:
            result = self._service.call(request.method, request.arguments)
        except Exception as error:
            answer(None, error)
        else:
            answer(result, None)

    def _reply(self, request: Request, result: Any, error: BaseException | None) -> Reply:
        if error is None:
            return Reply(request.number, result)
        if not isinstance(error, PenstockError):
            self._tell(f"'{request.method}' failed, which is a defect of Penstock: {error!r}")
        return Reply(request.number, problem=problem_of(error))


def problem_of(error: BaseException) -> Problem:
    """An error as it crosses the socket; what is no user's mistake is told without its words."""
    if isinstance(error, SqlError):
        return Problem("SqlError", str(error), error.what, error.line, error.column)
    if isinstance(error, PenstockError):
        return Problem(type(error).__name__, str(error))
    return Problem("Defect", "the engine could not do that; its log says why")


def _listening(path: Path) -> socket.socket:
    """A socket that nobody else on the machine can open."""
    path.unlink(missing_ok=True)
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    before = os.umask(0o177)
    try:
        made.bind(str(path))
    finally:
        os.umask(before)
    made.listen(16)
    return made


class _Connection:
    """One client: what it asks is read by a thread, and what it is told written by another."""

    def __init__(
        self,
        connected: socket.socket,
        serve: Callable[[_Connection, Request, memoryview], None],
        left: Callable[[_Connection], None],
        tell: Callable[[str], None],
    ) -> None:
        self._socket, self._serve, self._left, self._tell = connected, serve, left, tell
        self._outgoing: queue.Queue[Reply | Notice | None] = queue.Queue(_MOST_WAITING)

    def start(self) -> None:
        """Begins to read and to write."""
        threading.Thread(target=self._read, name="penstock-channel-in", daemon=True).start()
        threading.Thread(target=self._write, name="penstock-channel-out", daemon=True).start()

    def send(self, message: Reply | Notice) -> None:
        """Leaves a message to be written; who does not read for long is disconnected."""
        try:
            self._outgoing.put_nowait(message)
        except queue.Full:
            self.close()

    def close(self) -> None:
        """Ends both threads."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)
        with contextlib.suppress(queue.Full):
            self._outgoing.put_nowait(None)

    def _read(self) -> None:
        with (
            contextlib.suppress(OSError, FrameError),
            self._socket.makefile("rb", buffering=1 << 16) as incoming,
        ):
            while len(prefix := incoming.read(frames.PREFIX)) == frames.PREFIX:
                size, rest = frames.lengths(prefix)
                body, payload = incoming.read(size), incoming.read(rest)
                if len(payload) < rest:
                    break
                message = frames.decode(body)
                if isinstance(message, Request):
                    self._serve(self, message, memoryview(payload))
        self._left(self)
        self.close()
        self._socket.close()

    def _write(self) -> None:
        with contextlib.suppress(OSError):
            while (message := self._outgoing.get()) is not None:
                self._socket.sendall(self._encoded(message))
        self.close()

    def _encoded(self, message: Reply | Notice) -> bytes:
        """A frame; of an answer that cannot cross, who asked hears that."""
        try:
            return b"".join(frames.encode(message))
        except UnsendableError as error:
            self._tell(f"something could not be told, which is a defect of Penstock: {error}")
            if isinstance(message, Notice):
                return b""
            return b"".join(frames.encode(Reply(message.number, problem=problem_of(error))))
