"""Runs experiments in a process beside the server, one at a time, and keeps what came of each.

It may be asked from any thread. What a run says of the host stays in the log.
"""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from penstock import __version__
from penstock.errors import ExperimentError
from penstock.experiments.data import VARIABLE
from penstock.server.experiments.child import REFUSED
from penstock.server.experiments.outcome import DOCUMENT, PICTURE, Outcome, Outcomes
from penstock.server.logging import say

_MODULE = "penstock.server.experiments.child"
#: What runs an experiment, before its id and the directory for what comes of it.
COMMAND = (sys.executable, "-m", _MODULE)
MISSING = "pictures need matplotlib, which is an extra: pip install 'penstock[bench]' where the server runs"


@dataclass(frozen=True, slots=True)
class Run:
    """The run of this moment: of what, for whom, and how far it is; a total of 0 is not known yet."""

    id: str
    namespace: str
    since_s: float
    done: int = 0
    total: int = 0


class Laboratory:
    """One for the process."""

    def __init__(
        self,
        directory: Path,
        command: Sequence[str] = COMMAND,
        *,
        can_draw: Callable[[], bool] = lambda: importlib.util.find_spec("matplotlib") is not None,
    ) -> None:
        self.outcomes = Outcomes(directory)
        self._command, self._can_draw = tuple(command), can_draw
        self._lock = threading.Lock()
        self._run: Run | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._cancelled = self._closed = False
        self._troubles: dict[str, str] = {}

    @property
    def missing(self) -> str | None:
        """What has to be installed before anything can be run; None if nothing has."""
        return None if self._can_draw() else MISSING

    @property
    def running(self) -> Run | None:
        """What runs now."""
        return self._run

    def trouble(self, id_: str) -> str | None:
        """Why the last run of an experiment came to nothing, if it did."""
        return self._troubles.get(id_)

    def start(self, id_: str, namespace: str) -> Run:
        """Begins to run one of those that are known, quickly: fewer rows, points and seeds."""
        if self.missing is not None:
            raise ExperimentError(self.missing)
        with self._lock:
            if self._run is not None:
                raise ExperimentError(
                    f"'{self._run.id}' runs, and one runs at a time; wait for it, or cancel it"
                )
            directory = Path(tempfile.mkdtemp(prefix="penstock-experiment-"))
            try:
                process = subprocess.Popen(
                    [*self._command, id_, str(directory)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    start_new_session=True,  # what it starts is ended with it
                )
            except OSError as error:
                shutil.rmtree(directory, ignore_errors=True)
                raise ExperimentError(f"no process could be started: {error.strerror}") from None
            self._cancelled = False
            self._troubles.pop(id_, None)
            self._process, self._run = process, Run(id_, namespace, time.time())
            run = self._run
        threading.Thread(
            target=self._follow, args=(run, process, directory), name="penstock-experiment", daemon=True
        ).start()
        return run

    def cancel(self) -> None:
        """Ends what runs, if something does."""
        with self._lock:
            self._cancelled = True
            if self._process is not None:
                _kill(self._process)

    def close(self) -> None:
        """Nothing runs on."""
        self._closed = True
        self.cancel()

    def _follow(self, run: Run, process: subprocess.Popen[bytes], directory: Path) -> None:
        began = time.monotonic()
        log: list[bytes] = []
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdin is not None
        errors = threading.Thread(target=lambda: log.append(process.stderr.read()), daemon=True)  # type: ignore[union-attr]
        errors.start()
        refused = ""
        for line in process.stdout:
            said = _read(line)
            refused = said.get("refused", refused)
            if "done" in said:
                self._run = Run(run.id, run.namespace, run.since_s, said["done"], said["total"])
        code = process.wait()
        if code:
            _kill(process)  # what it has started and left
        errors.join()
        for pipe in (process.stdin, process.stdout, process.stderr):
            with suppress(OSError):
                pipe.close()
        trouble = self._came_of(run, code, refused, b"".join(log), directory, time.monotonic() - began)
        shutil.rmtree(directory, ignore_errors=True)
        with self._lock:
            if trouble is not None:
                self._troubles[run.id] = trouble
            self._run = self._process = None

    def _came_of(
        self, run: Run, code: int, refused: str, log: bytes, directory: Path, seconds: float
    ) -> str | None:
        """Keeps what came of it; else why nothing did."""
        if self._cancelled:
            return "cancelled before it had come to its end"
        if code == REFUSED:
            return _without_places(refused)
        try:
            if code:
                raise ValueError(f"exit status {code}\n{log.decode(errors='replace')}".strip())
            found = json.loads((directory / DOCUMENT).read_text("utf-8"))
            outcome = Outcome(
                time.time(),
                seconds,
                __version__,
                found["quick"],
                found["seed"],
                found["rows"],
                found["claims"],
                found["notes"],
            )
            self.outcomes.keep(run.id, outcome, directory / PICTURE)
        except (OSError, ValueError, KeyError) as error:
            say("http", f"experiment {run.id} failed: {error}")
            return "it failed; the server's log says why"
        return None


def _kill(process: subprocess.Popen[bytes]) -> None:
    """With all that it has started; they have a process group of their own."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


def _read(line: bytes) -> dict[str, Any]:
    with suppress(ValueError):
        found = json.loads(line)
        if isinstance(found, dict):
            return found
    return {}


def _without_places(text: str) -> str:
    """Where the host keeps its data is nobody's business."""
    named = os.environ.get(VARIABLE)
    return text.replace(named, f"${VARIABLE}") if named else text
