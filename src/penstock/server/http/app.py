"""The application: every route, how errors are told, and what is around it all."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from penstock import __version__
from penstock.errors import PenstockError
from penstock.server.channel.link import SocketLink
from penstock.server.experiments.laboratory import Laboratory
from penstock.server.http.backend import Backend
from penstock.server.http.documented import ABOUT, TAGS, completed
from penstock.server.http.guard import Guard
from penstock.server.http.problems import problem, response_of
from penstock.server.http.routes import (
    administration,
    experiments,
    operations,
    queries,
    results,
    scheduling,
    statements,
    streams,
)
from penstock.server.http.routes.shared import PROBLEMS

PREFIX = "/api/v1"
_ROUTERS = (statements, streams, queries, results, scheduling, experiments, operations, administration)
_MOST_SHOWN = 3


def create_app(backend: Backend) -> FastAPI:
    """The API over an engine that the backend reaches."""
    laboratory = Laboratory(backend.layout.experiments)

    @asynccontextmanager
    async def life(_: FastAPI) -> AsyncIterator[None]:
        link = backend.link
        if isinstance(link, SocketLink):
            link.start()
        try:
            yield
        finally:
            laboratory.close()
            if isinstance(link, SocketLink):
                await link.close()
            backend.close()

    app = _routed(life)
    app.state.backend, app.state.laboratory = backend, laboratory
    app.add_middleware(Guard, backend=backend)
    app.add_exception_handler(PenstockError, _refused)
    app.add_exception_handler(RequestValidationError, _unfit)
    app.add_exception_handler(HTTPException, _plain)
    return app


def openapi_text() -> str:
    """The OpenAPI document, as it is in the manual."""
    return json.dumps(_routed(None).openapi(), indent=1, ensure_ascii=False) + "\n"


def _routed(life: Callable[[FastAPI], AbstractAsyncContextManager[None]] | None) -> FastAPI:
    """Every route, documented."""
    app = FastAPI(
        title="Penstock",
        version=__version__,
        summary="Continuous queries on one Apache Spark, each with the service its owner asked for.",
        description=ABOUT,
        lifespan=life,
        responses=PROBLEMS,
        openapi_url=f"{PREFIX}/openapi.json",
        openapi_tags=TAGS,
        docs_url=None,  # its page would load scripts from elsewhere
        redoc_url=None,
        generate_unique_id_function=lambda route: route.name,
    )
    for module in _ROUTERS:
        app.include_router(module.router, prefix=PREFIX)
    app.include_router(queries.drafts, prefix=PREFIX)
    app.include_router(operations.unversioned)
    bare = app.openapi

    def documented() -> dict[str, Any]:
        return app.openapi_schema or completed(bare())

    app.openapi = documented  # type: ignore[method-assign]
    return app


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, PenstockError)
    request.scope["state"].setdefault("refusal", str(error))
    return response_of(error)


async def _unfit(request: Request, error: Exception) -> Response:
    """What was sent is not of the form that is documented."""
    assert isinstance(error, RequestValidationError)
    request.scope["state"].setdefault("refusal", "not of the form that is documented")
    found = [f"{'.'.join(_part(part) for part in one['loc'])}: {one['msg']}" for one in error.errors()]
    more = f"; and {len(found) - _MOST_SHOWN} more" if len(found) > _MOST_SHOWN else ""
    return problem(422, {"type": "urn:penstock:form", "detail": "; ".join(found[:_MOST_SHOWN]) + more})


def _part(part: object) -> str:
    """A part of the place of a mistake: somebody may have sent anything as a name, and of any length."""
    return str(part).encode("utf-8", "replace").decode("utf-8")[:100]


async def _plain(_: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    found = problem(error.status_code, {"type": "about:blank", "detail": str(error.detail)})
    found.headers.update(error.headers or {})
    return found
