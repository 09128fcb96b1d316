"""What the HTTP process keeps of the engine, and when it asks again."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from penstock.server.channel.frames import Notice
from penstock.server.http.backend import Backend
from penstock.server.settings import ServerSection, Settings


class Counting:
    """An engine whose catalog is another one each time."""

    connected = True

    def __init__(self) -> None:
        self.asked = 0

    async def call(self, method: str, payload: bytes | memoryview = b"", **_: Any) -> Any:
        assert (method, payload) == ("catalog", b"")
        self.asked += 1
        return {"queries": {f"q{self.asked}": {}}}


def test_the_catalog_is_asked_for_again_once_it_has_changed_elsewhere(tmp_path: Path) -> None:
    link = Counting()
    backend = Backend(Settings(server=ServerSection(state=tmp_path)), lambda _: link)

    async def names() -> list[str]:
        return list((await backend.catalog())["queries"])

    async def look() -> list[list[str]]:
        found = [await names(), await names()]
        for notice in (Notice("changed", {}), Notice("published", {"directory": "q", "file": "f"}), None):
            backend.heard(notice)
            found.append(await names())
        return found

    assert asyncio.run(look()) == [["q1"], ["q1"], ["q2"], ["q2"], ["q3"]]
    backend.close()
