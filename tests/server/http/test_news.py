"""Followers who ask at once are served in one go, and what goes wrong for one is that one's."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from penstock.errors import EngineError, PenstockError
from penstock.server.channel.link import EngineAwayError
from penstock.server.committed.reading import CommittedFiles
from penstock.server.http.news import News, Newsroom
from penstock.server.http.places import Places
from tests.server.committed.world import BASES, World


class WorldLink:
    """Answers as the engine does, for queries of a world; counts what it is asked."""

    connected = True

    def __init__(self, world: World) -> None:
        self._world, self.asked, self.is_away = world, 0, False

    async def call(self, method: str, payload: bytes | memoryview = b"", **arguments: Any) -> Any:
        """What the engine says."""
        del payload
        self.asked += 1
        if self.is_away:
            raise EngineAwayError
        version = self._world.places(next(iter(self._world.queries))).version
        if method == "places_version":
            return version
        if arguments["query"] not in self._world.queries:
            raise EngineError(f"there is no query '{arguments['query']}'")
        return self._world.places(arguments["query"]).values()


QUERIES = tuple(f"q{n}" for n in range(150))


@pytest.fixture
def world(tmp_path: Path) -> World:
    """Queries that share files; the first two have rows."""
    made = World(tmp_path, QUERIES)
    for query in QUERIES:
        made.alter(query, BASES[0])
    made.put_out("q0", 1)
    made.put_out("q1", 1)
    made.put_out("q0", 1)
    return made


def ask_all(newsroom: Newsroom, queries: tuple[str, ...]) -> list[News | BaseException]:
    async def run() -> list[News | BaseException]:
        return await asyncio.gather(*(newsroom.get(one, None) for one in queries), return_exceptions=True)

    return asyncio.run(run())


def test_all_get_their_rows(world: World, tmp_path: Path) -> None:
    link = WorldLink(world)
    newsroom = Newsroom(CommittedFiles(tmp_path), Places(link))
    found = ask_all(newsroom, QUERIES)
    assert isinstance(found[0], News)
    assert found[0].event.startswith(b"id: %s\nevent: rows\ndata: {" % str(found[0].next).encode())
    assert found[0].event.count(b'"n":') == 2
    assert [isinstance(one, News) and bool(one.event) for one in found] == [True, True, *[False] * 148]
    before = link.asked
    ask_all(newsroom, QUERIES)
    assert link.asked - before <= 4  # twice for each go


def test_a_query_that_is_gone_and_an_engine_that_is_away_are_told(world: World, tmp_path: Path) -> None:
    link = WorldLink(world)
    newsroom = Newsroom(CommittedFiles(tmp_path), Places(link))
    gone, there = ask_all(newsroom, ("other", "q0"))
    assert isinstance(gone, PenstockError)
    assert str(gone) == "there is no query 'other'"
    assert isinstance(there, News)
    link.is_away = True
    assert all(isinstance(one, EngineAwayError) for one in ask_all(newsroom, ("q0", "q1")))
    link.is_away = False
    assert all(isinstance(one, News) for one in ask_all(newsroom, ("q0", "q1")))
