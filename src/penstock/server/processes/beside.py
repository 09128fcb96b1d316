"""The HTTP process beside an engine that runs in this process: the API and the page, on this machine only.

    with PageBeside(state, tell) as page:
        with Engine(state, out=page.layout.results, published=page.published) as engine:
            with page.reaching(engine):
                …

The page is there at once and says that the engine is starting until `reaching` begins. If the HTTP process
ends by itself, that is told and it is started again. On the way out it is stopped, whatever happened.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

from penstock.engines.spark.engine import Engine
from penstock.errors import ServerError
from penstock.server.channel.frames import Notice
from penstock.server.channel.host import Host
from penstock.server.engine.service import EngineService
from penstock.server.layout import StateLayout
from penstock.server.processes.children import Children
from penstock.server.processes.port import opened, url_of
from penstock.server.settings import PORT, ServerSection, Settings
from penstock.server.supervision import Child

#: Only this machine reaches it: nobody needs a token.
_HOST = "127.0.0.1"


class PageBeside:
    """The page at the port of servers, or at one that is free if another has that."""

    def __init__(self, state: Path, tell: Callable[[str], None], port: int = PORT) -> None:
        self.layout = StateLayout(state)
        self._tell = tell
        self._hosts: tuple[Host, ...] = ()
        try:
            self._listening = opened(_HOST, port)
        except OSError:
            try:
                self._listening = opened(_HOST, 0)
            except OSError as error:
                raise ServerError(f"cannot listen at {_HOST}: {error.strerror}") from None
        self.settings = Settings(server=ServerSection(state=state, port=self._listening.getsockname()[1]))
        self.url = url_of(self.settings, self._listening)
        self._is_closing = False
        self._children = Children(self.settings, self._listening, self._report, kinds=(Child.http,))
        self._thread = threading.Thread(target=self._children.run, name="penstock-page", daemon=True)

    def __enter__(self) -> PageBeside:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_closing = True
        self._children.stop()
        self._thread.join()
        self._listening.close()

    def _report(self, text: str) -> None:
        """That a page that is to end has ended is no news."""
        if not self._is_closing:
            self._tell(f"page: {text}")

    def published(self, directory: str, name: str) -> None:
        """A file with results is there; from any thread."""
        self._notify(Notice("published", {"directory": directory, "file": name}))

    def changed(self) -> None:
        """This process has created, changed or dropped something, which nobody else knows."""
        self._notify(Notice("changed", {}))

    def _notify(self, notice: Notice) -> None:
        for host in self._hosts:
            host.notify(notice)

    @contextmanager
    def reaching(self, engine: Engine) -> Iterator[None]:
        """What is asked of the page is asked of this engine, which has the same state."""
        host = Host(self.layout.socket, EngineService(engine), self._tell)
        self._hosts = (host,)
        try:
            yield
        finally:
            self._hosts = ()
            host.close()
