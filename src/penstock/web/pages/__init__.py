"""The pages, one module each: `register` makes them known to NiceGUI.

A page gets who looks (`Visitor`) and what is known now (`Live`); it has a function `show` that builds it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import cast

from fastapi import Request, Response
from fastapi.responses import RedirectResponse
from nicegui import Client, core, ui

from penstock.errors import AccessError, PenstockError
from penstock.server.channel.link import EngineAwayError
from penstock.web.access.visitor import RefusedError, Visitor, Visitors
from penstock.web.live.looks import Live
from penstock.web.pages import (
    access,
    experiment,
    experiments,
    graph,
    new_query,
    overview,
    query,
    register_stream,
    scheduler,
    sign_in,
    stream,
    streams,
)
from penstock.web.parts.elements import box, empty, link, panel, sentence
from penstock.web.parts.following import follow
from penstock.web.parts.frame import frame

Show = Callable[[Visitor, Live, Request], Awaitable[None]]

#: Seconds that a page may take until there is something to be seen: an engine that is busy answers late.
_PATIENCE_S = 20.0
#: Where each page is.
PAGES: tuple[tuple[str, str, Show], ...] = (
    ("/", "Overview", overview.show),
    ("/streams", "Streams", streams.show),
    ("/streams/{stream}", "Stream", stream.show),
    ("/register", "Register a stream", register_stream.show),
    ("/scheduler", "Scheduler", scheduler.show),
    ("/graph", "Graph", graph.show),
    ("/new", "New query", new_query.show),
    ("/queries/{query}", "Query", query.show),
    ("/access", "Access", access.show),
    ("/experiments", "Experiments", experiments.show),
    ("/experiments/{experiment}", "Experiment", experiment.show),
)


def register(visitors: Visitors, live: Live) -> None:
    """Makes all pages; once in a process."""
    for path, title, show in PAGES:
        _register(path, title, show, visitors, live)

    @ui.page("/sign-in", title="Sign in · Penstock")
    async def signing_in() -> None:
        sign_in.show()

    _register_unknown(visitors, live)


def _register(path: str, title: str, show: Show, visitors: Visitors, live: Live) -> None:
    @ui.page(path, title=f"{title} · Penstock", response_timeout=_PATIENCE_S)
    async def page(request: Request) -> Response | None:
        visitor = visitors.of(request)
        if visitor is None:
            return RedirectResponse("/sign-in")
        try:
            await show(visitor, live, request)
        except AccessError:  # the token was revoked meanwhile
            return RedirectResponse("/sign-in")
        except PenstockError as error:
            _not_now(visitor, live, path, title, error)
        return None


def _register_unknown(visitors: Visitors, live: Live) -> None:
    """What is shown at an address that nothing has; of missing parts of a page NiceGUI tells."""
    of_parts = cast("Callable[[Request, Exception], Awaitable[Response]]", core.app.exception_handlers[404])

    @core.app.exception_handler(404)
    async def unknown(request: Request, error: Exception) -> Response:
        if request.scope.get("endpoint") not in (None, core.app):
            return await of_parts(request, error)
        visitor = visitors.of(request)
        if visitor is None:
            return RedirectResponse("/sign-in")
        with (
            Client(ui.page(""), request=request) as client,
            frame(visitor, live, "", "No such page"),
            panel(),
            empty("There is nothing at this address", request.url.path),
            box("line"),
        ):
            link("Overview", "/", "button primary")
        return client.build_response(request, 404)


def _not_now(visitor: Visitor, live: Live, path: str, title: str, error: PenstockError) -> None:
    """Why a page cannot be shown; if it is because the engine is away, it comes by itself later."""
    ui.context.client.content.clear()
    with frame(visitor, live, path, title), panel():
        empty("This page cannot be shown now", sentence(error))
    if isinstance(error, EngineAwayError) or (isinstance(error, RefusedError) and error.status == 503):
        follow(live, lambda: ui.navigate.reload() if live.status is not None else None)
