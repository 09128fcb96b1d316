"""The two sides: a server that `penstock serve` runs, and a program with an engine. Each has a new state."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias
from urllib.parse import urlsplit

from penstock.bench.server.processor_time import child_running, cpu_s
from penstock.bench.server.worker import Worker, worker
from penstock.bench.server.workload import Size
from penstock.errors import ExperimentError

SideName: TypeAlias = Literal["server", "in process"]
SIDES: tuple[SideName, ...] = ("server", "in process")
#: Seconds that a server may take until it is ready, and to stop.
_READY_S, _STOP_S = 120.0, 60.0
_SERVE = "import sys; from penstock.cli import main; sys.argv[0] = 'penstock'; main()"


@dataclass(frozen=True, slots=True)
class CpuTimes:
    """Processor time so far: of the engine with its JVM, of the HTTP process, and of the load."""

    engine_s: float
    http_s: float
    load_s: float


@dataclass(frozen=True, slots=True)
class Side:
    """One side that runs: who is told to push, and which processes it has."""

    name: SideName
    load: Worker
    engine: int
    http: int | None = None

    def cpu_times(self) -> CpuTimes:
        """How much they have used."""
        if self.http is None:
            return CpuTimes(cpu_s(self.engine), 0.0, 0.0)
        return CpuTimes(cpu_s(self.engine), cpu_s(self.http), cpu_s(self.load.pid))


@contextmanager
def running(name: SideName, size: Size, root: Path) -> Iterator[Side]:
    """A side while it is measured; stream, queries and subscribers are there."""
    log = root / "log"
    if name == "in process":
        given: dict[str, Any] = {"root": str(root), "size": asdict(size)}
        with _log_on_error(log), worker("penstock.bench.server.inside", given, log) as load:
            load.ask("create")
            yield Side(name, load, load.pid)
        return
    with _server(root, log) as (process, host, port):
        given = {"host": host, "port": port, "size": asdict(size)}
        with _log_on_error(log), worker("penstock.bench.server.load", given, log) as load:
            load.ask("create")
            engine = child_running(process.pid, "penstock.server.engine.process")
            http = child_running(process.pid, "penstock.web.process")
            if engine is None or http is None:
                raise ExperimentError("the server has no engine process or no HTTP process")
            yield Side(name, load, engine, http)
            if engine != child_running(process.pid, "penstock.server.engine.process"):
                raise ExperimentError("the engine process was started again meanwhile; nothing counts")


@contextmanager
def _server(root: Path, log: Path) -> Iterator[tuple[subprocess.Popen[bytes], str, int]]:
    """A real server on a new state, from when it is ready until it has stopped."""
    state = root / "state"
    command = [sys.executable, "-c", _SERVE, "serve", "--state", str(state), "--port", "0"]
    with log.open("ab") as said:
        process = subprocess.Popen(
            command, cwd=root, stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True
        )
    try:
        with _log_on_error(log):
            host, port = _ready(process, state / "server.json")
        yield process, host, port
    finally:
        process.terminate()
        try:
            process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()  # its children end by themselves when it is gone
            process.wait()


def _ready(process: subprocess.Popen[bytes], address: Path) -> tuple[str, int]:
    until = time.monotonic() + _READY_S
    while time.monotonic() < until:
        if process.poll() is not None:
            raise ExperimentError(f"the server ended with status {process.returncode}")
        if address.exists() and (text := address.read_text()):
            url = json.loads(text)["url"]
            try:
                with urllib.request.urlopen(f"{url}/ready", timeout=5):
                    found = urlsplit(url)
                    assert found.hostname is not None
                    assert found.port is not None
                    return found.hostname, found.port
            except (urllib.error.URLError, TimeoutError):
                pass  # 503: the engine starts
        time.sleep(0.2)
    raise ExperimentError(f"the server was not ready within {_READY_S:g} s")


@contextmanager
def _log_on_error(log: Path) -> Iterator[None]:
    """Adds the end of the log to an error: its directory is deleted."""
    try:
        yield
    except ExperimentError as error:
        lines = log.read_text(errors="replace").splitlines()[-15:] if log.exists() else []
        raise ExperimentError("\n  ".join([str(error), *lines])) from None
