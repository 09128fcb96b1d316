"""Child processes as `supervision` wants them: it says what is to be done, and hears what happens.

The HTTP process is given a port that is open already: clients who come while that process is started again
wait in the queue of the port. Settings go to all as lines on standard input, whose end tells them that nobody
is there any more.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict
from typing import assert_never

from penstock.server.http.process import LISTENING
from penstock.server.layout import StateLayout
from penstock.server.processes.port import write
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
_SIGNALS = {Signal.terminate: signal.SIGTERM, Signal.kill: signal.SIGKILL}

#: Says which settings hold from now on; None: those that hold already.
Reread = Callable[[], Settings | None]


class Children:
    """Some of the processes of a server, for as long as `run` does."""

    def __init__(
        self,
        settings: Settings,
        listening: socket.socket,
        tell: Callable[[str], None],
        *,
        kinds: tuple[Child, ...] = tuple(Child),
        reread: Reread = lambda: None,
    ) -> None:
        self._settings, self._listening, self._tell, self._reread = settings, listening, tell, reread
        self._path = StateLayout(settings.server.state).supervision
        self._supervision = Supervision(kinds)
        self._events: queue.SimpleQueue[Event] = queue.SimpleQueue()
        self._processes: dict[Child, subprocess.Popen[str]] = {}
        self._wake_at = float("inf")
        self._code: int | None = None

    def run(self) -> int:
        """Runs them until they are to stop, and have; the exit status."""
        try:
            self._obey(self._supervision.begin(time.monotonic()))
            while self._code is None:
                self._obey(self._supervision.handle(self._next()))
        finally:
            for process in self._processes.values():
                process.kill()
            self._path.unlink(missing_ok=True)
        return self._code

    def stop(self) -> None:
        """They are to stop; may be called by any thread, and by a signal's handler."""
        self._events.put(Stop(time.monotonic()))

    def reload(self) -> None:
        """They are to take up settings that are read again; the same."""
        self._events.put(ReloadAsked(time.monotonic()))

    def _next(self) -> Event:
        """The next event; time that has passed, if none comes before it is to look again."""
        wait_s = max(0.0, min(self._wake_at - time.monotonic(), 3600.0))
        try:
            event = self._events.get(timeout=wait_s)
        except queue.Empty:
            self._wake_at = float("inf")
            return Tick(time.monotonic())
        if isinstance(event, ReloadAsked):
            settings = self._reread()
            if settings is None:
                return Tick(event.at)
            self._settings = settings
        return event

    def _obey(self, commands: list[Command]) -> None:
        for command in commands:
            match command:
                case Start(child):
                    self._start(child)
                case Send(child, Signal.reload):
                    self._tell_settings(self._processes[child])
                case Send(child, sent):
                    self._processes[child].send_signal(_SIGNALS[sent])
                case WakeAt(at):
                    self._wake_at = at
                case Report(text):
                    self._tell(text)
                case Leave(code):
                    self._code = code
                case _:
                    assert_never(command)
        status = {
            child.value: {**asdict(one), "up": one.phase is Phase.up}
            for child, one in self._supervision.status.items()
        }
        with contextlib.suppress(OSError):  # a full disk is no reason to stop
            write(self._path, json.dumps(status))

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
                start_new_session=True,  # Ctrl-C is for this process, which stops them one after the other
            )
        except OSError as error:
            self._tell(f"{child} cannot be started: {error}")
            self._events.put(Exited(child, _NOT_STARTED, time.monotonic()))
            return
        self._processes[child] = made
        self._tell_settings(made)
        self._events.put(Started(child, time.monotonic()))
        threading.Thread(target=self._wait, args=(child, made), name=f"{child}-ends", daemon=True).start()

    def _wait(self, child: Child, made: subprocess.Popen[str]) -> None:
        code = made.wait()
        assert made.stdin is not None
        with contextlib.suppress(OSError):
            made.stdin.close()
        self._events.put(Exited(child, code, time.monotonic()))

    def _tell_settings(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None
        with contextlib.suppress(OSError, ValueError):  # it is gone, which `_wait` notices
            process.stdin.write(self._settings.model_dump_json() + "\n")
            process.stdin.flush()
