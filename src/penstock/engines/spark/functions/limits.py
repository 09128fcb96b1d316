"""The limits of time and memory under which a function is called, in Spark's Python workers.

Three things watch a call:

- A timer ticks in the worker's main thread. When a call has taken longer than it may, or the process has
  grown by more than it may, the tick raises in the middle of the call.
- A watchdog of C (`faulthandler`), which needs no lock of Python's, ends the process when the ticks
  themselves stop, as they do while code in C runs on, or when a call goes on after a tick has raised in it.
- The system refuses memory beyond the limit (`RLIMIT_DATA`), which Python makes a MemoryError.

At worst the worker ends, and Spark forks another one. Like `worker`, this is sent to the workers by value,
and imports nothing of ours.
"""

from __future__ import annotations

import faulthandler
import os
import re
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import IO

try:
    import resource
except ImportError:  # not on this system
    resource = None  # type: ignore[assignment]

#: How much longer a call may take than its limit if it is in the hands of C, which no tick can interrupt.
GRACE_S = 1.0
#: How often a call is looked at, unless its limit of time is shorter.
_TICK_S = 0.25


class Overrun(BaseException):
    """A call beyond one of its limits; no `except Exception` of a function's keeps it."""


class Watch:
    """The limits of one function in this process. `note` tells who ended the process, if it ends."""

    def __init__(self, named: str, timeout_s: float, memory_bytes: int, note: str) -> None:
        self._named, self._timeout_s, self._memory_bytes, self._said = named, timeout_s, memory_bytes, note
        self._limit_s, self._began_s = timeout_s, 0.0
        self._most_bytes: int | None = None
        self._armed = False
        self._note: IO[str] | None = None

    @contextmanager
    def noted(self) -> Iterator[None]:
        """As long as this lasts, Spark will find the note if the process ends."""
        self._note = _open_note()
        handler = signal.signal(signal.SIGALRM, self._tick)
        try:
            if self._note is not None:
                self._note.write(f"{self._said}\n")
                self._note.flush()
                faulthandler.enable(file=self._note)
            yield
        finally:
            signal.signal(signal.SIGALRM, handler)
            if self._note is not None:
                faulthandler.disable()
                self._note.truncate(0)
                self._note.close()

    @contextmanager
    def limited(self, timeout_s: float | None = None) -> Iterator[None]:
        """What is called within has so much time for each `call`, and all of it so much memory.

        What a function keeps counts when it is called again: `used` outlives this object.
        """
        used: dict[str, int] = sys.__dict__.setdefault("_penstock_functions", {})
        before, limits = _data_bytes(), None
        self._limit_s = self._timeout_s if timeout_s is None else timeout_s
        if before is not None:
            self._most_bytes = before + max(self._memory_bytes - used.get(self._named, 0), 0)
            limits = _lowered(self._most_bytes)
        self.call()
        self._armed = True
        tick_s = min(max(self._limit_s / 4, 0.01), _TICK_S)
        try:
            self._wind_up()
            signal.setitimer(signal.ITIMER_REAL, tick_s, tick_s)
            yield
        finally:
            self._armed = False
            signal.setitimer(signal.ITIMER_REAL, 0)
            faulthandler.cancel_dump_traceback_later()
            if limits is not None:
                resource.setrlimit(resource.RLIMIT_DATA, limits)
            after = _data_bytes()
            if before is not None and after is not None:
                used[self._named] = max(used.get(self._named, 0) + after - before, 0)

    def call(self) -> None:
        """A call begins."""
        self._began_s = time.monotonic()

    @property
    def memory_said(self) -> str:
        """What is wrong with whoever wants more."""
        return f"wanted more than {self._memory_bytes / 1e6:g} MB of memory"

    def _wind_up(self) -> None:
        """Ends the process if no tick comes in time to wind it up again."""
        left_s = max(self._began_s + self._limit_s - time.monotonic(), 0.0) + GRACE_S
        faulthandler.dump_traceback_later(left_s, exit=True, file=self._note or sys.stderr)

    def _tick(self, _signal: int, _frame: object) -> None:
        if not self._armed:
            return
        data = _data_bytes()
        if time.monotonic() - self._began_s > self._limit_s:
            reason = f"took longer than {self._limit_s:g} s"
        elif data is not None and self._most_bytes is not None and data > self._most_bytes:
            reason = self.memory_said
        else:
            self._wind_up()
            return
        self._armed = False  # if it goes on all the same, the watchdog is left to run down
        raise Overrun(reason)


def _lowered(most_bytes: int) -> tuple[int, int] | None:
    """What the system's limit was before it was made this one; None if there is none."""
    if resource is None:
        return None
    with suppress(OSError, ValueError):
        limits: tuple[int, int] = resource.getrlimit(resource.RLIMIT_DATA)
        resource.setrlimit(resource.RLIMIT_DATA, (most_bytes, limits[1]))
        return limits
    return None


def _open_note() -> IO[str] | None:
    """Where Spark looks for what a worker left that has crashed, if it does."""
    directory = os.environ.get("PYTHON_FAULTHANDLER_DIR")
    if not directory:
        return None
    try:
        return open(os.path.join(directory, str(os.getpid())), "a", encoding="utf-8")
    except OSError:
        return None


def _data_bytes() -> int | None:
    """What the process has of memory that it can write to, as the system counts it for the limit."""
    try:
        with open("/proc/self/status", encoding="ascii", errors="replace") as status:
            found = re.search(r"^VmData:\s+(\d+) kB", status.read(), re.MULTILINE)
    except OSError:
        return None
    return int(found[1]) * 1024 if found is not None else None
