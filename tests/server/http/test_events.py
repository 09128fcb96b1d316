"""Who follows results sees each row once, whatever happens to the engine and to the connection."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock.engines.spark.results.places import ResultPlaces
from penstock.errors import AccessError, EngineError, QueryError
from penstock.server.channel.frames import Notice
from penstock.server.channel.link import EngineAwayError
from penstock.server.committed.positions import Position
from penstock.server.committed.reading import Page, Span
from penstock.server.http import backend as backends
from penstock.server.http import events
from penstock.server.http.backend import Backend
from penstock.server.http.events import Follower
from penstock.server.http.news import EVENT_ROWS, News, news_of
from penstock.server.security.roles import Role
from penstock.server.security.tokens import ANYONE
from penstock.server.settings import ServerSection, Settings

PATIENCE_S = 60.0
COLUMNS = pa.schema([("v", pa.int64())])
PUBLISHED = Notice("published", {"directory": "q", "file": "f"})


class EngineLink:
    """An engine with one query `q`, as far as those who follow ask it."""

    connected = True

    def __init__(self) -> None:
        self.is_away = self.is_dropped = False

    async def call(self, method: str, payload: bytes | memoryview = b"", **arguments: Any) -> Any:
        del payload, arguments
        await asyncio.sleep(0)
        if self.is_away:
            raise EngineAwayError
        match method:
            case "catalog":
                return {"queries": {} if self.is_dropped else {"q": {}}}
            case "places_version":
                return 1
            case "places" if not self.is_dropped:
                return ResultPlaces("q", COLUMNS, "q", version=1).values()
        raise QueryError("there is no query 'q'")


class Rows(Backend):
    """A backend whose committed results are a list: each row a commit of its own."""

    def __init__(self, state: Path) -> None:
        self.engine = EngineLink()
        super().__init__(Settings(server=ServerSection(state=state)), lambda _: self.engine)
        self.committed: list[int] = []
        self.moves = 0
        self.newsroom = self

    async def get(self, query: str, after: Position | None) -> News:
        """As the newsroom has it."""
        await self.places.find(query)
        if self.moves:
            self.moves -= 1
            raise EngineError("the result files move while they are read; try again")
        first = 0 if after is None else after.number + 1
        rows = self.committed[first : first + EVENT_ROWS]
        await asyncio.sleep(0)
        spans = tuple(Span(first + place, 0, 1) for place in range(len(rows)))
        last = Position(first + len(rows) - 1, 0) if rows else after
        more = first + len(rows) < len(self.committed)
        return news_of(Page(pa.table({"v": rows}, schema=COLUMNS), spans, last, more))

    def commit(self, *rows: int) -> None:
        """Rows are in the files, and the engine says so."""
        self.committed += rows
        self.heard(PUBLISHED)


@pytest.fixture
def backend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Rows:
    monkeypatch.setattr(events, "LOOK_S", 3600.0)  # only what it hears wakes it
    monkeypatch.setattr(events, "AWAY_S", 0.01)
    return Rows(tmp_path)


def run(backend: Rows, act: Callable[[], Awaitable[None]]) -> None:
    async def within() -> None:
        await asyncio.wait_for(act(), PATIENCE_S)

    try:
        asyncio.run(within())
    finally:
        backend.close()


def rows_of(event: bytes) -> tuple[str, list[int]]:
    """The id of an event and its rows."""
    lines = event.decode().splitlines()
    assert lines[0].startswith("id: ")
    assert lines[1:] == ["event: rows", lines[2], ""]
    return lines[0].removeprefix("id: "), [
        row["v"] for row in json.loads(lines[2].removeprefix("data: "))["rows"]
    ]


def test_rows_come_with_positions_and_as_they_are_committed(backend: Rows) -> None:
    async def act() -> None:
        backend.commit(1, 2, 3)
        stream = Follower(backend, "q", None).events()
        assert await anext(stream) == b"retry: 1000\n\n"
        assert rows_of(await anext(stream)) == ("2-0", [1, 2, 3])
        following = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0.05)
        assert not following.done()
        backend.commit(4)
        assert rows_of(await following) == ("3-0", [4])
        await stream.aclose()

    run(backend, act)


def test_it_goes_on_behind_a_position(backend: Rows) -> None:
    async def act() -> None:
        backend.commit(1, 2, 3)
        stream = Follower(backend, "q", Position.parse("1-0")).events()
        await anext(stream)
        assert rows_of(await anext(stream)) == ("2-0", [3])
        await stream.aclose()

    run(backend, act)


def test_it_outlasts_an_engine_that_is_away(backend: Rows) -> None:
    async def act() -> None:
        stream = Follower(backend, "q", None).events()
        await anext(stream)
        backend.engine.is_away = True
        following = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0.1)
        backend.committed.append(1)  # nobody says so
        assert not following.done()
        backend.engine.is_away = False
        backend.heard(None)
        assert rows_of(await following) == ("0-0", [1])
        await stream.aclose()

    run(backend, act)


def test_files_that_move_are_waited_for(backend: Rows) -> None:
    async def act() -> None:
        backend.commit(1)
        backend.moves = 3
        stream = Follower(backend, "q", None).events()
        await anext(stream)
        assert rows_of(await anext(stream)) == ("0-0", [1])
        await stream.aclose()

    run(backend, act)


def test_it_ends_with_the_query(backend: Rows) -> None:
    async def act() -> None:
        stream = Follower(backend, "q", None).events()
        await anext(stream)
        following = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0.05)
        backend.engine.is_dropped = True
        backend.heard(None)
        assert await following == b"event: end\ndata: {}\n\n"
        with pytest.raises(StopAsyncIteration):
            await anext(stream)

    run(backend, act)


def test_when_the_server_stops_it_ends_without_saying_that_results_have(backend: Rows) -> None:
    async def act() -> None:
        streams = [Follower(backend, "q", None).events() for _ in range(20)]
        for stream in streams:
            await anext(stream)
        following = [asyncio.ensure_future(anext(stream)) for stream in streams]
        await asyncio.sleep(0.05)
        backend.stop_events()
        ends = await asyncio.gather(*following, return_exceptions=True)
        assert {type(one) for one in ends} == {StopAsyncIteration}

    run(backend, act)


def test_a_comment_comes_while_nothing_else_does(backend: Rows, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "LOOK_S", 0.01)
    monkeypatch.setattr(events, "PING_S", 0.03)

    async def act() -> None:
        stream = Follower(backend, "q", None).events()
        await anext(stream)
        assert await anext(stream) == b": still here\n\n"
        backend.engine.is_away = True  # then as well
        assert await anext(stream) == b": still here\n\n"
        await stream.aclose()

    run(backend, act)


def test_nothing_is_left_of_who_has_gone(backend: Rows) -> None:
    async def act() -> None:
        backend.commit(1)
        stream = Follower(backend, "q", None).events()
        await anext(stream)
        await anext(stream)
        assert backend._published
        await stream.aclose()
        assert not backend._published
        assert not backend._followers

    run(backend, act)


@settings(max_examples=50)
@given(
    st.lists(st.sampled_from(["commit", "many", "away", "back", "moves", "pass"]), max_size=25),
    st.lists(st.integers(1, 4), min_size=1, max_size=5),
)
def test_each_row_comes_once_and_in_order(acts: list[str], lengths: list[int]) -> None:
    """However commits, absences of the engine and lost connections follow each other."""
    seen: list[int] = []

    async def change(backend: Rows) -> None:
        for act in [*acts, "back", "commit"]:
            match act:
                case "commit" | "many":
                    count = 1 if act == "commit" else 2500
                    backend.commit(*range(len(backend.committed), len(backend.committed) + count))
                case "away":
                    backend.engine.is_away = True
                case "back":
                    backend.engine.is_away = False
                    backend.heard(None)
                case "moves":
                    backend.moves += 1
            for _ in range(7):
                await asyncio.sleep(0)

    async def follow(backend: Rows, changes: asyncio.Task[None]) -> None:
        last, connections = None, 0
        while not changes.done() or len(seen) < len(backend.committed):
            stream = Follower(backend, "q", None if last is None else Position.parse(last)).events()
            await anext(stream)
            for _ in range(lengths[connections % len(lengths)]):
                coming = asyncio.ensure_future(anext(stream))
                await asyncio.wait({coming, changes}, return_when=asyncio.FIRST_COMPLETED)
                if not coming.done() and len(seen) == len(backend.committed):
                    coming.cancel()
                    await asyncio.wait({coming})
                    break
                last, rows = rows_of(await coming)
                seen.extend(rows)
            connections += 1
            await stream.aclose()

    with tempfile.TemporaryDirectory() as state, pytest.MonkeyPatch.context() as patch:
        patch.setattr(events, "LOOK_S", 3600.0)
        patch.setattr(events, "AWAY_S", 0.001)
        backend = Rows(Path(state))

        async def act() -> None:
            changes = asyncio.create_task(change(backend))
            await follow(backend, changes)

        run(backend, act)
        assert seen == list(range(len(backend.committed)))


def test_who_follows_is_let_go_when_the_token_counts_no_more(backend: Rows) -> None:
    text, token = backend.tokens.create(Role.VIEWER)
    identity = backend.tokens.identify(text)
    assert identity is not None

    async def act() -> None:
        backend.commit(1)
        stream = Follower(backend, "q", None, identity).events()
        await anext(stream)
        assert rows_of(await anext(stream)) == ("0-0", [1])
        backend.tokens.revoke(token.id)
        backend.commit(2)
        with pytest.raises(StopAsyncIteration):
            await anext(stream)
        unknown = Follower(backend, "q", None).events()  # who came before there was a token
        await anext(unknown)
        with pytest.raises(StopAsyncIteration):
            await anext(unknown)

    run(backend, act)


def test_one_token_does_not_take_all_connections(backend: Rows, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backends, "MOST_FOLLOWERS", 2)

    async def act() -> None:
        streams = [Follower(backend, "q", None).events() for _ in range(2)]
        for stream in streams:
            backend.check_followers(ANYONE)
            await anext(stream)
        with pytest.raises(AccessError, match="with this token 2 follow results already"):
            backend.check_followers(ANYONE)
        await streams[0].aclose()
        backend.check_followers(ANYONE)
        await streams[1].aclose()

    run(backend, act)
