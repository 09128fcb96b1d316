"""An engine in a process of its own, from its start to its end."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

#: The longest anything may take: to start, to stop after the JVM is gone.
PATIENCE_S = 120.0


class Life:
    """A process and its JVM. What goes wrong with them is added to `problems`."""

    def __init__(
        self, command: Sequence[str], said: Path, problems: list[str], *, talks: bool = False
    ) -> None:
        """With `talks` it can be told something on its standard input."""
        self._said, self._problems = said, problems
        self._began = time.monotonic()
        heard = subprocess.PIPE if talks else None
        with said.open("a") as log:
            self._process = subprocess.Popen(command, stdin=heard, stdout=log, stderr=subprocess.STDOUT)

    @property
    def pid(self) -> int:
        return self._process.pid

    def tell(self, line: str) -> None:
        """A line on its standard input."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError):
            self._process.stdin.write(f"{line}\n".encode())
            self._process.stdin.flush()

    @property
    def age_s(self) -> float:
        return time.monotonic() - self._began

    def wait(self, seconds: float) -> int | None:
        """Its exit code, or None if it lives on after so long."""
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def wait_until(self, seen: Callable[[], bool]) -> None:
        """Until something has happened, or it has ended, or it takes too long."""
        while self.age_s < PATIENCE_S and self._process.poll() is None and not seen():
            time.sleep(0.05)

    def tail(self) -> str:
        """The last it said."""
        return "\n".join(self._said.read_text().splitlines()[-30:])

    def kill(self) -> None:
        """The engine at once, and its JVM must go with it."""
        family = descendants(self._process.pid)
        self._process.kill()
        self.wait(PATIENCE_S)
        if not _gone(family):
            self._problems.append(f"processes {family} outlived the engine")

    def kill_jvm(self) -> bool:
        """Only the JVM, if it is there already; the engine must notice, and end itself."""
        family = descendants(self._process.pid)
        if not any(is_spark(pid) for pid in family) or self._process.poll() is not None:
            return False
        for pid in family:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if self.wait(PATIENCE_S) in (None, 0):
            self._problems.append("the engine went on without its JVM, or ended as if all were well")
            self.kill()
        return True

    def interrupt(self) -> None:
        """As Ctrl-C does: what runs is finished."""
        self._process.send_signal(signal.SIGINT)
        if self.wait(PATIENCE_S) is None:
            self._problems.append("the engine did not stop when interrupted")
            self.kill()


def descendants(pid: int) -> list[int]:
    """All processes that a process has started, directly or not."""
    listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True)
    pairs = [tuple(map(int, line.split())) for line in listed.stdout.splitlines()]
    found = [pid]
    for parent in found:
        found += [child for child, its in pairs if its == parent]
    return found[1:]


def is_spark(pid: int) -> bool:
    """Whether a process is Spark's JVM, as opposed to one that only looks which Java there is."""
    with suppress(OSError):
        return b"org.apache.spark.deploy.SparkSubmit" in Path(f"/proc/{pid}/cmdline").read_bytes()
    return False


def _gone(pids: Sequence[int]) -> bool:
    until = time.monotonic() + 20
    while time.monotonic() < until:
        if not any(_lives(pid) for pid in pids):
            return True
        time.sleep(0.1)
    return False


def _lives(pid: int) -> bool:
    state = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return bool(state.stdout.strip()) and not state.stdout.startswith("Z")
