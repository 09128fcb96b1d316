"""Connections on which nothing goes on end, and others do not."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import uvicorn

from penstock.server.http.patience import PatientProtocol, patient

ASKED = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


async def answers(scope: Any, receive: Any, send: Any) -> None:
    """Two bytes, after a while."""
    del scope, receive
    await asyncio.sleep(0.1)
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"ok"})


def talk(protocol: type[PatientProtocol], act: Callable[[int], Awaitable[None]]) -> None:
    """Does something with a server's port."""

    async def run() -> None:
        config = uvicorn.Config(
            answers, http=protocol, lifespan="off", ws="none", log_level="critical", port=0
        )
        server = uvicorn.Server(config)
        config.load()
        server.lifespan = config.lifespan_class(config)
        await server.startup()
        try:
            port = server.servers[0].sockets[0].getsockname()[1]
            await asyncio.wait_for(act(port), 60)
        finally:
            await server.shutdown()

    asyncio.run(run())


async def until_it_ends(port: int, sent: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(sent)
    try:
        return await reader.read()
    except ConnectionError:
        return b""
    finally:
        writer.close()


def test_silence_and_half_a_request_end_and_only_that_is_told() -> None:
    told: list[tuple[str, str]] = []

    class Soon(patient(lambda *what: told.append(what))):  # type: ignore[misc]
        request_s = 0.05

    async def act(port: int) -> None:
        assert await until_it_ends(port, b"") == b""
        assert told == []
        assert await until_it_ends(port, b"GET / HTTP/1.1\r\nHost: 12") == b""
        # A request that is under way longer than that gets its answer, and the next is waited for.
        assert (await until_it_ends(port, ASKED)).endswith(b"ok")
        assert (await until_it_ends(port, ASKED + ASKED[:20])).endswith(b"ok")

    talk(Soon, act)
    assert told == [("127.0.0.1", "half a request, and the rest not within 0.05 s")] * 2


def test_one_address_has_not_all_connections() -> None:
    told: list[tuple[str, str]] = []

    class Few(patient(lambda *what: told.append(what))):  # type: ignore[misc]
        most_of_one = 2

    async def act(port: int) -> None:
        kept = [await asyncio.open_connection("127.0.0.1", port) for _ in range(2)]
        for _, writer in kept:
            writer.write(ASKED)
        assert await until_it_ends(port, ASKED) == b""
        for reader, writer in kept:
            assert (await reader.readuntil(b"ok")).startswith(b"HTTP/1.1 200")
            writer.close()

    talk(Few, act)
    assert told == [("127.0.0.1", "more than 2 connections from one address")]
