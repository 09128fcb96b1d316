"""The API and the page as one application: each request goes to one of them by its path."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import nicegui
from fastapi import FastAPI
from nicegui import core, ui
from starlette.types import ASGIApp, Receive, Scope, Send

from penstock.server.http.backend import Backend
from penstock.server.http.guard import Guard
from penstock.server.security.headers import PAGE_HEADERS
from penstock.web import pages
from penstock.web.access import signing_in
from penstock.web.access.visitor import Visitors
from penstock.web.live.looks import Live
from penstock.web.queries import downloads
from penstock.web.scheduler import log_download
from penstock.web.streams import uploads

_STATIC = Path(__file__).parent / "static"
#: What the API answers; everything else is the page's.
_API = ("/api/", "/health", "/ready", "/metrics")
#: Messages kept for a browser that was away for a moment: what it missed is a look at the engine each.
_MESSAGES = 30
#: Seconds that a browser may be away before its page is forgotten.
_AWAY_S = 10.0


def with_page(api: FastAPI, backend: Backend) -> ASGIApp:
    """The API with the page beside it. The page is made once in a process."""
    live = Live(backend)
    visitors = Visitors(backend, api)
    page = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
    page.include_router(signing_in.router_for(visitors))
    page.include_router(uploads.router_for(visitors))
    page.include_router(log_download.router_for(visitors))
    page.include_router(downloads.router_for(visitors))
    nicegui.app.add_static_files("/static", _STATIC, max_cache_age=0)
    # Browsers that cannot open a socket would poll, each time with a request.
    core.app.config.socket_io_js_transports = ["websocket"]
    pages.register(visitors, live)
    ui.run_with(
        page,
        title="Penstock",
        favicon=_STATIC / "penstock.svg",
        language="en-US",
        dark=False,  # colours are the style's, which knows light and dark
        tailwind=False,
        binding_refresh_interval=None,
        reconnect_timeout=_AWAY_S,
        message_history_length=_MESSAGES,
        show_welcome_message=False,
    )
    page.add_middleware(Guard, backend=backend, headers=PAGE_HEADERS)
    api.router.lifespan_context = _together(api, page, live)
    return _Site(api, page)


def _together(api: FastAPI, page: FastAPI, live: Live):  # type: ignore[no-untyped-def]
    """Both begin and end with the process."""
    of_api, of_page = api.router.lifespan_context, page.router.lifespan_context

    @asynccontextmanager
    async def life(app: FastAPI) -> AsyncIterator[None]:
        async with of_api(app), of_page(page), live.looking():
            yield

    return life


class _Site:
    """Sends what comes in to the API or to the page."""

    def __init__(self, api: ASGIApp, page: ASGIApp) -> None:
        self._api, self._page = api, page

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One connection."""
        of_api = scope["type"] == "lifespan" or scope["path"].startswith(_API)
        await (self._api if of_api else self._page)(scope, receive, send)
