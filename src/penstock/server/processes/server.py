"""A server as `penstock serve` runs it: the HTTP process and the engine process on one state."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
from collections.abc import Callable, Iterator

from penstock.errors import ServerError
from penstock.server.config import Loaded, reload
from penstock.server.layout import StateLayout
from penstock.server.logging import say
from penstock.server.processes.children import Children
from penstock.server.processes.port import listening, url_of, write
from penstock.server.settings import Settings


class Server:
    """A server, until somebody stops it."""

    def __init__(self, load: Callable[[], Loaded]) -> None:
        """`load` reads the settings: at first, and again on SIGHUP."""
        self._load, self._settings = load, load().settings
        self._layout = StateLayout(self._settings.server.state)

    def run(self) -> int:
        """Serves until somebody stops it; the exit status."""
        server = self._settings.server
        try:
            self._layout.state.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise ServerError(
                f"{self._layout.state} cannot be the state's directory: {error.strerror}; name another with "
                "--state"
            ) from None
        with only_server(self._layout), listening(server.host, server.port, self._layout) as port:
            children = Children(self._settings, port, lambda text: say("server", text), reread=self._reread)
            url = url_of(self._settings, port)
            for number, hear in (
                (signal.SIGTERM, children.stop),
                (signal.SIGINT, children.stop),
                (signal.SIGHUP, children.reload),
            ):
                signal.signal(number, lambda *_, hear=hear: hear())
            self._layout.taken_up.unlink(missing_ok=True)  # of the server before
            write(self._layout.address, json.dumps({"url": url, "pid": os.getpid()}))
            say("server", f"listens at {url}")
            if not server.tokens_file.exists():
                say("server", "no token was ever made: whoever reaches this address may do anything")
            try:
                return children.run()
            finally:
                self._layout.address.unlink(missing_ok=True)
                self._layout.taken_up.unlink(missing_ok=True)

    def _reread(self) -> Settings | None:
        """Reads the settings again; None if they cannot be used, which leaves everything as it is."""
        try:
            found = reload(self._settings, self._load().settings)
        except Exception as error:
            say("server", f"settings stay as they are: {error}")
            return None
        self._settings = found.settings
        say("server", str(found))
        return found.settings


@contextlib.contextmanager
def only_server(layout: StateLayout) -> Iterator[None]:
    """Two servers on one state would both say that they are the one to be reached; the system frees the lock
    of one that is gone, however it went."""
    with layout.lock.open("a") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise ServerError(
                f"a server runs on {layout.state} already; stop it first, or name another directory with "
                "--state"
            ) from None
        yield
