"""The supervisor's real processes: it does what `supervision` says, and tells it what happens.

It opens the port itself and hands it to the HTTP process: clients who come while that one is started again
wait in the queue of the port. Settings go to both as lines on standard input, whose end tells them that it is
gone.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import assert_never
from urllib.parse import urlsplit

from penstock.errors import ServerError
from penstock.server.config import Loaded, is_loopback, reload
from penstock.server.http.process import LISTENING
from penstock.server.layout import StateLayout
from penstock.server.logging import say
from penstock.server.settings import Settings
from penstock.server.supervision import (
    Child,
    Command,
    Event,
    Exited,
    Leave,
    Phase,
    ReloadAsked,
    Report,
    Send,
    Signal,
    Start,
    Started,
    Stop,
    Supervision,
    Tick,
    WakeAt,
)

#: The HTTP process is that with the page, which imports all of the server: only its name is known here.
_MODULES = {Child.http: "penstock.web.process", Child.engine: "penstock.server.engine.process"}
#: The exit code of a process that could not be started at all, as shells have it.
_NOT_STARTED = 126
#: Seconds that a port is waited for which the processes of a killed server still have, and between two tries.
_PORT_PATIENCE_S, _PORT_PAUSE_S = 40.0, 0.2
_SIGNALS = {Signal.terminate: signal.SIGTERM, Signal.kill: signal.SIGKILL}


class Server:
    """A server as `penstock serve` runs it."""

    def __init__(self, load: Callable[[], Loaded]) -> None:
        """`load` reads the settings: at first, and again on SIGHUP."""
        self._load, self._settings = load, load().settings
        self._supervision = Supervision()
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._children: dict[Child, subprocess.Popen[str]] = {}
        self._wake_at = float("inf")
        self._code: int | None = None
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
        with _only_server(self._layout), _listening(server.host, server.port, self._layout) as listening:
            url = _url(self._settings, listening)
            self._listening = listening
            for number, event in (
                (signal.SIGTERM, Stop),
                (signal.SIGINT, Stop),
                (signal.SIGHUP, ReloadAsked),
            ):
                signal.signal(number, lambda *_, event=event: self._events.put(event(time.monotonic())))
            _write(self._layout.address, json.dumps({"url": url, "pid": os.getpid()}))
            say("server", f"listens at {url}")
            if not server.tokens_file.exists():
                say("server", "no token was ever made: whoever reaches this address may do anything")
            try:
                self._obey(self._supervision.begin(time.monotonic()))
                while self._code is None:
                    self._obey(self._supervision.handle(self._next()))
            finally:
                for child in self._children.values():
                    child.kill()
                for path in (self._layout.address, self._layout.supervision):
                    path.unlink(missing_ok=True)
        return self._code

    def _next(self) -> Event:
        """The next event; time that has passed, if none comes before it is to look again."""
        wait_s = max(0.0, min(self._wake_at - time.monotonic(), 3600.0))
        try:
            event = self._events.get(timeout=wait_s)
        except queue.Empty:
            self._wake_at = float("inf")
            return Tick(time.monotonic())
        if isinstance(event, ReloadAsked) and not self._reload():
            return Tick(event.at)
        return event

    def _obey(self, commands: list[Command]) -> None:
        for command in commands:
            match command:
                case Start(child):
                    self._start(child)
                case Send(child, Signal.reload):
                    self._tell_settings(self._children[child])
                case Send(child, sent):
                    self._children[child].send_signal(_SIGNALS[sent])
                case WakeAt(at):
                    self._wake_at = at
                case Report(text):
                    say("server", text)
                case Leave(code):
                    self._code = code
                case _:
                    assert_never(command)
        status = {
            child.value: {**asdict(one), "up": one.phase is Phase.up}
            for child, one in self._supervision.status.items()
        }
        with contextlib.suppress(OSError):  # a full disk is no reason to stop
            _write(self._layout.supervision, json.dumps(status))

    def _start(self, child: Child) -> None:
        listening = self._listening.fileno()
        environment = {**os.environ, LISTENING: str(listening)} if child is Child.http else None
        try:
            made = subprocess.Popen(
                [sys.executable, "-m", _MODULES[child]],
                stdin=subprocess.PIPE,
                text=True,
                env=environment,
                pass_fds=(listening,) if child is Child.http else (),
                start_new_session=True,  # Ctrl-C is for the supervisor, which stops them one after the other
            )
        except OSError as error:
            say("server", f"{child} cannot be started: {error}")
            self._events.put(Exited(child, _NOT_STARTED, time.monotonic()))
            return
        self._children[child] = made
        self._tell_settings(made)
        self._events.put(Started(child, time.monotonic()))
        threading.Thread(target=self._wait, args=(child, made), name=f"{child}-ends", daemon=True).start()

    def _wait(self, child: Child, made: subprocess.Popen[str]) -> None:
        code = made.wait()
        self._events.put(Exited(child, code, time.monotonic()))

    def _tell_settings(self, child: subprocess.Popen[str]) -> None:
        assert child.stdin is not None
        with contextlib.suppress(OSError):  # it is gone, which `_wait` notices
            child.stdin.write(self._settings.model_dump_json() + "\n")
            child.stdin.flush()

    def _reload(self) -> bool:
        """Reads the settings again; False if they cannot be used, which leaves everything as it is."""
        try:
            found = reload(self._settings, self._load().settings)
        except Exception as error:
            say("server", f"settings stay as they are: {error}")
            return False
        self._settings = found.settings
        say("server", str(found))
        return True


@contextlib.contextmanager
def _only_server(layout: StateLayout) -> Iterator[None]:
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


def _listening(host: str, port: int, layout: StateLayout) -> socket.socket:
    """The open port. After a server that was killed its HTTP process has it for a moment longer."""
    until_s = time.monotonic() + (_PORT_PATIENCE_S if port and _was_killed(layout, port) else 0.0)
    has_told = False
    while True:
        try:
            return _open(host, port)
        except OSError as error:
            if error.errno != errno.EADDRINUSE or time.monotonic() >= until_s:
                raise ServerError(
                    f"cannot listen at {host}, port {port}: {error.strerror}; choose another port with "
                    "--port, or 0 for one that is free"
                ) from None
        if not has_told:
            say("server", f"port {port} is still in use; waits for what is left of the server before")
            has_told = True
        time.sleep(_PORT_PAUSE_S)


def _was_killed(layout: StateLayout, port: int) -> bool:
    """Whether the server that ran here before, at that port, did not take its address away."""
    try:
        found = json.loads(layout.address.read_text("utf-8"))
        return bool(urlsplit(str(found["url"])).port == port)
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _open(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    made = socket.socket(family, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
        made.listen(1024)
        made.set_inheritable(True)
    except OSError:
        made.close()
        raise
    return made


def _url(settings: Settings, listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    if host in ("0.0.0.0", "::"):
        host = settings.server.names[0] if settings.server.names else "127.0.0.1"
    elif is_loopback(settings.server.host):
        host = settings.server.host
    shown = f"[{host}]" if ":" in host else host
    return f"{'https' if settings.server.tls else 'http'}://{shown}:{port}"


def _write(path: Path, text: str) -> None:
    """Replaces a file as a whole."""
    beside = path.with_suffix(".new")
    beside.write_text(text, "utf-8")
    os.replace(beside, path)
