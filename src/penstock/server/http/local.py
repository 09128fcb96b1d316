"""The API within a command, over an engine on a state that no server runs on: the same, without a network."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from penstock.server.channel.frames import Notice
from penstock.server.http.app import create_app
from penstock.server.http.backend import Backend
from penstock.server.settings import ServerSection, Settings


class LocalLink:
    """A link to a service in this process."""

    connected = True

    def __init__(self, service: Any, heard: Callable[[Notice | None], None]) -> None:
        self._service, self._heard = service, heard
        self._pool = ThreadPoolExecutor(8, thread_name_prefix="penstock-call")
        self._loop: asyncio.AbstractEventLoop | None = None

    def published(self, directory: str, name: str) -> None:
        """A file with results is there; from any thread."""
        if self._loop is not None:
            notice = Notice("published", {"directory": directory, "file": name})
            self._loop.call_soon_threadsafe(self._heard, notice)

    async def call(self, method: str, payload: bytes | memoryview = b"", **arguments: Any) -> Any:
        """What the service says to that."""
        self._loop = loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()

        def answer(result: Any, error: BaseException | None) -> None:
            loop.call_soon_threadsafe(_settle, future, result, error)

        if self._service.begin(method, arguments, memoryview(payload), answer):
            return await future
        return await loop.run_in_executor(self._pool, self._service.call, method, arguments)


def _settle(future: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)


class _Transport(httpx.BaseTransport):
    """Requests to the application, which has a loop in a thread of its own."""

    def __init__(self, app: Any) -> None:
        self._inner = httpx.ASGITransport(app, client=("127.0.0.1", 0))
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="penstock-local", daemon=True).start()

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        """What a coroutine comes to, in the loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """One request, read to its end."""
        return self.run(self._send(request))  # type: ignore[no-any-return]

    async def _send(self, request: httpx.Request) -> httpx.Response:
        asked = httpx.Request(request.method, request.url, headers=request.headers, content=request.read())
        answered = await self._inner.handle_async_request(asked)
        return httpx.Response(answered.status_code, headers=answered.headers, content=await answered.aread())

    def close(self) -> None:
        """Ends the loop."""
        self._loop.call_soon_threadsafe(self._loop.stop)


@contextmanager
def open_local(state: Path) -> Iterator[httpx.BaseTransport]:
    """The API over an engine that is opened on a state, and closed in the end."""
    # The engine, and Spark with it, only here: everything else of this package does without.
    from penstock.server.engine.process import make_engine
    from penstock.server.engine.service import EngineService

    settings = Settings(server=ServerSection(state=state))
    links: list[LocalLink] = []

    def published(directory: str, name: str) -> None:
        for link in links:
            link.published(directory, name)

    with make_engine(settings, lambda _: None, published, confined=False) as engine:
        engine.start()

        def link(heard: Callable[[Notice | None], None]) -> LocalLink:
            made = LocalLink(EngineService(engine), heard)
            links.append(made)
            return made

        backend = Backend(settings, link)
        backend.is_open = True  # whoever has the files may do anything
        transport = _Transport(create_app(backend))
        try:
            yield transport
        finally:
            transport.close()
            backend.close()
