"""The real application over a real engine, and clients of two teams with every role.

Whatever is answered, to whomever, names nothing of the host; and nothing that is answered to team `b` has the
marker in it that all names of team `a` have.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import requests

from penstock.engines.spark.engine import Engine
from penstock.model.quotas import Quotas
from penstock.server.channel.frames import Notice
from penstock.server.engine.process import confinement_of
from penstock.server.engine.service import EngineService
from penstock.server.http.app import create_app
from penstock.server.http.backend import Backend
from penstock.server.http.local import LocalLink
from penstock.server.layout import StateLayout
from penstock.server.security.roles import Role
from penstock.server.settings import ConfinementSection, ServerSection, Settings

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MARKER = "zqxv"
A, B = f"{MARKER}-team", "bees"
ROLES = ("viewer", "operator", "admin")
API = "/api/v1"
BODY_BYTES = 200_000
#: A part of every path of the host that the server knows.
HOST_PATH = "hidden-host-path"
_REQUEST = frozenset({"method", "url", "headers", "files", "data", "json", "params", "cookies"})


class World:
    """Everything that a test asks through, and what it may look at behind it."""

    def __init__(self, app: Any, backend: Backend, engine: Engine, root: Path) -> None:
        self.app, self.backend, self.engine, self.root = app, backend, engine, root
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="api", daemon=True)
        self._thread.start()
        self._addresses = 0
        self.tokens = {
            (namespace, role): backend.tokens.create(Role.named(role), namespace, f"for {role}")[0]
            for namespace in (A, B)
            for role in ROLES
        }
        self.expired = backend.tokens.create(Role.ADMIN, B, "old", time.time() - 1.0)[0]

    def close(self) -> None:
        """Ends the loop."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        """What a coroutine comes to, in the application's loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(120)

    def new_address(self) -> str:
        """The address of a client that nobody has heard of."""
        self._addresses += 1
        return f"10.{self._addresses >> 16}.{self._addresses >> 8 & 255}.{self._addresses & 255}"

    def ask(
        self,
        method: str,
        path: str,
        who: tuple[str, str] | str | None = (B, "operator"),
        *,
        address: str = "127.0.0.1",
        headers: dict[str, str] | None = None,
        **given: Any,
    ) -> httpx.Response:
        """One request, by somebody's token or a text that is sent as one; `path` without the version."""
        token = self.tokens[who] if isinstance(who, tuple) else who
        sent = {} if token is None else {"Authorization": f"Bearer {token}"}
        url = path if path.startswith(("/health", "/ready", "/metrics", API)) else API + path
        answered: httpx.Response = self.run(
            self._ask(method, url, {**sent, **(headers or {})}, address, given)
        )
        namespace = who[0] if isinstance(who, tuple) else None
        self.look(answered, of_a=namespace == A or f"namespace={A}" in path)
        return answered

    async def _ask(
        self, method: str, url: str, headers: dict[str, str], address: str, given: dict[str, Any]
    ) -> httpx.Response:
        transport = httpx.ASGITransport(self.app, raise_app_exceptions=False, client=(address, 1))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8642") as client:
            return await client.request(method, url, headers=headers, **given)

    def send(self, sent: dict[str, Any], who: tuple[str, str]) -> httpx.Response:
        """A request that was prepared for `requests`."""
        prepared = requests.Request(
            **{key: value for key, value in sent.items() if key in _REQUEST and value is not None}
        ).prepare()
        headers = {key: str(value) for key, value in prepared.headers.items()}
        headers["Authorization"] = f"Bearer {self.tokens[who]}"
        headers.pop("Content-Length", None)
        body = prepared.body.encode() if isinstance(prepared.body, str) else prepared.body or b""
        answered: httpx.Response = self.run(
            self._ask(str(prepared.method), str(prepared.url), headers, "127.0.0.1", {"content": body})
        )
        self.look(answered, of_a=True)
        return answered

    def look(self, answered: httpx.Response, *, of_a: bool) -> None:
        """What holds of every answer."""
        told = answered.text + "".join(f"{key}: {value}\n" for key, value in answered.headers.items())
        assert answered.status_code < 500 or answered.status_code == 503, told
        assert HOST_PATH not in told
        assert ".py" not in told
        assert answered.headers["x-content-type-options"] == "nosniff"
        if not of_a:
            assert MARKER not in told.lower()
        if answered.status_code >= 400:
            assert answered.headers["content-type"] == "application/problem+json"
            document = answered.json()
            assert {"type", "title", "status", "detail"} <= set(document)
            assert document["status"] == answered.status_code

    def sql(self, text: str, who: tuple[str, str] = (B, "operator"), status: int = 200) -> Any:
        """What statements answer."""
        answered = self.ask("POST", "/sql", who, json={"sql": text})
        assert answered.status_code == status, answered.text
        return answered.json()

    def push(self, stream: str, rows: list[dict[str, Any]], who: tuple[str, str] = (B, "operator")) -> Any:
        """Rows into a stream, committed."""
        answered = self.ask("POST", f"/streams/{stream}/rows", who, json=rows)
        assert answered.status_code == 200, answered.text
        return answered.json()

    def settle(self) -> None:
        """Everything that came in is processed and delivered."""
        answered = self.ask("POST", "/settle", json={"timeout": 60})
        assert answered.json() == {"settled": True}, answered.text

    def events(
        self, path: str, who: tuple[str, str], rows: int, headers: dict[str, str] | None = None
    ) -> tuple[list[Any], str]:
        """Rows that come as server-sent events, until there are so many; and the last id."""
        found: tuple[list[Any], str] = self.run(self._events(path, who, rows, headers or {}))
        return found

    async def _events(
        self, path: str, who: tuple[str, str], most: int, headers: dict[str, str]
    ) -> tuple[list[Any], str]:
        url = httpx.URL(f"http://127.0.0.1:8642{API}{path}")
        sent = {"host": "127.0.0.1:8642", "authorization": f"Bearer {self.tokens[who]}", **headers}
        gone, parts, status = asyncio.Event(), asyncio.Queue[bytes](), 0
        requested = False

        async def receive() -> dict[str, Any]:
            nonlocal requested
            if not requested:
                requested = True
                return {"type": "http.request", "body": b"", "more_body": False}
            await gone.wait()
            return {"type": "http.disconnect"}

        async def send(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            else:
                await parts.put(message.get("body", b""))

        task = asyncio.create_task(
            self.app(
                {
                    "type": "http",
                    "asgi": {"version": "3.0", "spec_version": "2.3"},
                    "method": "GET",
                    "headers": [(key.lower().encode(), value.encode()) for key, value in sent.items()],
                    "path": url.path,
                    "raw_path": url.raw_path,
                    "query_string": url.query,
                    "scheme": "http",
                    "http_version": "1.1",
                    "server": ("127.0.0.1", 8642),
                    "client": ("127.0.0.1", 1),
                    "root_path": "",
                },
                receive,
                send,
            )
        )
        rows, last = [], ""
        try:
            while len(rows) < most:
                part = (await asyncio.wait_for(parts.get(), 30)).decode()
                assert status == 200
                fields = dict(line.split(": ", 1) for line in part.strip().splitlines())
                if fields.get("event") == "rows":
                    last = fields["id"]
                    rows += json.loads(fields["data"])["rows"]
        finally:
            gone.set()
            await asyncio.wait_for(task, 30)
        return rows, last

    def audit(self) -> list[dict[str, Any]]:
        """The latest lines of the audit log, newest first; none of them holds a secret."""
        found = [
            json.loads(line) for line in self.backend.layout.audit.read_text("ascii").splitlines()[-2000:]
        ]
        for token in (*self.tokens.values(), self.expired):
            assert token.split("_", 2)[2] not in str(found)
        return found[::-1]


@contextmanager
def opened(spark: SparkSession, root: Path) -> Iterator[World]:
    """The world over a new state below a directory."""
    root = root / HOST_PATH
    data = root / "data"
    data.mkdir(parents=True)
    settings = Settings(
        server=ServerSection(state=root / "state", body_bytes=BODY_BYTES, requests_per_s=1e6),
        confinement=ConfinementSection(roots=(data,)),
    )
    layout, links = StateLayout(settings.server.state), list[LocalLink]()

    def published(directory: str, name: str) -> None:
        for link in links:
            link.published(directory, name)

    engine = Engine(
        layout.state,
        out=layout.results,
        base_dir=data,
        spark=spark,
        confinement=confinement_of(settings),
        published=published,
    )
    with engine:
        engine.start()

        def link(heard: Callable[[Notice | None], None]) -> LocalLink:
            made = LocalLink(EngineService(engine), heard)
            links.append(made)
            return made

        backend = Backend(settings, link)
        for namespace in (A, B):
            backend.registry.put_namespace(namespace, Quotas())
        world = World(create_app(backend), backend, engine, root)
        try:
            yield world
        finally:
            world.close()
            backend.close()


async def chunks(*parts: bytes, pause_s: float = 0.0) -> AsyncIterator[bytes]:
    """A body that comes in parts."""
    for part in parts:
        yield part
        await asyncio.sleep(pause_s)
