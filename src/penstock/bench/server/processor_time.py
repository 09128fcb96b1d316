"""Processor time of processes and of those that they have started, from /proc."""

from __future__ import annotations

import os
from pathlib import Path

_TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def cpu_s(pid: int) -> float:
    """User and system time of a process and of all that live below it, and of those they waited for."""
    return sum(_ticks(one) for one in [pid, *_below(pid)]) / _TICKS_PER_S


def child_running(pid: int, module: str) -> int | None:
    """The process below another that runs a module of Python."""
    wanted = module.encode()
    for one in _below(pid):
        try:
            if wanted in Path(f"/proc/{one}/cmdline").read_bytes().split(b"\0"):
                return one
        except OSError:  # it has just ended
            continue
    return None


def _ticks(pid: int) -> int:
    fields = _fields(pid)
    return sum(int(field) for field in fields[11:15]) if fields else 0


def _fields(pid: int) -> list[str]:
    """What /proc says of a process, from its state on."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return []


def _below(pid: int) -> list[int]:
    parents: dict[int, list[int]] = {}
    for path in Path("/proc").iterdir():
        if path.name.isdecimal() and (fields := _fields(int(path.name))):
            parents.setdefault(int(fields[1]), []).append(int(path.name))
    found, waiting = [], [pid]
    while waiting:
        children = parents.get(waiting.pop(), [])
        found += children
        waiting += children
    return found
