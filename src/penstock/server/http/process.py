"""What the HTTP process does; `penstock.web.process`, which the supervisor starts, adds the page to it."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import Callable

import uvicorn
from fastapi import FastAPI
from starlette.types import ASGIApp

from penstock.errors import PenstockError
from penstock.server.channel.link import SocketLink
from penstock.server.child import first_settings, follow
from penstock.server.http.app import create_app
from penstock.server.http.backend import Backend
from penstock.server.http.patience import REQUEST_S, patient
from penstock.server.layout import StateLayout
from penstock.server.logging import say
from penstock.server.settings import Settings

#: The environment variable with the number of the socket that listens.
LISTENING = "PENSTOCK_LISTENING_SOCKET"
#: Seconds that requests under way have when the process is told to stop; streams of events end at once.
_GRACE_S = 3
#: Connections beyond which clients are told to come back later.
_MOST_CONNECTIONS = 2000


Complete = Callable[[FastAPI, Backend], ASGIApp]


def _as_it_is(app: FastAPI, _: Backend) -> ASGIApp:
    return app


def main(complete: Complete = _as_it_is) -> None:
    """Serves until it is told to stop, or the supervisor is gone; `complete` adds what goes with the API."""
    settings = first_settings()
    path = StateLayout(settings.server.state).socket
    try:
        backend = Backend(settings, lambda heard: SocketLink(path, heard))
    except PenstockError as error:
        say("http", str(error))
        sys.exit(1)
    asyncio.run(_serve(settings, backend, complete(create_app(backend), backend)))


class _Server(uvicorn.Server):
    """uvicorn's, but streams of events end first when it is to stop: nobody has to be cut off."""

    def __init__(self, config: uvicorn.Config, backend: Backend) -> None:
        super().__init__(config)
        self._backend = backend

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._backend.stop_events()
        await super().shutdown(sockets)


async def _serve(settings: Settings, backend: Backend, app: ASGIApp) -> None:
    server = _Server(config_of(settings, app, backend), backend)
    loop = asyncio.get_running_loop()

    def stop() -> None:
        server.should_exit = True

    def use(changed: Settings) -> None:
        loop.call_soon_threadsafe(backend.use, changed)

    follow("http", use, stop)
    # The supervisor listens, so that clients who come while this process is started again only wait.
    await server.serve([socket.socket(fileno=int(os.environ[LISTENING]))])


def config_of(settings: Settings, app: ASGIApp, backend: Backend) -> uvicorn.Config:
    """How uvicorn is to serve."""
    server = settings.server
    return uvicorn.Config(
        app,
        ssl_certfile=None if server.tls_cert is None else str(server.tls_cert),
        ssl_keyfile=None if server.tls_key is None else str(server.tls_key),
        http=patient(backend.refused_connection),
        log_level="warning",
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=_GRACE_S,
        timeout_keep_alive=int(REQUEST_S),
        limit_concurrency=_MOST_CONNECTIONS,
        h11_max_incomplete_event_size=64 << 10,
        proxy_headers=False,
    )
