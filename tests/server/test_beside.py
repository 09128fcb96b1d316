"""The page beside an engine of the same process: a real HTTP process, before there is an engine."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import httpx
import pytest

from penstock.server.processes.beside import PageBeside
from tests.chaos.lives import descendants


def status(url: str) -> int | None:
    with suppress(httpx.TransportError):
        return httpx.get(url, timeout=30.0, trust_env=False).status_code
    return None


def until(seen: Callable[[], bool]) -> None:
    until_s = time.monotonic() + 120.0
    while not seen():
        assert time.monotonic() < until_s, "that did not happen"
        time.sleep(0.1)


def children() -> set[int]:
    """The processes with the page that this one has started."""
    found = set()
    for pid in descendants(os.getpid()):
        with suppress(OSError):
            if b"penstock.web.process" in Path(f"/proc/{pid}/cmdline").read_bytes():
                found.add(pid)
    return found


@pytest.mark.slow
def test_the_page_is_there_before_the_engine_and_comes_back_when_it_dies(
    tmp_path: Path,
) -> None:
    told: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as taken:
        page = PageBeside(tmp_path, told.append, taken.getsockname()[1])
    assert page.url.startswith("http://127.0.0.1:")
    with page:
        until(lambda: status(f"{page.url}/health") == 200)
        assert (status(f"{page.url}/"), status(f"{page.url}/ready")) == (200, 503)
        assert told == []
        (first,) = children()
        os.kill(first, signal.SIGKILL)
        until(lambda: bool(told))
        assert told[0].startswith("page: http exited (signal 9)")
        until(lambda: children() not in (set(), {first}))
        assert status(f"{page.url}/health") == 200  # who comes meanwhile waits for it
    assert len(told) == 1
    assert children() == set()
    assert status(f"{page.url}/health") is None
    assert not (tmp_path / "supervision.json").exists()
