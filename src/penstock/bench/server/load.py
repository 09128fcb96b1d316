"""The clients of a server: those that push, and those that follow events; all in one process.

python -m penstock.bench.server.load '{"host": …, "port": …, "size": {…}}'
"""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time
import uuid
from collections.abc import Coroutine
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from penstock.bench.server.connection import Connection
from penstock.bench.server.pacing import Numbers, Pace
from penstock.bench.server.taken import Taken
from penstock.bench.server.worker import Load, leave, serve
from penstock.bench.server.workload import PUSH_ROWS, STREAM, Size, now_us, rows, statements
from penstock.errors import ExperimentError

_ARROW = "application/vnd.apache.arrow.stream"
#: Answers after which a push is repeated under its key, and the pause before.
_AGAIN, _PAUSE_S = (429, 502, 503), 0.1
#: Seconds that results may take to come after the last push.
_DONE_S = 240.0


class _Row(msgspec.Struct):
    id: int
    sent: int


class _Event(msgspec.Struct):
    rows: list[_Row] = []


_decoder = msgspec.json.Decoder(_Event)


class Clients:
    """All clients; everything but `do` happens in their loop."""

    def __init__(self, host: str, port: int, size: Size) -> None:
        self._host, self._port, self._size = host, port, size
        self._taken, self._numbers, self._pushed = Taken(size), Numbers(), 0
        self._repeated = 0
        self._followers: list[asyncio.Task[None]] = []
        self._broken: asyncio.Future[None] | None = None  # done when somebody's events have ended
        self._run = uuid.uuid4().hex[:8]
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="clients", daemon=True).start()

    def do(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        """Has the loop do something, and waits for it."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    async def create(self) -> None:
        """Creates the stream and the queries, and has everybody follow theirs."""
        sql = statements(self._size.queries)
        await self._ask("POST", "/api/v1/sql", {"sql": sql})
        self._broken = asyncio.get_running_loop().create_future()
        open_ = [asyncio.Event() for _ in range(self._size.subscribers)]
        for number, event in enumerate(open_):
            self._followers.append(asyncio.create_task(self._follow(number, event)))
        for event in open_:
            await self._while_they_follow(asyncio.create_task(event.wait()))

    async def push(self, seconds: float, rows_per_s: float | None) -> Load:
        """Pushes, and waits for all results."""
        pace, repeated = Pace(seconds, rows_per_s, self._size.clients), self._repeated
        before, received = self._pushed, self._taken.rows
        self._taken.begin()
        steps = await self._steps()
        began = time.monotonic()
        pushing = [self._client(one, pace, began) for one in range(self._size.clients)]
        await self._while_they_follow(asyncio.gather(*pushing))
        pushed_s = time.monotonic() - began
        wanted = self._taken.wanted(self._pushed) if self._followers else []
        if self._followers:
            await self._all_taken(sum(one.rows for one in wanted))
        else:
            await self._settled()
        until_done_s = time.monotonic() - began
        return Load(
            self._pushed - before,
            pushed_s,
            until_done_s,
            self._repeated - repeated,
            *self._taken.latencies_s(),
            rows_expected=sum(one.rows for one in wanted) - received if self._followers else 0,
            rows_received=self._taken.rows - received,
            exact=self._taken.is_exact(wanted) if self._followers else True,
            steps=await self._steps() - steps,
        )

    async def unsubscribe(self) -> None:
        """Nobody follows any more."""
        self._broken = None
        for one in self._followers:
            one.cancel()
        await asyncio.gather(*self._followers, return_exceptions=True)
        self._followers = []

    # --- subscribers ---

    async def _follow(self, subscriber: int, is_open: asyncio.Event) -> None:
        connection = Connection(self._host, self._port)
        path = f"/api/v1/queries/q{self._size.query_of(subscriber)}/events"
        try:
            async for data in connection.events(path, is_open.set):
                now = now_us()
                found = _decoder.decode(data).rows
                numbers = np.fromiter((one.id for one in found), np.int64, len(found))
                sent = np.fromiter((one.sent for one in found), np.int64, len(found))
                self._taken.add(subscriber, numbers, sent, now)
            raise ExperimentError(f"the server ended the events of {path}")
        except Exception as error:
            if self._broken is not None and not self._broken.done():
                self._broken.set_exception(error)
        finally:
            connection.close()

    async def _while_they_follow(self, doing: asyncio.Future[Any]) -> None:
        """Waits for something; a subscriber that fails meanwhile ends it."""
        broken = self._broken
        if broken is not None:
            await asyncio.wait([doing, broken], return_when=asyncio.FIRST_COMPLETED)
            if broken.done():
                doing.cancel()
                broken.result()
        await doing

    async def _all_taken(self, wanted: int) -> None:
        until = time.monotonic() + _DONE_S
        while self._taken.rows < wanted:
            await self._while_they_follow(asyncio.create_task(asyncio.sleep(0.01)))
            if time.monotonic() > until:
                raise ExperimentError(f"{self._taken.rows} of {wanted} rows came within {_DONE_S:g} s")

    # --- clients that push ---

    async def _client(self, client: int, pace: Pace, began: float) -> None:
        connection, push = Connection(self._host, self._port), 0
        while (wait_s := pace.wait_s(client, push, time.monotonic() - began)) is not None:
            if wait_s:
                await asyncio.sleep(wait_s)
            first = self._numbers.take()
            await self._push(connection, f"{self._run}-{first}", first)
            self._pushed += PUSH_ROWS
            push += 1
        connection.close()

    async def _push(self, connection: Connection, key: str, first: int) -> None:
        table = rows(first, PUSH_ROWS, now_us())
        target = pa.BufferOutputStream()
        with pa.ipc.new_stream(target, table.schema) as writer:
            writer.write_table(table)
        headers = {"Content-Type": _ARROW, "Idempotency-Key": key}
        body = target.getvalue().to_pybytes()
        path = f"/api/v1/streams/{STREAM}/rows"
        while (answer := await connection.ask("POST", path, body, headers)).status in _AGAIN:
            self._repeated += 1
            await asyncio.sleep(_PAUSE_S)
        if answer.status != 200:
            raise ExperimentError(f"a push was answered {answer.status}: {answer.body.decode()}")

    async def _settled(self) -> None:
        """All is processed; for when nobody follows."""
        until = time.monotonic() + _DONE_S
        while not json.loads(await self._ask("POST", "/api/v1/settle", {"timeout": 10}))["settled"]:
            if time.monotonic() > until:
                raise ExperimentError(f"rows were not processed within {_DONE_S:g} s")

    async def _steps(self) -> int:
        found: int = json.loads(await self._ask("GET", "/api/v1/status"))["totals"]["steps"]
        return found

    async def _ask(self, method: str, path: str, body: dict[str, Any] | None = None) -> bytes:
        connection = Connection(self._host, self._port)
        headers = {"Content-Type": "application/json"}
        content = b"" if body is None else json.dumps(body).encode()
        answer = await connection.ask(method, path, content, headers)
        connection.close()
        if answer.status >= 300:
            raise ExperimentError(f"{method} {path} was answered {answer.status}: {answer.body.decode()}")
        return answer.body


def main() -> None:
    """Does what it is told."""
    given = json.loads(sys.argv[1])
    clients = Clients(given["host"], given["port"], Size(**given["size"]))
    serve(
        {
            "create": lambda: clients.do(clients.create()),
            "push": lambda **asked: clients.do(clients.push(**asked)),
            "unsubscribe": lambda: clients.do(clients.unsubscribe()),
        }
    )
    leave()


if __name__ == "__main__":
    main()
