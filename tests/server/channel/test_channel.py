"""Both ends of the channel over a real socket, with a service that is not an engine."""

from __future__ import annotations

import asyncio
import os
import socket
import stat
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from penstock import errors
from penstock.errors import EngineError, KeyUsedError, PenstockError, SqlError
from penstock.server.channel import frames, link
from penstock.server.channel.frames import Notice, Problem, Reply, Request
from penstock.server.channel.host import Answer, Host
from penstock.server.channel.link import DefectError, EngineAwayError, EngineLeftError, SocketLink, error_of

PATIENCE_S = 60.0


class Service:
    """Answers, refuses, waits, as it is asked to."""

    waiting_methods = frozenset({"wait"})

    def __init__(self) -> None:
        self.go_on = threading.Event()
        self.begun = threading.Semaphore(0)

    def begin(self, method: str, arguments: dict[str, Any], payload: memoryview, answer: Answer) -> bool:
        match method:
            case "size":
                answer(len(payload), None)
            case "later":
                self.begun.release()
                threading.Thread(target=self._later, args=(arguments["value"], answer), daemon=True).start()
            case "never":
                self.begun.release()
            case "breaks":
                raise ZeroDivisionError("its words stay here")
            case _:
                return False
        return True

    def _later(self, value: Any, answer: Answer) -> None:
        self.go_on.wait(PATIENCE_S)
        answer(value, None)

    def call(self, method: str, arguments: dict[str, Any]) -> Any:
        match method:
            case "echo":
                return arguments["value"]
            case "wait":
                self.begun.release()
                return self.go_on.wait(PATIENCE_S)
            case "sql":
                raise SqlError("there is no 'x'", 3, 7, "SELECT x", 1, caret=8)
            case "key":
                raise KeyUsedError("that key was used")
            case "odd":
                return object()
            case "large":
                return "x" * arguments["bytes"]
        raise EngineError(f"no '{method}'")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "s"


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def service() -> Service:
    return Service()


@pytest.fixture
def host(place: Path, service: Service, said: list[str]) -> Iterator[Host]:
    made = Host(place, service, said.append)
    yield made
    service.go_on.set()
    made.close()


def run(act: Callable[[], Awaitable[None]]) -> None:
    async def within() -> None:
        await asyncio.wait_for(act(), PATIENCE_S)

    asyncio.run(within())


async def until(seen: Callable[[], bool]) -> None:
    while not seen():
        await asyncio.sleep(0.01)


@asynccontextmanager
async def linked(
    place: Path, heard: Callable[[Notice | None], None] = lambda _: None
) -> AsyncIterator[SocketLink]:
    made = SocketLink(place, heard)
    made.start()
    await until(lambda: made.connected)
    yield made
    await made.close()


@pytest.mark.usefixtures("host")
def test_many_calls_at_once_get_their_own_answers(place: Path) -> None:
    async def act() -> None:
        async with linked(place) as made:
            calls = [made.call("echo", value=[number, "x" * (number * 37)]) for number in range(500)]
            assert await asyncio.gather(*calls) == [[n, "x" * (n * 37)] for n in range(500)]

    run(act)


@pytest.mark.usefixtures("host")
def test_payloads_arrive_whole(place: Path) -> None:
    async def act() -> None:
        async with linked(place) as made:
            sizes = [0, 1, 65_536, 3_000_001]
            found = await asyncio.gather(*(made.call("size", os.urandom(size)) for size in sizes))
            assert found == sizes

    run(act)


@pytest.mark.usefixtures("host")
def test_answers_come_in_any_order(service: Service, place: Path) -> None:
    async def act() -> None:
        async with linked(place) as made:
            first = asyncio.create_task(made.call("later", value=1))
            await asyncio.to_thread(service.begun.acquire)
            assert await made.call("echo", value=2) == 2
            assert not first.done()
            service.go_on.set()
            assert await first == 1

    run(act)


@pytest.mark.usefixtures("host")
def test_those_who_wait_hold_up_nobody_else(service: Service, place: Path) -> None:
    async def act() -> None:
        async with linked(place) as made:
            waiting = [asyncio.create_task(made.call("wait")) for _ in range(60)]
            for _ in waiting:
                await asyncio.to_thread(service.begun.acquire)
            assert await made.call("echo", value=1) == 1
            service.go_on.set()
            assert await asyncio.gather(*waiting) == [True] * 60

    run(act)


@pytest.mark.usefixtures("host")
def test_errors_keep_their_class_words_and_place(place: Path) -> None:
    async def act() -> None:
        async with linked(place) as made:
            with pytest.raises(SqlError) as sql:
                await made.call("sql")
            assert (sql.value.line, sql.value.column, sql.value.what) == (3, 7, "there is no 'x'")
            assert str(sql.value) == str(SqlError("there is no 'x'", 3, 7, "SELECT x", 1, caret=8))
            with pytest.raises(KeyUsedError, match=r"^that key was used$"):
                await made.call("key")
            with pytest.raises(EngineError, match=r"^no 'nothing'$"):
                await made.call("nothing")

    run(act)


@pytest.mark.usefixtures("host")
def test_a_defect_is_told_without_its_words_and_logged_with_them(place: Path, said: list[str]) -> None:
    async def act() -> None:
        async with linked(place) as made:
            with pytest.raises(DefectError, match=r"^the engine could not do that; its log says why$"):
                await made.call("breaks")
            assert await made.call("echo", value=1) == 1

    run(act)
    assert said == [
        "'breaks' failed, which is a defect of Penstock: ZeroDivisionError('its words stay here')"
    ]


@pytest.mark.usefixtures("host")
@pytest.mark.parametrize("method", ["odd", "large"])
def test_an_answer_that_cannot_cross_fails_that_call_only(
    service: Service, place: Path, said: list[str], method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frames, "MOST_MESSAGE", 10_000)

    async def act() -> None:
        async with linked(place) as made:
            waits = asyncio.create_task(made.call("later", value=1))
            with pytest.raises(DefectError):
                await made.call(method, bytes=20_000)
            service.go_on.set()
            assert await waits == 1

    run(act)
    assert len(said) == 1
    assert said[0].startswith("something could not be told, which is a defect of Penstock: ")


@pytest.mark.usefixtures("host")
def test_a_question_that_cannot_cross_fails_that_call_only(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(frames, "MOST_PAYLOAD", 1_000)

    async def act() -> None:
        async with linked(place) as made:
            with pytest.raises(EngineError, match="1,001 bytes are too many for one message"):
                await made.call("size", bytes(1_001))
            with pytest.raises(EngineError, match="the engine cannot be asked that"):
                await made.call("echo", value=object())
            assert await made.call("size", bytes(1_000)) == 1_000

    run(act)


def test_calls_fail_while_the_engine_is_away_and_go_on_when_it_is_back(
    place: Path, said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link, "_PAUSE_S", 0.01)
    heard: list[Notice | None] = []

    async def act() -> None:
        service = Service()
        first = Host(place, service, said.append)
        async with linked(place, heard.append) as made:
            waiting = [asyncio.create_task(made.call("never")) for _ in range(50)]
            for _ in waiting:
                await asyncio.to_thread(service.begun.acquire)
            first.close()
            failed = await asyncio.gather(*waiting, return_exceptions=True)
            assert {type(one) for one in failed} == {EngineLeftError}
            assert {str(one) for one in failed} == {
                "the engine went away meanwhile; look whether it was done, and try again"
            }
            await until(lambda: not made.connected)
            with pytest.raises(EngineAwayError, match="the engine is starting; try again in a few seconds"):
                await made.call("echo", value=1)
            second = Host(place, Service(), said.append)
            await until(lambda: made.connected)
            assert await made.call("echo", value=2) == 2
            second.close()

    run(act)
    assert heard == [None, None]


def test_a_socket_that_a_killed_engine_left_is_nobody(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(link, "_PAUSE_S", 0.01)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as left:
        left.bind(str(place))

    async def act() -> None:
        made = SocketLink(place, lambda _: None)
        made.start()
        await asyncio.sleep(0.1)
        assert not made.connected
        host = Host(place, Service(), print)
        await until(lambda: made.connected)
        await made.close()
        host.close()

    run(act)


def test_notices_come_in_order(host: Host, place: Path) -> None:
    heard: list[Notice | None] = []

    async def act() -> None:
        async with linked(place, heard.append) as made:
            await made.call("echo", value=1)
            for number in range(1000):
                host.notify(Notice("published", {"number": number}))
            await until(lambda: len(heard) == 1001)

    run(act)
    assert heard == [None, *(Notice("published", {"number": number}) for number in range(1000))]


def test_what_is_heard_cannot_end_the_link(
    host: Host, place: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(link, "_PAUSE_S", 0.01)

    def heard(notice: Notice | None) -> None:
        if notice is not None:
            raise KeyError("directory")

    async def act() -> None:
        async with linked(place, heard) as made:
            await made.call("echo", value=1)
            host.notify(Notice("published", {}))
            await until(lambda: not made.connected)
            await until(lambda: made.connected)
            assert await made.call("echo", value=2) == 2

    run(act)
    assert "the connection to the engine is made anew: KeyError('directory')" in capsys.readouterr().err


def test_who_does_not_read_holds_nobody_up_and_is_disconnected(host: Host, place: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as silent:
        silent.connect(str(place))
        silent.sendall(b"".join(frames.encode(Request(0, "echo", {"value": 1}))))
        silent.settimeout(PATIENCE_S)
        silent.recv(1)  # it is connected
        began = time.monotonic()
        for number in range(30_000):
            host.notify(Notice("published", {"directory": "d" * 100, "number": number}))
        assert time.monotonic() - began < PATIENCE_S

        async def act() -> None:
            async with linked(place) as made:
                assert await made.call("echo", value=2) == 2

        run(act)
        while silent.recv(1 << 16):
            pass


@pytest.mark.parametrize(
    "garbage",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"\xff" * 100,
        b"\0\0\0\5\0\0\0\0hello",
        b"\0\0\0\1\0\0\0\0\xc1",
        b"\0\0\0\3\0\0\0\0\xa2\xff\xfe",
        b"\0\0\0\0\0\0\0\0",
        b"".join(frames.encode(Request(0, "echo", {})))[:-1],
        b"\0\0",
        b"",
    ],
)
@pytest.mark.usefixtures("host")
def test_garbage_ends_that_connection_only(place: Path, garbage: bytes) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as one:
        one.connect(str(place))
        one.settimeout(PATIENCE_S)
        one.sendall(garbage)
        one.shutdown(socket.SHUT_WR)
        assert one.recv(100) == b""

    async def act() -> None:
        async with linked(place) as made:
            assert await made.call("echo", value=1) == 1

    run(act)


@pytest.mark.parametrize("garbage", [b"\xff" * 100, b"\0\0\0\1\0\0\0\0\xc1"])
def test_garbage_from_the_engine_fails_calls_and_is_connected_anew(
    place: Path, garbage: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link, "_PAUSE_S", 0.01)

    async def act() -> None:
        count = 0

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal count
            count += 1
            message, _ = frames.lengths(await reader.readexactly(frames.PREFIX))
            request = frames.decode(await reader.readexactly(message))
            assert isinstance(request, Request)
            answer = garbage if count == 1 else b"".join(frames.encode(Reply(request.number, 5)))
            writer.write(answer)
            await writer.drain()
            await reader.read()
            writer.close()

        server = await asyncio.start_unix_server(serve, str(place))
        async with linked(place) as made:
            with pytest.raises(EngineAwayError):
                await made.call("echo", value=1)
            await until(lambda: made.connected)
            assert await made.call("echo", value=1) == 5
        server.close()

    run(act)


@pytest.mark.usefixtures("host")
def test_nobody_else_can_open_the_socket(place: Path) -> None:
    assert stat.S_IMODE(place.stat().st_mode) == 0o600


def test_nothing_is_left_of_a_closed_host(place: Path) -> None:
    made = Host(place, Service(), print)
    made.close()
    assert not place.exists()


def test_every_error_crosses() -> None:
    """Whatever class the other side has: who waits gets an error, and the link goes on."""
    for kind in [*vars(errors), "NobodyKnowsThis"]:
        found = error_of(Problem(kind, "words"))
        assert str(found) == "words"
        known = getattr(errors, kind, None)
        is_error = isinstance(known, type) and issubclass(known, PenstockError)
        assert type(found) is (known if is_error and known is not SqlError else PenstockError)
