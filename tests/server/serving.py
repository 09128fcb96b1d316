"""A server in processes of its own, which can be killed one by one."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum
from pathlib import Path

import httpx

from penstock.client import Client
from tests.chaos.lives import descendants, is_spark

#: The longest anything may take on a machine that is busy.
PATIENCE_S = 180.0
PENSTOCK = Path(sys.executable).with_name("penstock")


class Victim(StrEnum):
    """What can be killed."""

    supervisor = "supervisor"
    http = "http"
    engine = "engine"
    jvm = "jvm"


_MODULES = {Victim.http: "penstock.web.process", Victim.engine: "penstock.server.engine.process"}


class Serving:
    """`penstock serve` on a state and a port of its own, started again when it is killed."""

    def __init__(self, root: Path, *arguments: str) -> None:
        self.root, self._arguments = root, arguments
        self.state, self.log = root / "state", root / "log.txt"
        self._port = _free_port()
        self.url = f"http://127.0.0.1:{self._port}"
        self.start()

    def start(self) -> None:
        """Starts it, again at the same port."""
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                [PENSTOCK, "serve", "--state", self.state, "--port", str(self._port), *self._arguments],
                stdout=log,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
            )

    def client(self) -> Client:
        """A client of it."""
        return Client(self.url)

    def get(self, path: str) -> httpx.Response:
        """What it answers."""
        return httpx.get(self.url + path, timeout=30.0, trust_env=False)

    def ready(self) -> bool:
        """Whether its engine answers."""
        with suppress(httpx.TransportError):
            return self.get("/ready").is_success
        return False

    def wait_until(self, seen: Callable[[], bool], what: str, patience_s: float = PATIENCE_S) -> None:
        """Until something has happened."""
        until_s = time.monotonic() + patience_s
        while not seen():
            assert time.monotonic() < until_s, f"{what}: not within {patience_s:g} s\n{self.tail()}"
            assert self.process.poll() is None, f"{what}: the server has left\n{self.tail()}"
            time.sleep(0.1)

    def tail(self, lines: int = 40) -> str:
        """The last it said."""
        return "\n".join(self.log.read_text().splitlines()[-lines:])

    def pid(self, victim: Victim) -> int | None:
        """The process, if it is there now."""
        if victim is Victim.supervisor:
            return self.process.pid
        for pid in descendants(self.process.pid):
            if victim is Victim.jvm:
                if is_spark(pid):
                    return pid
            elif _MODULES.get(victim, "") in _command(pid):
                return pid
        return None

    def kill(self, victim: Victim) -> bool:
        """Kills it -9; False if it is not there just now. A supervisor is started again at once."""
        pid = self.pid(victim)
        if pid is None:
            return False
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        if victim is Victim.supervisor:
            self.process.wait(PATIENCE_S)
            self.start()
        return True

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Asks it to stop; its exit status."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE_S)

    def close(self) -> None:
        """Leaves nothing behind, whatever happened."""
        family = [*descendants(self.process.pid), self.process.pid] if self.process.poll() is None else []
        for pid in family:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait(PATIENCE_S)

    def address(self) -> str:
        """What the state says of where it is."""
        return str(json.loads((self.state / "server.json").read_text())["url"])


def _command(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    return ""


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port
